"""Rule `summarise_papers`: what is shown of each paper, on one page."""

from pathlib import Path

from leastaction.core.files import job_seconds, load_bytes, load_text, save_text
from leastaction.core.progress import start_logging
from leastaction.report.pages import paper_summary, papers_page
from leastaction.report.scorecard import from_csv
from leastaction.report.templates import thumbnail

WIDTH, LIMIT = 1400, 400_000


def main(inputs, logs: Path, settings: dict, page: str) -> None:
    """Write one section per paper of `settings`, with its figures and findings."""
    table = from_csv(load_text(inputs.scorecard))
    # Of the examples, not of their variants.
    paths = {
        name: [
            p
            for p in sorted(logs.glob(f"{name}/**/*.tsv"))
            if "-" not in str(p.relative_to(logs))
        ]
        for name in settings["papers"]
    }
    papers = [
        paper_summary(name, paper, table, {p: job_seconds(p) for p in paths[name]})
        for name, paper in settings["papers"].items()
    ]
    files = [
        f"{one['name']}/figures/{name}" for one in papers for name in one["figures"]
    ]
    small = (thumbnail(load_bytes(path), WIDTH, LIMIT) for path in inputs.pictures)
    told = (load_text(path).strip() for path in inputs.findings)
    shown = (dict(zip(files, given, strict=True)) for given in (small, told))
    save_text(papers_page(papers, *shown), page)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input,
        Path(snakemake.log[0]).parent,
        snakemake.params.settings,
        snakemake.output.page,
    )
