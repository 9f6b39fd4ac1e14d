"""Examples of the papers, as the workflow completes them."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from leastaction.core.families import declared_units, system_from_config
from leastaction.core.method import step
from leastaction_papers.configuration.example import completed

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "config" / "examples"


def example_of(paper: str, name: str, **changes: Mapping) -> dict:
    """An example, completed; `changes` are put over entries of its sections."""
    written = yaml.safe_load((EXAMPLES / paper / f"{name}.yaml").read_text())
    written.pop("variants", None)
    for section, entries in changes.items():
        written[section] = {**written[section], **entries}
    return completed(written, name)


def observations_of(example: Mapping, *, key: str, seed: int, replicate: int = 0):
    """What the stage `simulate` makes of an example."""
    return step("simulate", example["simulate"])(
        system_from_config(example["system"]),
        example=key,
        seed=seed,
        replicate=replicate,
        units=declared_units(example["system"]),
    )
