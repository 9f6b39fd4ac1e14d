"""Orthogonal distance regression of noisy snapshots: derivatives, noise, positions."""

import numpy as np
import pytest

import leastaction as la
from leastaction.core.recipe import Recipe
from leastaction.snapshots.discrete_euler_lagrange import weight_space
from leastaction.snapshots.discrete_lagrangian import discrete_euler_lagrange
from leastaction.snapshots.errors_in_variables import (
    Linearisation,
    learned,
    relinearised,
    row_jacobian,
)

STEP, SIGMA = 0.2, 1e-2
CENTRAL = "(xdot**2 + ydot**2)/2 - (x**2 + y**2)/2 - (x**2 + y**2)**2/4"


@pytest.fixture(scope="module")
def data():
    box = {name: {"uniform": [-0.9, 0.9]} for name in "abcd"}
    start = dict(zip(("x", "y", "xdot", "ydot"), "abcd", strict=True))
    return la.System(CENTRAL).simulate(
        duration=6.4,
        time_step=STEP,
        trajectories=12,
        initial_state=start | {"random": box},
        noise={"channels": ["q"], "levels": [SIGMA]},
        seed=9,
    )


@pytest.fixture(scope="module")
def true(data):
    return data["q"].values[0]


@pytest.fixture(scope="module")
def noisy(true):
    return true + SIGMA * np.random.default_rng(3).standard_normal(true.shape)


def regression(noisy):
    """L, and the linearised equations, without any knowledge of the truth."""
    basis = weight_space(noisy, STEP, 5, 5.6)
    line = Linearisation(basis, quadratic(basis, noisy), noisy, noisy, STEP, "midpoint")
    for _ in range(3):
        fit, line = relinearised(line, learned(line, basis))
        line = line.moved(basis, fit.coefficients)
    return fit, line


def quadratic(basis, positions):
    """Coefficients of a harmonic oscillator, the first guess."""
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (400, 4))
    wanted = np.hstack([-states[:, :2], states[:, 2:]])
    gradient = np.concatenate([basis.partial(states, i) for i in range(4)])
    return np.linalg.lstsq(gradient, wanted.T.ravel(), rcond=None)[0]


@pytest.mark.parametrize("rule", ["midpoint", "trapezoidal"])
def test_the_jacobian_of_the_rows_is_their_derivative(true, rule):
    few = true[:2, :5]
    basis = weight_space(true, STEP, 4, 5.6)
    b = np.random.default_rng(1).standard_normal(basis.size)
    jacobian = row_jacobian(basis, b, few, STEP, rule)
    change, size = np.random.default_rng(2).standard_normal(few.shape), 1e-6

    def rows(positions):
        return (discrete_euler_lagrange(basis, positions, STEP, rule) @ b).reshape(
            2, -1
        )

    found = (rows(few + size * change) - rows(few - size * change)) / (2 * size)
    expected = np.einsum("tkm,tm->tk", jacobian, change.reshape(2, -1))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * abs(found).max())


def test_the_noise_is_measured_and_taken_out(noisy, true):
    fit, line = regression(noisy)
    assert fit.noise == pytest.approx(SIGMA, rel=0.05)
    left = np.sqrt(np.mean((line.adjusted - true) ** 2))
    assert left < 0.5 * SIGMA
    rows = discrete_euler_lagrange(fit.basis, line.adjusted, STEP, "midpoint")
    before = discrete_euler_lagrange(fit.basis, noisy, STEP, "midpoint")
    errors = [np.sqrt(np.mean((r @ fit.coefficients) ** 2)) for r in (rows, before)]
    assert errors[0] < 0.02 * errors[1]


def test_the_free_motion_is_learned_better_than_by_its_rows(data):
    """From the same snapshots: errors of motions from starts that were not recorded."""
    base = la.recipes.snapshots.recommended()
    starts = np.random.default_rng(5).uniform(-0.6, 0.6, (6, 4))
    system, errors = la.System(CENTRAL), {}
    for method in ("evidence_maximisation", "orthogonal_distance_regression"):
        steps = {"differentiate": base.differentiate, "assemble": base.assemble}
        model = Recipe(**steps, identify={"method": method}).fit(data)
        errors[method] = [deviation(model, system, start) for start in starts]
    plain, adjusted = map(np.median, errors.values())
    assert adjusted < 0.8 * plain


def deviation(model, system, start) -> float:
    """Largest error of a position in 40 steps."""
    time = STEP * np.arange(41)
    exact = la.core.model.simulate(system, start[:2], start[2:], time)[0]
    return float(np.abs(model.rollout(start, 40).positions - exact).max())
