"""Data of a configuration, checked by its type: every problem in one sentence."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from leastaction.core.families import unknown
from leastaction.core.settings import Settings


class ConfigError(ValueError):
    """What is wrong with a configuration, all of it."""

    def __init__(self, where: str, problems: list[str]):
        self.problems = problems
        listing = "\n".join(f"  - {problem}" for problem in problems)
        super().__init__(f"{where} cannot be used:\n{listing}")


class ConfigErrors(ConfigError):
    """What is wrong in several examples or recordings."""

    def __init__(self, errors: Sequence[ConfigError]):
        self.problems = [problem for error in errors for problem in error.problems]
        ValueError.__init__(self, "\n".join(map(str, errors)))


S = TypeVar("S", bound=Settings)


def complete(given: Mapping, kind: type[Settings], where: str) -> dict:
    """Return the data of a section with its defaults filled in; see `checked`."""
    return checked(given, kind, where).plain()


def checked(given: Mapping, kind: type[S], where: str) -> S:
    """Settings of a kind.

    Raises
    ------
    ConfigError
        If the shape is wrong: a key that is misspelt or missing, a value of the wrong
        type, an unknown method.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(where, ["it is empty or is not a list of 'key: value'"])
    try:
        return kind(**given)
    except ValidationError as error:
        schema = kind.model_json_schema()
        found = [_sentence(e, given, schema) for e in error.errors(include_url=False)]
    raise ConfigError(where, list(dict.fromkeys(found)))


# What a value should have been, by the type of the error.
EXPECTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "'key: value'",
    "model_type": "'key: value'",
    "model_attributes_type": "'key: value'",
}
# What is wrong with a value that has the right type.
WRONG = {
    "greater_than_equal": "{value} is less than the minimum of {ge}",
    "greater_than": "{value} is not more than {gt}",
    "less_than_equal": "{value} is more than the maximum of {le}",
    "literal_error": "{value} is not one of {expected}",
    "too_short": "{value} has {actual_length} entries, fewer than {min_length}",
    "too_long": "{value} has {actual_length} entries, more than {max_length}",
}


def _sentence(error: Mapping, data, schema: Mapping) -> str:
    """One line: where, what was given, what was expected."""
    kind, value, names = error["type"], error["input"], error["loc"]
    *inside, last = names or ("",)
    if kind in ("extra_forbidden", "missing"):
        path, known = _path(inside, data), _properties(inside, schema)
        if kind == "missing":
            about = known.get(last, {}).get("description", "see docs")
            return f"{path}: {last!r} is missing ({about})"
        return f"{path}: {unknown('key', last, known)}"
    path, context = _path(names, data), error.get("ctx", {})
    if kind == "union_tag_not_found":
        return f"{path}: expected {{{_plain(context['discriminator'])}: ...}}"
    if kind == "union_tag_invalid":
        known = re.findall(r"'([^']*)'", context["expected_tags"])
        discriminator = _plain(context["discriminator"])
        return f"{path}: {unknown(discriminator, context['tag'], known)}"
    if kind in EXPECTED:
        about = _properties(inside, schema).get(last, {}).get("description", "")
        return f"{path}: expected {EXPECTED[kind]}, got {_shown(value)}" + (
            f". {about}" if about else ""
        )
    if kind in WRONG:
        return f"{path}: " + WRONG[kind].format(value=repr(value), **context)
    return f"{path}: {error['msg']}"


def _plain(text: str) -> str:
    return text.strip("'")


def _path(names, data) -> str:
    """Keys that lead to a place, without the names of the types on the way."""
    path = []
    for name in names:
        here = isinstance(data, Mapping) and name in data
        if here or (isinstance(data, list) and isinstance(name, int)):
            path.append(str(name))
            data = data[name]
    return ".".join(path) or "top level"


def _properties(names, schema: Mapping) -> Mapping[str, Any]:
    """Keys of the section that `names`, keys and names of types, lead to."""
    nodes = list(_branches(schema, schema))
    for name in names:
        inner = [node["properties"][name] for node in nodes if _has(node, name)]
        inner += [node["items"] for node in nodes if "items" in node]
        inner += [
            node["additionalProperties"]
            for node in nodes
            if isinstance(node.get("additionalProperties"), Mapping)
            and not _has(node, name)
        ]
        of_type = [node for node in nodes if name in _names_of(node)]
        if of_type:
            nodes = of_type
        elif inner:
            nodes = [branch for node in inner for branch in _branches(node, schema)]
    return {k: v for node in nodes for k, v in node.get("properties", {}).items()}


def _has(node: Mapping, name) -> bool:
    return name in node.get("properties", {})


def _names_of(node: Mapping) -> list:
    """Names by which a choice of types tells this one: its class, or its method."""
    properties = node.get("properties", {})
    told = [properties.get(key, {}).get("const") for key in ("method", "kind")]
    return [node.get("title"), *filter(None, told)]


def _branches(node: Mapping, schema: Mapping) -> Iterator[Mapping]:
    """The node itself, or all that it may be."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        yield from _branches(schema["$defs"][name], schema)
    elif "oneOf" in node or "anyOf" in node:
        for branch in node.get("oneOf") or node["anyOf"]:
            yield from _branches(branch, schema)
    else:
        yield node


def _shown(value) -> str:
    text = f"{type(value).__name__} {value!r}"
    if isinstance(value, str):
        text = f"the text {value!r}"
        with contextlib.suppress(ValueError):
            text += f"; for YAML a number needs a point, write {float(value):.1e}"
    return text
