"""Joint fits of states and coefficients: exactness, invariance, coverage."""

import numpy as np
import pytest
from pendulum import ACTIVE, DAMPED, SIGMA, TRUTH, fitted, positions

from leastaction.identify.merging import with_noise
from leastaction.identify.multiple_shooting import fit_jointly


def test_without_noise_the_coefficients_are_exact():
    data = positions(sigma=1e-7).with_(steps=8)
    c = TRUTH * np.array([1, 0.6, 1, 1, 1, 1, 1])
    fit = fitted(data, c)
    assert fit.converged
    assert fit.c[1] == pytest.approx(9.81, rel=1e-6)


def test_the_scale_of_the_lagrangian_is_free():
    data = positions()
    one, other = fitted(data), fitted(data, -3 * TRUTH)
    np.testing.assert_allclose(other.c, -3 * one.c, rtol=1e-6)
    np.testing.assert_allclose(other.chi2, one.chi2, rtol=1e-4)


def test_trajectories_may_come_in_any_order():
    data = positions()
    order = np.random.default_rng(0).permutation(12)
    one, other = fitted(data), fitted(data.some(order))
    np.testing.assert_allclose(other.c, one.c, rtol=1e-9)
    np.testing.assert_allclose(other.schur, one.schur, rtol=1e-6)


def test_a_candidate_without_equation_of_motion_changes_nothing():
    data = positions()
    one, other = fitted(data), fitted(data, active=np.array([1, 5]))
    np.testing.assert_allclose(other.c, one.c, rtol=1e-6)


def test_damping_is_fitted_like_the_lagrangian():
    fit = fitted(positions(c=DAMPED), DAMPED * 0.7, np.array([1, 6]), 2.0)
    error = np.sqrt(np.diag(np.linalg.inv(fit.schur)))
    z = (fit.c - 0.7 * DAMPED * 1.0)[[1, 6]]
    scaled = fit.c * 0.5 / fit.c[0]
    assert np.all(np.abs(scaled - DAMPED)[[1, 6]] < 5 * error / 0.7)
    assert np.isfinite(z).all()


def test_noise_is_a_result_and_intervals_cover():
    z, sigma = [], []
    for seed in range(40):
        data = positions(seed, trajectories=6)
        fit = fitted(data, duration=2.0)
        data = with_noise(data, fit)
        fit = fit_jointly(data, fit.segments, fit.c, ACTIVE)
        z.append((fit.c[1] - 9.81) * np.sqrt(fit.schur[0, 0]))
        sigma.append(data.sigma[0])
    assert np.mean(sigma) == pytest.approx(SIGMA, rel=0.02)
    assert 0.7 < np.std(z) < 1.3
    assert np.mean(np.abs(z) < 1.96) >= 0.85
