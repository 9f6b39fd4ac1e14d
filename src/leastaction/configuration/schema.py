"""Shape of a configuration: defaults filled in, every problem in one sentence."""

import contextlib
import copy
from collections.abc import Mapping

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from leastaction.core.unknown import unknown


class ConfigError(ValueError):
    """What is wrong with a configuration, all of it."""

    def __init__(self, where: str, problems: list[str]):
        self.problems = problems
        listing = "\n".join(f"  - {problem}" for problem in problems)
        super().__init__(f"{where} cannot be used:\n{listing}")


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
    validator = _Validator(inlined(schema))
    found = [_explain(error) for error in validator.iter_errors(config)]
    if found:
        raise ConfigError(where, list(dict.fromkeys(found)))
    return config


def _fill_properties(validator, properties, instance, schema):
    if isinstance(instance, dict):
        for name, part in properties.items():
            if "default" in part and instance.get(name) is None:
                instance[name] = copy.deepcopy(part["default"])
    yield from Draft202012Validator.VALIDATORS["properties"](
        validator, properties, instance, schema
    )


def _choose(validator, branches, instance, schema):
    """`oneOf` decided by one key, so that errors concern one branch."""
    for name in ("method", "kind"):
        if all(name in branch["properties"] for branch in branches):
            yield from _choose_by_name(validator, branches, instance, schema, name)
            return
    yield from _choose_by_key(validator, branches, instance)


def _choose_by_key(validator, branches, instance):
    """`oneOf` decided by which branch's first required key is there."""
    known = {branch["required"][0]: branch for branch in branches}
    given = [key for key in known if isinstance(instance, dict) and key in instance]
    if len(given) == 1:
        yield from validator.descend(instance, known[given[0]])
    else:
        found = " and ".join(map(repr, given)) or "neither"
        yield ValidationError(
            f"expected exactly one of the keys {' or '.join(map(repr, known))}, got "
            f"{found}"
        )


def _choose_by_name(validator, branches, instance, schema, name):
    """`oneOf` decided by the value of `name`: ``method`` or ``kind``."""
    known = {branch["properties"][name]["const"]: branch for branch in branches}
    usual = schema.get("default", {}).get(name)
    if isinstance(instance, dict) and usual:
        instance.setdefault(name, usual)
    if not isinstance(instance, dict) or name not in instance:
        yield ValidationError(f"expected {{{name}: ...}} with one of {list(known)}")
    elif not isinstance(instance[name], str) or instance[name] not in known:
        yield ValidationError(unknown(name, str(instance[name]), known))
    else:
        yield from validator.descend(instance, known[instance[name]])


def inlined(schema: Mapping) -> dict:
    """`schema` with its definitions put where it refers to them."""
    if "$defs" not in schema:
        return dict(schema)
    return _inlined({k: v for k, v in schema.items() if k != "$defs"}, schema)


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
    {"properties": _fill_properties, "oneOf": _choose},
)


def _explain(error: ValidationError) -> str:
    """One line: where, what was given, what was expected."""
    where = ".".join(str(part) for part in error.absolute_path) or "top level"
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        extra = [key for key in error.instance if key not in known]
        return f"{where}: " + "; ".join(unknown("key", key, known) for key in extra)
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
