"""A column in SI units, by what a user writes of it; all else refused in a sentence."""

import numpy as np
import pytest

from leastaction.recordings.columns import (
    CHANNELS,
    accelerometers,
    as_measured,
    clock_scale,
    column,
    columns_of,
    has_dimension,
    in_si,
    remarks_of_units,
    rough_sensors,
    unit_of_heading,
    uses_of,
)

TURN = 2 * np.pi


@pytest.mark.parametrize(
    ("entry", "number", "value", "unit", "shown"),
    [
        ({"unit": "rad"}, 0.5, 0.5, "rad", ""),
        ({"unit": "deg"}, 180.0, np.pi, "rad", "deg"),
        ({"unit": "counts", "per_turn": 4096}, 1024, TURN / 4, "rad", ""),
        ({"unit": "count/s", "per_turn": 100}, 25, TURN / 4, "1/s", ""),
        ({"unit": "mm"}, 3.0, 3e-3, "m", "mm"),
        ({"unit": "m", "reverse": True}, 3.0, -3.0, "m", ""),
        ({"unit": "cm", "offset": 2.0, "reverse": True}, 5.0, -0.03, "m", "cm"),
        ({"unit": "m", "offset": "unknown"}, 3.0, 3.0, "m", ""),
        ({"unit": "1"}, 3.0, 3.0, "1", ""),
        ({"unit": "%"}, 50.0, 0.5, "1", "%"),
        ({"unit": "px"}, 7.0, 7.0, "pixel", ""),
        ({"unit": "g"}, 2.0, 2e-3, "kg", "g"),
    ],
)
def test_a_column_has_si_values(entry, number, value, unit, shown):
    one = column("x", entry, "import.coordinates.x")
    assert one.convert(number) == pytest.approx(value, rel=1e-12)
    assert one.unit.replace("px", "pixel") == unit or has_dimension(one.unit, unit)
    assert one.shown == shown and one.name == "x" and one.sources == ("x",)
    if shown:
        assert one.shown_factor == pytest.approx(abs(one.factor))
    assert one.angle == (entry["unit"] in ("rad", "deg", "counts"))
    assert one.in_radians == (entry["unit"] == "rad")


def test_g_is_gravity_of_an_acceleration_alone():
    assert column("a", {"unit": "g"}, "u", True).convert(2.0) == pytest.approx(19.6133)
    milli = column("a", {"unit": "mg"}, "u", True)
    assert milli.convert(1e3) == pytest.approx(9.80665)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"unit": "counts"}, "per_turn"),
        ({"unit": "deg", "per_turn": 100}, "per_turn"),
        ({"unit": "smoot"}, "smoot"),
        ({"unit": "degC"}, "degC"),
        ({}, "unit"),
        ({"unit": "m", "unknown": ["c"]}, "expression"),
        ({"expression": "a + b"}, "unit"),
        ({"expression": "a", "column": "b", "unit": "m"}, "column"),
        ({"expression": "a +", "unit": "m"}, r"u\.expression"),
        ({"expression": "a - c", "unknown": ["c"], "unit": "m"}, "c"),
        ({"expression": "atan2(c, c)", "unknown": ["c"]}, "column"),
    ],
)
def test_an_entry_that_is_none_is_refused(entry, words):
    with pytest.raises(ValueError, match=words):
        column("x", entry, "u")


def test_an_angle_of_positions_is_in_radians():
    one = column("phi", {"expression": "atan2(y - y0, x)", "unknown": ["y0"]}, "u")
    assert one.unit == "rad" and one.angle and one.sources == ("x", "y")
    assert one.constants == ("y0",)


@pytest.mark.parametrize(
    ("clock", "heading", "scale"),
    [
        ({}, "t", 1.0),
        ({}, "t [ms]", 1e-3),
        ({}, "ms", 1e-3),
        ({"unit": "us"}, "t [ms]", 1e-6),
        ({}, "t [kg]", 1.0),
        ({}, "time (min)", 60.0),
    ],
)
def test_the_clock_is_that_of_the_user_or_of_the_heading(clock, heading, scale):
    assert clock_scale(clock, heading) == pytest.approx(scale)


def test_a_clock_in_another_unit_is_refused():
    with pytest.raises(ValueError, match="kg"):
        clock_scale({"unit": "kg"})


@pytest.mark.parametrize(
    ("text", "factor"), [("km", 1e3), ("", None), ("degC", None), ("1/", None)]
)
def test_a_unit_has_its_si_value_unless_it_is_none(text, factor):
    result = in_si(text)
    assert result is None if factor is None else result[0] == factor


@pytest.mark.parametrize(
    ("name", "unit"),
    [("F [N]", "N"), ("a (deg) ", "deg"), ("a", ""), ("f(x) b", ""), ("[m]", "m")],
)
def test_a_heading_may_name_its_unit(name, unit):
    assert unit_of_heading(name) == unit


EMPTY = dict.fromkeys([*CHANNELS, "sensors", "states", "outputs", "position"], {})


