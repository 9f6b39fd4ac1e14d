"""Settings of YAML files and recipes: their defaults, and bounds inside and outside.

The table is what users' files rely on: a change of it belongs into CHANGELOG.md.
"""

import re
from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError

from leastaction.core import families
from leastaction.core.settings import (
    Candidate,
    ConfigError,
    ConfigErrors,
    Count,
    Draw,
    Expression,
    Flag,
    Integer,
    Label,
    Library,
    Number,
    Pair,
    Positive,
    Settings,
    Share,
    Title,
    Unique,
    absent,
    checked,
    choice,
    complete,
    or_word,
)

# Class: key, default, allowed values (all if none are named); the next key. Those of
# four families are in a file of their own, such as tests/ports/test_recipes.py.
TABLE = """
SensorNoises: levels [0.0]
Polynomial: degree required [0,12]; lowest 0 [0,12]
Every: points required [2,inf)
Style: width 180.0 [160,inf); font_size 8.0 [4,inf); dpi 300 [50,inf)
Simulate: time_step required (0,inf); duration required (0,inf); replicates 20 [1,inf)
Ensemble: trajectories required [1,inf)
StationaryPath: burn_in 50.0 [0,inf); batches 16 [2,inf)
StrongTaylor: legacy_seed none [0,inf)
BumpFunctions: bins none [5,inf); centres 5 [2,inf); half_width 0.6 (0,1]
MonomialFunctions: degree 4 [2,inf)
BandwidthSpline: inflation 1.2 [1,inf); points 4 [2,inf); trim 2 [0,inf)
MartingaleMoments: instrument_degree 5 [1,8]; most_instruments 40 [1,inf);
    largest_turn 0.05 [0,inf)
WeightedGram: samples 1000 [1,inf)
SquaredIncrements: max_terms 3 [1,6]
ItoGmm: ridge 0.0001 [0,inf); select False
MomentGmm: max_terms 4 [1,8]
InnovationsLikelihood: search True
FieldLikelihood: search True
Histogram: bins 50 [5,inf)
StateMoments: degree 8 [4,12]; every 10 [1,inf)
SensorStd: q 0 [0,inf); qdot 0 [0,inf); qddot 0 [0,inf)
Sensor: correlation 1 [1,1000]; every 1 [1,inf)
Column: per_turn none (0,inf); offset 0.0; reverse False
Input: offset 0.0; time_constant none (0,inf)
Clock: rate none (0,inf)
Import: skip_lines 0 [0,inf); gap 5.0 (1,inf); length none (0,inf)
Prediction: start none (0,inf)
PublishedNumber: error none (0,inf); factor 1.0
Workflow: seed required [0,inf)
"""
ROWS = [
    (f"{name}.{row.split()[0]}", *row.split()[1:])
    for name, rows in re.findall(r"^(\w+):((?:.|\n )*)", TABLE, re.MULTILINE)
    for row in rows.split(";")
]


def declared(above=Settings):
    """Classes of settings of the package by name."""
    for part in ("recipes", "configuration"):
        list(families.modules(part))
    for each in above.__subclasses__():
        if each.__module__.startswith("leastaction."):
            yield each.__name__, each
        yield from declared(each)


CLASSES = dict(declared())


def number(value: float) -> float:
    """An integer if it is one."""
    return int(value) if value == int(value) else value


def refused(section: type[Settings], key: str, value) -> bool:
    """Whether a value of a key is out of its bounds."""
    try:
        section(**{section.model_fields[key].alias or key: value})
    except ValidationError as error:
        kinds = {each["type"] for each in error.errors() if each["loc"][0] == key}
        assert all("than" in kind for kind in kinds), kinds
        return bool(kinds)
    return False


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_setting_has_its_default_and_its_bounds(row):
    name, default, *bounds = row
    section, key = CLASSES[name.partition(".")[0]], name.partition(".")[2]
    field = section.model_fields[key]
    assert field.is_required() == (default == "required")
    if default != "required":
        value = field.default
        assert ("none" if value is None else str(value).replace(" ", "")) == default
    for text in bounds:
        low, high = text[1:-1].split(",")
        ends = [float(low), min(float(high), 10**6)]  # none are refused beyond it
        inside = sum(ends) / 2 if ends[1] <= 1 else sum(ends) // 2
        assert not refused(section, key, number(inside))
        for end, outwards, bracket in zip(
            ends, (-1, 1), (text[0], text[-1]), strict=True
        ):
            if end == 10**6:
                assert not refused(section, key, 10**6)
                continue
            assert refused(section, key, number(end)) == (bracket in "()")
            assert refused(section, key, number(end + outwards))


class Inner(Settings):
    """A part of a section."""

    depth: Count = Field(description="How deep.")


class Section(Settings):
    """Every type of setting."""

    number: Number = Field(1.0, description="A number of metres.")
    whole: Integer = 3
    positive: Positive = 1.0
    share: Share = 0.0
    count: Count = 1
    expression: Expression = "x"
    title: Title = "t"
    label: Label = ""
    flag: Flag = False
    pair: Pair | None = absent("Low and high.")
    levels: Annotated[list[Share], Unique] = [0.0]
    kind: choice(1, [2, 3]) = 1
    window: or_word(Count, "all", "none") = "all"
    inner: Inner | None = absent("A part.")
    parts: dict[str, Inner] = {}
    several: list[Inner] = []
    sense: Literal["ito", "other"] = "ito"


