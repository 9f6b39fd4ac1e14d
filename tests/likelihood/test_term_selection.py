"""Gains and losses of terms are those of refits; no neighbour of a law is better."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.core.sparse_regression import PRICE_OF_GAIN, term_price
from leastaction.likelihood.term_selection import (
    Candidates,
    Quadratic,
    equally_good,
    select,
)

TERMS = 6


def quadratic(
    seed: int, strong: int = 0, size: int = 40, sensor_share: float = np.inf, price=None
) -> Quadratic:
    """A random likelihood whose first term gives the scale, the next are `strong`."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((size, TERMS))
    target = rng.standard_normal(size) + rows[:, 1 : 1 + strong].sum(axis=1) * 2
    candidates = Candidates(
        names=list("abcdef"),
        price=np.ones(TERMS) if price is None else price,
        required=[0],
        stays=[0],
        positive=np.zeros(TERMS, dtype=bool),
        fixed=lambda support, c: [0],
    )
    G, b = rows.T @ rows, rows.T @ (target + rows[:, 0])
    square = float(np.sum((target + rows[:, 0]) ** 2))
    return Quadratic(candidates, G, b, np.ones(TERMS), square, sensor_share, size)


def test_a_gain_is_the_fall_of_the_square_by_a_refit():
    likelihood = quadratic(1)
    law = likelihood.solve([0, 1, 2])
    falls = [
        law.square - likelihood.solve([0, 1, 2, k]).square for k in range(3, TERMS)
    ]
    np.testing.assert_allclose(likelihood.gains(law), [0, 0, 0, *falls], rtol=1e-8)


def test_a_loss_is_the_rise_of_the_square_by_a_refit():
    likelihood = quadratic(2)
    law = likelihood.solve(range(TERMS))
    rises = [
        likelihood.solve([j for j in range(TERMS) if j != k]).square - law.square
        for k in range(1, TERMS)
    ]
    np.testing.assert_allclose(likelihood.losses(law), [np.inf, *rises], rtol=1e-8)


def test_power_is_missed_beyond_three_deviations_of_chance():
    likelihood = quadratic(3)
    law = likelihood.solve([0])
    least = law.square - 3 * np.sqrt(2 * 40)
    for share, missed in ((least + 1, 0.0), (least - 1, law.square - least + 1)):
        other = Quadratic(
            *(likelihood.candidates, likelihood.G, likelihood.b, likelihood.c),
            *(likelihood.square, share, 40),
        )
        assert np.isclose(other.missed(law), missed)


def test_a_linear_likelihood_is_the_same_wherever_it_is_expanded():
    """Of y = X c + e: G = XᵀX, b = Xᵀy and |y|² at zero, from innovations at any c."""
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((30, TERMS)), rng.standard_normal(30)
    for c in (np.zeros(TERMS), rng.standard_normal(TERMS)):
        rest = y - x @ c
        innovations = SimpleNamespace(
            information=x.T @ x,
            gradient=x.T @ rest,
            moment=(rest**2)[:, None, None],
            sensor_share=2.0,
            count=30,
            correlation_length=3.0,
        )
        made = Quadratic.of(quadratic(4).candidates, c, innovations)
        np.testing.assert_allclose(made.b, x.T @ y)
        assert np.isclose(made.square, y @ y)
        assert (made.sensor_share, made.count, made.correlation) == (2.0, 30, 3.0)


def neighbours(likelihood: Quadratic, law):
    """Laws with one term less or more, or one or two exchanged."""
    free, absent = {*law.support} - {0}, {*range(TERMS)} - {*law.support}
    for count in (1, 2):
        few = [set(each) for each in itertools.combinations(free, count)]
        many = [set(each) for each in itertools.combinations(absent, count)]
        alone = [set()] if count == 1 else []
        for less, more in itertools.product(few + alone, many + alone):
            yield likelihood.solve({*law.support} - less | more)


@pytest.mark.parametrize("seed", range(8))
def test_no_neighbour_of_a_law_is_better(seed):
    """By the extended BIC, an exchange by more than one, with no force missed."""
    likelihood = quadratic(seed, strong=seed % 4)
    for begin in ([0], range(TERMS), [0, 5]):
        law = select(likelihood, begin)
        assert set(law.support) >= {0, *range(1, 1 + seed % 4)}
        values = [likelihood.criterion(each) for each in neighbours(likelihood, law)]
        assert likelihood.criterion(law) <= min(values) + 1


