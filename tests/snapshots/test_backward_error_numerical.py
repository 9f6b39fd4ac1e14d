"""Orders of truncated modified Lagrangians, measured with the integrators."""

from functools import cache, partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from snapshot_support import partial_derivatives

from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import parse
from leastaction.core.multi_index import multi_indices
from leastaction.snapshots.backward_error_numerical import (
    POINTS_PER_BATCH,
    energy,
    modified_lagrangian,
    momentum,
    monomials,
    needed_order,
)
from leastaction.snapshots.discrete_lagrangian import RULES
from leastaction_papers.shadow_integration import tables

inverse_modified_lagrangian = partial(modified_lagrangian, inverse=True)

NAMES = ("x", "y", "z")
# Not mechanical, not separable, with magnetic terms; regular near the start.
SYSTEMS = {
    1: "xdot**2/2*(1 + x**2/4) + xdot**4/20*cos(x) + sin(x)*xdot**3/9 + cos(x)"
    " - x**2/2",
    2: "xdot**2*(1 + y**2/5) + ydot**2/2 + xdot*ydot*cos(x - y)/3 + x*y**2*xdot/4"
    " + ydot**3*x/8 - x**2/2 - y**4/3 - x*y",
    3: "xdot**2*(1 + y**2/5)/2 + ydot**2/2 + zdot**2*(1 + x*z/4)/2 + xdot*ydot*z/3"
    " + x*y**2*zdot/4 + xdot**4/12 - x**2/2 - y**4/3 - x*y - z**2/2 + x*z**2/4",
}
XY = (("x", "xdot"), ("y", "ydot"))
DURATION = 0.6
STEPS = (0.2, 0.1)

both_rules = pytest.mark.parametrize("rule", sorted(RULES))


def lagrangian(n):
    names = NAMES[:n]
    return parse(SYSTEMS[n], [*names, *(f"{name}dot" for name in names)])


@cache
def derivatives(n, order):
    return partial_derivatives(lagrangian(n), NAMES[:n], order)


def states(n, points=3, seed=1):
    return np.random.default_rng(seed).uniform(-0.6, 0.6, (2, points, n))


def gradient_and_hessian(rows, n):
    hessian = np.empty((rows.shape[1], 2 * n, 2 * n))
    second = slice(monomials(2 * n, 1), monomials(2 * n, 2))
    indices = multi_indices(2 * n, 2)[second]
    for index, row in zip(indices, rows[second], strict=True):
        i, j = np.repeat(np.arange(2 * n), index)
        hessian[:, i, j] = hessian[:, j, i] = row
    return rows[1 : 1 + n].T, rows[1 + n : 1 + 2 * n].T, hessian


def solved(matrix, right):
    return np.linalg.solve(matrix, right[..., None])[..., 0]


def discrete(rule, model, a, b, h):
    """Slopes of L_Δ(a, b) in a and in b, and ∂²L_Δ/∂a∂b."""
    n, slope_a, slope_b, mixed = a.shape[1], 0.0, 0.0, 0.0
    for weight, node in RULES[rule]:
        w, s = float(weight), float(node)
        rows = model((1 - s) * a + s * b, (b - a) / h)
        in_q, in_v, hessian = gradient_and_hessian(rows, n)
        slope_a = slope_a + w * (h * (1 - s) * in_q - in_v)
        slope_b = slope_b + w * (h * s * in_q + in_v)
        qq, qv, vv = hessian[:, :n, :n], hessian[:, :n, n:], hessian[:, n:, n:]
        crossed = (1 - s) * qv - s * np.swapaxes(qv, 1, 2)
        mixed = mixed + w * (h * s * (1 - s) * qq + crossed - vv / h)
    return slope_a, slope_b, mixed


def orbit(rule, model, q, p, v, h):
    """Positions and momenta by the variational integrator, (time, point, dof)."""
    path = [(q, p)]
    for _ in range(round(DURATION / h)):
        end = q + h * v
        for _ in range(20):
            slope, _, mixed = discrete(rule, model, q, end, h)
            correction = solved(mixed, -(slope + p))
            end = end + correction
            if abs(correction).max() < 1e-13:
                break
        v, (_, p, _) = (end - q) / h, discrete(rule, model, q, end, h)
        q = end
        path.append((q, p))
    return tuple(np.array(part) for part in zip(*path, strict=True))


