"""Rule `judge_class`: what is learned of a simulated machine, a row of a table."""

import sys
from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import save_text


def main(machines: list, machine: str, seed: int, row: str) -> None:
    """Draw parameters by a seed, simulate, learn, and compare with the truth."""
    sys.path.insert(0, str(Path(machines[0]).parent))
    import blind_machines
    import mechanical_classes

    make = getattr(mechanical_classes, machine, None)
    _, text = blind_machines.row(make or getattr(blind_machines, machine), seed)
    save_text(text + "\n", row)


if __name__ == "__main__":
    process.run(main, snakemake)
