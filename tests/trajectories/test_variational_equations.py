"""Variational equations: sensitivities, order of the integrator, independence."""

import numpy as np
import pytest
import sympy as sp

from leastaction.core.euler_lagrange import euler_lagrange, symbols
from leastaction.core.expressions import parse
from leastaction.trajectories import variational_equations as method
from leastaction.trajectories.variational_equations import (
    polynomial_table,
    variational_equations,
)

COORDINATES = ("c", "x")  # names that the generated code uses itself
NAMES = (*COORDINATES, "cdot", "xdot")
TERMS = ["cdot**2", "xdot**2", "cdot*cos(c)*xdot", "cos(c)", "x**2", "sin(c)*x"]
DAMPING = ["cdot**2", "abs(xdot)", "cdot**4"]
TRUTH = np.array([0.25, 0.75, 0.5, 4.9, -0.3, 0.0, 0.05, 0.02, 0.0])


@pytest.fixture(scope="module")
def cart():
    return variational_equations(
        [parse(t, NAMES) for t in TERMS],
        COORDINATES,
        [parse(t, NAMES) for t in DAMPING],
    )


def test_sensitivities_equal_finite_differences(cart):
    start = np.random.default_rng(1).normal(size=(6, 4))
    active = np.array([8, 1, 2, 5, 6, 7])
    _, by_all, _ = cart.flow(start, TRUTH, active, 0.01, 2)

    def end(j, step):
        moved, c = start.copy(), TRUTH.copy()
        if j < 4:
            moved[:, j] += step
        else:
            c[active[j - 4]] += step
        return cart.rollout(moved, c, 0.01, 2, 2)[:, 1]

    for j in range(10):
        slope = (end(j, 1e-5) - end(j, -1e-5)) / 2e-5
        np.testing.assert_allclose(by_all[:, :, j], slope, rtol=2e-5, atol=1e-7)


def test_sensitivities_stay_bounded_where_friction_is_stiff():
    # v' = -k v with k dt = 5.6 and four steps per sample: each step is stable, but the
    # sensitivities take all four at once. ∂x/∂v₀ = (1 - exp(-k t)) / k.
    rate, dt, count = 560.0, 0.01, 20
    terms = [[parse("xdot**2", ("x", "xdot"))] for _ in range(2)]
    joint = variational_equations(terms[0], ("x",), terms[1])
    c, active = np.array([0.5, rate / 2]), np.zeros(0, dtype=int)
    _, flow, _ = joint.flow(np.zeros((1, 2)), c, active, dt, 4)
    S = [np.linalg.matrix_power(flow[0], k) for k in range(count)]
    time = dt * np.arange(count)
    truth = (((1 - np.exp(-rate * time)) / rate) ** 2).sum()
    assert np.sum([each[0, 1] ** 2 for each in S]) == pytest.approx(truth, rel=0.05)
    assert [each[0, 0] for each in S] == pytest.approx(np.ones(count))


def test_runge_kutta_has_order_four(cart):
    start = np.array([[2.0, 0.0, 0.0, 0.1]])
    c = TRUTH * (np.arange(9) != 7)  # without Coulomb friction, which is not smooth
    end = [cart.rollout(start, c, 1.0, 2, n)[0, -1] for n in (200, 400, 3200)]
    ratio = np.abs(end[0] - end[2]).max() / np.abs(end[1] - end[2]).max()
    assert ratio == pytest.approx(16, rel=0.25)


def test_energy_is_conserved_without_damping(cart):
    c = np.where(np.arange(9) < 6, TRUTH, 0.0)
    theta, x, omega, v = cart.rollout(np.array([[2.0, 0.1, 0, 0.1]]), c, 0.01, 300, 4)[
        0
    ].T
    energy = 0.25 * omega**2 + 0.75 * v**2 + 0.5 * omega * v * np.cos(theta)
    energy += -4.9 * np.cos(theta) + 0.3 * x**2
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)


def test_scale_of_the_lagrangian_changes_no_motion(cart):
    start = np.array([[1.0, 0.0, 0.5, 0.1]])
    np.testing.assert_allclose(
        cart.rollout(start, 7 * TRUTH, 0.01, 50),
        cart.rollout(start, TRUTH, 0.01, 50),
        rtol=1e-9,
    )


def test_a_singular_mass_matrix_gives_no_finite_motion(cart):
    c = np.where(np.arange(9) == 3, 1.0, 0.0)
    with np.errstate(all="ignore"):
        assert not np.isfinite(cart.rollout(np.ones((2, 4)), c, 0.01, 3)[:, 1]).all()


