"""What types cannot check of an example, before any job; all problems are reported.

Each family states what it requires of its examples (``<family>/examples.py``), a recipe
whether its steps fit. An example that did not change, read by the same sources, is
accepted from the cache: a plan imports no algebra.
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from leastaction.core import families
from leastaction.core.cache import cached
from leastaction.core.families import (
    declared_units,
    is_field,
    is_port,
    system_from_config,
)
from leastaction.core.method import step
from leastaction.core.recipe import Recipe, raised
from leastaction.core.settings import ConfigError
from leastaction.core.simulation import step_count
from leastaction.core.sources import package_digest
from leastaction_papers import PAPERS
from leastaction_papers.configuration.sweep import Estimator


def accepted(example: Mapping, where: str) -> dict:
    """Return an example with its recommended methods and defaults, checked."""
    full = {}

    def check() -> dict | None:
        from leastaction_papers.configuration.example import completed

        full.update(completed(example, where))
        check_example(full, where)
        exact = json.loads(json.dumps(full)) == full
        return full if exact else None

    return cached(f"{example!r}{where}{package_digest()}", (), check) or full


def check_example(example: Mapping, where: str) -> None:
    """Check expressions, units, times, and whether methods fit.

    ConfigError lists all problems.
    """
    problems = list(dict.fromkeys(example_problems(example)))
    if problems:
        raise ConfigError(where, problems)


def example_problems(example: Mapping) -> Iterator[str]:
    """Everything that would stop a job of this example, or mislead its reader."""
    from leastaction_papers.configuration.example import publish_problems

    yield from publish_problems(example)
    system, simulation = None, example["simulate"]
    try:
        system = system_from_config(example["system"])
    except (ValueError, KeyError) as error:
        yield f"system: {error}"
    yield from _other_kind(example)
    recipes = {n: Estimator(**recipe) for n, recipe in example["estimators"].items()}
    yield from _coordinate_problems(example, system)
    for family in _concerned(example, recipes.values()):
        module = families.module(family, "examples")
        yield from module.problems(example, system) if module else ()
    yield from raised(
        "simulate",
        lambda: step_count(simulation["duration"], simulation["time_step"]),
    )
    known = list(example["estimators"])
    chosen = example["validate"].get("estimators", known)
    if chosen and not set(chosen) & set(known):
        yield (
            f"validate.estimators: none of {chosen} is an estimator of this example; "
            f"these are {known}"
        )
    for name, recipe in recipes.items():
        for problem in recipe.problems(example):
            yield f"estimators.{name}: {problem}"


def _concerned(example: Mapping, recipes: Iterable[Recipe]) -> list[str]:
    """Papers whose methods an example uses, and the one that knows random forces."""
    used = [step("simulate", example["simulate"])]
    used += [method for recipe in recipes for method in recipe.steps()]
    packages = [type(method).__module__.rpartition(".")[0] for method in used]
    names = [package.removeprefix("leastaction.") for package in packages]
    return list(dict.fromkeys(PAPERS.get(name, name) for name in ["ensembles", *names]))


def _other_kind(example: Mapping) -> Iterator[str]:
    """A scheme that simulates other systems."""
    system, scheme = example["system"], step("simulate", example["simulate"])
    kinds = {"a field": is_field(system), "a port-Hamiltonian system": is_port(system)}
    described = next((kind for kind, is_it in kinds.items() if is_it), "coordinates")
    if scheme.simulates != described:
        yield (
            f"simulate: method {scheme.name()!r} simulates {scheme.simulates}, but "
            f"'system' describes {described}; change one of them"
        )


def _coordinate_problems(example: Mapping, system) -> Iterator[str]:
    """Units, initial states and candidates of a system of coordinates."""
    from leastaction.core.initial_state import initial_expressions
    from leastaction.core.library import candidates
    from leastaction.core.system import System
    from leastaction.core.units import check_dimensions

    scheme, start = step("simulate", example["simulate"]), example["simulate"]
    draws = (scheme.initial_state.random or {}).values()
    if any(draw.halton for draw in draws) and not scheme.fills_boxes:
        yield (
            "simulate: initial_state.random: 'halton' is for method 'runge_kutta', not "
            f"for {scheme.name()!r}, whose starts are random; use 'uniform'"
        )
    if not isinstance(system, System):
        return
    units = declared_units(example["system"])
    yield from raised("system", lambda: check_dimensions(system, units))
    yield from raised(
        "simulate", lambda: initial_expressions(start["initial_state"], system)
    )

    def check_library():
        system.library(example["library"]).check_references()
        names = [s.name for s in system.state]
        candidates(example["library"].get("volatility", []), names)

    if "library" in example:
        yield from raised("library", check_library)
