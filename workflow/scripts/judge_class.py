"""Rule `judge_class`: what is learned of one draw of a simulated machine."""

import json
import sys
from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import save_text


def main(folder: str, machine: str, seed: int, target: str) -> None:
    """Draw parameters by a seed, simulate, learn, and compare with the truth."""
    sys.path.insert(0, folder)
    from blind_machines import outcome
    from mechanical_classes import generators

    drawn = outcome(generators()[machine], seed)
    save_text(json.dumps(drawn._asdict(), indent=1) + "\n", target)


if __name__ == "__main__":
    with process.job(snakemake.log[0]):
        main(
            str(Path(snakemake.input.generators[0]).parent),
            snakemake.wildcards.machine,
            int(snakemake.wildcards.seed),
            snakemake.output.draw,
        )
