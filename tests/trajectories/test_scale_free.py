"""The scale-free ratio and its search."""

import itertools

import numpy as np
import pytest

from leastaction.trajectories.splicing import (
    Ratio,
    backward_elimination,
    larger_supports,
    size_by_jump,
    splicing,
)


def moments(rng, columns=8, truth=(1, 4, 6), noise=1e-3, samples=400):
    """(G, K) of columns with one null vector of given support."""
    inertia = rng.normal(size=(samples, columns)) * (np.arange(columns) < columns - 2)
    rows = inertia + rng.normal(size=(samples, columns))
    c = rng.uniform(1, 2, len(truth))
    rows[:, truth[-1]] = -rows[:, list(truth[:-1])] @ c[:-1] / c[-1]
    rows[:, truth[-1]] += noise * rng.normal(size=samples)
    return rows.T @ rows / samples, inertia.T @ inertia / samples


def test_many_supports_at_once_are_the_same_minima(rng):
    ratio = Ratio.from_moments(*moments(rng))
    supports = np.array([[0, 1, 2], [1, 4, 6], [3, 5, 7]])
    best, values, vectors = ratio.best(supports, 3)
    assert list(best[0]) == [1, 4, 6]
    assert sorted(map(tuple, best)) == sorted(map(tuple, supports))
    np.testing.assert_array_equal(ratio.best(supports, 2)[0], best[:2])
    for support, value, vector in zip(best, values, vectors, strict=True):
        alone, expected = ratio.minimise(support)
        assert value == pytest.approx(alone, rel=1e-8)
        assert abs(np.corrcoef(vector, expected)[0, 1]) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(5))
def test_elimination_takes_the_cheapest_column(seed):
    ratio = Ratio.from_moments(*moments(np.random.default_rng(seed)))
    path = backward_elimination(ratio)
    for larger, smaller in itertools.pairwise(path):
        each = [ratio.minimise([c for c in larger if c != out])[0] for out in larger]
        assert ratio.minimise(smaller)[0] == pytest.approx(min(each), rel=1e-6)
    assert sorted(path[-3]) == [1, 4, 6]


def test_units_of_the_candidates_do_not_matter(rng):
    gram, inertia = moments(rng)
    units = 10.0 ** rng.uniform(-6, 6, len(gram))
    scale = np.outer(units, units)
    plain = Ratio.from_moments(gram, inertia)
    other = Ratio.from_moments(scale * gram, scale * inertia)
    assert backward_elimination(plain) == backward_elimination(other)
    assert other.minimise([1, 4, 6])[0] == pytest.approx(plain.minimise([1, 4, 6])[0])


def test_kept_columns_stay(rng):
    ratio = Ratio.from_moments(*moments(rng), [0])
    assert all(0 in support for support in backward_elimination(ratio))


def test_splicing_leaves_a_wrong_start(rng):
    """Ranked by another error than the one of the elimination, it moves there."""
    ratio = Ratio.from_moments(*moments(rng))
    wanted = {2, 5}

    def error(supports, coefficients, limit=np.inf):
        return np.array([1.0 / (1 + 10 * len(wanted & set(s))) for s in supports])

    path = splicing(ratio, error, largest=4, ranked=40)
    assert all(wanted <= set(path.supports[size]) for size in (2, 3, 4))


def test_one_term_is_exchanged_for_two(rng):
    ratio = Ratio.from_moments(*moments(rng, truth=(1, 4, 6)))

    def error(supports, coefficients, limit=np.inf):
        return np.array([ratio.minimise(support)[0] for support in supports])

    path = splicing(ratio, error, 4, 40)
    path.supports[2] = (1, 3)
    assert (1, 4, 6) in larger_supports(path, ratio, error, 2, 40, 3)


def test_the_size_is_at_the_largest_jump():
    errors = {1: 0.9, 2: 0.5, 3: 1e-4, 4: 0.9e-4, 5: 0.89e-4}
    size, jump = size_by_jump(errors)
    assert size == 3
    assert jump == pytest.approx(np.log(0.5 / 1e-4))


def test_a_further_term_must_halve_the_error():
    assert size_by_jump({1: 0.9, 2: 1e-4, 3: 0.4e-4, 4: 0.3e-4})[0] == 3
    assert size_by_jump({1: 0.9, 2: 1e-4, 3: 0.6e-4, 4: 0.1e-4})[0] == 2
