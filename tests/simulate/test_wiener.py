"""Random numbers: right covariance, keyed by what they are for."""

import itertools

import numpy as np
import pytest
from support import observe, oscillator, roll, system

from leastaction.simulate.wiener import generator, increments, standard_normals

KEY = {"seed": 1, "example": "a", "purpose": "simulate", "replicate": 0}


@pytest.mark.parametrize("dt", [1e-3, 0.5])
def test_increments_have_the_covariance_of_the_wiener_process(dt):
    n = 200_000
    normals = standard_normals(generator(**KEY, trajectory=0), n, 1)
    dw, dz = (a[:, 0] for a in increments(normals, dt))
    exact = np.array([[dt, dt**2 / 2], [dt**2 / 2, dt**3 / 3]])
    found = np.cov(dw, dz)
    error = np.sqrt((exact**2 + np.outer(np.diag(exact), np.diag(exact))) / n)
    assert (np.abs(found - exact) < 4.5 * error).all()
    for values, variance in ((dw, dt), (dz, dt**3 / 3)):
        assert abs(values.mean()) < 4.5 * np.sqrt(variance / n)


def test_the_integrator_uses_the_same_increments(rng):
    """For a free particle, q̇ is the sum of ΔW and q moves by q̇ dt + ΔZ, exactly."""
    normals = standard_normals(rng, 50, 2)
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
