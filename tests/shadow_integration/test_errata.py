"""Slips of Ober-Blöbaum and Offen (docs/errata.md), where algebra can tell."""

import numpy as np
import pytest
import sympy as sp

from leastaction.core.euler_lagrange import euler_lagrange
from leastaction.core.expressions import symbol
from leastaction.snapshots.discrete_lagrangian import (
    corner_momenta,
    discrete_euler_lagrange,
    mean_discrete_mass,
)

Q, V, A = map(symbol, ("q", "qdot", "qddot"))
POTENTIAL = sp.Function("V")(Q)


class Powers:
    """L = b_0 q̇ + b_1 q̇²/2 + b_2 q²/2: a gauge term and an oscillator."""

    size, dof = 3, 1

    def partial(self, state, *axes):
        found = [V, V**2 / 2, Q**2 / 2]
        for axis in axes:
            found = [sp.diff(f, (Q, V)[axis]) for f in found]
        values = sp.lambdify((Q, V), found)
        return np.array([values(*row) for row in state], dtype=float)


@pytest.fixture
def positions():
    """A motion of the midpoint rule for q̈ = −q."""
    h = 0.3
    cosine = (1 - h**2 / 4) / (1 + h**2 / 4)
    return np.cos(np.arange(5) * np.arccos(cosine))[None, :, None]


def test_88_volume_is_the_mass_and_not_the_momentum():
    m = symbol("m")
    momentum = sp.diff(m * V**2 / 2, V)
    assert sp.diff(momentum, V) == m != momentum


def test_90_a_total_derivative_meets_the_normalisation(positions):
    gauge = np.array([1.0, 0.0, 0.0])
    first, second = positions[0, :-1], positions[0, 1:]
    assert corner_momenta(Powers()) @ gauge == 1
    assert mean_discrete_mass(Powers(), first, second, 0.3, "midpoint") @ gauge == 0
    rows = discrete_euler_lagrange(Powers(), positions, 0.3, "midpoint")
    np.testing.assert_allclose(rows @ gauge, 0, atol=1e-14)


def test_92_a_function_of_the_energy_is_the_energy_of_the_same_motion():
    energy = V**2 / 2 + POTENTIAL
    other = V**4 / 12 + POTENTIAL * V**2 - POTENTIAL**2
    assert sp.expand(V * sp.diff(other, V) - other - energy**2) == 0
    (motion,) = sp.solve(euler_lagrange(other, ["q"])[0], A)
    assert sp.simplify(motion + sp.diff(POTENTIAL, Q)) == 0


def test_94_forces_of_both_intervals_are_added(positions):
    h, q = 0.3, positions[0, :, 0]
    rate, middle = np.diff(q) / h, (q[1:] + q[:-1]) / 2
    momenta, forces = -np.diff(rate) / h, -middle
    added = momenta + (forces[:-1] + forces[1:]) / 2
    subtracted = momenta + (forces[:-1] - forces[1:]) / 2
    np.testing.assert_allclose(added, 0, atol=1e-12)
    assert abs(subtracted).max() > 0.1
    rows = discrete_euler_lagrange(Powers(), positions, h, "midpoint")
    np.testing.assert_allclose(rows[0, :, 0] @ [0, 1, -1], added, atol=1e-12)


def test_97_expanded_euler_lagrange_equation():
    lagrangian = V**2 * (1 + Q**2) / 2 - POTENTIAL
    mixed, mass = sp.diff(lagrangian, Q, V), sp.diff(lagrangian, V, 2)
    right = sp.diff(lagrangian, Q) - (mixed * V + mass * A)
    printed = sp.diff(lagrangian, V) - (mixed * V - mass * A)
    equation = euler_lagrange(lagrangian, ["q"])[0]
    assert sp.expand(equation + right) == 0 or sp.expand(equation - right) == 0
    assert sp.expand(equation + printed) != 0 != sp.expand(equation - printed)


def test_107_the_critical_level_is_three_straight_lines():
    x, y, a = sp.symbols("x y a", positive=True)
    level = (x**2 + y**2) / 2 + a * (x**2 * y - y**3 / 3) - 1 / (6 * a**2)
    lines = (2 * a * y + 1) * (3 * x**2 * a**2 - (1 - a * y) ** 2) / (6 * a**2)
    assert sp.expand(level - lines) == 0
    value = level.subs({a: sp.Rational(4, 5), x: 0.675499, y: 0.08})
    assert float(value) == pytest.approx(-6.2e-7, rel=0.01)


def test_113_a_jet_of_order_two_has_an_equation_of_order_four():
    t = sp.Symbol("t")
    path = sp.Function("q")(t)
    second = sp.diff(path, t, 2)
    equation = sp.diff(sp.diff(second**2 / 2, second), t, 2)
    assert equation == sp.diff(path, t, 4)
