"""Dimensions: what is added must be of one kind."""

import pytest
import sympy as sp
from support import system

from leastaction.core.expressions import symbol
from leastaction.core.units import (
    DimensionError,
    check_dimensions,
    dimension_of,
    is_unit,
    parsed_unit,
    registry,
    shortest,
    unit,
    unit_text,
    units_with_rates,
)

UNITS = {
    "x": "m",
    "m": "kg",
    "k": "N/m",
    "c": "N s/m",
    "s": "N s^0.5",
    "w": "rad/m",
}


def checked(lagrangian="m*xdot**2/2 - k*x**2/2", units=None, **rest):
    truth = system(
        lagrangian, parameters=dict.fromkeys(["m", "k", "c", "s", "w"], 1.0), **rest
    )
    check_dimensions(truth, {**UNITS, **(units or {})})


def test_a_consistent_system_passes():
    checked(dissipation="c*xdot**2/2", volatility={"x": "s"})
    checked("m*xdot**2/2 + k*cos(w*x)/w**2")
    checked("m*xdot**2/2 - k*x*abs(x)/2")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lagrangian": "m*xdot**2/2 - k*x"}, "cannot be added"),
        ({"lagrangian": "m*xdot**2/2 - k*x**2*cos(x)"}, "number or an angle"),
        ({"dissipation": "c*xdot"}, "dissipation is in"),
        ({"dissipation": "k*x**2"}, "dissipation is in"),
        ({"volatility": {"x": "k*x"}}, "volatility of x is in"),
        ({"units": {"k": "furlongs per lightyearr"}}, "not a unit"),
        ({"units": {"k": 3}}, "not a unit"),
    ],
)
def test_an_inconsistent_one_does_not(changes, message):
    with pytest.raises(DimensionError, match=message):
        checked(**changes)


@pytest.mark.parametrize(
    ("text", "factor"),
    [("Nm", 1), ("kNm", 1e3), ("mNm", 1e-3), ("Ncm", 1e-2), ("Nmm", 1e-3)],
)
def test_a_newton_metre_without_a_sign_is_a_torque(text, factor):
    """Pint's Nm is the count of a yarn, 1 km/kg."""
    one = registry().Quantity(1, parsed_unit(text))
    assert one.to("N*m").magnitude == pytest.approx(factor)


def test_one_is_dimensionless():
    assert unit("1").dimensionless
    assert unit("rad").dimensionless


X, LENGTH, POWER = (symbol(name) for name in ("x", "l", "n"))
KNOWN = {"x": unit("m"), "l": unit("m"), "n": unit("1")}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (sp.Integer(3), "1"),
        (3 * X**2, "m**2"),
        (sp.sqrt(X), "m**0.5"),
        ((X / LENGTH) ** POWER, "1"),
        (sp.Abs(X) * sp.sign(X), "m"),
        (sp.sin(X / LENGTH), "1"),
        (LENGTH * sp.atan2(X, LENGTH), "m"),
        (X + 2 * LENGTH, "m"),
    ],
)
def test_an_expression_has_its_dimension(expression, text):
    found = dimension_of(expression, KNOWN)
    expected = "1" if text == "1" else unit(text)
    assert unit_text(found) == ("1" if text == "1" else unit_text(expected))


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (X**POWER, "raises to a power that is not a number"),
        ((X / LENGTH) ** X, "raises to a power that is not a number"),
        (sp.sin(X), "x is in m, but sin takes a number or an angle"),
        (sp.atan2(X, POWER), "cannot be added"),
        (X + POWER, "cannot be added"),
    ],
)
def test_an_expression_without_a_dimension_is_refused(expression, words):
    with pytest.raises(DimensionError, match=words):
        dimension_of(expression, KNOWN)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("J/s/V^2", "1/Ω"),
        ("s/ohm", "F"),
        ("V/A", "Ω"),
        ("J/V^2", "F"),
        ("m/m", "1"),
        ("1", "1"),
    ],
)
def test_a_unit_is_written_in_its_shortest_way(text, shown):
    assert shortest(parsed_unit(text)) == shown


@pytest.mark.parametrize(
    "text", ["", " ", "km", "m^999", "9**9**9", "nothing", "m+s", 3]
)
def test_what_is_no_si_unit_is_refused(text):
    with pytest.raises(DimensionError):
        unit(text)
    assert text in ("km", "", " ", 3) or not is_unit(text)


def test_a_unit_of_many_letters_is_none():
    assert is_unit("m" + " " * 59) and not is_unit("m" + " " * 60)


def test_rates_have_units_of_their_own():
    rates = {"xdot": ("x", 1, 0), "u_xt": ("u", 1, 1), "u_tt": ("u", 2, 0)}
    known = units_with_rates({"x": "rad", "u": "m", "k": "N/m"}, rates)
    assert known["xdot"].is_compatible_with("rad/s")
    assert known["u_xt"].is_compatible_with("1/s")
    assert known["u_tt"].is_compatible_with("m/s^2")
    assert known["k"].is_compatible_with("N/m") and len(known) == 6
