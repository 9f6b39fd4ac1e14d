"""Families of methods, found by the names of their folders and files.

A family is a folder of this package, named by what was measured. It brings what its
files are called after: `contracts.py` its datasets, `recipes.py` its steps and recipes,
`figures/` its figures. The core and the report import no family; they ask here.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parents[1]
FAMILIES = (
    "ensembles",
    "fields",
    "trajectories",
    "recordings",
    "densities",
    "snapshots",
    "ports",
)


def modules(name: str) -> Iterator[ModuleType]:
    """Module `name`, such as ``contracts``, of every family that has it."""
    for family in FAMILIES:
        if PACKAGE.joinpath(family, f"{name}.py").exists():
            yield import_module(f"leastaction.{family}.{name}")


def registered(name: str) -> dict[str, str]:
    """Entries of the table `name`, such as ``SYSTEM``, of every family's package."""
    return {
        key: reference
        for family in FAMILIES
        for key, reference in getattr(
            import_module(f"leastaction.{family}"), name, {}
        ).items()
    }


def implementation(reference: str):
    """Object that ``family.module:name`` refers to, imported now.

    >>> implementation("core.stlsq:stlsq").__name__
    'stlsq'
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(f"leastaction.{module}"), name)
