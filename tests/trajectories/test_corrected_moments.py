"""Moments without the bias of noise, their null vectors and a jackknife."""

import numpy as np
import pytest
import scipy.linalg

from leastaction.trajectories.corrected_moments import (
    Refit,
    Smoothed,
    _cholesky,
    corrected_moments,
    null_vectors,
    refit,
)


class Oscillator:
    """Columns q and q̈ of every coordinate; q̈ has inertia."""

    def columns(self, q, qdot, qddot, columns):
        rows = np.stack([q, qddot], axis=-1)
        inertia = np.stack([0 * q, qddot], axis=-1)
        return rows[..., columns], inertia[..., columns]


BOTH = [0, 1]


def motion_of(rng, trajectories=4, samples=50, noise=0.0, **more):
    """q̈ = −4 q; errors of q and q̈ of a standard deviation, with their factors."""
    t = np.linspace(0, 3, samples)
    phase = rng.uniform(0, 6, (trajectories, 1))
    q = np.cos(2 * t + phase)[..., None]
    states = [q, -2 * np.sin(2 * t + phase)[..., None], -4 * q]
    spread = np.zeros((3, 3, *q.shape))
    spread[0, 0], spread[2, 2], spread[2, 0] = noise, 2 * noise, noise
    e = rng.standard_normal((3, *q.shape))
    states = [
        s + np.einsum("j...,j...->...", L, e)
        for s, L in zip(states, spread, strict=True)
    ]
    used = np.ones(q.shape[:2], dtype=bool)
    more = {"used": used, "spread": spread} | more
    return Smoothed(tuple(states), **more)


@pytest.mark.parametrize("groups", [1, 3])
def test_the_bias_of_quadratic_moments_is_the_covariance(rng, groups):
    motion = motion_of(rng, noise=0.3)
    gram, inertia = corrected_moments(Oscillator(), BOTH, motion, groups)
    assert gram.shape == (4 * groups, 2, 2)
    rows = np.concatenate([motion.states[0], motion.states[2]], axis=2)
    covariance = 0.3**2 * np.array([[1.0, 1.0], [1.0, 5.0]])
    expected = []
    for part in np.array_split(rows, groups, axis=1):
        for each in part:
            expected.append(each.T @ each - len(each) * covariance)
    np.testing.assert_allclose(gram, expected)
    np.testing.assert_allclose(inertia[:, 1, 1], gram[:, 1, 1])
    assert not inertia[:, 0].any()


def test_samples_that_do_not_count_and_inputs(rng):
    motion = motion_of(rng, spread=None)
    used = motion.used.copy()
    used[:, 10:20] = False
    force = rng.standard_normal((4, 50, 1))
    motion = Smoothed(motion.states, None, used, force)
    (gram, inertia) = corrected_moments(Oscillator(), [1], motion, 1)
    x = np.stack([motion.states[2][..., 0], -force[..., 0]], axis=-1)
    x[:, 10:20] = 0.0
    np.testing.assert_allclose(gram, np.swapaxes(x, 1, 2) @ x)
    assert not inertia[:, 1].any() and not inertia[:, :, 1].any()


def test_null_vectors_are_those_of_the_pair_whatever_the_units(rng):
    a, b = rng.standard_normal((2, 5, 30, 3)) * [1.0, 1e4, 1e-4]
    gram, inertia = (np.swapaxes(x, 1, 2) @ x for x in (a, b))
    values, vectors = null_vectors(gram, inertia)
    for k in range(5):
        scale = np.sqrt(np.diag(gram[k]))
        both = [m / np.outer(scale, scale) for m in (gram[k], gram[k] + inertia[k])]
        expected, axes = scipy.linalg.eigh(*both)
        assert values[k] == pytest.approx(expected[0])
        c = axes[:, 0] / scale
        np.testing.assert_allclose(vectors[k] / vectors[k, 0], c / c[0], rtol=1e-6)
    gram[:, 1], gram[:, :, 1], inertia[:, 1], inertia[:, :, 1] = 0, 0, 0, 0
    with pytest.raises(np.linalg.LinAlgError, match="no positive mean square"):
        null_vectors(gram, inertia)


@pytest.mark.parametrize("trajectories", [4, 30])
def test_a_refit_has_the_law_and_the_jackknife_of_its_groups(rng, trajectories):
    motion = motion_of(rng, trajectories, noise=0.05)
    result = refit(Oscillator(), BOTH, motion, 1)
    groups = max(1, 20 // trajectories)
    gram, inertia = corrected_moments(Oscillator(), BOTH, motion, groups)
    count = len(gram)
    assert count == groups * trajectories == len(result.excesses)
    without = []
    for k in range(count):
        pair = (np.delete(m, k, axis=0).sum(axis=0)[None] for m in (gram, inertia))
        vector = null_vectors(*pair)[1][0]
        without.append(vector[0] / vector[1])
    spread = np.sqrt((count - 1) * np.var(without))
    assert result.std == pytest.approx([spread, 0.0])
    assert result.coefficients[1] == 1.0
    assert abs(result.coefficients[0] - 4.0) < 4 * spread + 1e-9
    assert abs(result.excess) < 4 * result.excess_std
    clean = refit(Oscillator(), BOTH, motion_of(rng, trajectories), 0)
    assert clean.coefficients == pytest.approx([1.0, 0.25])
    assert not clean.unexplained()


def test_noise_that_is_too_large_leaves_standard_errors_infinite(rng):
    motion = motion_of(rng)
    motion.spread[0, 0] = 5.0
    result = refit(Oscillator(), BOTH, motion, 1)
    assert result.coefficients == pytest.approx([4.0, 1.0], rel=1e-4)
    assert list(result.std) == [np.inf, 0.0] and result.excess_std == np.inf


def test_an_excess_counts_in_its_standard_errors():
    excesses = np.array([0.1, 0.2, 0.3, 0.4])
    one = Refit(np.ones(1), np.zeros(1), 0.5, excesses)
    error = np.sqrt(3 * np.var(excesses))
    assert one.excess_std == pytest.approx(error)
    assert one.unexplained(0.49 / error) and not one.unexplained(0.51 / error)
    other = Refit(np.ones(1), np.zeros(1), 0.2, excesses + [0.0, 0.1, 0.0, 0.1])
    assert one.behind(other) == pytest.approx(0.3 / np.sqrt(3 * 0.05**2))
    assert one.behind(Refit(np.ones(1), np.zeros(1), 0.2, excesses)) > 1e10


def test_factors_are_those_of_cholesky_and_of_a_variance_of_zero(rng):
    root = rng.standard_normal((5, 3, 3))
    covariance = root @ np.swapaxes(root, 1, 2)
    entries = [[covariance[:, i, j] for j in range(3)] for i in range(3)]
    found = np.moveaxis(_cholesky(entries), -1, 0)
    np.testing.assert_allclose(found, np.linalg.cholesky(covariance), atol=1e-12)
    covariance[:, 1] = covariance[:, :, 1] = 0.0
    found = np.moveaxis(_cholesky(entries), -1, 0)
    np.testing.assert_allclose(found @ np.swapaxes(found, 1, 2), covariance, atol=1e-12)
    assert not found[:, 1].any() and not found[:, 2, 1].any()
