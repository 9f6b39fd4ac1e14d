"""Rule `collect_scores`: the rows of all examples in one scorecard."""

from leastaction.core.files import load_text, save_text
from leastaction.core.progress import start_logging
from leastaction.report.pages import scorecard_page
from leastaction.report.scorecard import (
    from_csv,
    pooled_rows,
    scorecard,
    to_csv,
    to_markdown,
)

TITLES = {
    "scorecard": "Scorecard: every printed number beside ours",
    "studies": "Scorecard of our own studies",
}


def main(
    scores: list, collection: str, papers: dict, csv: str, md: str, html: str
) -> None:
    """Put the rows together, add what is pooled over examples, and render them."""
    frames = [from_csv(load_text(path)) for path in scores]
    table = scorecard([*frames, pooled_rows(frames)])
    save_text(to_csv(table), csv)
    save_text(to_markdown(table), md)
    save_text(scorecard_page(table, TITLES[collection], papers), html)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.scores,
        snakemake.wildcards.collection,
        snakemake.params.papers,
        **dict(snakemake.output.items()),
    )
