"""Box–Muller: the formula, its ends, and the normal distribution."""

import numpy as np
import pytest
from scipy import stats

from leastaction.ensembles.box_muller import standard_normals

LEAST, LARGEST = -(2**31), 2**31 - 1


def by_formula(words):
    """The same by NumPy's functions."""
    u = (words[0] + 2.0**31 + 0.5) / 2.0**32
    angle = 2 * np.pi * (words[1] / 2.0**32)
    return np.sqrt(-2 * np.log(u)) * np.array([np.cos(angle), np.sin(angle)])


@pytest.fixture(scope="module")
def words():
    rng = np.random.default_rng(4)
    return rng.integers(LEAST, LARGEST, (2, 600, 2, 1001), np.int32, endpoint=True)


@pytest.fixture(scope="module")
def normals(words):
    return standard_normals(words)


def test_it_is_the_formula(words, normals):
    np.testing.assert_allclose(normals, by_formula(words), rtol=1e-15, atol=5e-15)


def test_its_ends():
    """The largest and the least radius, and the angles −π, −π/2, 0 and π/2."""
    angles = np.array([LEAST, LEAST // 2, 0, -(LEAST // 2)], dtype=np.int32)
    directions = np.array([[-1, 0, 1, 0], [0, -1, 0, 1]])
    for word, radius in (
        (LEAST, np.sqrt(66 * np.log(2))),
        (LARGEST, np.sqrt(-2 * np.log1p(-(2.0**-33)))),
    ):
        found = standard_normals(np.array([np.full(4, word, dtype=np.int32), angles]))
        np.testing.assert_allclose(found, radius * directions, atol=1e-15 * radius)


def test_small_numbers_keep_their_digits():
    """u next to 1, where ln u is smaller than the digits of either of its parts."""
    below = np.arange(100)
    words = np.array([LARGEST - below, 0 * below], dtype=np.int32)
    exact = np.sqrt(-2 * np.log1p(-(below + 0.5) * 2.0**-32))
    np.testing.assert_allclose(standard_normals(words)[0], exact, rtol=1e-15)


def test_they_are_normal(normals):
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


def test_the_two_of_a_pair_are_independent(normals):
    """The angle of a pair is uniform, and the sizes of the two are uncorrelated."""
    x, y = normals.reshape(2, -1)
    assert stats.kstest(np.arctan2(y, x) / (2 * np.pi) + 0.5, "uniform").pvalue > 1e-4
    for f in (np.sign, np.square, np.abs):
        assert abs(np.corrcoef(f(x), f(y))[0, 1]) < 4.5 / np.sqrt(x.size)
