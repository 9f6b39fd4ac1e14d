"""Rule `collect_scores`: the rows of all examples in one scorecard."""

import leastaction.core.process as process
from leastaction.core.files import load_text, save_text
from leastaction_papers.scorecard.pages import scorecard_page
from leastaction_papers.scorecard.scorecard import (
    from_csv,
    pooled_rows,
    scorecard,
    to_csv,
    worth_reading,
)


def main(scores: list, papers: dict, csv: str, html: str) -> None:
    """Put the rows together, add what is pooled over examples, judge each number."""
    frames = [from_csv(load_text(path)) for path in scores]
    table = worth_reading(scorecard([*frames, pooled_rows(frames)]))
    save_text(to_csv(table), csv)
    save_text(scorecard_page(table, papers), html)


if __name__ == "__main__":
    process.run(main, snakemake)
