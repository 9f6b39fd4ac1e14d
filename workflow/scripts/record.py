"""Rule `record`: a table as a sensor would have written it, from a known system."""

import leastaction.core.process as process
from leastaction.core.files import save_text
from leastaction.recordings.demo import recorded_table


def main(settings: dict, table: str) -> None:
    """Simulate, spoil as sensors do, and write CSV.

    `settings` are those of a stand-in, its name and the root of its random numbers.
    """
    save_text(recorded_table(settings), table)


if __name__ == "__main__":
    process.run(main, snakemake)
