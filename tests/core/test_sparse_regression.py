"""Best subset selection is exhaustive, and its penalty counts the subsets."""

import itertools
import math

import numpy as np
import pytest

from leastaction.core import sparse_regression as method
from leastaction.core.sparse_regression import (
    deviation_of_absent,
    extended_penalty,
    local_minimum,
    neighbours,
    stlsq,
    term_price,
)


def best_subset(a, b, *arguments, **keywords):
    """All rows in one block."""
    return method.best_subset(a[None], b[None], *arguments, **keywords)


def brute_force(a, b, k):
    """Residual of every subset of size k by plain least squares, best first."""
    a = a / np.linalg.norm(a, axis=0)
    residuals = {}
    for subset in itertools.combinations(range(a.shape[1]), k):
        active = a[:, subset]
        x = np.linalg.lstsq(active, b, rcond=None)[0] if k else np.zeros(0)
        residuals[subset] = float(np.square(b - active @ x).sum())
    return sorted(residuals.items(), key=lambda item: item[1])


@pytest.mark.parametrize("shape", [(30, 7), (8, 8), (4, 6)])
def test_it_equals_brute_force(shape, rng):
    a, b = rng.normal(size=shape), rng.normal(size=shape[0])
    a *= 10.0 ** rng.integers(-6, 6, shape[1])
    path = best_subset(a, b, shape[1])
    assert len(path.supports) == min(shape) + 1
    for k, (support, objective) in enumerate(
        zip(path.supports, path.objectives, strict=True)
    ):
        best = brute_force(a, b, k)
        assert objective == pytest.approx(best[0][1], rel=1e-9, abs=1e-12)
        if best[0][1] > 1e-12:
            assert support == best[0][0]


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_blocks_of_equal_variance_are_one_block(blocks, rng):
    a, b = rng.normal(size=(40, 6)), rng.normal(size=40)
    whole = best_subset(a, b, 3)
    found = method.best_subset(a.reshape(blocks, -1, 6), b.reshape(blocks, -1), 3)
    assert found.supports == whole.supports
    np.testing.assert_allclose(found.objectives, whole.objectives)


def test_blocks_count_in_units_of_their_own_variance(rng):
    """Plain least squares over all blocks, then each block's sum over its variance."""
    a, b = rng.normal(size=(3, 15, 5)), rng.normal(size=(3, 15))
    a *= 10.0 ** rng.integers(-3, 3, 5)

    def variance_of(subset, x):
        total = sum(abs(c) * (i + 1) for i, c in zip(subset, x, strict=True))
        return 1.0 + total * np.array([0.0, 1.0, 2.0])

    def variance(subsets, values):
        pairs = zip(subsets, values, strict=True)
        return np.array([variance_of(subset, x) for subset, x in pairs])

    path = method.best_subset(a, b, 3, variance=variance)
    for k in range(4):
        objectives = {}
        for subset in itertools.combinations(range(5), k):
            active = a[:, :, list(subset)]
            x = np.linalg.lstsq(active.reshape(45, k), b.ravel(), rcond=None)[0]
            squares = np.square(active @ x - b).sum(axis=1)
            objectives[subset] = (squares / variance_of(subset, x)).sum()
        assert path.supports[k] == min(objectives, key=objectives.get)
        assert path.objectives[k] == pytest.approx(min(objectives.values()))


def test_correlated_columns_do_not_mislead_it(rng):
    """A greedy search starts with the sum of two columns, and stays there."""
    a = rng.normal(size=(50, 6))
    b = a[:, 1] + a[:, 4]
    a[:, 0] = b + 0.1 * rng.normal(size=50)
    path = best_subset(a, b, 3)
    assert path.supports[1] == (0,)
    assert path.supports[2] == (1, 4)
    assert path.objectives[2] == pytest.approx(0.0, abs=1e-20)


def test_residuals_fall_with_the_size(rng):
    path = best_subset(rng.normal(size=(20, 6)), rng.normal(size=20), 6)
    assert (np.diff(path.objectives) < 0).all()


def test_ties_choose_the_earliest_and_name_the_others(rng):
    a = rng.normal(size=(20, 4))
    a[:, 3] = 2 * a[:, 1]
    b = a[:, 1] + 0.01 * rng.normal(size=20)
    path = best_subset(a, b, 2, margin=1e-9)
    assert path.supports[1] == (1,)
    assert path.ties[1] == ((3,),)
    mirrored = best_subset(a[:, ::-1], b, 2, margin=1e-9)
    assert mirrored.supports[1] == (0,)
    assert mirrored.ties[1] == ((2,),)


