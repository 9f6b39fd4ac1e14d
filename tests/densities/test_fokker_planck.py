"""Laws of the terms of a stationary equation."""

import numpy as np
import pytest
import sympy as sp
from density_support import LIBRARY, oscillator

from leastaction.densities.fokker_planck import StationaryEquation

BOTH = {**LIBRARY, "volatility": [{"terms": [1, "x**2"]}], "known": {}}


def equation(coordinates=("x",), **changes):
    return StationaryEquation.from_config({**LIBRARY, **changes}, coordinates)


def test_true_coefficients_give_drift_and_diffusion_of_the_system():
    system = oscillator(k=2.0, c=0.3, a1=1.1, a2=0.4)
    terms = StationaryEquation.from_config(BOTH, ("x",)).terms
    truth = [1.0, 2.0, 0.3, 1.1**2, 0.4**2]
    drift = sum(
        (c * t.acceleration for c, t in zip(truth, terms, strict=True)), sp.zeros(1, 1)
    )
    noise = sum(
        (c * t.diffusion for c, t in zip(truth, terms, strict=True)), sp.zeros(1, 1)
    )
    g = system.evaluated(system.diffusion)
    assert sp.expand(drift[0] - system.evaluated(system.acceleration[0])) == 0
    left = sp.expand(noise[0] - (g * g.T)[0])
    np.testing.assert_allclose(
        [float(c) for c in sp.Poly(left, *system.state).coeffs()], 0, atol=1e-12
    )


def test_a_kinetic_energy_of_the_state_moves_without_other_terms():
    """L = ½ x² ẋ² alone: ẍ = −ẋ²/x."""
    (reference, *_) = equation(
        reference="x**2*xdot**2/2",
        lagrangian=[{"terms": ["x**2*xdot**2/2", "-x**2/2"]}],
    ).terms
    x, v = sp.symbols("x xdot", real=True)
    assert sp.simplify(reference.acceleration[0] + v**2 / x) == 0


def test_given_coefficients_are_found_however_they_are_written():
    assert equation(known={"lagrangian": {"-(x*x)/2": 1.0}}).known[1] == 1.0
    with pytest.raises(ValueError, match="unknown candidate 'x\\*\\*4'"):
        equation(known={"lagrangian": {"x**4": 1.0}})
    with pytest.raises(ValueError, match="unknown coordinate 'y'"):
        equation(known={"volatility": {"y": {"1": 1.0}}})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"lagrangian": [{"terms": ["xdot**2/2", "-x**2/2", "-x**4/4"]}]}, True),
        ({"volatility": [{"terms": [1, "x**2"]}]}, False),
        ({"dissipation": [{"terms": ["xdot**2/2", "x**2*xdot**2/2"]}]}, False),
        ({"dissipation": [{"terms": ["xdot**4"]}]}, False),
    ],
)
def test_detailed_balance(changes, expected):
    assert equation(known={}, **changes).detailed_balance == expected


def two(**changes):
    return equation(
        ("x", "y"),
        reference="xdot**2/2 + ydot**2/2",
        lagrangian=[{"terms": ["xdot**2/2", "ydot**2/2", "-x**2/2", "-(x-y)**2/2"]}],
        inertia="given",
        **{
            "dissipation": [{"terms": ["xdot**2/2", "ydot**2/2"]}],
            "known": {},
            **changes,
        },
    )


def test_two_temperatures_break_detailed_balance():
    assert not two().detailed_balance
    equal = {
        "dissipation": {"xdot**2/2": 0.2, "ydot**2/2": 0.4},
        "volatility": {"x": {"1": 1.0}, "y": {"1": 2.0}},
    }
    assert two(known=equal).detailed_balance


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(ValueError, match="needs noise"):
        StationaryEquation.from_config(
            {k: v for k, v in LIBRARY.items() if k != "volatility"}, ("x",)
        )
    with pytest.raises(ValueError, match="every coefficient is given"):
        equation(
            known={
                "lagrangian": {"-x**2/2": 1},
                "dissipation": {"xdot**2/2": 1},
                "volatility": {"x": {"1": 1}},
            }
        )
    with pytest.raises(ValueError, match="inertia: given"):
        equation(lagrangian=[{"terms": ["xdot**2/2", "xdot**4", "-x**2/2"]}])
    with pytest.raises(ValueError, match="calculus: ito"):
        equation(calculus="stratonovich", volatility=[{"terms": [1, "xdot**2"]}])
