"""Rule `summarise`: the scorecard as a page of the documentation."""

from leastaction.core.files import load_text, save_text
from leastaction.core.progress import start_logging
from leastaction.report.collect import from_csv
from leastaction.report.summary import summary


def main(scorecard: str, page: str) -> None:
    """Write the page."""
    save_text(summary(from_csv(load_text(scorecard))), page)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(snakemake.input.scorecard, snakemake.output.page)