def test_only_residuals_within_the_margin_are_ties(rng):
    a, b = rng.normal(size=(30, 5)), rng.normal(size=30)
    ranked = brute_force(a, b, 2)
    margin = (ranked[2][1] + ranked[3][1]) / 2 - ranked[0][1]
    path = best_subset(a, b, 2, margin)
    close = sorted(subset for subset, _ in ranked[:3])
    assert [path.supports[2], *path.ties[2]] == close
    assert not best_subset(a, b, 2).ties[2]


def test_a_column_of_zeros_is_never_useful(rng):
    a, b = rng.normal(size=(20, 4)), rng.normal(size=20)
    a[:, 0] = 0.0
    path = best_subset(a, b, 2)
    assert 0 not in path.supports[1] + path.supports[2]
    assert np.isfinite(path.objectives).all()


def test_where_there_are_too_many_subsets_replacement_finds_the_planted_one(rng):
    """Eight of fifty correlated columns: 537 million subsets."""
    for _ in range(3):
        common = rng.normal(size=(200, 1))
        a = rng.normal(size=(200, 50)) + common
        planted = np.sort(rng.choice(50, 8, replace=False))
        b = a[:, planted] @ rng.choice([-1.0, 1.0], 8) + 0.5 * rng.normal(size=200)
        path = best_subset(a, b, 9)
        assert path.supports[8] == tuple(planted)
        assert set(planted) < set(path.supports[9])


def test_replacement_agrees_with_trying_all(rng, monkeypatch):
    a, b = rng.normal(size=(40, 9)), rng.normal(size=40)
    a[:, 0] = a[:, 1] + a[:, 2] + 0.1 * rng.normal(size=40)
    b += 2 * a[:, 1] + 2 * a[:, 2]
    everything = best_subset(a, b, 5)
    monkeypatch.setattr(method, "MOST_SUBSETS_TRIED", 9)
    replaced = best_subset(a, b, 5)
    assert replaced.supports == everything.supports
    np.testing.assert_allclose(replaced.objectives, everything.objectives)


def test_the_penalty_is_bayesian_and_grows_with_the_library():
    sizes = np.arange(4)
    for m, n in ((5, 100), (50, 100), (5, 10_000)):
        expected = [k * math.log(n) + 2 * math.log(math.comb(m, k)) for k in sizes]
        np.testing.assert_allclose(extended_penalty(sizes, m, n), expected)
    assert (np.diff(extended_penalty(sizes, 50, 100)) > math.log(100)).all()


def test_noise_alone_is_rarely_fitted(rng):
    """With the penalty, no column is chosen where there is nothing to find."""
    wrong = 0
    for _ in range(100):
        a, b = rng.normal(size=(200, 10)), rng.normal(size=200)
        path = best_subset(a, b, 3)
        criterion = path.objectives + extended_penalty(np.arange(4), 10, 200)
        wrong += int(np.argmin(criterion)) != 0
    assert wrong <= 6


@pytest.mark.parametrize(("samples", "terms"), [(100, 7), (1, 1), (50, 0)])
def test_a_term_costs_what_a_subset_of_one_costs(samples, terms):
    price = term_price(samples, terms)
    assert price == pytest.approx(np.log(samples) + 2 * np.log(max(terms, 1)))
    if terms:
        sizes = np.array([0, 1])
        assert extended_penalty(sizes, terms, samples)[1] == pytest.approx(price)


def test_the_deviation_of_an_absent_term_is_largest_where_both_laws_are_as_likely():
    penalty, gain = 8.0, np.array([0.0, 6.0, 8.0, 30.0])
    odds = np.exp((gain - penalty) / 2)
    w = np.minimum(odds / (1 + odds), 0.5)
    found = deviation_of_absent(gain, penalty)
    np.testing.assert_allclose(found**2, w * (1 - w))
    assert found[2] == found[3] == 0.5


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.1, [2.0, 0.0, 0.5]), (0.49, [2.0, 0.0, 0.5]), (0.6, [2.4, 0.0, 0.0]), (9.0, 0)],
)
def test_thresholds_leave_the_regression_on_what_is_large(threshold, expected):
    """The third column has 0.8 in common with the first: alone that one has 2.4."""
    theta = np.array([[1.0, 0.0, 0.8], [0.0, 1.0, 0.0], [0.0, 0.0, 0.6]])
    target = theta @ [2.0, 0.05, 0.5]
    np.testing.assert_allclose(stlsq(theta, target, threshold), expected, atol=1e-12)


