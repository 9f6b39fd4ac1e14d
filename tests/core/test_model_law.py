"""What a law gives away agrees with the law."""

import numpy as np
import pytest

from leastaction.core.model import acceleration_function, latex, simulate
from leastaction.core.system import System

DOUBLE = System.from_config(
    {
        "coordinates": {"a": {"unit": "rad"}, "b": {"unit": "rad"}},
        "parameters": {"g": {"value": 9.81, "unit": "1"}},
        "lagrangian": "adot**2 + bdot**2/2 + adot*bdot*cos(a - b)"
        " + 2*g*cos(a) + g*cos(b)",
        "dissipation": "0*adot",
    }
)
SLIDER = System.from_config(
    {
        "coordinates": {"x": {"unit": "m"}},
        "parameters": {"mu": {"value": 0.5, "unit": "1"}},
        "lagrangian": "xdot**2/2",
        "dissipation": "mu*abs(xdot)",
    }
)


def test_the_function_solves_the_equations_of_motion(rng):
    acceleration = acceleration_function(DOUBLE)
    q, v = rng.standard_normal((2, 20, 2))
    push = rng.standard_normal((20, 2))
    found = acceleration(q, v, push)
    for row in range(20):
        values = dict(zip(DOUBLE.state, [*q[row], *v[row]], strict=True))
        mass = np.array(DOUBLE.evaluated(DOUBLE.mass_matrix).subs(values), float)
        rest = np.array(DOUBLE.evaluated(DOUBLE.forces).subs(values), float).ravel()
        np.testing.assert_allclose(mass @ found[row], rest + push[row], atol=1e-9)


def test_a_simulated_motion_keeps_its_energy():
    q, v = simulate(DOUBLE, [1.0, -0.5], [0.0, 0.0], np.linspace(0, 5, 50))
    energy = [
        float(
            DOUBLE.evaluated(DOUBLE.hamiltonian).subs(
                dict(zip(DOUBLE.state, [*x, *y], strict=True))
            )
        )
        for x, y in zip(q, v, strict=True)
    ]
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)


def test_dry_friction_stops_a_slider_where_mechanics_says():
    """From 1 m/s at 0.5 m/s² it slides 1 m in 2 s and stays."""
    x, v = simulate(SLIDER, [0.0], [1.0], [0.0, 1.0, 2.5, 4.0])
    assert x[1, 0] == pytest.approx(0.75, abs=1e-3)
    np.testing.assert_allclose(x[2:, 0], 1.0, atol=4e-3)
    assert np.abs(v[3]).max() < 1e-3


def test_latex_names_every_equation():
    text = latex(DOUBLE, {"a": r"\alpha_1"})
    assert text.count("&= 0") == 2
    assert r"\dot{\alpha}_1" in text and r"\ddot{b}" in text


def test_a_state_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="q is .1.0.; expected one number for each"):
        simulate(DOUBLE, [1.0], [0.0], [0.0, 1.0])
