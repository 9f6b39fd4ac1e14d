"""Units of coefficients follow from those of coordinates and of an input."""

from types import SimpleNamespace

import pytest
import sympy as sp
import xarray as xr

from leastaction.core.units import parsed_unit
from leastaction.recordings.units_of_terms import (
    coefficient_units,
    energy_and_force_units,
    unlike_sums,
)


def law(units=("m", "rad"), inputs=None, constant=True, given=None):
    """Units of a law of x and a: (model, observations)."""
    names = ["x", "a"][: len(units)]
    coords = {"dof": names, "coordinate_unit": ("dof", list(units))}
    coords |= {"input_unit": ("dof", list(inputs))} if inputs else {}
    is_constant = "dof", [constant] * len(names)
    model = SimpleNamespace(
        coordinates=names,
        system=SimpleNamespace(rates={f"{n}dot": (n, 1, 0) for n in names}),
        dataset=xr.Dataset({"volatility_is_constant": is_constant}),
        support=["x**2", "xdot**2"] if given else [],
        standard_error=lambda term: 0.0 if term == given else 1.0,
    )
    return model, xr.Dataset(coords=coords)


OF_ONE = {"inputs": ("N",), "units": ("m",), "constant": False}


@pytest.mark.parametrize(
    ("about", "kind", "term", "unit"),
    [
        ({"inputs": ("N", "")}, "L", "xdot**2", "kg"),
        ({"inputs": ("N", "")}, "L", "x**2", "N/m"),
        ({"inputs": ("", "N*m")}, "L", "adot**2", "kg*m**2"),
        ({"inputs": ("N", "")}, "D", "xdot**2", "kg/s"),
        ({"inputs": ("N", "")}, "D", "abs(xdot)", "N"),
        (OF_ONE, "S^2", "x**2", "kg**2/s**3"),
        (OF_ONE, "S^2", "1", "N**2*s"),
        (OF_ONE, "S^2", "x", "N**2*s/m"),
        ({"given": "xdot**2"}, "L", "xdot**2", "1"),
        ({"given": "xdot**2"}, "L", "x**2", "1/s**2"),
        ({"given": "x**2"}, "L", "xdot**2", "s**2"),
    ],
)
def test_the_unit_of_a_coefficient(about, kind, term, unit):
    found = coefficient_units(*law(**about))(kind, term)
    one, other = parsed_unit(found or "1"), parsed_unit(unit)
    assert one.dimensionality == other.dimensionality
    assert (1 * one / other).to_base_units().magnitude == pytest.approx(1)


def test_a_volatility_is_a_force_times_the_root_of_a_time():
    unit_of = coefficient_units(*law(inputs=("N", "")))
    assert (unit_of("S", "x"), unit_of("S", "a")) == ("N·s⁰⋅⁵", "N·m·s⁰⋅⁵")
    assert unit_of("S^2", "x") == "N²·s"


def test_terms_of_unlike_quantities_have_no_unit():
    unit_of = coefficient_units(*law(inputs=("N", "")))
    assert unit_of("L", "x + xdot") == "" and unit_of("L", "x**2") != ""
    several = coefficient_units(*law(inputs=("N", ""), constant=False))
    assert several("S^2", "x**2") == ""


def test_units_of_forces_are_those_of_the_energy_over_coordinates():
    energy, (force, torque) = energy_and_force_units(*law(inputs=("N", "")))
    for found, unit in ((energy, "J"), (force, "N"), (torque, "J")):
        assert parsed_unit(found).dimensionality == parsed_unit(unit).dimensionality


def test_sums_of_unlike_quantities_are_named():
    a, b = sp.symbols("a b", real=True)
    rate = sp.Symbol("adot", real=True)
    units = {"a": "m", "b": "m"}
    assert unlike_sums([(a - b) ** 2, (a + 1) ** 2, sp.cos(a) + a], units) == []
    (text,) = unlike_sums([a * (b + rate)], units)
    both = text.partition("adds a quantity in ")[2].split(" to one in ")
    assert sorted(both) == ["m", "m/s"]
