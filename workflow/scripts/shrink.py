"""Rule `shrink`: a small picture of a figure for the README."""

import leastaction.core.process as process
from leastaction.core.files import load_bytes, save_bytes
from leastaction_papers.scorecard.templates import thumbnail

WIDTH, LIMIT = 640, 90_000


def main(figure: str, picture: str) -> None:
    """Write the picture."""
    save_bytes(thumbnail(load_bytes(figure), WIDTH, LIMIT), picture)


if __name__ == "__main__":
    with process.job(snakemake.log[0]):
        main(snakemake.input.figure, snakemake.output.picture)