def test_functions_are_polynomials_of_a_closed_set():
    names = ("x", "xdot")
    terms = [parse("xdot**2/x", names), parse("sqrt(1 + x**2)", names)]
    motion = variational_equations(terms, ("x",))
    start = np.array([[1.0, 0.5]])
    c = np.array([0.5, -1.0])
    x, v = motion.rollout(start, c, 0.01, 200, 4)[0].T
    energy = 0.5 * v**2 / x + np.sqrt(1 + x**2)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 6, 10])
def test_any_number_of_steps_spans_the_same_time(cart, steps):
    start = np.array([[1.0, 0.0, 0.5, 0.1]])
    c = TRUTH * (np.arange(9) != 7)
    path, fine = (cart.rollout(start, c, 0.02, 50, n) for n in (steps, 16))
    np.testing.assert_allclose(path, fine, atol=1e-5)
    by_all, exact = (
        cart.flow(path[0], c, np.array([1]), 0.02, n)[1] for n in (steps, 16)
    )
    np.testing.assert_allclose(by_all, exact, atol=1e-3 * np.abs(exact).max())


def forced():
    """A pendulum with an input, its candidates and a smooth force."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x**2, x**4], ["x"], [v**2])
    c = np.array([0.5, -10.0, -20.0, 0.05])

    def nodes(rows, steps, dt):
        time = np.arange(2 * steps * rows) * dt / (2 * steps)
        return (3.0 * np.sin(4.0 * time))[:, None]

    return equations, c, nodes


def test_an_input_drives_the_motion_to_fourth_order():
    """Halving the step of the integrator divides the error by 16."""
    equations, c, nodes = forced()
    dt, rows = 0.05, 60
    start = np.array([[0.3, 0.0]])
    paths = [
        equations.rollout(start, c, dt, rows, steps, nodes(rows, steps, dt))[0, -1, 0]
        for steps in (1, 2, 16)
    ]
    errors = np.abs(np.array(paths[:2]) - paths[2])
    assert 10 < errors[0] / errors[1] < 24


def test_sensitivities_with_an_input_are_derivatives():
    equations, c, nodes = forced()
    dt, rows, steps = 0.02, 50, 4
    force = nodes(rows, steps, dt)
    start = equations.rollout(np.array([[0.3, 0.1]]), c, dt, rows, steps, force)[0]
    first, active = np.arange(rows), np.array([1, 2, 3])
    how = active, dt, steps, force, first
    _, by_all, _ = equations.flow(start[:-1], c, *how[:-1], first[:-1])

    def end(state, values):
        return equations.flow(state[:-1], values, *how[:-1], first[:-1])[0]

    for j, k in enumerate((0, 1, *active)):
        h = 1e-6 * np.eye(2)[k] if j < 2 else 1e-5 * np.eye(4)[k]
        ends = [
            end(start + s * h, c) if j < 2 else end(start, c + s * h) for s in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2 * h.max())
        np.testing.assert_allclose(by_all[:, :, j], slope, rtol=1e-5, atol=1e-8)


LAW = ["cdot**2*x", "xdot**2/c", "cdot*cos(c)*xdot", "sqrt(1 + x**2)", "x*c**3"]
LOSS = ["cdot**2*exp(x)", "xdot**4/c**2"]


@pytest.fixture(scope="module")
def table():
    terms, losses = ([parse(t, NAMES) for t in each] for each in (LAW, LOSS))
    return polynomial_table(terms, COORDINATES, losses)


def monomials(table, x, left, right):
    """1, the state and the functions, and products of earlier ones."""
    names = symbols([f"{k}_{a}" for k in ("position", "velocity") for a in (0, 1)])
    at = dict(zip(names, x, strict=True))
    m = [1.0, *x, *(float(f.subs(at)) for f in table.functions)]
    assert len(m) == table.base
    for i, j in zip(left[len(m) :], right[len(m) :], strict=True):
        m.append(m[i] * m[j])
    return np.array(m)


def by_algebra(x):
    """H, C and their slopes by (q, q̇) of each candidate, 6 · 5 entries."""
    state = symbols(NAMES)
    acceleration = symbols(["cddot", "xddot"])
    at = dict(zip(state, x, strict=True))
    result = []
    for text in LAW:
        e = sp.Matrix(euler_lagrange(parse(text, NAMES), COORDINATES))
        H = e.jacobian(acceleration)
        C = e.subs(dict.fromkeys(acceleration, 0))
        result.append([*H, *C])
    for text in LOSS:
        D = parse(text, NAMES)
        result.append([0] * 4 + [sp.diff(D, v) for v in state[2:]])
    rows = []
    for entries in result:
        entries = [sp.sympify(e) for e in entries]
        every = [*entries, *(sp.diff(e, v) for e in entries for v in state)]
        rows.append([float(e.subs(at)) for e in every])
    return np.array(rows)


def entries_of(table, x, contracted):
    left, right, target, pointer, monomial, value = contracted
    m = monomials(table, x, left, right)
    sums = [
        value[a:b] @ m[monomial[a:b]]
        for a, b in zip(pointer[:-1], pointer[1:], strict=True)
    ]
    return dict(zip(target.tolist(), sums, strict=True))


def test_the_table_has_the_equations_and_their_slopes(table):
    x = np.array([0.7, -0.4, 0.3, 0.9])
    m, found = monomials(table, x, table.left, table.right), np.zeros((7, 30))
    rows = table.candidate, table.entry
    np.add.at(found, rows, table.value * m[table.monomial])
    np.testing.assert_allclose(found, by_algebra(x), atol=1e-12)
    assert table.dof == 2 and table.count == 7
    assert table.base == 5 + len(table.functions)


@pytest.mark.parametrize("active", [None, [], [6, 1]])
def test_a_contracted_table_is_that_of_a_law_and_of_its_active_candidates(
    table, active
):
    """What is not needed is left out, with the monomials that are."""
    c, x = np.array([0.5, 0.0, -2.0, 0.0, 3.0, 0.25, 0.0]), [0.7, -0.4, 0.3, 0.9]
    rows = by_algebra(np.array(x))
    some = None if active is None else np.array(active, dtype=int)
    contracted = table.contract(c, some)
    found = entries_of(table, x, contracted)
    expected = (c @ rows)[: 6 if active is None else 30]
    for i, k in enumerate(active or ()):
        expected = np.append(expected, rows[k, :6])
        assert set(found) >= {30 + 6 * i + j for j in np.flatnonzero(rows[k, :6])}
    assert max(found) < len(expected)
    dense = np.zeros(len(expected))
    dense[list(found)] = list(found.values())
    np.testing.assert_allclose(dense, expected, atol=1e-12)
    left, *_, monomial, _ = contracted
    used = {*monomial.tolist(), *range(table.base)}
    for i in range(len(left) - 1, table.base - 1, -1):
        assert i in used
        used |= {int(left[i])}
    with pytest.raises(ValueError, match=r"\(6,\) coefficients given, \(7,\) expected"):
        table.contract(c[:6], some)


@pytest.mark.parametrize(
    ("term", "atoms"),
    [
        ("x**3*xdot + 2", []),
        ("sin(c)*x", ["sin(c)"]),
        ("sqrt(2)*x", []),
        ("x**0.5", ["sqrt(x)"]),
        ("x**-2", ["1/x"]),
        ("exp(sin(x))", ["exp(sin(x))"]),
        ("sin(2)*x", []),
        ("2**x", ["2**x"]),
    ],
)
def test_outermost_functions_are_named(term, atoms):
    found = method._atoms(parse(term, NAMES))
    assert sorted(map(str, found)) == atoms


def test_products_are_numbered_from_earlier_ones():
    """x²y is (x²) y after 1, x, y: each has a factor of one less."""
    order, left, right = method._products([(2, 1), (0, 2), (2, 1), (1, 0)], 2)
    assert order[0, 0] == 0 and (order[1, 0], order[0, 1]) == (1, 2)
    degrees = {number: sum(exponent) for exponent, number in order.items()}
    assert sorted(order.values()) == list(range(len(order))) == list(range(len(left)))
    powers = {number: np.array(exponent) for exponent, number in order.items()}
    for i in range(3, len(left)):
        assert left[i] < i and 0 < right[i] <= 2
        np.testing.assert_array_equal(powers[left[i]] + powers[right[i]], powers[i])
        assert degrees[left[i]] == degrees[i] - 1
    assert left[:3].tolist() == [0, 1, 2] and right[:3].tolist() == [0, 0, 0]


def test_derivatives_of_a_function_are_known_up_to_the_third():
    """Those of √x are x to the −½, −3/2, −5/2."""
    names = ("x", "xdot")
    table = polynomial_table([parse("sqrt(x)*xdot**2", names)], ("x",), [])
    powers = {f.as_base_exp()[1] for f in table.functions}
    assert powers == {sp.Rational(k, 2) for k in (1, -1, -3, -5)}
