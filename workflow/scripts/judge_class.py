"""Rule `judge_class`: what is learned of one draw of a simulated machine."""

import json
import sys
from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import save_text


def main(generators: list, machine: str, seed: str, draw: str) -> None:
    """Draw parameters by a seed, simulate, learn, and compare with the truth."""
    sys.path.insert(0, str(Path(generators[0]).parent))
    import blind_machines
    import mechanical_classes

    make = mechanical_classes.generators()[machine]
    drawn = blind_machines.outcome(make, int(seed))
    save_text(json.dumps(drawn._asdict(), indent=1) + "\n", draw)


if __name__ == "__main__":
    process.run(main, snakemake)
