"""Messages for a YAML in the words of the shell and of Python."""

import pytest

from leastaction.recordings.interfaces import PYTHON, SHELL, in_words, speaks_python
from leastaction.recordings.refusals import RecordingError

WORDS = [
    ("a; paths are relative to the YAML file, which is in /x/y", "a", "a"),
    (
        "Paths are relative to the YAML file that names them",
        "Check its name and the folder",
        "Check its name and the folder",
    ),
    ("import.files: gone", "gone", "gone"),
    ("columns, or set `format: text`", "columns", "columns, or set `format='text'`"),
    ("set `validate.held_out`", "set --held-out", "set `held_out`"),
    ("import.coordinates.x: no", "--coordinate x: no", "coordinates.x: no"),
    ("import.inputs.x.gain: no", "--input x: no", "inputs.x.gain: no"),
    ("import.skip_lines: no", "--skip-lines: no", "skip_lines: no"),
    ("set library.known", "set --known", "set library.known"),
    ("`library.reference`", "`--reference`", "`library.reference`"),
    ("`column: ...`", "`NAME:COLUMN:UNIT`", "`'column': Ellipsis`"),
    ("`columns`", "`--columns`", "`columns`"),
    ("`velocities`", "`--velocity`", "`velocities`"),
    ("`unit: deg`", "the unit `deg`", "`'unit': 'deg'`"),
    ("`per_turn: 4`", "`,per_turn=4` behind its unit", "`'per_turn': 4`"),
    ("`colour: white`", "`colour: white`", "`'colour': 'white'`"),
    ("`time: {column: t}`", "`--column t`", "`time={'column': 't'}`"),
    ("`library: {known: a}`", '`--known "a"`', "`library={'known': 'a'}`"),
    ("`leastaction modes`", "`leastaction modes`", "`leastaction.modes`"),
]


@pytest.mark.parametrize("case", range(len(WORDS)))
def test_a_message_has_the_words_of_its_interface(case):
    message, shell, python = WORDS[case]
    assert in_words(SHELL, message) == shell
    if "..." not in message:
        assert in_words(PYTHON, message) == python


def test_an_example_of_an_option_is_one_of_an_argument():
    message = "import.states: none of kind ports, such as --state x:m"
    expected = "states: none of kind ports, such as states={'name': 'unit'}"
    assert in_words(PYTHON, message) == expected


def test_a_function_speaks_of_its_arguments():
    @speaks_python
    def refusing(a, *, b):
        """What it does."""
        raise RecordingError(f"import.time: {a} {b}")

    with pytest.raises(RecordingError, match="^time: 1 2$") as error:
        refusing(1, b=2)
    assert error.value.written == "import.time: 1 2"
    assert refusing.__doc__ == "What it does."

    @speaks_python
    def answering(a, b=3):
        return a, b

    assert answering(1) == (1, 3)
