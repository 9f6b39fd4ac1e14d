"""Rule `record`: a table as a sensor would have written it, from a known system."""

from leastaction.core.files import save_text
from leastaction.core.progress import start_logging
from leastaction.recordings.stand_in import recorded_table


def main(settings: dict, table: str) -> None:
    """Simulate, spoil as sensors do, and write CSV."""
    save_text(recorded_table(settings), table)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(snakemake.params.settings, snakemake.output.table)
