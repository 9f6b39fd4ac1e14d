"""Families of methods, found by the names of their folders and files.

A family is a folder of this package, named by what was measured. It brings what its
files are called after: `contracts.py` its datasets, `recipes.py` its steps and recipes,
`figures/` its figures, `scores.py` its rows of the scorecard. Its package says which
examples are its own, by a function ``measures(example)``, and where its tables are. The
core and the report import no family; they ask here.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType

PLAIN = re.compile("[A-Za-z][A-Za-z0-9_]{0,79}")
# Of names in messages.
LONGEST_NAME = 80
MOST_SHOWN = 60
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
    """Module, or package, `name` of a family, if it has it."""
    path = PACKAGE.joinpath(family, name)
    if path.with_suffix(".py").exists() or path.joinpath("__init__.py").exists():
        return import_module(f"leastaction.{family}.{name}")
    return None


def family_of(example: Mapping) -> str:
    """Name of the family that `measures` an example; ValueError if there is none."""
    for family in FAMILIES:
        package = import_module(f"leastaction.{family}")
        if hasattr(package, "measures") and package.measures(example):
            return family
    raise ValueError("no family measures what this example simulates")


def registered(name: str) -> dict[str, str]:
    """Entries of the table `name`, such as ``SYSTEM``, of every family's package."""
    packages = (import_module(f"leastaction.{family}") for family in FAMILIES)
    found = (getattr(package, name, {}).items() for package in packages)
    return {key: reference for entries in found for key, reference in entries}


def tables() -> dict[str, str]:
    """Function of every table, by its name, as ``family.module:name``."""
    return registered("TABLES") | registered("TABLES_OF_ROLLOUTS")


@cache
def figures() -> dict[str, str]:
    """Module of every figure, by the name of the figure; no module is imported.

    File ``<family>/figures/<name>.py`` has the function `name`. Further figures of a
    file are named in ``SHARED`` of ``figures/__init__.py``; a file whose name begins
    with an underscore is no figure.
    """
    found = {}
    for folder in modules("figures"):
        files = Path(folder.__file__).parent.glob("[!_]*.py")
        file_of = {path.stem: path.stem for path in files}
        for file, names in getattr(folder, "SHARED", {}).items():
            file_of |= dict.fromkeys(names, file)
        found |= {n: f"{folder.__name__}.{file_of[n]}" for n in sorted(file_of)}
    return found


@cache
def example_figures() -> dict[str, tuple[str, ...]]:
    """By contract or kind of the data, the figures of an example."""
    found = {}
    for folder in modules("figures"):
        found |= getattr(folder, "EXAMPLE", {})
    return found


def implementation(reference: str):
    """Object, or method of a class, that ``family.module:name`` names, imported now.

    >>> implementation("core.sparse_regression:stlsq").__name__
    'stlsq'
    """
    module, _, name = reference.partition(":")
    return attrgetter(name)(import_module(f"leastaction.{module}"))


def is_field(config: Mapping) -> bool:
    """Whether a `system` section describes a field."""
    return "field" in config


def is_port(config: Mapping) -> bool:
    """Whether a `system` section describes a port-Hamiltonian system."""
    return "states" in config


def declared_units(config: Mapping) -> dict[str, str]:
    """Unit of every coordinate (state and input, or field) and of every parameter."""
    if is_field(config):
        quantities = {config["field"]["name"]: config["field"]}
    elif is_port(config):
        chart = (config.get("chart") or {}).get("coordinates") or {}
        quantities = {**config["states"], **(config.get("inputs") or {}), **chart}
    else:
        quantities = config["coordinates"]
    return {
        name: entry["unit"]
        for name, entry in {**quantities, **config["parameters"]}.items()
    }


def system_reference(given: Mapping) -> str:
    """Module and class of systems that `given` names."""
    known = registered("SYSTEM").items()
    return next((name for key, name in known if key in given), "core.system:System")


def system_class(given: Mapping) -> type:
    """Class of systems that a section `system`, or the attributes of a model, name.

    Families list the classes of their own in the table ``SYSTEM`` of their package.
    """
    return implementation(system_reference(given))


def system_from_config(config: Mapping):
    """System described by the `system` section of an example, else ValueError."""
    return system_class(config).from_config(config)


def is_plain(name) -> bool:
    """Whether a name of a YAML file or of a dataset can only be read as a name.

    >>> is_plain("theta_1"), is_plain("x = 0"), is_plain("__import__")
    (True, False, False)
    """
    return isinstance(name, str) and bool(PLAIN.fullmatch(name))


def unknown(kind: str, given, known: Iterable) -> str:
    """One sentence about a name that is not among `known`, with a suggestion."""
    names, given = [str(name) for name in known], str(given)[:LONGEST_NAME]
    close = difflib.get_close_matches(given, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    shown = ", ".join(names[:MOST_SHOWN]) or "none"
    more = f", ... ({len(names)} in all)" if len(names) > MOST_SHOWN else ""
    return f"unknown {kind} {given!r}{hint} Known: {shown}{more}"
