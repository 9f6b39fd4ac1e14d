"""Random numbers: right covariance, keyed by what they are for."""

import itertools

import numpy as np
import pytest
from support import observe, oscillator, roll, system

from leastaction.core.generators import generator
from leastaction.ensembles.wiener import increments, white_noise

KEY = {"seed": 1, "example": "a", "purpose": "simulate", "replicate": 0}


def of_steps(n):
    return white_noise(**KEY, processes=1)(range(n), range(1))[..., 0]


def of_trajectories(n):
    return white_noise(**KEY, processes=1)(range(1), range(n))[:, :, 0].swapaxes(1, 2)


@pytest.mark.parametrize("drawn", [of_steps, of_trajectories])
@pytest.mark.parametrize("dt", [1e-3, 0.5])
def test_increments_have_the_covariance_of_the_wiener_process(dt, drawn):
    n = 200_000
    normals = drawn(n)
    dw, dz = (a[:, 0] for a in increments(normals, dt))
    exact = np.array([[dt, dt**2 / 2], [dt**2 / 2, dt**3 / 3]])
    found = np.cov(dw, dz)
    error = np.sqrt((exact**2 + np.outer(np.diag(exact), np.diag(exact))) / n)
    assert (np.abs(found - exact) < 4.5 * error).all()
    for values, variance in ((dw, dt), (dz, dt**3 / 3)):
        assert abs(values.mean()) < 4.5 * np.sqrt(variance / n)


def test_the_integrator_uses_the_same_increments(rng):
    """For a free particle, q̇ is the sum of ΔW and q moves by q̇ dt + ΔZ, exactly."""
    normals = rng.standard_normal((2, 50, 2))
    dw, dz = increments(normals, 0.1)
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
    each = [white_noise(*key, 2)(range(2), range(2)).ravel() for key in keys]
    assert len(set(np.concatenate(each))) == 16 * 16


@pytest.mark.parametrize("steps", [range(7, 19), range(8, 19), range(7, 8)], ids=str)
def test_white_noise_is_had_by_random_access(steps):
    """Two steps share a counter, so odd ends are the ones to look at."""
    noise = white_noise(**KEY, processes=3)
    whole = noise(range(40), range(21))
    part = noise(steps, range(5, 16))
    np.testing.assert_array_equal(part, whole[:, steps.start : steps.stop, :, 5:16])
    fewer = white_noise(**KEY, processes=1)(range(40), range(21))
    np.testing.assert_array_equal(fewer, whole[:, :, :1])


@pytest.mark.parametrize("axis", [0, 1, 2, 3], ids=["pair", "step", "process", "path"])
def test_white_noise_is_white(axis):
    """Neighbours along each axis are independent, in value and in size."""
    noise = white_noise(**KEY, processes=4)(range(200), range(200))
    shifted = np.moveaxis(noise, axis, 0)
    for f in (np.asarray, np.square):
        one, other = f(shifted[:-1]).ravel(), f(shifted[1:]).ravel()
        assert abs(np.corrcoef(one, other)[0, 1]) < 4.5 / np.sqrt(one.size)


def test_no_noise_is_none_of_it():
    assert white_noise(**KEY, processes=0)(range(3), range(2)).shape == (2, 3, 0, 2)


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
