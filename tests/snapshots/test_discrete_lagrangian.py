import numpy as np
import pytest
import sympy as sp

from leastaction.snapshots.discrete_lagrangian import (
    corner_momenta,
    discrete_euler_lagrange,
    discrete_mass,
    discrete_momenta,
    mass_conditions,
    massive,
    mean_discrete_mass,
    pair_states,
    pairs,
    rule_points,
)
from leastaction_papers.shadow_integration.gaussian_processes import euler_lagrange_rows

H = 0.3
Q, V = sp.symbols("q1:3"), sp.symbols("v1:3")
RNG = np.random.default_rng(2)
FIRST, SECOND = RNG.normal(size=(2, 6, 2))
POSITIONS = RNG.normal(size=(4, 5, 2))


class Expressions:
    """Given functions of (q, v) as a basis."""

    dof = 2

    def __init__(self, *functions):
        self.functions, self.size = functions, len(functions)

    def partial(self, state, *axes):
        variables = (*Q, *V)
        columns = []
        for function in self.functions:
            for axis in axes:
                function = sp.diff(function, variables[axis])
            value = sp.lambdify(variables, function)(*state.T)
            columns.append(np.broadcast_to(value, len(state)))
        return np.array(columns, dtype=float).T


POTENTIAL = Q[0] ** 3 * Q[1] + Q[1] ** 2
LAGRANGIAN = (2 + Q[0] ** 2) * V[0] ** 2 + V[0] * V[1] * Q[1] + V[1] ** 2 - POTENTIAL
RULES = ["midpoint", "trapezoidal"]


def gauge(rule):
    """L whose discrete Lagrangian is g(q1) - g(q0) exactly."""
    if rule == "midpoint":
        ends = [[q + s * H / 2 * v for q, v in zip(Q, V, strict=True)] for s in (-1, 1)]
        before, after = (POTENTIAL.subs(dict(zip(Q, e, strict=True))) for e in ends)
        return sp.expand(after - before) / H
    return sp.expand(Q[0] * V[1] + V[0] * Q[1])  # g = q1 q2


def action(function, points, rule):
    total = 0.0
    for first, second in zip(points[:-1], points[1:], strict=True):
        for weight, theta in rule_points(rule):
            place = (1 - theta) * first + theta * second
            state = [*place, *(second - first) / H]
            total += H * weight * sp.lambdify((*Q, *V), function)(*state)
    return total


@pytest.mark.parametrize("rule", RULES)
def test_rows_are_the_gradient_of_the_discrete_action(rule):
    rows = discrete_euler_lagrange(Expressions(LAGRANGIAN), POSITIONS, H, rule)
    for k in (1, 2, 3):
        for i in range(2):
            step = np.zeros((5, 2))
            step[k, i] = 1e-5
            up, down = (
                action(LAGRANGIAN, POSITIONS[0] + s * step, rule) for s in (1, -1)
            )
            expected = (up - down) / 2e-5 / H
            assert rows[0, k - 1, i, 0] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_gauge_terms_have_no_rows_and_no_discrete_mass(rule):
    basis = Expressions(gauge(rule), LAGRANGIAN)
    rows = discrete_euler_lagrange(basis, POSITIONS, H, rule)
    mass = discrete_mass(basis, FIRST, SECOND, H, rule)
    mean = mean_discrete_mass(basis, FIRST, SECOND, H, rule)
    assert abs(rows[..., 0]).max() < 1e-10 * abs(rows[..., 1]).max()
    assert abs(mass[..., 0]).max() < 1e-10 * abs(mass[..., 1]).max()
    assert abs(mean[0]) < 1e-10 * abs(mean[1])


def test_corner_normalisation_is_met_by_a_gauge_term_alone():
    """Why the published normalisation leaves the mass free."""
    total = Expressions(Q[0] * V[1] + V[0] * Q[1])
    assert corner_momenta(total)[0] > 0.1
    assert not discrete_mass(total, FIRST, SECOND, H, "midpoint").any()


@pytest.mark.parametrize("rule", RULES)
def test_discrete_mass_is_the_slope_of_the_momentum(rule):
    basis = Expressions(LAGRANGIAN)
    mass = discrete_mass(basis, FIRST, SECOND, H, rule)[..., 0]
    for j in range(2):
        step = np.eye(2)[j] * 1e-6
        up, down = (
            discrete_momenta(basis, FIRST, SECOND + s * step, H, rule)[0][..., 0]
            for s in (1, -1)
        )
        np.testing.assert_allclose(mass[:, j], H * (up - down) / 2e-6, rtol=1e-6)
    mean = mean_discrete_mass(basis, FIRST, SECOND, H, rule)[0]
    assert mean == pytest.approx(np.trace(mass).mean() / 2)


@pytest.mark.parametrize("rule", RULES)
def test_a_direction_without_mass_is_given_one(rule):
    """Along v1 − v2 there is none, whatever total derivative is added."""
    basis = Expressions((V[0] + V[1]) ** 2 / 2 - POTENTIAL, gauge(rule), LAGRANGIAN)
    row = massive(basis, np.array([1.0, 0.5, 0.0]), POSITIONS, H, rule)
    mass = discrete_mass(basis, *pairs(POSITIONS), H, rule).mean(axis=2)
    mean = (mass + mass.swapaxes(0, 1)) / 2
    vector = np.linalg.eigh(mean @ [1.0, 0.5, 0.0])[1][:, 0]
    expected = np.einsum("i,j,ijf->f", vector, vector, mean)
    np.testing.assert_allclose(row, expected, rtol=0, atol=1e-12)
    assert massive(basis, np.array([0.0, 0.0, 1.0]), POSITIONS, H, rule) is None


@pytest.mark.parametrize("theta", [None, 0.0, 0.25, 1.0])
def test_a_state_is_on_the_line_between_two_positions(theta):
    """In its middle if no place is named, with the velocity of the step."""
    found = pair_states(FIRST, SECOND, H, *(() if theta is None else (theta,)))
    place = FIRST + (0.5 if theta is None else theta) * (SECOND - FIRST)
    np.testing.assert_allclose(found, np.hstack([place, (SECOND - FIRST) / H]))


@pytest.mark.parametrize("rule", RULES)
def test_conditions_are_a_mean_mass_of_one_and_no_energy_at_rest_in_the_centre(rule):
    basis = Expressions(LAGRANGIAN, V[0] ** 2 * Q[1] + Q[0] + 3 * V[1])
    rows, values = mass_conditions(basis, POSITIONS, H, rule)
    first, second = pairs(POSITIONS)
    mass = mean_discrete_mass(basis, first, second, H, rule)
    centre = np.r_[(first + second).mean(axis=0) / 2, 0.0, 0.0]
    rest = basis.partial(centre[None])[0]
    np.testing.assert_allclose(rows, [mass, rest])
    assert list(values) == [1.0, 0.0]


def test_continuous_rows_vanish_on_a_total_time_derivative():
    total = Q[0] * V[1] + V[0] * Q[1] + 3 * Q[0] ** 2 * V[0]
    q, qdot, qddot = RNG.normal(size=(3, 5, 2))
    rows = euler_lagrange_rows(Expressions(total, LAGRANGIAN), q, qdot, qddot)
    assert abs(rows[..., 0]).max() < 1e-12 < abs(rows[..., 1]).max()


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="simpson.*midpoint"):
        rule_points("simpson")
    with pytest.raises(ValueError, match="three snapshots, got 2"):
        discrete_euler_lagrange(
            Expressions(LAGRANGIAN), POSITIONS[:, :2], H, "midpoint"
        )
