"""Variational equations: sensitivities, order of the integrator, independence."""

import numpy as np
import pytest

from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import parse
from leastaction.trajectories.variational_equations import variational_equations

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


def misfit(cart, start, c, q, active=None):
    weight = np.array([3.0, 5.0])
    h, g, square = cart.normal_equations(
        q, [0, 20], [20, 15], start, c, active, weight, 0.01, 2
    )
    return h, g, square @ weight


def test_sensitivities_equal_finite_differences(cart):
    rng = np.random.default_rng(1)
    q, start = rng.normal(size=(35, 2)), rng.normal(size=(2, 4))
    active = np.array([8, 1, 2, 5, 6, 7])
    _, gradient, _ = misfit(cart, start, TRUTH, q, active)

    def value(i, j, step):
        moved, c = start.copy(), TRUTH.copy()
        if j < 4:
            moved[i, j] += step
        else:
            c[active[j - 4]] += step
        return misfit(cart, moved, c, q)[2][i]

    for i in range(2):
        for j in range(10):
            slope = (value(i, j, 1e-5) - value(i, j, -1e-5)) / 2e-5
            assert -2 * gradient[i, j] == pytest.approx(slope, rel=2e-5, abs=1e-5)


def test_sensitivities_stay_bounded_where_friction_is_stiff():
    # v' = -k v with k dt = 5.6 and four steps per sample: each step is stable, but the
    # sensitivities take all four at once. ∂x/∂v₀ = (1 - exp(-k t)) / k.
    rate, dt, count = 560.0, 0.01, 20
    terms = [[parse("xdot**2", ("x", "xdot"))] for _ in range(2)]
    joint = variational_equations(terms[0], ("x",), terms[1])
    c, active = np.array([0.5, rate / 2]), np.zeros(0, dtype=int)
    q, start = np.zeros((count, 1)), np.zeros((1, 2))
    data = q, np.array([0]), np.array([count]), start, c, active, np.ones(1), dt, 4
    h, _, _ = joint.normal_equations(*data)
    time = dt * np.arange(count)
    truth = (((1 - np.exp(-rate * time)) / rate) ** 2).sum()
    assert h[0, 1, 1] == pytest.approx(truth, rel=0.05)
    assert h[0, 0, 0] == pytest.approx(count)


def test_normal_matrix_is_the_product_of_the_jacobian(cart):
    start = np.array([[1.0, 0.2, -0.5, 0.3], [0.4, -0.1, 1.0, 0.2]])
    path = cart.rollout(start, TRUTH, 0.01, 20, 2)
    q = np.concatenate([path[0, :, :2], path[1, :15, :2]])
    active = np.array([1, 3])
    h, gradient, square = misfit(cart, start, TRUTH, q, active)
    np.testing.assert_allclose(square, 0, atol=1e-20)
    np.testing.assert_allclose(gradient, 0, atol=1e-9)
    shift = 1e-4 * np.array([0.3, -0.2, 0.5, 0.1, 0.2, 0.4])
    c = TRUTH.copy()
    c[active] += shift[4:]
    moved = misfit(cart, start + shift[:4], c, q)[2]
    np.testing.assert_allclose(moved, [shift @ each @ shift for each in h], rtol=2e-3)


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


def test_a_singular_mass_matrix_is_told_by_an_infinite_misfit(cart):
    c = np.where(np.arange(9) == 3, 1.0, 0.0)
    _, _, square = misfit(cart, np.ones((2, 4)), c, np.zeros((35, 2)))
    assert np.isinf(square).all()


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
    q = fine[0, :, :2] + 1e-3
    h, g, _ = cart.normal_equations(
        q, [0], [50], start, c, np.array([1]), np.ones(2), 0.02, steps
    )
    h_fine, g_fine, _ = cart.normal_equations(
        q, [0], [50], start, c, np.array([1]), np.ones(2), 0.02, 16
    )
    np.testing.assert_allclose(h, h_fine, rtol=1e-3, atol=1e-3 * np.abs(h_fine).max())
    np.testing.assert_allclose(g, g_fine, rtol=2e-2, atol=1e-2 * np.abs(g_fine).max())


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
    start, active = np.array([[0.3, 0.1]]), np.array([1, 2, 3])
    q = equations.rollout(start, c, dt, rows, steps, force)[0, :, :1] + 0.01
    arguments = (np.array([0]), np.array([rows]))

    def chi2(state, values):
        square = equations.normal_equations(
            q, *arguments, state, values, None, np.ones(1), dt, steps, force
        )[2]
        return square.sum()

    _, g, _ = equations.normal_equations(
        q, *arguments, start, c, active, np.ones(1), dt, steps, force
    )
    slopes = []
    for k in range(2):
        h = 1e-6 * np.eye(2)[k]
        slopes.append((chi2(start + h, c) - chi2(start - h, c)) / 2e-6)
    for k in active:
        h = 1e-5 * np.eye(4)[k]
        slopes.append((chi2(start, c + h) - chi2(start, c - h)) / 2e-5)
    np.testing.assert_allclose(-2 * g[0], slopes, rtol=1e-5)
