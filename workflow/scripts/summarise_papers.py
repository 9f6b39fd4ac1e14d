"""Rules `summarise_papers` and `summarise`: what holds of each paper, on one page."""

from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import load_bytes, load_text, save_text
from leastaction_papers.scorecard.pages import index_page, paper_summary, results_page
from leastaction_papers.scorecard.scorecard import from_csv
from leastaction_papers.scorecard.templates import thumbnail

# Pixels across, and bytes of a picture: all of them together are some megabyte.
WIDTH, LIMIT = 800, 40_000


def main(
    scorecard: str,
    settings: dict,
    page: str,
    pictures: list = (),
    findings: list = (),
) -> None:
    """Write one section per paper of `settings`; in HTML with figures and findings."""
    table = from_csv(load_text(scorecard))
    if Path(page).suffix == ".md":
        save_text(results_page(table, settings), page)
        return
    papers = [paper_summary(name, paper, table) for name, paper in settings.items()]
    files = [
        f"{one['name']}/figures/{name}" for one in papers for name in one["figures"]
    ]
    small = (thumbnail(load_bytes(path), WIDTH, LIMIT) for path in pictures)
    sentences = (load_text(path).strip() for path in findings)
    shown = (dict(zip(files, given, strict=True)) for given in (small, sentences))
    save_text(index_page(papers, *shown), page)


if __name__ == "__main__":
    process.run(main, snakemake)
