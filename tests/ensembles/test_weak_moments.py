"""Laws of the weak form: exact on polynomials, deaf to positions, causal."""

import numpy as np
import pytest
from support import OSCILLATOR_LIBRARY, observe, oscillator

from leastaction.core.contracts import check
from leastaction.ensembles import moving_average_moments, sensor_noise
from leastaction.ensembles.moving_average_moments import Windows

SETTINGS = {"instrument_degree": 2, "most_instruments": 40}
HALVES = [4, 7, 8, 16, 40]
DT = 0.01


def windows(half, memory=1, samples=400):
    return Windows(half, samples, memory, DT)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5])
def test_inertia_and_force_balance_exactly_on_polynomials(half, degree):
    """For q = t^n the force q̈ is taken by Numerov's rule: exact up to n = 5."""
    one = windows(half)
    t = DT * (np.arange(400) - 150)
    q = t**degree
    force = degree * (degree - 1) * t ** max(degree - 2, 0)
    left, right = one.inertia @ q, one.force @ force
    scale = np.abs(one.inertia) @ np.abs(q)
    assert (np.abs(left - right) <= 1e-12 * scale).all()
    if degree >= 2:
        assert np.abs(right).max() > 1e-6 * np.abs(force).max()


@pytest.mark.parametrize("half", HALVES)
def test_inertia_does_not_see_position_and_velocity(half):
    one = windows(half)
    weights = one.inertia.toarray()
    size = np.abs(weights).sum(axis=1)
    assert (np.abs(weights.sum(axis=1)) < 1e-13 * size).all()
    assert (np.abs(weights @ np.arange(400)) < 1e-11 * size).all()


def test_sampled_second_derivatives_of_the_window_would_see_the_position():
    """Why the differences are discrete: the trap that they avoid."""
    xi = np.arange(-7, 8) / 8
    second = (-6 * (1 - xi**2) ** 2 + 24 * xi**2 * (1 - xi**2)) / 64
    assert abs(second.sum()) > 1e-4 * np.abs(second).sum()


@pytest.mark.parametrize("half", HALVES)
def test_white_noise_has_the_long_run_variance_of_increments(half, rng):
    one = windows(half, samples=20_000)
    noise = rng.standard_normal((20_000, 40)) / np.sqrt(DT)
    total = (one.force @ noise).sum(axis=0) / np.sqrt(len(one.before))
    assert np.mean(total**2) == pytest.approx(DT, rel=5 * np.sqrt(2 / 40))
    weights = one.force.toarray().sum(axis=0)[2_000:-2_000]
    assert weights.mean() * one.stride == pytest.approx(DT * np.sqrt(one.stride))


@pytest.mark.parametrize("half", [8, 16, 40])
def test_quadrature_on_nodes_agrees_with_that_on_samples(half):
    one = windows(half)
    t = DT * np.arange(400)
    f = np.cos(3 * t)
    fine, coarse = one.force @ f, one.smooth_force @ f[one.nodes]
    np.testing.assert_allclose(coarse, fine, atol=2e-3 * np.abs(fine).max())
    rate = one.smooth_momentum @ np.sin(3 * t)[one.nodes] / 3
    np.testing.assert_allclose(rate, fine, atol=2e-3 * np.abs(fine).max())


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("memory", [1, 4, 11])
def test_instruments_end_before_the_window_begins(half, memory):
    one = windows(half, memory)
    state = (one.position.toarray() != 0)[one.before]
    last_used = state.shape[1] - 1 - np.argmax(state[:, ::-1], axis=1)
    first_needed = np.argmax(one.inertia.toarray() != 0, axis=1)
    gap = first_needed - last_used
    assert (gap >= memory).all() and (gap <= memory + one.spacing).all()


def test_cubics_are_fitted_exactly():
    one = windows(16)
    t = DT * np.arange(400)
    q = 1 - t + 2 * t**2 - 3 * t**3
    np.testing.assert_allclose(one.position @ q, q[one.nodes], rtol=1e-9)
    slope = -1 + 4 * t - 9 * t**2
    np.testing.assert_allclose(one.velocity @ q, slope[one.nodes], atol=1e-8)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("memory", [1, 4])
def test_windows_beyond_the_lags_share_no_noise(half, memory):
    one = windows(half, memory, samples=900)
    touched = one.inertia.toarray() != 0
    spread = np.array([np.convolve(row, np.ones(memory)) > 0 for row in touched])
    for h in range(1, one.lags + 3):
        shared = (spread[:-h] & spread[h:]).any()
        assert shared == (h <= one.lags), h


def test_velocities_are_not_looked_at(rng):
    data = observe(oscillator(), trajectories=3, steps=800)
    wrong = data.assign(qdot=data["qdot"] + rng.standard_normal(data["qdot"].shape))
    alone = data.drop_vars("qdot")
    found = []
    for one in (wrong, alone):
        noise = sensor_noise.differentiate(alone, {}, {})
        found.append(
            moving_average_moments.assemble_weak(
                one, noise, SETTINGS, OSCILLATOR_LIBRARY
            )
        )
        check(found[-1], "moving_average_moments")
    assert found[0].equals(found[1])


def test_paths_too_short_are_refused():
    data = observe(oscillator(), trajectories=3, steps=30).drop_vars("qdot")
    noise = sensor_noise.differentiate(data, {}, {})
    noise["smoothing_scale"][:] = 10
    with pytest.raises(ValueError, match="longer paths"):
        moving_average_moments.assemble_weak(data, noise, SETTINGS, OSCILLATOR_LIBRARY)
