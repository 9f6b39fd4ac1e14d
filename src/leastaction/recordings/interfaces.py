"""Messages in the words of the interface that the user types into.

They are written for a YAML; the shell has options for its keys, Python arguments.
"""

import re
from collections.abc import Callable, Mapping
from functools import wraps

import yaml

from leastaction.recordings.configuration import Import, Input
from leastaction.recordings.refusals import RecordingError

# Options of the shell, and the sections of `import` that they fill.
OPTIONS = {
    "coordinate": "coordinates",
    "velocity": "velocities",
    "acceleration": "accelerations",
    "sensor": "sensors",
    "input": "inputs",
    "state": "states",
    "output": "outputs",
    "position": "position",
}
_OPTION_OF = {section: f"--{option}" for option, section in OPTIONS.items()}
# Keys of a column behind its unit, and those that are options, or arguments.
KEYS = [key for key in Input.model_fields if key not in ("column", "unit")]
ARGUMENTS = {*Import.model_fields, "accept", "excitation", "kind", "library"}
FILES = {
    r"; paths are relative to the YAML file, which is in \S+": "",
    r"[Pp]aths are relative to the YAML file[\w ]*": "Check its name and the folder",
    r"import\.files: ": "",
}
ENTRY = r"`([a-z_]+): ([^`]+)`"
# What messages write for a YAML, and its words in a shell.
SHELL = FILES | {
    r",? or set `format: \w+`": "",
    r"`?validate\.held_out`?": "--held-out",
    r"import\.(\w+)\.([^\s:.`]+)(?:\.\w+)?": lambda m: _place(*m.groups()),
    r"import\.(\w+)(?:\.\w+)?": lambda m: _place(*m.groups()),
    r"library\.known": "--known",
    r"`?library\.reference`?": "`--reference`",
    r"`column: \.\.\.`": "`NAME:COLUMN:UNIT`",
    ENTRY: lambda m: _option(*m.groups()),
    r"`(skip_lines|columns|coordinates|velocities|accelerations|sensors|inputs|states"
    r"|outputs)`": lambda m: f"`{_place(*m.groups())}`",
}
# The same in Python.
PYTHON = FILES | {
    r"import\.(\w+): (.*), such as --.*": r"\1: \2, such as \1={'name': 'unit'}",
    r"(?:import|validate|estimators\.recommended)\.(\w+)": r"\1",
    r"`leastaction (calibrate|modes)`": r"`leastaction.\1`",
    ENTRY: lambda m: f"`{_argument(*m.groups())}`",
}


def in_words(table: Mapping, message: str) -> str:
    """A message about a YAML in the words of the shell or of Python.

    >>> message = "import.time: write `time: {rate: 100}` or `accept: [turns]`"
    >>> in_words(SHELL, message)
    '--time: write `--rate 100` or `--accept turns`'
    >>> in_words(PYTHON, message)
    "time: write `time={'rate': 100}` or `accept=['turns']`"
    """
    for pattern, words in table.items():
        message = re.sub(pattern, words, message)
    return message


def _place(section: str, name: str = "") -> str:
    option = f"--{section.replace('_', '-')}"
    return f"{_OPTION_OF.get(section, option)} {name}".strip()


def _option(key: str, text: str) -> str:
    """An entry of a YAML as an option, or as what stands behind a unit.

    >>> _option("gain", "unknown"), _option("reverse", "true")
    ('`,gain=unknown` behind its unit', '`,reverse` behind its unit')
    >>> _option("coordinates", "{q: {expression: asin(x - x0), unknown: [x0]}}")
    '`--coordinate "q=asin(x - x0)" --unknown x0`'
    >>> _option("sensors", "{u(0.2): u_0}"), _option("position", "{x: m}")
    ('`--sensor "u(0.2):u_0"`', '`--position "x:m"`')
    """
    value = yaml.safe_load(text)
    if key == "unit":
        return f"the unit `{text}`"
    if key in KEYS:
        return f"`,{key}{'' if value is True else f'={text}'}` behind its unit"
    if key not in ARGUMENTS:
        return f"`{key}: {text}`"
    if not isinstance(value, dict):
        return f"`{_place(key)} {text.strip('[]')}`"
    ((name, entry),) = value.items()
    if not isinstance(entry, dict):
        if key in _OPTION_OF:
            return f'`{_place(key)} "{name}:{entry}"`'
        return f"`--{name} {entry}`" if key == "time" else f'`--{name} "{entry}"`'
    unknown = "".join(f" --unknown {one}" for one in entry["unknown"])
    return f'`--coordinate "{name}={entry["expression"]}"{unknown}`'


def _argument(key: str, text: str) -> str:
    """An entry of a YAML as an argument, or as an item of a dictionary."""
    value = yaml.safe_load(text)
    return f"{key}={value!r}" if key in ARGUMENTS else f"{key!r}: {value!r}"


def speaks_python(function: Callable) -> Callable:
    """The same function, whose messages speak of its arguments."""

    @wraps(function)
    def call(*arguments, **named):
        try:
            return function(*arguments, **named)
        except RecordingError as error:
            error.args = (in_words(PYTHON, error.written),)
            raise

    return call
