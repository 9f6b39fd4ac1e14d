"""YAML files: data alone, small enough, and names that may stand in paths."""

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from leastaction.core.families import is_plain
from leastaction.core.settings import ConfigError

# Targets and folders of the workflow's own.
_TARGETS = (
    "papers beyond studies figures tables scorecard matrix recordings stand_ins import "
    "record predict write_law compare simulate simulate_large validate gather tabulate "
    "show_example plot_paper plot_study plot_recording plot_kind plot_shaken score "
    "estimate collect_scores"
)
RESERVED = set(_TARGETS.split())
# Far above any configuration: aliases can stand for more values than a memory holds,
# and brackets in brackets for more calls than a stack does.
MOST_VALUES = 20_000
MOST_LEVELS = 100
MOST_CHARACTERS = 1_000_000
MOST_MERGED = 20
# Text that a browser could take for more than text.
MARKUP = re.compile("<[A-Za-z/!?]")
LARGEST_NUMBER = 1e300
# Characters that neither names of files nor pages and pictures can hold.
UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """PyYAML's safe loader, with a limit to what `<<` merges."""

    def flatten_mapping(self, node):
        """Merge what stands under `<<`, if it is not too much."""
        merged = [v for k, v in node.value if k.tag == "tag:yaml.org,2002:merge"]
        lists = [v.value for v in merged if isinstance(v, yaml.SequenceNode)]
        if len(merged) + sum(map(len, lists)) > MOST_MERGED:
            reason = f"`<<` merges more than {MOST_MERGED} sections"
            raise yaml.constructor.ConstructorError(None, None, reason, node.start_mark)
        super().flatten_mapping(node)
        if len(node.value) > MOST_VALUES:
            reason = f"`<<` gives more than {MOST_VALUES} keys"
            raise yaml.constructor.ConstructorError(None, None, reason, node.start_mark)


def _too_much(text: str) -> str | None:
    """What is too long or too deep in a text for PyYAML, by its events alone."""
    if len(text) > MOST_CHARACTERS:
        return f"it has more than {MOST_CHARACTERS} characters"
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=Loader)):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_LEVELS:
            return f"it is nested deeper than {MOST_LEVELS} levels"
        if count > 3 * MOST_VALUES:
            return f"it has more than {MOST_VALUES} values"
    return None


def parse_yaml(text: str, where: str):
    """Data in a YAML text: numbers, texts, lists, and 'key: value' with text as keys.

    ConfigError if it is not YAML, or has values of other kinds.
    """
    try:
        problem = _too_much(text)
        data = None if problem else yaml.load(text, Loader=Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = f"it is not YAML: {error}"
    except (AttributeError, LookupError, TypeError):
        problem = "it is not YAML: a value does not fit its tag, as in `!!bool maybe`"
        problem += "; leave the tag out"
    if problem:
        raise ConfigError(where, [problem])
    check_data(data, where)
    return data


def check_data(data, where: str) -> None:
    """ConfigError unless data are finite numbers, texts, lists, and texts as keys."""
    waiting = [(data, "", 0)]
    for value, path, level in waiting:
        problem = _not_plain(value)
        if level > MOST_LEVELS:
            problem = f"more than {MOST_LEVELS} levels"
        if len(waiting) > MOST_VALUES:
            problem = f"more than {MOST_VALUES} values; is an alias in itself?"
        if problem:
            raise ConfigError(where, [f"{path or 'top level'}: {problem}"])
        if isinstance(value, (Mapping, list)):
            pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
            waiting += [
                (v, f"{path}.{k}"[-80:].strip("."), level + 1) for k, v in pairs
            ]


def _not_plain(value) -> str | None:
    """What is wrong with a value that no text of JSON could hold, or that is huge."""
    if isinstance(value, Mapping):
        odd = [key for key in value if not isinstance(key, str)]
        if odd:
            return f"the key {odd[0]!r} is no text; write it in quotes"
        value = "".join(value)
    if isinstance(value, str) and (odd := UNWRITABLE.search(value)):
        return f"the character U+{ord(odd[0]):04X} cannot be written; leave it out"
    if isinstance(value, (int, float)) and not abs(value) < LARGEST_NUMBER:
        return f"a number that is not finite, or beyond {LARGEST_NUMBER:g}"
    if isinstance(value, str) and MARKUP.search(value):
        return f"{value[:60]!r} holds markup; write text without `<` before a letter"
    if isinstance(value, (str, int, float, list, type(None))):
        return None
    return f"{str(value)[:60]!r} is no number, text or list; write a text in quotes"


def check_label(kind: str, name: str) -> None:
    """ConfigError for a name of a paper, example or variant that cannot name files."""
    # The hyphen is that of a variant, which a recording has none of.
    hyphen = kind == "recording"
    letters = str(name).replace("-", "_") if hyphen else name
    if not is_plain(letters) or name in RESERVED:
        signs = (
            "digits, underscores and hyphens" if hyphen else "digits and underscores"
        )
        reason = (
            f"{name!r} cannot name a {kind}: use letters, {signs}, a letter first, "
            f"and none of {', '.join(sorted(RESERVED))}"
        )
        raise ConfigError(f"{kind} {name!r}", [reason])


def read_yaml(path: Path):
    """Data in a YAML file; see :func:`parse_yaml`."""
    return parse_yaml(path.read_text("utf-8", "replace"), str(path))
