"""Joint fits of states and coefficients: exactness, invariance, coverage."""

from dataclasses import replace

import numpy as np
import pytest
from pendulum import ACTIVE, DAMPED, SIGMA, TRUTH, fitted, positions

from leastaction.trajectories.merging import with_noise
from leastaction.trajectories.multiple_shooting import fit_jointly


def test_without_noise_the_coefficients_are_exact():
    data = replace(positions(sigma=1e-7), steps=8)
    c = TRUTH * np.array([1, 0.6, 1, 1, 1, 1, 1])
    fit = fitted(data, c)
    assert fit.converged
    assert fit.c[1] == pytest.approx(9.81, rel=1e-6)


def test_the_scale_of_the_lagrangian_is_free():
    data = positions()
    one, other = fitted(data), fitted(data, -3 * TRUTH)
    np.testing.assert_allclose(other.c, -3 * one.c, rtol=1e-6)
    np.testing.assert_allclose(other.chi2, one.chi2, rtol=1e-4)


def test_a_noise_that_is_stated_too_small_changes_no_fit():
    # Thresholds are in units of the misfit, so a larger one is no reason to go on.
    data = positions()
    one, other = (fitted(replace(data, sigma=data.sigma / k)) for k in (4, 4096))
    assert one.converged and other.converged
    np.testing.assert_allclose(other.c, one.c, rtol=1e-12)


def test_a_step_that_changes_too_little_ends_a_fit():
    data = positions()
    c = TRUTH * np.array([1, 0.6, 1, 1, 1, 1, 1])
    one, other = (fitted(replace(data, least_change=x), c) for x in (0.0, 1e9))
    assert one.converged and not other.converged
    assert other.c[1] != c[1]


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
    """And its error bars are right: z has unit variance over the seeds."""
    truth, both, z = 0.7 * DAMPED, np.array([1, 6]), []
    for seed in range(12):
        fit = fitted(positions(seed, c=DAMPED), truth, both, 2.0)
        error = np.sqrt(np.diag(np.linalg.inv(fit.schur)))
        z.append((fit.c - truth)[both] / error)
    rms = np.sqrt(np.mean(np.square(z), axis=0))
    assert ((rms > 0.5) & (rms < 1.6)).all()


def test_the_last_step_counts():
    """A fit that has converged in its last step is converged."""
    data = positions()
    fit = fitted(data, duration=2.0)
    moved = fit.c * np.where(np.arange(7) == 1, 1.001, 1.0)
    none, one = (
        fit_jointly(data, fit.segments, moved, ACTIVE, most) for most in (0, 1)
    )
    assert not none.converged
    assert one.converged
    assert one.c[1] == pytest.approx(fit.c[1], rel=1e-5)


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
