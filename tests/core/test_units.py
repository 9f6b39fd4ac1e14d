"""Dimensions: what is added must be of one kind."""

import pytest
from support import system

from leastaction.core.units import (
    DimensionError,
    check_dimensions,
    parsed_unit,
    registry,
    unit,
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
