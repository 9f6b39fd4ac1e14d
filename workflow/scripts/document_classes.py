"""Rule `document_classes`: outcomes of simulated machines, a row for every case."""

import json
import sys
from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import save_text


def main(generators: list, draws: list, listed: dict, page: str) -> None:
    """A table for every list of cases."""
    sys.path.insert(0, str(Path(generators[0]).parent))
    import blind_machines
    import mechanical_classes

    read = [json.loads(Path(path).read_text(encoding="utf-8")) for path in draws]
    drawn = [blind_machines.Outcome(**each) for each in read]
    save_text(blind_machines.page(mechanical_classes.generators(), listed, drawn), page)


if __name__ == "__main__":
    process.run(main, snakemake)
