"""Search for supports of every size beside trying all of them."""

import itertools

import numpy as np
import pytest
import scipy.linalg

from leastaction.trajectories.splicing import (
    Path,
    Ratio,
    acceleration_error,
    backward_elimination,
    larger_supports,
    rivals,
    size_by_jump,
    splicing,
)


def ratio_of(rng, columns=6, mandatory=()):
    a, b = rng.standard_normal((2, 40, columns)) * 10.0 ** np.arange(columns)
    b[:, 1] = b[:, 0] * 10 + 0.1 * b[:, 1]
    return Ratio.from_moments(a.T @ a / 40, b.T @ b / 40, mandatory), a, b


def tau(a, b, support):
    a, b = a[:, list(support)], b[:, list(support)]
    length = np.sqrt((a**2).mean(axis=0))
    a, b = a / length, b / length
    return scipy.linalg.eigh(a.T @ a, a.T @ a + b.T @ b, eigvals_only=True)[0]


def test_the_smallest_ratio_is_that_of_any_length_of_columns(rng):
    ratio, a, b = ratio_of(rng)
    for support in ([0], [0, 2, 5], [1, 3]):
        value, vector = ratio.minimise(support)
        assert value == pytest.approx(tau(a, b, support), rel=1e-8)
        c = vector / ratio.length[support]
        square = (a[:, support] @ c) @ (a[:, support] @ c)
        more = (b[:, support] @ c) @ (b[:, support] @ c)
        assert square / (square + more) == pytest.approx(value, rel=1e-8)
    pairs = np.array(list(itertools.combinations(range(6), 2)))
    best, values, vectors = ratio.best(pairs, 4)
    every = sorted((tau(a, b, s), tuple(s)) for s in pairs)
    assert [tuple(s) for s in best] == [s for _, s in every[:4]]
    np.testing.assert_allclose(values, [v for v, _ in every[:4]], rtol=1e-8)
    for support, vector in zip(best, vectors, strict=True):
        expected = ratio.minimise(support)[1]
        cosine = vector @ expected / np.linalg.norm(vector) / np.linalg.norm(expected)
        assert abs(cosine) == pytest.approx(1.0)


@pytest.mark.parametrize("mandatory", [(), (3,)])
def test_each_column_left_out_is_the_one_that_costs_least(rng, mandatory):
    ratio, a, b = ratio_of(rng, mandatory=mandatory)
    path = backward_elimination(ratio)
    assert path[0] == list(range(6)) and len(path[-1]) == len(mandatory) + 1
    for larger, smaller in itertools.pairwise(path):
        able = [k for k in larger if k not in mandatory]
        costs = {k: tau(a, b, [i for i in larger if i != k]) for k in able}
        (left,) = set(larger) - set(smaller)
        assert left == min(costs, key=costs.get)


def error_of(truth):
    """Columns that are missing count most, then those too many."""

    def error(supports, coefficients, limit=np.inf):
        assert np.isfinite(coefficients).all()
        sets = [set(map(int, s)) for s in supports]
        return np.array([len(truth - s) + 0.01 * len(s - truth) for s in sets]) / 4

    return error


def test_swaps_reach_the_best_of_each_size(rng):
    ratio, _, _ = ratio_of(rng)
    truth = {0, 2, 5}
    path = splicing(ratio, error_of(truth), 4, 99)
    assert set(path.supports) == {1, 2, 3, 4}
    assert path.supports[3] == (0, 2, 5) and path.errors[3] == 0.0
    for size, support in path.supports.items():
        assert len(support) == size
        assert len(truth & set(support)) == min(size, 3)
    near = rivals(path, ratio, error_of(truth), (0, 2, 4), 99, 1.5)
    assert near[0] == (0, 2, 5)
    larger = larger_supports(path, ratio, error_of(truth), 2, 99, 2)
    assert larger[0] == (0, 2, 5) and len(larger) == 2


def test_a_known_input_is_in_every_support_and_is_not_counted(rng):
    ratio, _, _ = ratio_of(rng, mandatory=(5,))
    path = splicing(ratio, error_of({0, 2}), 2, 99)
    assert set(path.supports) == {1, 2}
    assert all(5 in s and len(s) == size + 1 for size, s in path.supports.items())
    assert path.supports[2] == (0, 2, 5)
    near = rivals(path, ratio, error_of({0, 2}), (0, 1, 5), 99, 1.5)
    assert near[0] == (0, 2, 5) and all(5 in s for s in near)