@pytest.mark.parametrize("seed", range(8))
def test_two_terms_that_make_up_for_each_other_are_exchanged_together(seed):
    """As cos(2q) for cos(q) in two entries of an inertia: no exchange of one is better.

    The law is x₁ + x₂ = (x₁ + d) + (x₂ − d), of which the search begins with the right.
    """
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, TERMS))
    difference, error = 2 * rng.standard_normal(40), 0.7 * rng.standard_normal(40)
    rows[:, 3], rows[:, 4] = rows[:, 1] + difference, rows[:, 2] - difference + error
    target = rows[:, :3].sum(axis=1)
    G, b = rows.T @ rows, rows.T @ target
    likelihood = replace(quadratic(0), G=G, b=b, square=float(target @ target))
    assert select(likelihood, [0, 3, 4]).support == (0, 1, 2)
    law = likelihood.solve([0, 3, 4])
    gains = likelihood.gains_of_two(law)
    one = likelihood.solve([0, 3, 4, 1, 2])
    np.testing.assert_allclose(gains[1, 2], law.square - one.square, rtol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_rivals_of_a_law_are_all_that_fit_alike_with_few_terms_exchanged(seed):
    """One term for one, or two for two of which none is a rival for one alone."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, TERMS))
    difference, error = 2 * rng.standard_normal(40), 0.1 * rng.standard_normal((3, 40))
    together = seed % 2 == 0  # else 3 stands for 1 alone
    rows[:, 3] = rows[:, 1] + together * difference + error[0]
    rows[:, 4] = rows[:, 2] - difference + error[1]
    rows[:, 5] = rows[:, 0] + error[2]
    target = rows[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(40)
    G, b = rows.T @ rows, rows.T @ target
    square, known = float(target @ target), quadratic(0).candidates
    known = replace(known, required=(), stays=(), fixed=lambda support, c: [])
    likelihood = replace(quadratic(0), candidates=known, G=G, b=b, square=square)
    law, worst = likelihood.solve([0, 1, 2]), 2 * np.log(19)
    expected: list[tuple] = []
    for count in (1, 2):
        for new in itertools.combinations(range(TERMS), 3):
            other, added = likelihood.solve(new), {*new} - {*law.support}
            part = any(
                {*one} - {0, 1, 2} <= added and {*new} & {0, 1, 2} <= {*one}
                for one in expected
            )
            near = other.square - law.square < worst
            if len(added) == count and near and not part:
                expected.append(other.support)
    rivals = equally_good(likelihood, law)
    assert {one.support for one in rivals} == {*expected}
    assert {(1, 2, 5), (0, 3, 4) if together else (0, 2, 3)} <= {*expected}
    assert [one.square for one in rivals] == sorted(one.square for one in rivals)


@pytest.mark.parametrize("seed", range(8))
def test_a_term_lowers_what_is_missed_by_its_share(seed):
    """1 − .8^p of a price p where the sensors explain little of the innovations."""
    price = 1.0 + 0.5 * np.arange(TERMS)
    likelihood = quadratic(seed, 3, size=3000, sensor_share=1500, price=price)
    law = select(likelihood, range(TERMS))
    missed = law.square - 1500
    for k in range(1, TERMS):
        other = likelihood.solve({*law.support} ^ {k})
        before, after = sorted([missed, other.square - 1500], reverse=True)
        assert (after < 0.8 ** price[k] * before) == (k in law.support)


def test_a_gain_costs_more_than_a_loss():
    """A positive coefficient that comes out negative has a further price."""
    likelihood = quadratic(5, strong=1)
    for sign in (1, -1):
        positive = np.arange(TERMS) == 1
        known = replace(likelihood.candidates, positive=positive)
        other = replace(likelihood, candidates=known, b=sign * likelihood.b)
        law = other.solve([0, 1])
        more = other.criterion(law) - law.square - 2 * other.penalty
        assert (law.x[1] < 0) == (sign < 0)
        wanted = PRICE_OF_GAIN * other.penalty if sign < 0 else 0.0
        assert np.isclose(more, wanted, atol=1e-6)


def test_penalties_of_correlated_innovations_are_those_of_independent_ones():
    """Of N innovations correlated over τ: τ times the price of N/τ."""
    one = quadratic(6)
    four = replace(one, correlation=4.0)
    assert np.isclose(one.penalty, term_price(one.count, TERMS))
    assert np.isclose(four.penalty, 4 * term_price(one.count / 4, TERMS))