@pytest.mark.parametrize(("terms", "all_tried"), [(245, True), (246, False)])
def test_up_to_thirty_thousand_subsets_are_all_tried(monkeypatch, terms, all_tried):
    """C(245, 2) = 29 890, C(246, 2) = 30 135."""
    sizes = []

    def score(subsets):
        sizes.append(len(subsets))
        return np.asarray(subsets).sum(axis=1).astype(float)

    def replaced(score, smaller, terms):
        assert smaller == (0,) and terms == 246
        return np.array([[0, 1]])

    monkeypatch.setattr(method, "_score", lambda *_: score)
    monkeypatch.setattr(method, "_replacements", replaced)
    path = method.best_subset(np.ones((1, 300, terms)), np.ones((1, 300)), 2)
    assert path.supports == ((), (0,), (0, 1))
    assert sizes == [1, terms, math.comb(terms, 2) if all_tried else 1]


def test_of_a_chain_of_better_neighbours_fifty_are_followed():
    best = local_minimum(lambda s: np.array([-k for (k,) in s]), [0], [after])
    assert best == [50]
    best = local_minimum(lambda s: np.array([abs(k - 7) for (k,) in s]), [0], [after])
    assert best == [7]


def after(subset):
    return [[subset[0] + 1]]


def test_a_further_shell_is_looked_at_where_the_first_has_nothing_better():
    seen = []

    def score(subsets):
        seen.append(len(subsets))
        return np.array([abs(k - 10) for (k,) in subsets])

    def none(subset):
        return np.empty((0, 1), dtype=int)

    def two(subset):
        return [[subset[0] + 2], [subset[0] + 4]]

    assert local_minimum(score, [0], [none, two]) == [10]
    assert seen == [1, 2, 2, 2, 2]
    seen.clear()
    assert local_minimum(score, [0], [after, two]) == [10]
    assert seen[:3] == [1, 1, 1]


@pytest.mark.parametrize(
    ("fewer", "more", "count"), [(0, 1, 3), (1, 1, 6), (2, 2, 3), (0, 0, 1), (1, 0, 2)]
)
def test_neighbours_have_members_fewer_and_more(fewer, more, count):
    found = neighbours((1, 3), 5, fewer, more)
    assert len(found) == count == len({tuple(s) for s in found})
    for subset in found:
        assert subset == sorted(subset) and set(subset) <= set(range(5))
        assert len({1, 3} - set(subset)) == fewer and len(set(subset) - {1, 3}) == more


def test_columns_that_are_combinations_have_no_coefficients(rng):
    """Of those, the objective is that of nothing; the margin of it is rounding."""
    a, b = rng.normal(size=(1, 20, 3)), rng.normal(size=(1, 20))
    a[..., 1] = -3 * a[..., 0]
    score = method._score(a, b, None)
    both, one = score(np.array([[0, 1]]))[0], score(np.array([[0, 2]]))[0]
    assert both == pytest.approx(np.square(b).sum())
    x = np.linalg.lstsq(a[0][:, [0, 2]], b[0], rcond=None)[0]
    assert one == pytest.approx(np.square(b[0] - a[0][:, [0, 2]] @ x).sum())
    a[..., 1] += 1e-9 * a[..., 2]  # known by 1e-9
    near = method._score(a, b, None)(np.array([[0, 1]]))[0]
    assert near == pytest.approx(one, rel=1e-4)


def test_thresholds_are_applied_twenty_times(monkeypatch):
    """One term of thirty is lost each time."""

    def lost(a, b, rcond):
        assert rcond == 0.5
        return np.append(np.ones(a.shape[1] - 1), 0.0), None

    monkeypatch.setattr(np.linalg, "lstsq", lost)
    found = stlsq(np.ones((3, 30)), np.ones(3), 0.1, rcond=0.5)
    assert np.count_nonzero(found) == 10