def settings(**sections):
    return {**EMPTY, "time": {}, **sections}


X, PHI = {"x": {"unit": "mm"}}, {"phi": {"unit": "rad"}}


@pytest.mark.parametrize(
    ("coordinates", "entry", "unit", "factor", "set_value"),
    [
        (X, {"unit": "kN"}, "N", 1e3, False),
        (PHI, {"unit": "N*m"}, "N*m", 1.0, False),
        (X, {"unit": "V", "gain": 3.0}, "N", 3.0, False),
        (X, {"unit": "V", "gain": "unknown"}, "N", 1.0, False),
        (PHI, {"unit": "deg", "gain": 2.0}, "N*m", TURN / 180, True),
    ],
)
def test_an_input_is_a_generalised_force(coordinates, entry, unit, factor, set_value):
    (name,) = coordinates
    result = columns_of(
        settings(coordinates=coordinates, inputs={name: entry | {"column": "u"}})
    )
    (force,) = result["input"].values()
    assert has_dimension(force.unit, unit) and force.set_value == set_value
    assert force.factor == pytest.approx(factor)


REFUSED = {
    "mass": ({"coordinates": {"x": {"unit": "kg"}}}, "mass"),
    "force": ({"coordinates": {"x": {"unit": "N"}}}, "force"),
    "rate": ({"coordinates": {"x": {"unit": "rad/s"}}}, "velocities"),
    "other": ({"coordinates": X, "velocities": {"y": {"unit": "m/s"}}}, "y"),
    "unit": ({"coordinates": X, "velocities": {"x": {"unit": "m"}}}, "m/s"),
    "square": ({"coordinates": X, "accelerations": {"x": {"unit": "m/s"}}}, r"m/s\^2"),
    "some": (
        {
            "coordinates": {**X, **PHI},
            "velocities": {"x": {"column": "v", "unit": "m/s"}},
        },
        "phi",
    ),
    "shared": (
        {"coordinates": X, "inputs": {"x": {"column": "x", "unit": "N"}}},
        "x",
    ),
    "both": (
        {
            "coordinates": {"x": {"unit": "m", "column": "c"}},
            "sensors": {"x": {"unit": "m"}},
        },
        "x",
    ),
    "unlike": ({"coordinates": X, "sensors": {"xdot": {"unit": "m"}}}, "m/s"),
}


@pytest.mark.parametrize("when", REFUSED)
def test_sections_that_do_not_fit_are_refused(when):
    sections, words = REFUSED[when]
    with pytest.raises(ValueError, match=words):
        columns_of(settings(**sections))


def test_sensors_take_the_place_of_coordinates():
    sensors = {"xddot": {"unit": "g"}, "xddot + ydot": {"unit": "m/s^2"}}
    sensors |= {"y": {"unit": "mm"}}
    coordinates = {"x": {"unit": "m"}, "y": {"unit": "m"}}
    one = settings(sensors=sensors, coordinates=coordinates)
    assert accelerometers(one) == {"xddot"}
    assert rough_sensors(one) == {"xddot", "xddot + ydot"}
    result = columns_of(
        settings(sensors={"y": {"unit": "mm"}}, coordinates=coordinates)
    )
    measured = as_measured(result)
    assert list(measured["q"]) == ["y"] and measured["qdot"] == {}
    assert measured["q"]["y"].factor == pytest.approx(1e-3)
    plain = columns_of(settings(coordinates=coordinates))
    assert as_measured(plain) is plain


def test_units_that_contradict_a_heading_are_remarked():
    one = settings(
        coordinates={"x": {"unit": "mm"}, "y": {"column": "b", "unit": "m"}},
        time={"column": "t", "unit": "s"},
    )
    sentence = remarks_of_units(one, {"x": "x [cm]", "b": "b [m]", "t": "ms"}, {})
    assert len(sentence) == 2
    assert "'t' gives ms, its unit here is s" in sentence[0]
    assert "'x' gives cm, its unit here is mm" in sentence[1]
    same = {"x": "x [mm]", "b": "b (smoot)", "t": "t [s]"}
    assert remarks_of_units(one, same, {}) == []


@pytest.mark.parametrize(
    ("unit", "count"), [("N", 0), ("m/s^2", 0), ("V", 1), ("m", 1)]
)
def test_an_input_that_makes_no_energy_is_remarked(unit, count):
    one = settings(
        coordinates={"x": {"unit": "m"}}, inputs={"x": {"column": "u", "unit": unit}}
    )
    sentence = remarks_of_units(one, {}, columns_of(one))
    assert len(sentence) == count
    if count:
        assert ("stiffness of its loop" in sentence[0]) == (unit == "m")


def test_every_column_has_its_use():
    one = settings(coordinates=X, time={"column": "t"}, trajectory="run")
    columns = columns_of(one)["q"].values()
    assert uses_of(columns, one) == {
        "x": "import.coordinates.x",
        "run": "import.trajectory",
        "t": "import.time",
    }
