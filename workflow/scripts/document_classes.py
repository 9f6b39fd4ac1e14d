"""Rule `document_classes`: outcomes of simulated machines, a row for every case."""

import json
import sys
from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import save_text


def main(folder: str, draws, tables, target: str) -> None:
    """A table for every list of cases."""
    sys.path.insert(0, folder)
    from blind_machines import Outcome, page
    from mechanical_classes import generators

    read = [json.loads(Path(path).read_text(encoding="utf-8")) for path in draws]
    drawn = [Outcome(**each) for each in read]
    save_text(page(generators(), tables, drawn), target)


if __name__ == "__main__":
    with process.job(snakemake.log[0]):
        main(
            str(Path(snakemake.input.generators[0]).parent),
            snakemake.input.draws,
            snakemake.params.tables,
            snakemake.output.page,
        )
