"""Rule `judge_class`: what is learned of one draw of a simulated machine."""

import json
import sys
from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import save_text


def main(machines: list, machine: str, seed: int, row: str) -> None:
    """Draw parameters by a seed, simulate, learn, and compare with the truth."""
<<<<<<< HEAD
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
=======
    sys.path.insert(0, str(Path(machines[0]).parent))
    import blind_machines
    import mechanical_classes

    make = getattr(mechanical_classes, machine, None)
    _, text = blind_machines.row(make or getattr(blind_machines, machine), seed)
    save_text(text + "\n", row)


if __name__ == "__main__":
    process.run(main, snakemake)
>>>>>>> main
