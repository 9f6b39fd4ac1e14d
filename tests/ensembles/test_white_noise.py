"""White noise: normal, independent, right increments, keyed by what it is for."""

import itertools

import numpy as np
import pytest
from scipy import stats
from support import observe, oscillator, roll, system, wiener_increments

from leastaction.core.simulation import generator
from leastaction.ensembles.strong_taylor import white_noise

KEY = {"seed": 1, "example": "a", "purpose": "simulate", "replicate": 0}


def drawn_numbers(trajectories, steps, processes=1):
    return white_noise(**KEY, processes=processes)(range(trajectories))(steps)


def of_steps(n):
    return drawn_numbers(1, n)[..., 0]


def of_trajectories(n):
    return drawn_numbers(n, 1)[:, 0].swapaxes(1, 2)


@pytest.mark.parametrize("drawn", [of_steps, of_trajectories])
@pytest.mark.parametrize("dt", [1e-3, 0.5])
def test_increments_have_the_covariance_of_the_wiener_process(dt, drawn):
    n = 50_000
    normals = drawn(n)
    dw, dz = (a[:, 0] for a in wiener_increments(normals, dt))
    exact = np.array([[dt, dt**2 / 2], [dt**2 / 2, dt**3 / 3]])
    found = np.cov(dw, dz)
    error = np.sqrt((exact**2 + np.outer(np.diag(exact), np.diag(exact))) / n)
    assert (np.abs(found - exact) < 4.5 * error).all()
    for values, variance in ((dw, dt), (dz, dt**3 / 3)):
        assert abs(values.mean()) < 4.5 * np.sqrt(variance / n)


def test_the_integrator_uses_the_same_increments(rng):
    """For a free particle, q̇ is the sum of ΔW and q moves by q̇ dt + ΔZ, exactly."""
    normals = rng.standard_normal((2, 50, 2))
    dw, dz = wiener_increments(normals, 0.1)
    free = system("adot**2/2 + bdot**2/2", ("a", "b"), volatility={"a": "1", "b": "2"})
    path = roll(free, np.zeros(4), normals, 0.1)
    size = np.array([1.0, 2.0])
    np.testing.assert_allclose(np.diff(path[:, 2:], axis=0), size * dw, atol=1e-12)
    moved = np.diff(path[:, :2], axis=0) - 0.1 * path[:-1, 2:]
    np.testing.assert_allclose(moved, size * dz, atol=1e-12)


def test_every_part_of_the_key_changes_the_numbers():
    keys = itertools.product(
        (1, 2), ("a", "b"), ("simulate", "validate"), (0, 1), (0, 1)
    )
    first = [generator(*key).standard_normal() for key in keys]
    assert len(set(first)) == 32


def test_every_part_of_the_key_changes_the_white_noise():
    keys = itertools.product((1, 2), ("a", "b"), ("simulate", "validate"), (0, 1))
    each = [white_noise(*key, 2)(range(2))(2).ravel() for key in keys]
    assert len(set(np.concatenate(each))) == 16 * 16


def test_the_noise_is_not_that_of_the_initial_state():
    start = generator(**KEY, trajectory=0).standard_normal(6)
    assert not set(start) & set(drawn_numbers(1, 3).ravel())


@pytest.mark.parametrize("lengths", [[40], [1] * 40, [7, 1, 12, 20]], ids=len)
def test_white_noise_is_continued_and_begins_anew(lengths):
    """Neither the steps drawn at once nor the other trajectories change a number."""
    noise = white_noise(**KEY, processes=3)
    whole = noise(range(21))(40)
    draw = noise(range(5, 16))
    parts = np.concatenate([draw(steps) for steps in lengths], axis=1)
    np.testing.assert_array_equal(parts, whole[..., 5:16])
    np.testing.assert_array_equal(noise(range(21))(40), whole)


@pytest.mark.parametrize("axis", [0, 1, 2, 3], ids=["pair", "step", "process", "path"])
def test_white_noise_is_white(axis):
    """Neighbours along each axis are independent, in value and in size."""
    shifted = np.moveaxis(drawn_numbers(200, 200, processes=4), axis, 0)
    for f in (np.asarray, np.square, np.abs, np.sign):
        one, other = f(shifted[:-1]).ravel(), f(shifted[1:]).ravel()
        assert abs(np.corrcoef(one, other)[0, 1]) < 4.5 / np.sqrt(one.size)


@pytest.fixture(scope="module")
def normals():
    return drawn_numbers(1001, 600, processes=2)


def test_white_noise_is_normal(normals):
    for member in range(2):
        for process in range(2):
            sample = normals[member, :, process].ravel()
            assert stats.kstest(sample, "norm").pvalue > 1e-4


def test_moments_up_to_the_eighth(normals):
    x, n = normals.ravel(), normals.size
    for power, exact, eighth in ((1, 0, 1), (2, 1, 3), (3, 0, 15), (4, 3, 105)):
        error = np.sqrt((eighth - exact**2) / n)
        assert abs((x**power).mean() - exact) < 4.5 * error
    assert abs((x**6).mean() - 15) < 4.5 * np.sqrt((10395 - 225) / n)
    assert abs((x**8).mean() - 105) < 4.5 * np.sqrt((2027025 - 105**2) / n)


def test_tails_have_their_share(normals):
    for level in (2.0, 3.0, 4.0):
        expected = normals.size * stats.norm.sf(level)
        for found in ((normals > level).sum(), (normals < -level).sum()):
            assert abs(found - expected) < 4.5 * np.sqrt(expected)


def test_the_angle_of_a_pair_is_uniform(normals):
    x, y = normals.reshape(2, -1)
    assert stats.kstest(np.arctan2(y, x) / (2 * np.pi) + 0.5, "uniform").pvalue > 1e-4


def test_no_noise_is_none_of_it():
    assert drawn_numbers(2, 3, processes=0).shape == (2, 3, 0, 2)


def test_the_same_key_gives_the_same_numbers():
    draws = [generator(**KEY, trajectory=3).standard_normal(5) for _ in range(2)]
    np.testing.assert_array_equal(*draws)


def test_numbers_do_not_depend_on_how_the_work_is_divided():
    """A trajectory is the same in a small and in a large ensemble."""
    few = observe(oscillator(), trajectories=2, steps=10)
    many = observe(oscillator(), trajectories=5, steps=10)
    np.testing.assert_array_equal(few["q"], many["q"][:, :2])
    other = observe(oscillator(), trajectories=5, steps=10, replicate=1)
    assert not np.isclose(other["qdot"][0, :, -1], many["qdot"][0, :, -1]).any()


def test_trajectories_are_independent():
    paths = observe(oscillator(), trajectories=200, steps=20)["qdot"].values[
        0, :, -1, 0
    ]
    neighbours = np.corrcoef(paths[:-1], paths[1:])[0, 1]
    assert abs(neighbours) < 4 / np.sqrt(len(paths))
