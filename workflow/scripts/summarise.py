"""Rule `summarise`: the scorecard as a page of the documentation."""

import leastaction.core.process as process
from leastaction.core.files import load_text, save_text
from leastaction_papers.scorecard.pages import results_page
from leastaction_papers.scorecard.scorecard import from_csv


def main(scorecard: str, papers: dict, page: str) -> None:
    """Write the page."""
    save_text(results_page(from_csv(load_text(scorecard)), papers), page)


if __name__ == "__main__":
    process.run(main, snakemake)