@pytest.mark.parametrize(
    ("key", "value", "plain"),
    [
        ("number", 2, 2),
        ("number", 2.5, 2.5),
        ("whole", 4.0, 4),
        ("expression", 2, 2),
        ("expression", "x**2", "x**2"),
        ("expression", 0.5, 0.5),
        ("title", "a" * 200, "a" * 200),
        ("label", "x" * 40, "x" * 40),
        ("label", r"\theta_1", r"\theta_1"),
        ("pair", [1, 2.0], [1, 2.0]),
        ("levels", [0.0, 0.1], [0.0, 0.1]),
        ("kind", [2, 3], [2, 3]),
        ("window", "none", "none"),
        ("window", 7, 7),
        ("inner", {"depth": 2}, {"depth": 2}),
        ("number", None, 1.0),
    ],
)
def test_a_value_of_its_type_is_taken_as_it_is_written(key, value, plain):
    found = checked({key: value}, Section, "here").plain()[key]
    assert found == plain and type(found) is type(plain)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"number": "1e3"}, "number: expected a number, got the text '1e3'; for YAML a "
         "number needs a point, write 1.0e+03. A number of metres."),
        ({"number": True}, "number: expected a number, got bool True. A number of me"),
        ({"number": "much"}, "number: expected a number, got the text 'much'. A numb"),
        ({"whole": 2.5}, "whole: expected a whole number, got float 2.5"),
        ({"positive": 0}, "positive: 0 is not more than 0"),
        ({"share": -1}, "share: -1 is less than the minimum of 0"),
        ({"count": 0}, "count: 0 is less than the minimum of 1"),
        ({"expression": True}, "expression: expected an expression or a number"),
        ({"expression": [1]}, "expression: expected an expression or a number"),
        ({"title": 3}, "title: expected text, got int 3"),
        ({"title": "a" * 201}, "has more than 200 characters"),
        ({"title": "$x$"}, "title: '$x$' is no title; write one line of text"),
        ({"title": "a\nb"}, "title: 'a\\nb' is no title"),
        ({"label": "x" * 41}, "has more than 40 characters"),
        ({"label": "x}_1"}, "label: 'x}_1' is no LaTeX that Matplotlib draws"),
        ({"flag": 1}, "flag: expected true or false, got int 1"),
        ({"pair": [1.0]}, "pair: [1.0] has 1 entries, fewer than 2"),
        ({"pair": [1, 2, 3]}, "pair: [1, 2, 3] has 3 entries, more than 2"),
        ({"pair": 3}, "pair: expected a list, got int 3. Low and high."),
        ({"levels": [0.1, 0.2, 0.1]}, "levels: [0.1, 0.2, 0.1] names an entry twice"),
        ({"levels": [0.1, -2]}, "levels.1: -2 is less than the minimum of 0"),
        ({"kind": 2}, "kind: 2 is not one of [1, [2, 3]]"),
        ({"window": "some"}, "window: expected a whole number, got the text 'some'"),
        ({"sense": "it"}, "sense: 'it' is not one of 'ito' or 'other'"),
        ({"inner": 3}, "inner: expected 'key: value', got int 3. A part."),
        ({"inner": {}}, "inner: 'depth' is missing (How deep.)"),
        ({"parts": {"a": {}}}, "parts.a: 'depth' is missing (How deep.)"),
        ({"several": [{"depth": 1}, {}]}, "several.1: 'depth' is missing (How deep.)"),
        ({"parts": {"a": {"deph": 1, "depth": 1}}}, "parts.a: unknown key 'deph'; did "
         "you mean 'depth'? Known: depth"),
        ({"lable": "x"}, "top level: unknown key 'lable'; did you mean 'label'? Known"),
        (3, "it is empty or is not a list of 'key: value'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_section_is_one_line(data, problem):
    with pytest.raises(ConfigError) as caught:
        checked(data, Section, "here")
    (line,) = caught.value.problems
    assert problem in line
    assert str(caught.value) == f"here cannot be used:\n  - {line}"


@pytest.mark.parametrize(("length", "cut"), [(1999, False), (2000, True), (5000, True)])
def test_a_long_problem_is_shown_up_to_two_thousand_letters(length, cut):
    error = ConfigError("here", ["x" * length, "y"])
    assert error.problems[0] == "x" * min(length, 2000) + (" ..." if cut else "")
    both = ConfigErrors([error, ConfigError("there", ["z"])])
    assert both.problems == [*error.problems, "z"]
    assert str(both).endswith("there cannot be used:\n  - z")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"uniform": [0, 1]}, None),
        ({"uniform": [0, 1], "normal": None}, None),
        ({"uniform": [0, 1], "normal": [0, 1]}, "got 'uniform' and 'normal'"),
        ({}, "'uniform' or 'normal' or 'halton', got neither"),
        ({"uniform": None}, "got neither"),
        ({"unform": [0, 1]}, "unknown key 'unform'; did you mean 'uniform'?"),
    ],
)
def test_of_some_sections_exactly_one_key_is_given(data, words):
    if words is None:
        assert checked(data, Draw, "here").plain() == {"uniform": [0, 1]}
        return
    with pytest.raises(ConfigError, match=re.escape(words)):
        checked(data, Draw, "here")


def test_candidates_are_of_one_kind():
    with pytest.raises(ConfigError, match="got 'terms' and 'exclude'"):
        checked({"terms": ["x"], "exclude": ["y"]}, Candidate, "here")


def test_terms_alone_are_one_entry():
    section = {"reference": "x", "lagrangian": ["x**2", {"terms": [1]}, 3]}
    found = complete(section, Library, "here")
    assert found["lagrangian"] == [{"terms": ["x**2", 3]}, {"terms": [1]}]
    assert found["inertia"] == "free" and "dissipation" not in found
    with pytest.raises(ConfigError, match="product: .* has 1 entries, fewer than 2"):
        complete(
            section | {"lagrangian": [{"product": [{"terms": [1]}]}]}, Library, "here"
        )
