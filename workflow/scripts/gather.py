"""Rule `gather`: blocks of replicates in one file, as one job would have written it."""

import leastaction.core.process as process
from leastaction.core.files import Replicates, save_replicates


def main(blocks: list, whole: str, results: dict | None = None) -> None:
    """Put the blocks one behind the other, replicate by replicate."""
    files = (Replicates(path, results=results) for path in blocks)
    pieces = (piece for file in files for (piece,) in file)
    save_replicates(pieces, whole, results=results)


if __name__ == "__main__":
    process.run(main, snakemake)