def flow(model, q, v):
    """Positions after DURATION of the Euler–Lagrange equation of a model."""

    def rate(_, state):
        q, v = state.reshape(2, *shape)
        force, _, hessian = gradient_and_hessian(model(q, v), n)
        force = force - np.einsum("pij,pj->pi", hessian[:, n:, :n], v)
        return np.concatenate([v, solved(hessian[:, n:, n:], force)]).ravel()

    shape, n = q.shape, q.shape[1]
    start = np.concatenate([q, v]).ravel()
    run = solve_ivp(rate, (0, DURATION), start, "DOP853", rtol=1e-11, atol=1e-11)
    return run.y[:, -1].reshape(2, *shape)[0]


def velocities(model, q, p, v):
    """Velocities at which a model has the momenta p."""
    for _ in range(30):
        _, found, hessian = gradient_and_hessian(model(q, v), q.shape[1])
        correction = solved(hessian[:, q.shape[1] :, q.shape[1] :], p - found)
        v = v + correction
        if abs(correction).max() < 1e-13:
            break
    return v


def observed_order(errors):
    return np.log2(errors[0] / errors[1])


CASES = [(1, 0), (1, 2), (1, 4), (2, 2), (2, 4), (3, 2)]


@both_rules
@pytest.mark.parametrize("n, order", CASES)
def test_orders_of_the_modified_lagrangian(n, order, rule):
    """The integrator's orbit is a motion of L^[k] and keeps H^[k], up to h^(k + 2)."""
    q, v = states(n)
    off_orbit, off_energy = [], []
    for h in STEPS:

        def model(q, v, h=h):
            given = derivatives(n, needed_order(order, 2))(q, v)
            return modified_lagrangian(given, v, h, order, rule)

        start = momentum(model(q, v), n)
        path, p = orbit(rule, derivatives(n, 2), q, start, v, h)
        off_orbit.append(abs(path[-1] - flow(model, q, v)).max())
        guess = np.gradient(path, h, axis=0).reshape(-1, n)
        along, p = path.reshape(-1, n), p.reshape(-1, n)
        rates = velocities(model, along, p, guess)
        hamiltonian = energy(model(along, rates), rates)[0]
        hamiltonian = hamiltonian.reshape(len(path), -1)
        off_energy.append(abs(hamiltonian[-1] - hamiltonian[0]).max())
    assert observed_order(off_orbit) == pytest.approx(order + 2, abs=0.1)
    assert observed_order(off_energy) == pytest.approx(order + 2, abs=0.1)


@both_rules
@pytest.mark.parametrize("n, order", CASES)
def test_orders_of_the_inverse_modified_lagrangian(n, order, rule):
    """Integrating L_invmod^[k] gives motions of L, up to h^(k + 2)."""
    q, v = states(n)
    exact = flow(derivatives(n, 2), q, v)
    start = momentum(derivatives(n, 2)(q, v), n)
    errors = []
    for h in STEPS:

        def model(q, v, h=h):
            given = derivatives(n, needed_order(order, 2))(q, v)
            return inverse_modified_lagrangian(given, v, h, order, rule)

        path, _ = orbit(rule, model, q, start, v, h)
        errors.append(abs(path[-1] - exact).max())
    assert observed_order(errors) == pytest.approx(order + 2, abs=0.1)


@both_rules
@pytest.mark.parametrize("n, order", [(1, 2), (1, 4), (2, 4), (3, 2)])
def test_each_is_the_inverse_of_the_other(n, order, rule):
    """The round trip errs by h^(k + 2), in value and gradient."""
    q, v = states(n)
    given = derivatives(n, 2 * order + 1)(q, v)
    for first, second in (
        (modified_lagrangian, inverse_modified_lagrangian),
        (inverse_modified_lagrangian, modified_lagrangian),
    ):
        errors = []
        for h in (0.1, 0.05):
            back = second(first(given, v, h, order, rule), v, h, order, rule)
            errors.append(abs(back - given[: len(back)]).max())
        assert len(back) == 1 + 2 * n
        assert observed_order(errors) == pytest.approx(order + 2, abs=0.1)


