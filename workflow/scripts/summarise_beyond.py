"""Rule `summarise_beyond`: what the papers leave open, with limits and verdicts."""

from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import load_bytes, load_text, save_text
from leastaction_papers.scorecard.pages import beyond_document, beyond_page, section
from leastaction_papers.scorecard.scorecard import from_csv, pooled_rows, scorecard
from leastaction_papers.scorecard.templates import thumbnail

WIDTH, LIMIT = 1400, 400_000


def main(
    scores: list,
    pictures: list,
    findings: list,
    matrix: list,
    sections: dict,
    page: str,
) -> None:
    """One section per folder of examples, with its studies and its rows."""
    frames = [from_csv(load_text(path)) for path in scores]
    rows = scorecard([*frames, pooled_rows(frames)])
    files = iter(zip(pictures, findings, strict=True))
    sentences = []
    for folder, about in sections.items():
        studies = {}
        for name, study in about["studies"].items():
            picture, finding = next(files)
            picture = thumbnail(load_bytes(picture), WIDTH, LIMIT)
            finding = load_text(finding).strip()
            studies[name] = {**study, "picture": picture, "finding": finding}
        own = rows[rows["paper"] == folder]
        sentences.append(section(folder, about["paper"], studies, own))
    sentences = [one for one in sentences if one["studies"] or one["rows"]]
    if Path(page).suffix == ".html":
        drawn = [thumbnail(load_bytes(path), WIDTH, LIMIT) for path in matrix]
        save_text(beyond_page(sentences, *drawn), page)
    else:
        save_text(beyond_document(sentences), page)


if __name__ == "__main__":
    process.run(main, snakemake)
