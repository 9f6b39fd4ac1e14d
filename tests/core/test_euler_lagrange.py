"""Euler–Lagrange expressions against mechanics, and along a motion by differences."""

import numpy as np
import pytest
import sympy as sp

from leastaction.core.euler_lagrange import (
    acceleration_names,
    euler_lagrange,
    legendre,
    rates_along_motion,
    rayleigh_force,
    symbols,
    total_derivative,
    velocity_names,
    without_signs,
)

Q = ("x", "y")
x, y, u, v, a, b = symbols([*Q, *velocity_names(Q), *acceleration_names(Q)])


def test_names_are_those_of_formulas():
    assert [str(s) for s in (x, u, a)] == ["x", "xdot", "xddot"] and x.is_real


def test_polar_coordinates_have_centrifugal_and_coriolis_forces():
    law = (u**2 + x**2 * v**2) / 2 - 3 * x
    radial, angular = euler_lagrange(law, Q)
    assert sp.expand(radial - (a - x * v**2 + 3)) == 0
    assert sp.expand(angular - (x**2 * b + 2 * x * u * v)) == 0


def test_a_total_derivative_is_that_along_a_motion():
    f = x**2 * v + sp.sin(y) * u
    t = sp.Symbol("t")
    path = {x: sp.cos(2 * t), y: t**3}
    speeds = {u: path[x].diff(t), v: path[y].diff(t)}
    rates = {a: path[x].diff(t, 2), b: path[y].diff(t, 2)}
    along = f.subs({**path, **speeds})
    found = total_derivative(f, Q).subs({**path, **speeds, **rates})
    for time in (0.3, 1.1):
        assert float(found.subs(t, time)) == pytest.approx(
            float(along.diff(t).subs(t, time))
        )
    assert sp.expand(euler_lagrange(total_derivative(x * y**2, Q), Q)[0]) == 0
    (rate,) = rates_along_motion([f], Q)
    assert sp.expand(rate - (2 * x * v * u + sp.cos(y) * u * v)) == 0


def test_rayleigh_forces_and_legendre_transforms():
    loss = 3 * u**2 / 2 + (u - v) ** 4
    first, second = rayleigh_force(loss, Q)
    assert sp.expand(first - 3 * u - 4 * (u - v) ** 3) == 0
    assert sp.expand(second + 4 * (u - v) ** 3) == 0
    assert sp.expand(legendre(u**2 * v + x * u - y, ["xdot", "ydot"])) == sp.expand(
        2 * u**2 * v + y
    )


@pytest.mark.parametrize(
    ("force", "merged"),
    [
        (u * sp.sign(u), sp.Abs(u)),
        (5 * u**3 * sp.sign(u), 5 * u**2 * sp.Abs(u)),
        (sp.sign(u), sp.sign(u)),
        (v * sp.sign(u), v * sp.sign(u)),
        (sp.sign(u) / u, sp.sign(u) / u),
        (u * sp.sign(u) + 2 * v * sp.sign(v) * x, sp.Abs(u) + 2 * x * sp.Abs(v)),
        (u * v * sp.sign(u) * sp.sign(v), sp.Abs(u * v)),
        (u * sp.sqrt(sp.sign(u)), u * sp.sqrt(sp.sign(u))),
    ],
)
def test_signs_join_their_argument(force, merged):
    found = without_signs(force)
    assert sp.simplify(found - merged) == 0
    assert found.has(sp.sign) == merged.has(sp.sign)
    values = dict(zip((x, u, v), np.array([0.7, -1.3, 2.0]), strict=True))
    assert complex(found.subs(values)) == pytest.approx(complex(force.subs(values)))
