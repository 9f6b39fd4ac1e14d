"""The stages of an example in one process, as their rules call them.

    python chain.py EXAMPLE.yaml ESTIMATOR FOLDER

makes the files of one estimator in a folder up to its model. In blocks of replicates
the last one is made first.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import yaml

from leastaction.core.jobs import FILES, STAGES
from leastaction_papers.configuration.checks import accepted
from leastaction_papers.configuration.jobs import SETTINGS

ROOT = Path(__file__).parents[2]


def script(stage):
    """`main` of the script of a stage."""
    path = ROOT / "workflow" / "scripts" / f"{stage}.py"
    spec = spec_from_file_location(f"script_{stage}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def make(
    example: dict,
    estimator: str,
    folder: Path,
    blocks: int | None = None,
    validated: bool = True,
) -> None:
    """Make the files of one estimator, in one job or each in blocks."""
    example = accepted(example, "it") | {"key": "tests/it", "seed": 1}
    total, count = example["simulate"]["replicates"], blocks or 1
    settings = {stage: given(example, estimator) for stage, given in SETTINGS.items()}
    stages = {stage: settings[stage] for stage in STAGES}

    def path(name: str, block: int) -> Path:
        return folder / (f"{name}.{block}.nc" if blocks else f"{name}.nc")

    for i in reversed(range(count)):
        block = {"block": [total * i // count, total * (i + 1) // count]}
        observations, made = path("observations", i), [path(f, i) for f in FILES]
        script("simulate")(settings["simulate"] | block, observations)
        script("estimate")(observations, {estimator: stages}, made)
        if validated:
            script("validate")(made[-1], settings["validate"], path("rollout", i))
    if blocks:
        for name in ("observations", *FILES, "rollout"):
            pieces = [path(name, i) for i in range(count)]
            script("gather")(pieces, folder / f"{name}.nc")


if __name__ == "__main__":
    path, estimator, folder = sys.argv[1:]
    content = yaml.safe_load(Path(path).read_text())
    make(content, estimator, Path(folder), validated=False)
