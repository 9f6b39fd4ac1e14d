"""Prices and motions of the candidates."""

import numpy as np
import pytest
from sympy import lambdify

from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import parse
from leastaction.core.library import Library
from leastaction.recordings.candidates import prices, smooth_friction
from leastaction.recordings.recorded_library import stribeck_losses


def test_the_double_of_an_angle_costs_more_than_the_angle():
    """Over a part of a turn each imitates the other, in inertia and potential alike."""
    names = ["cos(b)", "cos(2*b)", "adot*bdot*cos(b)", "adot*bdot*cos(2*b)"]
    library = Library.from_config(
        {"reference": "adot**2", "lagrangian": [{"terms": ["adot**2", *names]}]},
        ["a", "b"],
    )
    price = dict(zip(library.names, prices(library, np.arange(5)), strict=True))
    assert [price[name] for name in names] == [1.0, 1.25, 2.0, 2.5]


def test_stribeck_friction_falls_with_the_velocity():
    """To 1/e at its velocity scale, and it turns around without a jump."""
    v = symbols(["xdot"])[0]
    (text,) = stribeck_losses({"xdot": [0.04, 0.06]}, ["x"])
    smooth = smooth_friction(parse(text, ["x", "xdot"]), 1e-4)
    force = lambdify(v, smooth.diff(v))
    assert force(0.05) == pytest.approx(np.exp(-1), rel=1e-3)
    assert force(-0.05) == -force(0.05) and force(0) == 0
