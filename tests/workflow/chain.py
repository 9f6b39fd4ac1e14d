"""The stages of an example in one process, as their rules call them.

    python chain.py EXAMPLE.yaml ESTIMATOR FOLDER

makes the files of one estimator in a folder up to its model.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import yaml

from leastaction.core.jobs import FILES
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
    apart: bool = False,
    validated: bool = True,
) -> None:
    """Make the files of one estimator, in one job or each stage in its own."""
    example = accepted(example, "it") | {"key": "tests/it", "seed": 1}
    settings = {stage: given(example, estimator) for stage, given in SETTINGS.items()}
    paths = {f: folder / f"{f}.nc" for f in ("observations", *FILES, "rollout")}
    script("simulate")(settings["simulate"], paths["observations"])
    before = None
    for files in [[file] for file in FILES] if apart else [FILES]:
        made = {file: paths[file] for file in files}
        script("estimate")(paths["observations"], settings, made, before)
        before = paths[files[-1]]
    if validated:
        script("validate")(before, settings["validate"], paths["rollout"])


if __name__ == "__main__":
    path, estimator, folder = sys.argv[1:]
    content = yaml.safe_load(Path(path).read_text())
    make(content, estimator, Path(folder), validated=False)
