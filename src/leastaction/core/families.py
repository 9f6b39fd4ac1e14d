"""Families of methods, found by the names of their folders and files.

A family is a folder of this package, named by what was measured. It brings what its
files are called after: `contracts.py` its datasets, `recipes.py` its steps and recipes,
`figures/` its figures, `scores.py` its rows of the scorecard. Its package says which
examples are its own, by a function ``measures(example)``, and where its tables are. The
core and the report import no family; they ask here.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
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
    found = (module(family, name) for family in FAMILIES)
    yield from (one for one in found if one is not None)


@cache
def module(family: str, name: str) -> ModuleType | None:
    """Module `name` of a family, if it has it."""
    if PACKAGE.joinpath(family, f"{name}.py").exists():
        return import_module(f"leastaction.{family}.{name}")
    return None


def family_of(example: Mapping) -> str:
    """Name of the family that an example belongs to: the one that `measures` it.

    Raises
    ------
    ValueError
        If there is none.
    """
    for family in FAMILIES:
        package = import_module(f"leastaction.{family}")
        if hasattr(package, "measures") and package.measures(example):
            return family
    raise ValueError("no family measures what this example simulates")


def registered(name: str) -> dict[str, str]:
    """Entries of the table `name`, such as ``SYSTEM``, of every family's package."""
    return {
        key: reference
        for family in FAMILIES
        for key, reference in getattr(
            import_module(f"leastaction.{family}"), name, {}
        ).items()
    }


def tables() -> dict[str, str]:
    """Function of every table, by its name, as ``family.module:name``.

    Those that show rollouts stand in ``TABLES_OF_ROLLOUTS`` of the family's package,
    the others in ``TABLES``.
    """
    return registered("TABLES") | registered("TABLES_OF_ROLLOUTS")


def figure_folders() -> Iterator[tuple[str, ModuleType]]:
    """Package ``leastaction.<family>.figures`` of every family that has one."""
    for family in FAMILIES:
        if PACKAGE.joinpath(family, "figures", "__init__.py").exists():
            name = f"leastaction.{family}.figures"
            yield name, import_module(name)


@cache
def figures() -> dict[str, str]:
    """Module of every figure, by the name of the figure; no module is imported.

    File ``<family>/figures/<name>.py`` has the function `name`. Further figures of a
    file are named in ``SHARED`` of ``figures/__init__.py``; a file whose name begins
    with an underscore is no figure, but imported by some.
    """
    found = {}
    for package, folder in figure_folders():
        files = PACKAGE.joinpath(*package.split(".")[1:]).glob("[!_]*.py")
        modules = {path.stem: path.stem for path in files}
        for file, names in getattr(folder, "SHARED", {}).items():
            modules |= dict.fromkeys(names, file)
        found |= {name: f"{package}.{modules[name]}" for name in sorted(modules)}
    return found


@cache
def example_figures() -> dict[str, dict[str, str]]:
    """By contract of the data, the figure that each file of an example shows."""
    found = {}
    for _, folder in figure_folders():
        found |= getattr(folder, "EXAMPLE", {})
    return found


def implementation(reference: str):
    """Object that ``family.module:name`` refers to, imported now.

    A name may have dots, as that of a method of a class.

    >>> implementation("core.sparse_regression:stlsq").__name__
    'stlsq'
    """
    module, _, name = reference.partition(":")
    return attrgetter(name)(import_module(f"leastaction.{module}"))
