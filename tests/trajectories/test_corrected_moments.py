"""Moments without the bias of noise, their null vectors and a jackknife."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg
from motions import SPLINE, recording

from leastaction.core.settings import CHANNELS
from leastaction.trajectories import joint_spline
from leastaction.trajectories.corrected_moments import (
    Refit,
    Smoothed,
    _cholesky,
    corrected_moments,
    fitting_states,
    null_vectors,
    refit,
    smoothed,
)
from leastaction.trajectories.joint_spline import spline_bases


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
@pytest.mark.parametrize("noises", [(0.3,), (0.3, 0.1)])
def test_the_bias_of_quadratic_moments_is_the_covariance(rng, groups, noises):
    """That of every coordinate, with an error of its own."""
    each = [motion_of(rng, noise=noise) for noise in noises]
    states = tuple(np.concatenate([m.states[k] for m in each], 2) for k in range(3))
    spread = np.concatenate([m.spread for m in each], axis=-1)
    motion = Smoothed(states, spread, each[0].used)
    gram, inertia = corrected_moments(Oscillator(), BOTH, motion, groups)
    assert gram.shape == (4 * groups, 2, 2)
    rows = np.stack([motion.states[0], motion.states[2]], axis=3)
    covariance = np.square(noises).sum() * np.array([[1.0, 1.0], [1.0, 5.0]])
    expected = []
    for part in np.array_split(rows, groups, axis=1):
        for one in part:
            square = np.einsum("tai,taj->ij", one, one)
            expected.append(square - len(one) * covariance)
    np.testing.assert_allclose(gram, expected, atol=1e-9)
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


def harmonic(level, samples=80, dt=0.05):
    """q̈ = −4 q with its velocities, as recorded."""
    time = dt * np.arange(samples)
    phase = 2 * time + np.array([[0.0], [1.0]])
    states = np.cos(phase), -2 * np.sin(phase), -4 * np.cos(phase)
    return recording(time, *states, np.zeros_like(phase), level=level)


SMOOTH = SimpleNamespace(switches=None, columns=Oscillator().columns)


def test_states_are_smoothed_twice_with_a_tenth_of_the_penalty():
    """2 S − S² of all channels, with the covariance of what noise it leaves."""
    data = harmonic(0.05)
    rates = joint_spline.differentiate(data, SPLINE | {"trim": 6}, {})
    orders, steps = (0, 1, 2), rates["noise_ratio"].values[0, 0]
    sigma = 0.04 * 2.0 ** (steps / 2)
    rates["noise_std"].values[0, 0] = sigma
    spacing = float(rates["knot_spacing"][0])
    _, dense, rough = joint_spline._rows(80, 0.05, spacing, orders)
    rows, y = (
        np.concatenate(dense),
        np.concatenate([data[name].values[0, ..., 0] for name in CHANNELS], axis=1),
    )
    weights = np.repeat(2.0**-steps, 80)
    found = smoothed(data, rates, SMOOTH)
    assert found.used.shape == (2, 68) and found.used.all() and found.force is None
    kept = np.concatenate(spline_bases(rates))
    for k in range(2):
        penalty = rates["penalty"].values[0, k, 0] / 10
        normal = (rows.T * weights) @ rows + penalty * rough.T @ rough
        once = np.linalg.solve(normal, rows.T * weights)
        twice = kept @ (2 * once - once @ rows @ once)
        states = (twice @ y[k]).reshape(3, 68)
        for state, expected in zip(found.states, states, strict=True):
            np.testing.assert_allclose(state[k, :, 0], expected, atol=1e-6)
        covariance = (twice * np.repeat(sigma**2, 80)) @ twice.T
        for at in (0, 30, 67):
            places = [at, 68 + at, 136 + at]
            factor = found.spread[:, :, k, at, 0]
            expected = covariance[np.ix_(places, places)]
            scale = np.sqrt(np.diag(expected))
            np.testing.assert_allclose(
                factor @ factor.T / np.outer(scale, scale),
                expected / np.outer(scale, scale),
                atol=1e-5,
            )
    plain = smoothed(data, rates.drop_vars("spline"), SMOOTH)
    assert plain.spread is None
    np.testing.assert_array_equal(plain.states[0], data["q"].values[0])


@pytest.mark.parametrize(("level", "recorded"), [(1e-12, True), (0.05, False)])
def test_recorded_states_are_taken_where_they_obey_the_equations_better(
    level, recorded
):
    data = harmonic(level, dt=0.3)
    rates = joint_spline.differentiate(data, SPLINE | {"trim": 6}, {})
    force = np.ones((2, 68, 1))
    motion = fitting_states(SMOOTH, BOTH, data, rates, None)
    assert (motion.spread is None) == recorded
    if recorded:
        np.testing.assert_array_equal(motion.states[1], data["qdot"].values[0][:, 6:-6])
    driven = fitting_states(SMOOTH, BOTH, data, rates, force)
    assert driven.force is force
    two = fitting_states(SMOOTH, BOTH, data.drop_vars("qddot"), rates, None)
    assert two.spread is not None


@pytest.mark.parametrize(
    ("trajectories", "groups"), [(1, 20), (3, 21), (19, 38), (20, 20), (30, 30)]
)
def test_a_jackknife_has_twenty_groups_or_more(rng, trajectories, groups):
    result = refit(Oscillator(), BOTH, motion_of(rng, trajectories, noise=0.01), 1)
    assert len(result.excesses) == groups


def test_what_is_beyond_rounding_is_unexplained():
    exact = np.zeros(4)
    for excess, unexplained in ((0.9e-12, False), (1.1e-12, True)):
        one = Refit(np.ones(1), np.zeros(1), excess, exact)
        assert one.unexplained() == unexplained
    spread = np.array([-1.0, 1.0, -1.0, 1.0])
    error = Refit(np.ones(1), np.zeros(1), 1.0, spread).excess_std
    for part, unexplained in ((2.9, False), (3.1, True)):
        one = Refit(np.ones(1), np.zeros(1), part * error, spread)
        assert one.unexplained() == unexplained
    assert one.behind(Refit(np.ones(1), np.zeros(1), 1.0, spread)) == pytest.approx(
        (one.excess - 1.0) / 1e-12
    )
