"""The configuration of an example: what a schema cannot check, before any job.

A YAML file is data: its shape is checked by :mod:`leastaction.schema`, its expressions
by the whitelist parser, its units by dimensional analysis. All problems are reported.
"""

import copy
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module

import numpy as np

from leastaction import simulate
from leastaction.mechanics.candidates import candidates
from leastaction.mechanics.density_library import density_candidates
from leastaction.mechanics.expressions import unknown
from leastaction.mechanics.field_system import FieldSystem
from leastaction.mechanics.fokker_planck import StationaryEquation
from leastaction.mechanics.from_config import (
    declared_units,
    is_field,
    system_from_config,
)
from leastaction.mechanics.library_from_config import library_from_config
from leastaction.mechanics.system import System
from leastaction.mechanics.units import check_dimensions
from leastaction.publish.check import publish_problems
from leastaction.recipe_checks import recipe_problems
from leastaction.schema import ConfigError
from leastaction.shadow_settings import shadow_problems
from leastaction.simulate.initial_state import (
    field_initial_states,
    initial_expressions,
)
from leastaction.simulate.runge_kutta import input_expressions
from leastaction.simulate.strong_taylor import check_noise
from leastaction.simulate.time_grid import step_count

# Targets and folders of the workflow's own.
RESERVED = {"papers", "beyond", "studies", "figures", "tables", "scorecard"} | {
    "recordings",
    "stand_ins",
    "import",
    "record",
    "predict",
    "plot_recording",
    "write_law",
    "simulate",
    "differentiate",
    "assemble",
    "identify",
    "validate",
    "plot_example",
    "plot_paper",
    "plot_study",
    "tabulate",
    "score",
    "collect_scores",
}


def merge(base: Mapping, overrides: Mapping) -> dict:
    """`base` with `overrides` merged into it, key by key and level by level."""
    result = copy.deepcopy(dict(base))
    for key, value in overrides.items():
        if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merge(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def without_nulls(config: Mapping, overrides: Mapping) -> dict:
    """`config` without the keys that `overrides` sets to null."""
    result = {}
    for key, value in config.items():
        if key in overrides and overrides[key] is None:
            continue
        inner = overrides.get(key)
        deeper = isinstance(value, Mapping) and isinstance(inner, Mapping)
        result[key] = without_nulls(value, inner) if deeper else value
    return result


def check_label(kind: str, name: str) -> None:
    """Check the name of a paper, an example or a variant: it names files, targets.

    Raises
    ------
    ConfigError
    """
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", str(name)) or name in RESERVED:
        reason = (
            f"{name!r} cannot name it: use letters, digits and underscores, a letter "
            f"first, and none of {', '.join(sorted(RESERVED))}"
        )
        raise ConfigError(f"{kind} {name!r}", [reason])


def check_overrides(paper: str, name: str, example: Mapping, written) -> None:
    """Tell a misspelt override from a new example, which needs a system.

    Raises
    ------
    ConfigError
    """
    if isinstance(example, Mapping) and "system" not in example:
        known = [n for p, n in written if p == paper and n != name]
        reason = f"{unknown('example', name, known)}; a new example needs a system"
        if "-" in name:
            reason += "; override a variant under `variants` of its example"
        raise ConfigError(f"example {paper}/{name}", [reason])


def without_examples(config: Mapping, removed: Collection[tuple[str, str]]) -> dict:
    """`config` whose figures, tables and studies do not name the `removed` examples.

    Those that name no other examples are left out.

    Parameters
    ----------
    config
        Sections `papers` and `studies`.
    removed
        (paper, example) of examples that an override sets to null, variants included.
    """
    config = copy.deepcopy(dict(config))

    def kept(paper: str, names: list[str]) -> list[str]:
        return [n for n in names if (paper, n.partition("-")[0]) not in removed]

    for paper, settings in config["papers"].items():
        for part in ("figures", "tables"):
            for number, entry in list(settings.get(part, {}).items()):
                if "examples" in entry:
                    entry["examples"] = kept(paper, entry["examples"])
                    if not entry["examples"]:
                        del settings[part][number]
    for study in config["studies"].values():
        for paper, names in study["examples"].items():
            study["examples"][paper] = kept(paper, names)
        study["examples"] = {p: n for p, n in study["examples"].items() if n}
    return config


def check_references(config: Mapping, examples: Collection[tuple[str, str]]) -> None:
    """Check that the examples and papers that `config` names exist.

    Raises
    ------
    ConfigError
    """
    problems = [
        f"studies.{study}.examples.{paper}: {unknown('example', name, known)}"
        for study, settings in config["studies"].items()
        for paper, names in settings["examples"].items()
        for known in [[n for p, n in examples if p == paper]]
        for name in names
        if name not in known
    ]
    problems += [
        f"papers.{paper}.{part}.{number}.examples: {unknown('example', name, known)}"
        for paper, settings in config["papers"].items()
        for part in ("figures", "tables")
        for number, entry in settings.get(part, {}).items()
        for known in [[n for p, n in examples if p == paper]]
        for name in entry.get("examples", [])
        if name not in known
    ]
    papers = sorted({paper for paper, _ in examples})
    problems += [
        f"papers: {unknown('paper', paper, papers)}"
        for paper in config["papers"]
        if paper not in papers
    ]
    if problems:
        raise ConfigError("the configuration", problems)


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
    if system is not None:
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
    if not set(wanted) & set(known):
        problems.append(
            f"validate.estimators: none of {wanted} is an estimator of this example; "
            f"these are {known}"
        )
    problems += recipe_problems(example)
    problems += shadow_problems(example)
    if problems:
        raise ConfigError(where, problems)


def with_variants(name: str, example: Mapping) -> Iterator[tuple[str, dict]]:
    """The example itself, then each of its variants as ``<name>-<variant>``.

    A variant has none of the paper's printed numbers and formulas, and nothing that it
    overrides with null.
    """
    if not isinstance(example, Mapping):
        raise ConfigError(f"example {name}", ["it is not a list of 'key: value'"])
    check_label("example", name)
    base = {key: value for key, value in example.items() if key != "variants"}
    yield name, copy.deepcopy(base)
    own = {k: v for k, v in (base.get("publish") or {}).items() if k == "targets"}
    for variant, overrides in (example.get("variants") or {}).items():
        check_label("variant", variant)
        merged = merge({**base, "publish": own}, overrides)
        yield f"{name}-{variant}", without_nulls(merged, overrides)


def _check_simulation(example: Mapping, system: System | FieldSystem) -> None:
    settings = example["simulate"]
    makes_field = simulate.MAKES[settings["method"]] == "field_observations"
    if makes_field != is_field(example["system"]):
        kinds = {False: "coordinates", True: "a field"}
        raise ValueError(
            f"method {settings['method']!r} simulates {kinds[makes_field]}, but the "
            f"system has {kinds[not makes_field]}"
        )
    initial_expressions(settings["initial_state"], system)
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
    library = library_from_config(example["library"], system)
    _ = library.status
    if isinstance(system, FieldSystem):
        density_candidates(example["library"]["volatility"], system.field)
        _ = library.forces, library.at_points
    else:
        names = [s.name for s in system.state]
        candidates(example["library"].get("volatility", []), names)


def _attempt(problems: list[str], where: str, action: Callable):
    try:
        return action()
    except (ValueError, KeyError) as error:
        problems.append(f"{where}: {error}")
        return None
