"""Rule `gather`: blocks of replicates in one file, as one job would have written it."""

from leastaction.core.files import Replicates, save_replicates
from leastaction.core.progress import start_logging


def main(blocks: list, whole: str) -> None:
    """Put the blocks one behind the other, replicate by replicate."""
    pieces = (piece for path in blocks for (piece,) in Replicates(path))
    save_replicates(pieces, whole)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(snakemake.input.blocks, snakemake.output.whole)
