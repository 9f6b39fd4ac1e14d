"""The configuration of an example: completed with defaults, checked before any job.

A YAML file is data. Its shape is checked against the schema, its expressions by the
whitelist parser, its units by dimensional analysis; all problems are reported at once.
"""

import contextlib
import copy
import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from leastaction import assemble, identify
from leastaction.mechanics.candidates import candidates
from leastaction.mechanics.euler_lagrange import velocity_names
from leastaction.mechanics.library import Library
from leastaction.mechanics.system import System
from leastaction.mechanics.units import check_dimensions
from leastaction.simulate.initial_state import initial_expressions
from leastaction.simulate.time_grid import step_count

# Targets and folders of the workflow's own.
RESERVED = {"papers", "beyond", "studies", "figures", "tables", "scorecard"}


class ConfigError(ValueError):
    """What is wrong with a configuration, all of it."""

    def __init__(self, where: str, problems: list[str]):
        self.problems = problems
        listing = "\n".join(f"  - {problem}" for problem in problems)
        super().__init__(f"{where} cannot be used:\n{listing}")


def merge(base: Mapping, overrides: Mapping) -> dict:
    """`base` with `overrides` merged into it, key by key and level by level."""
    result = copy.deepcopy(dict(base))
    for key, value in overrides.items():
        if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merge(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def complete(config: Mapping, schema: Mapping, where: str) -> dict:
    """Return `config` with the defaults of `schema` filled in.

    Raises
    ------
    ConfigError
        If the shape is wrong: a key that is misspelt or missing, a value of the wrong
        type, an unknown method.
    """
    if not isinstance(config, Mapping):
        raise ConfigError(where, ["the file is empty or is not a list of 'key: value'"])
    config = copy.deepcopy(dict(config))
    validator = _Validator(_inlined(schema, schema))
    found = [_explain(error) for error in validator.iter_errors(config)]
    if found:
        raise ConfigError(where, list(dict.fromkeys(found)))
    return config


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


def check_references(config: Mapping, examples: Collection[tuple[str, str]]) -> None:
    """Check that the examples and papers that `config` names exist.

    Raises
    ------
    ConfigError
    """
    problems = [
        f"studies.{study}.{paper}: {_unknown('example', name, known)}"
        for study, listed in config["studies"].items()
        for paper, names in listed.items()
        for known in [[n for p, n in examples if p == paper]]
        for name in names
        if name not in known
    ]
    papers = sorted({paper for paper, _ in examples})
    problems += [
        f"papers: {_unknown('paper', paper, papers)}"
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
    problems: list[str] = []
    system = _attempt(problems, "system", lambda: System.from_config(example["system"]))
    if system is not None:
        units = {
            name: entry["unit"]
            for section in ("coordinates", "parameters")
            for name, entry in example["system"][section].items()
        }
        _attempt(problems, "system", lambda: check_dimensions(system, units))
        _attempt(
            problems,
            "simulate",
            lambda: initial_expressions(example["simulate"]["initial_state"], system),
        )
        _attempt(problems, "library", lambda: _check_library(example, system))
    simulate = example["simulate"]
    _attempt(
        problems,
        "simulate",
        lambda: step_count(simulate["duration"], simulate["time_step"]),
    )
    for name, estimator in example["estimators"].items():
        problems += _misfits(f"estimators.{name}", estimator)
    if problems:
        raise ConfigError(where, problems)


def with_variants(name: str, example: Mapping) -> Iterator[tuple[str, dict]]:
    """The example itself, then each of its variants as ``<name>-<variant>``.

    A variant has none of the paper's printed numbers and formulas.
    """
    if not isinstance(example, Mapping):
        raise ConfigError(f"example {name}", ["it is not a list of 'key: value'"])
    check_label("example", name)
    base = {key: value for key, value in example.items() if key != "variants"}
    yield name, copy.deepcopy(base)
    own = {k: v for k, v in (base.get("publish") or {}).items() if k == "targets"}
    for variant, overrides in (example.get("variants") or {}).items():
        check_label("variant", variant)
        yield f"{name}-{variant}", merge({**base, "publish": own}, overrides)


def _check_library(example: Mapping, system: System) -> None:
    names = (*system.coordinates, *velocity_names(system.coordinates))
    library = Library.from_config(example["library"], system.coordinates)
    _ = library.status
    candidates(example["library"]["volatility"], names)


def _misfits(where: str, estimator: Mapping) -> Iterator[str]:
    """Neighbouring methods of a recipe that do not understand each other's files."""
    chain = (
        ("assemble", "differentiate", assemble.NEEDS),
        ("identify", "assemble", identify.NEEDS),
    )
    for stage, before, needs in chain:
        method, given = estimator[stage]["method"], estimator[before]["method"]
        if needs[method] != given:
            yield (
                f"{where}: {stage} method {method!r} needs {before} method "
                f"{needs[method]!r}, not {given!r}"
            )
    volatility = estimator["identify"]["volatility"]["method"]
    needed = identify.VOLATILITY_NEEDS.get(volatility)
    if needed and estimator["identify"]["method"] != needed:
        yield (
            f"{where}: volatility method {volatility!r} needs identify method "
            f"{needed!r}, not {estimator['identify']['method']!r}"
        )


def _attempt(problems: list[str], where: str, action: Callable):
    try:
        return action()
    except (ValueError, KeyError) as error:
        problems.append(f"{where}: {error}")
        return None


def _fill_properties(validator, properties, instance, schema):
    if isinstance(instance, dict):
        for name, part in properties.items():
            if "default" in part and instance.get(name) is None:
                instance[name] = copy.deepcopy(part["default"])
    yield from Draft202012Validator.VALIDATORS["properties"](
        validator, properties, instance, schema
    )


def _choose_by_method(validator, branches, instance, schema):
    """`oneOf` decided by the value of `method`, so that errors concern one branch."""
    known = {branch["properties"]["method"]["const"]: branch for branch in branches}
    usual = schema.get("default", {}).get("method")
    if isinstance(instance, dict) and usual:
        instance.setdefault("method", usual)
    if not isinstance(instance, dict) or "method" not in instance:
        yield ValidationError(f"expected {{method: ...}} with one of {list(known)}")
    elif instance["method"] not in known:
        yield ValidationError(_unknown("method", instance["method"], known))
    else:
        yield from validator.descend(instance, known[instance["method"]])


def _inlined(part, root: Mapping):
    """`part` of a schema with its ``$ref`` replaced by what they point to."""
    if isinstance(part, Mapping):
        if "$ref" in part:
            return _inlined(root["$defs"][part["$ref"].rpartition("/")[2]], root)
        return {key: _inlined(value, root) for key, value in part.items()}
    if isinstance(part, list):
        return [_inlined(value, root) for value in part]
    return part


_Validator = extend(
    Draft202012Validator,
    {"properties": _fill_properties, "oneOf": _choose_by_method},
)


def _explain(error: ValidationError) -> str:
    """One line: where, what was given, what was expected."""
    where = ".".join(str(part) for part in error.absolute_path) or "top level"
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        extra = [key for key in error.instance if key not in known]
        return f"{where}: " + "; ".join(_unknown("key", key, known) for key in extra)
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        parts = [
            f"{key!r} is missing ({_describe(error.schema, key)})" for key in missing
        ]
        return f"{where}: " + "; ".join(parts)
    if error.validator == "type":
        wanted = error.validator_value
        wanted = wanted if isinstance(wanted, str) else " or ".join(wanted)
        about = error.schema.get("description", "")
        return (
            f"{where}: expected {_WORDS.get(wanted, wanted)}, got "
            f"{_shown(error.instance)}" + (f". {about}" if about else "")
        )
    return f"{where}: {error.message}"


_WORDS = {
    "number": "a number",
    "integer": "a whole number",
    "object": "'key: value'",
    "string": "text",
}


def _shown(value) -> str:
    text = f"{type(value).__name__} {value!r}"
    if isinstance(value, str):
        text = f"the text {value!r}"
        with contextlib.suppress(ValueError):
            text += f"; for YAML a number needs a point, write {float(value):.1e}"
    return text


def _describe(schema: Mapping, key: str) -> str:
    return schema.get("properties", {}).get(key, {}).get("description", "see docs")


def _unknown(kind: str, given, known) -> str:
    names = [str(name) for name in known]
    close = difflib.get_close_matches(str(given), names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"unknown {kind} {given!r}{hint} Known: {', '.join(names) or 'none'}"
