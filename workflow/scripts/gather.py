"""Rule `gather`: blocks of replicates in one file, as one job would have written it."""

from leastaction.core.files import Replicates, owner, save_replicates
from leastaction.core.progress import start_logging


def main(blocks: list, whole: str, of: str) -> None:
    """Put the blocks one behind the other, replicate by replicate."""
    pieces = (piece for path in blocks for (piece,) in Replicates(path, of=of))
    save_replicates(pieces, whole)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(snakemake.input.blocks, snakemake.output.whole, owner(snakemake.wildcards))
