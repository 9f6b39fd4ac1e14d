"""What a schema cannot check of an example, before any job.

Expressions are checked by the whitelist parser, units by dimensional analysis, methods
by what they need. All problems are reported.
"""

from collections.abc import Callable, Mapping
from importlib import import_module

import numpy as np

from leastaction.configuration.recipe_checks import recipe_problems
from leastaction.configuration.schema import ConfigError
from leastaction.core.candidates import candidates
from leastaction.core.external_input import input_expressions
from leastaction.core.from_config import (
    declared_units,
    is_field,
    is_port,
    system_from_config,
)
from leastaction.core.initial_state import (
    initial_expressions,
)
from leastaction.core.stages import simulate
from leastaction.core.system import System
from leastaction.core.time_grid import step_count
from leastaction.core.units import check_dimensions
from leastaction.densities.fokker_planck import StationaryEquation
from leastaction.ensembles.strong_taylor import check_noise
from leastaction.fields.density_library import density_candidates
from leastaction.fields.field_system import FieldSystem
from leastaction.fields.initial_state import PLACES, field_initial_states
from leastaction.ports.port_settings import check_kind, check_port
from leastaction.report.check import publish_problems
from leastaction.snapshots.shadow_settings import shadow_problems


def check_example(example: Mapping, where: str) -> None:
    """Check what a schema cannot: expressions, units, times, methods that fit.

    Raises
    ------
    ConfigError
        Listing all problems.
    """
    problems: list[str] = list(publish_problems(example))
    given = example["system"]
    system = _attempt(problems, "system", lambda: system_from_config(given))
    if system is not None and is_port(given):
        _attempt(problems, "system", lambda: check_port(example, system, problems))
    elif system is not None:
        units = declared_units(given)
        _attempt(problems, "system", lambda: check_dimensions(system, units))
        if not is_field(given):
            _attempt(problems, "system", lambda: check_noise(system))
        _attempt(problems, "simulate", lambda: _check_simulation(example, system))
        if "library" in example:
            _attempt(problems, "library", lambda: _check_library(example, system))
    _attempt(
        problems,
        "simulate",
        lambda: step_count(
            example["simulate"]["duration"], example["simulate"]["time_step"]
        ),
    )
    known = list(example["estimators"])
    wanted = example["validate"].get("estimators", known)
    if wanted and not set(wanted) & set(known):
        problems.append(
            f"validate.estimators: none of {wanted} is an estimator of this example; "
            f"these are {known}"
        )
    problems += recipe_problems(example)
    problems += shadow_problems(example)
    if problems:
        raise ConfigError(where, problems)


def _check_simulation(example: Mapping, system: System | FieldSystem) -> None:
    settings = example["simulate"]
    check_kind(example)
    makes_field = simulate.MAKES[settings["method"]] == "field_observations"
    if makes_field != is_field(example["system"]):
        kinds = {False: "coordinates", True: "a field"}
        raise ValueError(
            f"method {settings['method']!r} simulates {kinds[makes_field]}, but the "
            f"system has {kinds[not makes_field]}"
        )
    places = PLACES if makes_field else ()
    initial_expressions(settings["initial_state"], system, places)
    random = settings["initial_state"].get("random", {})
    even = any("halton" in recipe for recipe in random.values())
    if even and settings["method"] != "runge_kutta":
        raise ValueError(
            f"initial_state.random: 'halton' is for method 'runge_kutta', not for "
            f"{settings['method']!r}, whose starts are random; use 'uniform'"
        )
    if simulate.MAKES[settings["method"]] in simulate.DENSITIES:
        import_module(simulate.METHODS[settings["method"]]).check(system, settings)
        StationaryEquation.from_config(example["library"], system.coordinates)
    if settings["method"] == "runge_kutta":
        drawn = tuple(settings["initial_state"].get("random", {}))
        input_expressions(system, settings["input"], drawn)
        if system.wiener_processes:
            raise ValueError(
                "method 'runge_kutta' knows no random force, but system.volatility "
                "has one; use 'strong_taylor'"
            )
    if makes_field:
        draw = field_initial_states(settings["initial_state"], system)
        start = draw(np.random.default_rng(0))
        scheme = import_module(simulate.METHODS[settings["method"]])
        scheme.check(system, start[None], settings["time_step"])


def _check_library(example: Mapping, system: System | FieldSystem) -> None:
    library = system.library(example["library"])
    if isinstance(system, FieldSystem):
        _ = library.status
        density_candidates(example["library"]["volatility"], system.field)
        _ = library.forces, library.at_points
    else:
        library.check_references()
        names = [s.name for s in system.state]
        candidates(example["library"].get("volatility", []), names)


def _attempt(problems: list[str], where: str, action: Callable):
    try:
        return action()
    except (ValueError, KeyError) as error:
        problems.append(f"{where}: {error}")
        return None
