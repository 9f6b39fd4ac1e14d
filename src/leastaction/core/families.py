"""Families of methods, found by the names of their folders and files.

A family is a folder of this package, named by what was measured. It brings what its
files are called after: `contracts.py` its datasets, `recipes.py` its steps and recipes,
`figures/` its figures. The core imports no family; it asks here.

Another package, such as that of the papers, brings further families by
:func:`add`. Such a package is imported only where a name is asked for that no family
of this one has (:func:`extend`).

Unknown names and wrong calls of what is public are refused with those that there are.
"""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec, resolve_name
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TypeVar

C = TypeVar("C", bound=type)
PLAIN = re.compile("[A-Za-z][A-Za-z0-9_]{0,79}")
# Of names in messages.
LONGEST_NAME = 80
MOST_SHOWN = 60
PACKAGE = Path(__file__).parents[1]
FAMILIES = (
    "ensembles",
    "fields",
    "trajectories",
    "likelihood",
    "recordings",
    "densities",
    "snapshots",
    "ports",
)
# Packages that bring further families when they are imported.
EXTENSIONS = ("leastaction_papers",)
_packages = [f"{PACKAGE.name}.{family}" for family in FAMILIES]
_caches = []


def of_families(function):
    """As :func:`functools.cache`, until another family is added."""
    cached = cache(function)
    _caches.append(cached.cache_clear)
    return cached


def add(packages: Iterable[str]) -> None:
    """Add families by the full names of their packages."""
    _packages.extend(name for name in packages if name not in _packages)
    for clear in _caches:
        clear()


def extend() -> bool:
    """Import the `EXTENSIONS` that are installed; whether they brought families."""
    before = len(_packages)
    for name in EXTENSIONS:
        if find_spec(name):
            import_module(name)
    return len(_packages) > before


def modules(name: str) -> Iterator[ModuleType]:
    """Module `name`, such as ``contracts``, of every family that has it."""
    result = (module(package, name) for package in _packages)
    yield from (one for one in result if one is not None)


def module(package: str, name: str) -> ModuleType | None:
    """Module, or package, `name` of a package, if it has it."""
    full = f"{package}.{name}"
    return import_module(full) if find_spec(full) else None


def registered(name: str) -> dict[str, str]:
    """Entries of the table `name`, such as ``SYSTEM``, of every family's package.

    They are references ``module:name``, from the package if they begin with a dot.
    """
    packages = map(import_module, _packages)
    return {
        key: resolve_name(reference, package.__name__)
        for package in packages
        for key, reference in getattr(package, name, {}).items()
    }


@of_families
def figures() -> dict[str, str]:
    """Module of every figure, by the name of the figure; no module is imported.

    File ``<family>/figures/<name>.py`` has the function `name`. Further figures of a
    file are named in ``SHARED`` of ``figures/__init__.py``; a file whose name begins
    with an underscore is no figure.
    """
    result = {}
    for folder in modules("figures"):
        files = Path(folder.__file__).parent.glob("[!_]*.py")
        file_of = {path.stem: path.stem for path in files}
        for file, names in getattr(folder, "SHARED", {}).items():
            file_of |= dict.fromkeys(names, file)
        result |= {n: f"{folder.__name__}.{file_of[n]}" for n in sorted(file_of)}
    return result


def implementation(reference: str):
    """Object, or method of a class, that ``package.module:name`` names, imported now.

    >>> implementation("leastaction.core.sparse_regression:stlsq").__name__
    'stlsq'
    """
    module, _, name = reference.partition(":")
    return attrgetter(name)(import_module(module))


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


def system_reference(section: Mapping) -> str:
    """Module and class of systems that `section` names."""
    known = registered("SYSTEM").items()
    return next(
        (name for key, name in known if key in section),
        "leastaction.core.system:System",
    )


def system_class(section: Mapping) -> type:
    """Class of systems that a section `system`, or the attributes of a model, name.

    Families list the classes of their own in the table ``SYSTEM`` of their package.
    """
    return implementation(system_reference(section))


def system_from_config(config: Mapping):
    """System described by the `system` section of an example, else ValueError."""
    return system_class(config).from_config(config)


def is_plain(name) -> bool:
    """Whether a name of a YAML file or of a dataset can only be read as a name.

    >>> is_plain("theta_1"), is_plain("x = 0"), is_plain("__import__")
    (True, False, False)
    """
    return isinstance(name, str) and bool(PLAIN.fullmatch(name))


def unknown(kind: str, entry, known: Iterable) -> str:
    """One sentence about a name that is not among `known`, with a suggestion."""
    names, entry = [str(name) for name in known], str(entry)[:LONGEST_NAME]
    close = difflib.get_close_matches(entry, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    shown = ", ".join(names[:MOST_SHOWN]) or "none"
    more = f", ... ({len(names)} in all)" if len(names) > MOST_SHOWN else ""
    return f"unknown {kind} {entry!r}{hint} Known: {shown}{more}"


def states_arguments(cls: C) -> C:
    """Class whose public methods state their arguments when these do not fit.

    >>> @states_arguments
    ... class Law:
    ...     def simulate(self, q, qdot, time, force=None): ...
    >>> Law().simulate([1.0, 0.0], [0.0, 0.1])
    Traceback (most recent call last):
        ...
    TypeError: simulate: missing a required argument: 'time'; \
expected simulate(q, qdot, time, force=None)
    """
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, _stating(name, method))
    return cls


def _stating(name: str, method: Callable) -> Callable:
    signature = inspect.signature(method)
    own = list(signature.parameters.values())[1:]
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in own]
    expected = f"{name}{inspect.Signature(bare)}"

    @wraps(method)
    def call(*args, **named):
        try:
            signature.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{name}: {error}; expected {expected}") from None
        return method(*args, **named)

    return call
