"""Laws of the Runge–Kutta–Gill scheme with held noise."""

import numpy as np
import pytest
import sympy as sp
from density_support import oscillator
from scipy.linalg import expm, solve_continuous_lyapunov

from leastaction.core.system import System
from leastaction.densities.runge_kutta_gill import (
    integrator,
    stratonovich_acceleration,
    stream,
)

PENDULUM = {
    "coordinates": {"th": {"unit": "rad"}},
    "parameters": {},
    "lagrangian": "thdot**2/2 + cos(th)",
    "volatility": {"th": "0.3 + 0.5*thdot"},
}


def end(system, dt, duration, force, start=(1.0, 0.5)):
    """State after a time under a constant value of the noise."""
    steps = round(duration / dt)
    normals = np.full((1, steps, system.wiener_processes), force * np.sqrt(dt))
    states, paths = np.array(start)[:, None], np.empty((1, steps, 2 * system.dof))
    integrator(system)(states, normals, dt, paths)
    np.testing.assert_array_equal(states[:, 0], paths[0, -1])
    return states[:, 0]


def test_trajectories_side_by_side_are_those_one_by_one():
    """Bit by bit, whatever their number, with products, powers and a cosine."""
    config = PENDULUM | {"lagrangian": "thdot**2/2 + cos(th) - th**4/7"}
    system, rng = System.from_config(config), np.random.default_rng(5)
    integrate = integrator(system)
    for count in (2, 8, 13):
        starts = rng.standard_normal((2, count))
        normals = rng.standard_normal((count, 300, 1))
        states, paths = starts.copy(), np.empty((count, 300, 2))
        integrate(states, normals, 0.01, paths)
        for i in range(count):
            state, path = starts[:, i : i + 1].copy(), np.empty((1, 300, 2))
            integrate(state, normals[i : i + 1], 0.01, path)
            np.testing.assert_array_equal(path[0], paths[i])
            np.testing.assert_array_equal(state[:, 0], states[:, i])


def samples(duration, burn_in, **more):
    """Paths of five trajectories, (trajectory, step, state)."""
    about = {
        "time_step": 0.01,
        "trajectories": 5,
        "initial_state": {"th": 1, "thdot": 0},
    }
    about |= {"duration": duration, "burn_in": burn_in}
    parts = [[] for _ in range(5)]
    key = {"example": "pendulum", "seed": 3, "replicate": 1}
    stream(
        System.from_config(PENDULUM), about, lambda t, path: parts[t].append(path),
        **key | more,
    )  # fmt: skip
    return np.array([np.concatenate(part) for part in parts])


@pytest.mark.parametrize(("piece", "side_by_side"), [(7, 5), (200, 2), (25, 1)])
def test_no_sample_depends_on_how_many_are_made_at_once(piece, side_by_side):
    """Samples after a time of settling are those that follow it; seeds differ."""
    paths = samples(1.0, 0.0)
    assert paths.shape == (5, 100, 2)
    pieces = samples(1.0, 0.0, piece=piece, side_by_side=side_by_side)
    np.testing.assert_array_equal(paths, pieces)
    later = samples(0.6, 0.4, piece=piece, side_by_side=side_by_side)
    np.testing.assert_array_equal(later, paths[:, 40:])
    assert len(np.unique(paths[:, -1, 0])) == 5
    others = (
        {"seed": 4},
        {"replicate": 2},
        {"purpose": "validate"},
        {"example": "other"},
    )
    assert all((samples(0.1, 0.0, **one) != paths[:, :10]).any() for one in others)


def test_it_is_of_the_fourth_order_under_a_held_force():
    system = System.from_config(PENDULUM)
    best = end(system, 1e-3, 2.0, 0.7)
    errors = [np.abs(end(system, dt, 2.0, 0.7) - best).max() for dt in (0.2, 0.1, 0.05)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 4.0, atol=0.35)


def test_one_step_of_a_linear_system_is_its_exponential_series():
    system = oscillator()
    a = np.array([[0.0, 1.0], [-1.0, -0.5]]) * 0.1
    series = sum(np.linalg.matrix_power(a, n) / sp.factorial(n) for n in range(5))
    expected = series.astype(float) @ [1.0, 0.5]
    np.testing.assert_allclose(end(system, 0.1, 0.1, 0.0), expected, rtol=1e-14)
    # And from rest under a held force of 0.7, its integral.
    series = sum(np.linalg.matrix_power(a, n) / sp.factorial(n + 1) for n in range(4))
    expected = series.astype(float) @ [0.0, 0.07]
    made = end(system, 0.1, 0.1, 0.7, (0.0, 0.0))
    np.testing.assert_allclose(made, expected, rtol=1e-13)


def test_held_noise_has_the_stationary_variances_of_the_sde():
    """By the recursion of second moments, without a sample."""
    dt, a = 0.01, np.array([[0.0, 1.0], [-1.0, -0.5]])
    step = np.column_stack([end(oscillator(), dt, dt, 0.0, s) for s in np.eye(2)])
    noise = end(oscillator(), dt, dt, 1.0 / np.sqrt(dt), (0.0, 0.0))
    from scipy.linalg import solve_discrete_lyapunov

    found = solve_discrete_lyapunov(step, np.outer(noise, noise))
    exact = solve_continuous_lyapunov(a, -np.diag([0.0, 1.0]))
    np.testing.assert_allclose(np.diag(found), np.diag(exact), rtol=5e-5)
    np.testing.assert_allclose(step, expm(a * dt), atol=1e-11)


def test_an_ito_drift_is_corrected_for_noise_of_the_velocity():
    system = System.from_config(PENDULUM)
    v = sp.Symbol("thdot", real=True)
    given = system.acceleration[0] - stratonovich_acceleration(system)[0]
    assert sp.expand(given - (0.3 + 0.5 * v) * 0.5 / 2) == pytest.approx(0, abs=1e-12)
    stratonovich = System.from_config({**PENDULUM, "calculus": "stratonovich"})
    left = sp.expand(
        stratonovich_acceleration(stratonovich)[0] - system.acceleration[0]
    )
    assert left == pytest.approx(0, abs=1e-12)