def test_a_rival_is_not_the_law_with_more(rng):
    ratio, _, _ = ratio_of(rng)
    path = Path({2: (0, 2), 3: (0, 2, 5)}, {2: 0.1, 3: 0.0})
    near = rivals(path, ratio, error_of({0, 2}), (0, 2), 99, 1.0)
    assert near == []
    path.supports[3] = (1, 2, 5)
    assert rivals(path, ratio, error_of({0, 2}), (0, 2), 99, 1.0) == [(1, 2, 5)]


@pytest.mark.parametrize(
    ("errors", "size", "jump"),
    [
        ({1: 0.5, 2: 1e-4, 3: 9e-5}, 2, np.log(5e3)),
        ({1: 0.5, 2: 1e-4, 3: 4e-5}, 3, np.log(5e3)),
        ({1: 1e-3, 2: 9e-4}, 1, np.log(1e3)),
        ({1: 0.5, 2: 1e-4, 3: 4e-5, 4: 1e-5, 5: 9e-6}, 4, np.log(5e3)),
        ({1: 0.5, 2: 0.0, 3: 0.0}, 2, np.log(0.5e12)),
    ],
)
def test_the_size_is_that_of_the_largest_jump(errors, size, jump):
    result = size_by_jump(errors)
    assert result[0] == size and result[1] == pytest.approx(jump, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_of_many_columns_the_cheapest_is_left_out(seed):
    """By trying all: the smallest eigenvalue rises least."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, 60, 8)) @ rng.standard_normal((8, 8))
    ratio = Ratio.from_moments(a.T @ a / 60, b.T @ b / 60)
    for larger, smaller in itertools.pairwise(backward_elimination(ratio)):
        costs = {k: tau(a, b, [i for i in larger if i != k]) for k in larger}
        (left,) = set(larger) - set(smaller)
        assert left == min(costs, key=costs.get)


def test_the_best_of_the_next_size_is_among_the_larger(rng):
    ratio, _, _ = ratio_of(rng)
    path = Path({2: (0, 2), 3: (1, 3, 5), 4: (1, 3, 4, 5)}, {})
    truth = {1, 3, 5}
    larger = larger_supports(path, ratio, error_of(truth), 2, 99, 99)
    assert larger[0] == (1, 3, 5)
    assert {len(each) for each in larger} == {3}
    del path.supports[3]
    larger = larger_supports(path, ratio, error_of(truth), 2, 99, 3)
    assert (1, 3, 5) not in larger and len(larger) == 3


class Masses:
    """Two coordinates; columns of a mass matrix and of the rest of the equations."""

    def __init__(self, rng):
        half = rng.standard_normal((70, 2, 2, 3))
        self.mass = half + np.swapaxes(half, 1, 2)
        self.mass[..., 0] += 8 * np.eye(2)
        self.rest = rng.standard_normal((70, 2, 3))

    def mass_and_force(self, q, qdot, columns):
        return self.mass[..., columns], self.rest[..., columns]


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_errors_of_accelerations_are_clipped_means_of_squares(rng, driven, sign):
    one, force = Masses(rng), rng.standard_normal((70, 2)) if driven else None
    supports = np.array([[0, 1], [0, 2], [1, 2]] if not driven else [[0, 3], [1, 3]])
    c = sign * rng.uniform(0.5, 1.5, supports.shape)
    qddot, scale = rng.standard_normal((70, 2)), np.array([2.0, 0.7])
    error = acceleration_error(one, [0, 1, 2], None, None, qddot, scale, force)
    expected = []
    for support, values in zip(supports, c, strict=True):
        full = np.zeros(4)
        full[support] = values
        mass = one.mass @ full[:3]
        rest = one.rest @ full[:3]
        rest = rest - full[3] * force if driven else rest
        squares = []
        way = np.sign(np.trace(mass[0]))
        for m, f, a in zip(mass, rest, qddot, strict=True):
            definite = (way * np.linalg.eigvalsh(m) > 0).all()
            left = (a + np.linalg.solve(m, f)) / scale
            squares.append(min((left**2).mean(), 1.0) if definite else 1.0)
        expected.append(np.mean(squares))
    np.testing.assert_allclose(error(supports, c), expected, rtol=1e-10)
    limited = error(supports, c, 1e-3)
    assert (limited > 1e-3).all() and (limited <= np.array(expected) + 1e-12).all()
    still = acceleration_error(one, [0, 1, 2], None, None, qddot, 0 * scale, force)
    ones = acceleration_error(one, [0, 1, 2], None, None, qddot, scale**0, force)
    np.testing.assert_array_equal(still(supports, c), ones(supports, c))
