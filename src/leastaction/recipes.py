"""Recipes of every family: ``la.recipes.<family>.recommended()``.

A family is named by what was measured: `ensembles`, `fields`, `trajectories`,
`recordings`, `snapshots`, `densities`, `ports`. ``help(la.recipes.ensembles)`` says
what its recipes read and shows them at work. The recipes of papers are those of
:mod:`leastaction_papers.recipes`.

Examples
--------
>>> import leastaction as la
>>> la.recipes.trajectories.recommended(largest=6).identify.largest
6
>>> la.recipes.ports.kinds
('port', 'driven_port')
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from leastaction.core.families import FAMILIES, unknown
from leastaction.core.method import Step
from leastaction.core.recipe import Recipe
from leastaction.core.settings import complete


class FamilyRecipes:
    """Recipes of one family, as a module `declared` has them."""

    def __init__(self, declared: ModuleType):
        self._declared = declared
        self.__doc__ = declared.__doc__

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of data that have a recommended recipe; the first is the default."""
        return tuple(self._declared.RECOMMENDED)

    def recommended(self, kind: str | None = None, **settings: Any) -> Recipe:
        """The best recipe that we know for a kind of data; see :func:`compose`."""
        return of_kind(self._declared.RECOMMENDED, kind, settings)


def of_kind(recipes: Mapping, kind: str | None, settings: Mapping) -> Recipe:
    """Recipe of a kind of data, of the first one if None; see :func:`compose`."""
    kind = next(iter(recipes)) if kind is None else kind
    if kind not in recipes:
        raise ValueError(unknown("kind of data", kind, recipes))
    return compose(recipes[kind], settings)


def compose(methods: Sequence[type[Step]], settings: Mapping) -> Recipe:
    """Recipe of methods, with settings by name.

    A setting goes to the first step that has one of this name, or whose `stages` have;
    ``identify={...}`` and the like address one step, ``volatility={...}`` that of the
    volatility. ValueError if no step has such a setting, or one is missing or out of
    bounds.

    >>> from leastaction.trajectories.recipes import Gram, JointSpline, NullVector
    >>> recipe = compose((JointSpline, Gram, NullVector), {"largest": 5, "samples": 99})
    >>> recipe.identify.largest, recipe.assemble.samples
    (5, 99)
    """
    sections = {method.stage: {"method": method.name()} for method in methods}
    for name, value in settings.items():
        if name not in sections:
            _set(sections, methods, name, value)
        elif isinstance(value, Mapping):
            sections[name] |= value
        else:
            raise ValueError(
                f"{name} is {value!r}; expected settings by name, such as "
                f'{name}={{"method": {sections[name]["method"]!r}}}'
            )
    volatility = sections.pop("volatility", None)
    if volatility:
        sections["identify"].setdefault("volatility", volatility)
    recipe = Recipe(**complete(sections, Recipe, "the recipe"))
    if problems := [*recipe.misfits()]:
        raise ValueError("; ".join(problems))
    return recipe


def _default_stages(method: type[Step]) -> list[dict]:
    """Stages of a method that works in stages; else none."""
    field = method.model_fields.get("stages")
    if field is None or field.is_required():
        return []
    return [stage.plain() for stage in field.get_default(call_default_factory=True)]


def _set(sections: Mapping, methods: Sequence[type[Step]], name: str, value) -> None:
    """Put a setting into the section of the first method that has it."""
    for method in methods:
        part = sections[method.stage]
        if name in method.model_fields:
            part[name] = value
            return
        stages = _default_stages(method)
        if stages and name in stages[0]:
            part["stages"] = [s | {name: value} for s in part.get("stages", stages)]
            return
    known = dict.fromkeys(name for method in methods for name in method.model_fields)
    raise ValueError(unknown("setting", name, [n for n in known if n != "method"]))


@cache
def _family(name: str) -> FamilyRecipes:
    return FamilyRecipes(import_module(f"leastaction.{name}.recipes"))


def __getattr__(name: str) -> FamilyRecipes:
    if name.startswith("_") or name not in FAMILIES:
        raise AttributeError(unknown("family", name, FAMILIES), name=name)
    return _family(name)


def __dir__() -> list[str]:
    return [*FAMILIES, "FamilyRecipes", "compose"]
