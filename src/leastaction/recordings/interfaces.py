"""Messages in the words of the interface that the user types into.

They are written for a YAML; the shell has options for its keys, Python arguments.
"""

import re
from collections.abc import Callable
from functools import wraps

import yaml

from leastaction.recordings.error import RecordingError

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
# What messages write for a YAML, and its words in a shell.
SHELL = {
    r"; paths are relative to the YAML file, which is in \S+": "",
    r"[Pp]aths are relative to the YAML file[\w ]*": "Check its name and the folder",
    r",? or set `format: \w+`": "",
    r"import\.files: ": "",
    r"`?validate\.held_out`?": "--held-out",
    r"import\.(\w+)\.([^\s:.`]+)(\.\w+)?": lambda m: _place(m[1], m[2]),
    r"import\.(\w+)(\.\w+)?": lambda m: _place(m[1]),
    r"`(?:time: )?\{rate: ([\w.]+)\}`|`time: \{rate: ([\w.]+)\}`": (
        lambda m: f"`--rate {m[1] or m[2]}`"
    ),
    r"`time: (\w+)`": r"`--time \1`",
    r"`accept: \[(\w+)\]`": r"`--accept \1`",
    r"`excitation: (\w+)`": r"`--excitation \1`",
    r"`kind: (\w+)`": r"`--kind \1`",
    r"library\.known": "--known",
    r"`reverse: true`": "`,reverse` behind its unit",
    r"`gain: (\w+)`": r"`,gain=\1` behind its unit",
    r"`unit: ([^`]+)`": r"the unit `\1`",
    r"`per_turn: (\d+)`": r"`,per_turn=\1` behind its unit",
    r"`skip_lines(?:: (\d+))?`": lambda m: f"`--skip-lines {m[1] or 'N'}`",
    r"`columns`": "`--columns`",
    r"`library: \{reference: ([^}]+)\}`": r'`--reference "\1"`',
    r"`?library\.reference`?": "`--reference`",
    r"`column: \.\.\.`": "`NAME:COLUMN:UNIT`",
    r"`(coordinates|velocities|accelerations|sensors|inputs|states|outputs)`": (
        lambda m: f"`{_OPTION_OF[m[1]]}`"
    ),
    r'`coordinates: \{(\w+): \{expression: "([^"]+)", unknown: \[(\w+), (\w+)\]\}\}`': (
        r'`--coordinate "\1=\2" --unknown \3 --unknown \4`'
    ),
}
# The same in Python; entries such as `unit: deg` follow from the YAML itself.
PYTHON = {
    r"; paths are relative to the YAML file, which is in \S+": "",
    r"[Pp]aths are relative to the YAML file[\w ]*": "Check its name and the folder",
    r",? or set `format: (\w+)`": r", or set `format='\1'`",
    r"import\.files: ": "",
    r"(?:import|validate|estimators\.recommended)\.(\w+)": r"\1",
    r"`leastaction (calibrate|modes)`": r"`leastaction.\1`",
    r"`([a-z_]+): ([^`]+)`": lambda m: f"`{_argument(m[1], m[2])}`",
}
# Keys of an entry of a column, not arguments.
OF_A_COLUMN = ("unit", "per_turn", "reverse", "gain", "lag", "offset", "column")


def in_shell_words(message: str) -> str:
    """A message about a YAML in the words of the command.

    >>> in_shell_words("import.time: write `time: {rate: 100}` or `accept: [turns]`")
    '--time: write `--rate 100` or `--accept turns`'
    """
    for pattern, words in SHELL.items():
        message = re.sub(pattern, words, message)
    return message


def _place(section: str, name: str = "") -> str:
    option = _OPTION_OF.get(section)
    return f"{option} {name}".strip() if option else f"--{section}"


def in_python_words(message: str) -> str:
    """A message about a YAML in the words of :func:`leastaction.learn`.

    >>> in_python_words("import.time: write `time: {rate: 100}` or `unit: deg`")
    "time: write `time={'rate': 100}` or `'unit': 'deg'`"
    """
    for pattern, words in PYTHON.items():
        message = re.sub(pattern, words, message)
    return message


def _argument(key: str, text: str) -> str:
    """An entry of a YAML as an argument, or as an item of a dictionary."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = text
    return f"{key!r}: {value!r}" if key in OF_A_COLUMN else f"{key}={value!r}"


def speaks_python(function: Callable) -> Callable:
    """The same function, whose messages speak of its arguments."""

    @wraps(function)
    def call(*arguments, **named):
        try:
            return function(*arguments, **named)
        except RecordingError as error:
            error.args = (in_python_words(error.written),)
            raise

    return call
