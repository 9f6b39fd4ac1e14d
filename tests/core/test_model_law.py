"""What a law gives away agrees with the law."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from leastaction.core.estimate import interval_factor
from leastaction.core.model import (
    acceleration_function,
    interval,
    latex,
    rounded,
    simulate,
    with_intervals,
)
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


@pytest.mark.parametrize(
    ("value", "width", "texts"),
    [
        (1.0, 0.96, ("1.00", "0.96")),
        (1.0, 0.0961, ("1.000", "0.096")),
        (-0.5, 12.0, ("0", "12")),
        (123456.0, 99.0, ("123456", "99")),
        (1.23456e6, 0.0, ("1.23456·10⁶", "")),
        (9.9e-5, 1e-6, ("9.90·10⁻⁵", "0.10·10⁻⁵")),
        (2e-4, np.inf, ("0.0002", "∞")),
        (0.0, 0.0, ("0", "")),
        (0.0, 3e-7, ("0.0·10⁻⁷", "3.0·10⁻⁷")),
        (1.0, np.nan, ("1", "")),
    ],
)
def test_a_width_has_two_digits_and_the_value_as_many_decimals(value, width, texts):
    assert rounded(value, width) == texts
    assert interval(value, width) == " ± ".join(filter(None, texts))


def test_intervals_stand_behind_the_standard_error():
    table = pd.DataFrame({"value": [1.0, -2.0], "std": [0.5, 0.0], "unit": ["m", "s"]})
    table = with_intervals(table, 2.0)
    assert list(table.columns) == ["value", "std", "low", "high", "unit"]
    np.testing.assert_array_equal(table[["low", "high"]], [[0, 2], [-2, -2]])


@pytest.mark.parametrize(("blocks", "factor"), [(None, 1.96), (2, 12.706), (21, 2.086)])
def test_intervals_are_wider_with_few_blocks(blocks, factor):
    model = xr.Dataset({} if blocks is None else {"blocks": ("replicate", [blocks])})
    assert interval_factor(model) == pytest.approx(factor, rel=1e-4)
    one = xr.Dataset({"blocks": ("replicate", [1])})
    assert interval_factor(one) == interval_factor(one.assign(blocks=one.blocks + 1))


CART = System("xdot**2 + ydot**2/2 - x**2")
CALLS = {
    "one": (([1.0], [0.0, 0.0], [0, 1]), {}, r"q is \[1.0\]; .* each of x, y"),
    "text": (([0.0, 0.0], ["a", "b"], [0, 1]), {}, "qdot is"),
    "nan": (([0.0, np.nan], [0.0, 0.0], [0, 1]), {}, "q is"),
    "instant": (([0.0, 0.0], [0.0, 0.0], [1.0]), {}, "two times or more"),
    "order": (([0.0, 0.0], [0.0, 0.0], [0, 2, 1]), {}, "two times or more"),
    "shape": (([0.0, 0.0], [0.0, 0.0], [[0, 1]]), {}, "two times or more"),
    "force": (([0.0, 0.0], [0.0, 0.0], [0, 1]), {"force": 1.0}, "force is float"),
    "push": (
        ([0.0, 0.0], [0.0, 0.0], [2, 3]),
        {"force": lambda t: [1.0, 2.0, 3.0]},
        r"force\(2\) is \[1.0, 2.0, 3.0\]",
    ),
}


@pytest.mark.parametrize("when", CALLS)
def test_a_call_that_simulates_nothing_is_refused(when):
    arguments, named, words = CALLS[when]
    with pytest.raises(ValueError, match=words):
        simulate(CART, *arguments, **named)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_force_drives_its_coordinate_forwards_and_backwards(sign):
    """2 ẍ = −2 x + 2, ÿ = 6 t from rest."""
    time = sign * np.linspace(0, 2, 5)
    q, qdot = simulate(CART, [0, 0], [0, 0], time, lambda t: [2.0, 6 * t])
    expected = np.c_[1 - np.cos(time), time**3]
    np.testing.assert_allclose(q, expected, atol=1e-6)
    np.testing.assert_allclose(qdot, np.c_[np.sin(time), 3 * time**2], atol=1e-6)


def test_accelerations_have_the_shape_of_what_is_broadcast():
    acceleration = acceleration_function(CART)
    q = np.arange(12.0).reshape(3, 2, 2)
    expected = np.stack([1.0 - q[..., 0], np.full((3, 2), 5.0)], axis=-1)
    np.testing.assert_allclose(acceleration(q, [0.0, 0.0], [2.0, 5.0]), expected)
    assert acceleration([1, 0], [0, 0]).shape == (2,)
    with pytest.raises(ValueError, match="expected 2 as the last length"):
        acceleration([1.0], [0.0, 0.0])
