"""The five stages of an example in one process, as their rules call them.

    python chain.py EXAMPLE.yaml ESTIMATOR FOLDER [BLOCKS]

makes the files of one estimator in a folder, each stage in blocks of replicates, the
last one first. A block reads the same block of the stages before.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import yaml

from leastaction_papers.configuration.checks import accepted
from leastaction_papers.configuration.jobs import SETTINGS

ROOT = Path(__file__).parents[2]
FILES = {
    "simulate": "observations",
    "differentiate": "derivatives",
    "assemble": "library",
    "identify": "model",
    "validate": "rollout",
}


def script(stage):
    """`main` of the script of a stage."""
    path = ROOT / "workflow" / "scripts" / f"{stage}.py"
    spec = spec_from_file_location(f"script_{stage}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def make(
    example: dict, estimator: str, folder: Path, blocks: int | None = None
) -> None:
    """Make all files of one estimator."""
    example = accepted(example, "it") | {"key": "tests/it", "seed": 1}
    total = example["simulate"]["replicates"]
    paths = {name: folder / f"{name}.nc" for name in FILES.values()}
    for stage, name in FILES.items():
        settings = SETTINGS[stage](example, estimator)
        if blocks is None:
            given = {n: paths[n] for n in _inputs(stage)}
            script(stage)(**given, settings=settings, **{name: paths[name]})
            continue
        pieces = [folder / f"{name}.{i}.nc" for i in range(blocks)]
        for i in reversed(range(blocks)):
            given = {n: folder / f"{n}.{i}.nc" for n in _inputs(stage)}
            block = [total * i // blocks, total * (i + 1) // blocks]
            more = {} if given else {"block": block}
            script(stage)(**given, settings=settings | more, **{name: pieces[i]})
        script("gather")(pieces, paths[name])


def _inputs(stage):
    return {
        "simulate": (),
        "differentiate": ("observations",),
        "assemble": ("observations", "derivatives"),
        "identify": ("observations", "library"),
        "validate": ("model",),
    }[stage]


if __name__ == "__main__":
    path, estimator, folder, *rest = sys.argv[1:]
    make(
        yaml.safe_load(Path(path).read_text()), estimator, Path(folder), *map(int, rest)
    )
