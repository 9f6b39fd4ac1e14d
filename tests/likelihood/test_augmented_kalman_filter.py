"""Filter with columns and smoother beside the dense Gaussian law of all samples."""

import numpy as np
import pytest
from scipy.signal import lfilter

from leastaction.likelihood.augmented_kalman_filter import (
    Innovations,
    LinearModel,
    augmented_filter,
    smoothed,
)

ROWS, STATES, SENSORS, COEFFICIENTS = 9, 4, 2, 3
PROCESS, SENSOR = np.array([0.7, 0.3]), np.array([0.5, 0.2])


@pytest.fixture(scope="module")
def model():
    """Two trajectories with gaps, and matrices without any structure."""
    rng = np.random.default_rng(0)
    begin = np.zeros(ROWS, dtype=bool)
    begin[[0, 5]] = True
    root = rng.normal(size=(ROWS, 2, STATES, STATES))
    y = rng.normal(size=(ROWS, SENSORS))
    y[2, 1], y[6] = np.nan, np.nan
    return LinearModel(
        y,
        begin,
        (np.arange(ROWS) > 4).astype(int),
        0.5 * rng.normal(size=(ROWS, STATES, STATES)),
        rng.normal(size=(ROWS, STATES, COEFFICIENTS)),
        rng.normal(size=(ROWS, STATES)),
        np.einsum("kiab,kicb->kiac", root, root),
        np.array([1.0, 2.0, 3.0, 4.0]),
        np.ones((ROWS, SENSORS)),
    )


def dense(model, change):
    """ℓ of all measurements at δc, and the mean of all states given them."""
    mean = np.zeros((ROWS, STATES))
    covariance = np.zeros((ROWS * STATES, ROWS * STATES))
    for k in range(ROWS):
        own = slice(k * STATES, (k + 1) * STATES)
        if model.begin[k]:
            covariance[own, own] = np.diag(model.P0)
            continue
        last, A = slice(own.start - STATES, own.start), model.A[k - 1]
        mean[k] = A @ mean[k - 1] + model.d[k - 1] + model.B[k - 1] @ change
        covariance[own] = A @ covariance[last]
        covariance[:, own] = covariance[own].T
        noise = np.einsum("i,iab->ab", PROCESS**2, model.Q[k - 1])
        covariance[own, own] = A @ covariance[last, last] @ A.T + noise
    measured = np.isfinite(model.y.ravel())
    H = np.kron(np.eye(ROWS), np.eye(SENSORS, STATES))[measured]
    S = H @ covariance @ H.T + np.diag(np.tile(SENSOR**2, ROWS)[measured])
    e = model.y.ravel()[measured] - H @ mean.ravel()
    value = -0.5 * (e @ np.linalg.solve(S, e) + np.linalg.slogdet(S)[1])
    posterior = mean.ravel() + covariance @ H.T @ np.linalg.solve(S, e)
    return value, posterior.reshape(ROWS, STATES)


def test_the_filter_is_the_dense_likelihood_as_a_function_of_coefficients(model):
    found = augmented_filter(model, PROCESS, SENSOR)
    assert found.value == pytest.approx(dense(model, np.zeros(COEFFICIENTS))[0])
    assert found.count == np.isfinite(model.y).sum()
    rng = np.random.default_rng(1)
    for change in rng.normal(size=(3, COEFFICIENTS)):
        promised = found.value + found.gradient @ change
        promised -= 0.5 * change @ found.information @ change
        assert promised == pytest.approx(dense(model, change)[0])


def test_the_smoother_is_the_dense_posterior_mean(model):
    change = np.array([0.3, -1.0, 0.5])
    moved = model.shifted(change)
    assert moved.B.shape == (ROWS, STATES, 0)
    states, _ = smoothed(moved, PROCESS, SENSOR)
    np.testing.assert_allclose(states, dense(model, change)[1], atol=1e-12)


def test_a_motion_without_process_noise_is_smoothed_too(model):
    none = np.zeros(2)
    states, _ = smoothed(model.shifted(np.zeros(model.B.shape[2])), none, SENSOR)
    ahead = np.einsum("kab,kb->ka", model.A, states) + model.d
    inside = ~model.begin[1:]
    np.testing.assert_allclose(states[1:][inside], ahead[:-1][inside], atol=1e-12)


@pytest.mark.parametrize("memory", [-0.5, 0.0, 0.5, 0.8])
def test_correlated_innovations_are_worth_fewer(memory):
    """Of an autoregression ρ_k = φ^k: τ = (1 + φ)/(1 − φ), at least one."""
    rng = np.random.default_rng(2)
    e = rng.standard_normal((40_000, 2))
    e[:, 1] = lfilter([np.sqrt(1 - memory**2)], [1, -memory], e[:, 1])
    V = np.ones_like(e)
    # A mean is no correlation.
    made = Innovations(np.zeros((1, 1, 1)), 0.0, 0.0, e.size, 3 * e + 2, 9 * V)
    wanted = max(1.0, (1 + memory) / (1 - memory))
    assert made.correlation_length == pytest.approx(wanted, rel=0.1)
    # Far below the resolution they are as good as white; where nothing was measured
    # there is none.
    below = made._replace(V=9e6 * V)
    assert below.correlation_length == pytest.approx(1.0, abs=0.02)
    V[: len(V) // 2] = np.inf
    half = made._replace(V=9 * V)
    assert half.correlation_length == pytest.approx(wanted, rel=0.1)