@both_rules
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("n, order, more", [(1, 2, 1), (1, 4, 0), (2, 2, 0)])
def test_numbers_are_those_of_the_formula(n, order, more, inverse, rule):
    """Value and partial derivatives."""
    q, v = states(n)
    given = derivatives(n, order + more)(q, v)
    found = modified_lagrangian(given, v, 0.25, order, rule, inverse)
    how = order, rule, 0.25, inverse
    formula = tables.modified_lagrangian(lagrangian(n), NAMES[:n], *how)
    expected = partial_derivatives(formula, NAMES[:n], more)(q, v)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@both_rules
def test_linear_coordinates_commute_with_the_modification(rule):
    turn = np.array([[1.0, 2.0], [-1.0, 1.0]])
    old = symbols([*NAMES[:2], "xdot", "ydot"])
    x, y, xdot, ydot = old
    new = (x + 2 * y, y - x, xdot + 2 * ydot, ydot - xdot)
    other = lagrangian(2).subs(dict(zip(old, new, strict=True)), simultaneous=True)
    q, v = states(2) / 2
    there = modified_lagrangian(
        derivatives(2, 4)(q @ turn.T, v @ turn.T), v @ turn.T, 0.3, 4, rule
    )
    found = partial_derivatives(other, NAMES[:2], 4)(q, v)
    found = modified_lagrangian(found, v, 0.3, 4, rule)
    np.testing.assert_allclose(found, there, rtol=1e-12)


@both_rules
def test_independent_systems_are_modified_independently(rule):
    """L_1(x) + L_2(y) has the sum of their modified Lagrangians, and rates too."""
    q, v = states(2)
    parts = [
        modified_lagrangian(
            derivatives(1, 4)(q[:, [i]], v[:, [i]]), v[:, [i]], 0.3, 4, rule
        )
        for i in (0, 1)
    ]
    one = lagrangian(1)
    other = one.subs(dict(zip(*map(symbols, XY), strict=True)))
    both = partial_derivatives(one + other, NAMES[:2], 4)
    found = modified_lagrangian(both(q, v), v, 0.3, 4, rule)
    np.testing.assert_allclose(found, parts[0] + parts[1], rtol=1e-12)


def test_the_size_of_blocks_does_not_matter():
    q, v = states(1, POINTS_PER_BATCH + 3)
    given = derivatives(1, 6)(q, v)
    together = modified_lagrangian(given, v, 0.3, 4)
    alone = modified_lagrangian(given[:, -2:], v[-2:], 0.3, 4)
    np.testing.assert_array_equal(together[:, -2:], alone)


@both_rules
def test_the_scale_of_the_lagrangian_is_that_of_the_modified(rule):
    q, v = states(2)
    given = derivatives(2, 5)(q, v)
    plain = modified_lagrangian(given, v, 0.3, 4, rule)
    scaled = modified_lagrangian(-1e-4 * given, v, 0.3, 4, rule)
    np.testing.assert_allclose(scaled, -1e-4 * plain, rtol=1e-12, atol=1e-18)


def test_a_point_with_singular_mass_is_alone_without_a_number():
    q, v = states(1, 4)
    given = derivatives(1, 4)(q, v)
    given[5, 2] = 0.0  # ∂²L/∂q̇²
    found = modified_lagrangian(given, v, 0.3, 4)
    assert np.isnan(found[:, 2]).all()
    assert np.isfinite(found[:, [0, 1, 3]]).all()


def test_too_few_derivatives_are_refused():
    q, v = states(2)
    given = derivatives(2, 3)(q, v)
    with pytest.raises(ValueError, match="order 3; order 4 is needed"):
        modified_lagrangian(given, v, 0.1, 4)
    with pytest.raises(ValueError, match="34 rows are not"):
        modified_lagrangian(given[:-1], v, 0.1, 2)
    with pytest.raises(ValueError, match=r"\(index, point\)"):
        modified_lagrangian(given, v[:-1], 0.1, 2)
