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
    biasing,
    corrections,
    equally_good,
    parts,
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


def diagonal(gains, missed=0.0, count=1000, correlation=1.0, **known):
    """Independent candidates whose 2Δℓ are `gains`, each with the sign of b.

    What all of them leave is noise of the sensors, and `missed`.
    """
    gains = np.array(gains, dtype=float)
    usual = {
        "names": list("abcdefg"[: len(gains)]),
        "price": np.ones(len(gains)),
        "required": [],
        "stays": [],
        "positive": np.zeros(len(gains), dtype=bool),
        "fixed": lambda support, c: [],
    }
    rest = 500.0 + missed
    G = np.diag(4.0 ** np.arange(len(gains)))
    b = np.sign(gains) * np.sqrt(np.abs(gains) * np.diag(G))
    square = rest + np.abs(gains).sum()
    return Quadratic(
        Candidates(**usual | known), G, b, 0 * gains, square, 500.0, count, correlation
    )


PENALTY = np.log(1000) + 2 * np.log(3)  # of one of three candidates


@pytest.mark.parametrize("correlation", [1.0, 5.0])
def test_the_penalty_is_that_of_independent_innovations(correlation):
    likelihood = diagonal([1, 1, 1], correlation=correlation)
    expected = correlation * (np.log(1000 / correlation) + 2 * np.log(3))
    assert likelihood.penalty == pytest.approx(expected)
    assert likelihood.penalty == pytest.approx(
        correlation * term_price(1000 / correlation, 3)
    )
    few = diagonal([1, 1, 1], count=2, correlation=9.0)
    assert few.penalty == pytest.approx(9.0 * term_price(np.e, 3))


@pytest.mark.parametrize("price", [1.0, 2.0])
@pytest.mark.parametrize("begin", [[], [0], [0, 1, 2]])
@pytest.mark.parametrize("above", [True, False])
def test_a_term_is_in_the_law_beyond_its_price_of_the_bic(price, begin, above):
    gain = price * PENALTY * (1.01 if above else 0.99)
    law = select(diagonal([gain, 0.0, 0.1], price=np.full(3, price)), begin)
    assert law.support == ((0,) if above else ())
    if above:
        assert law.x[0] == pytest.approx(np.sqrt(gain))
        assert law.inverse[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("price", [1.0, 2.0])
@pytest.mark.parametrize("begin", [[], [0], [0, 1]])
@pytest.mark.parametrize("above", [True, False])
def test_a_term_lowers_what_is_missed_by_a_fifth(price, begin, above):
    """Of m without it and (1 − s) m with it: s > 1 − .8^p; m is beyond noise."""
    share = (1 - 0.8**price) * (1.01 if above else 0.99)
    missed = 5000.0
    gain = share * missed
    likelihood = diagonal([gain, 0.0, 0.1], missed - gain, price=np.full(3, price))
    assert select(likelihood, begin).support == ((0,) if above else ())
    bare = likelihood.solve([])
    assert likelihood.missed(bare) == pytest.approx(missed + 0.1)
    assert corrections(likelihood, bare) == (0,)


@pytest.mark.parametrize(("more", "exchanged"), [(0.9, False), (1.1, True)])
def test_a_term_is_exchanged_for_one_that_gains_more_by_one(more, exchanged):
    """Of two that are nearly the same and gain 200 and a little more."""
    likelihood = diagonal([200.0, 200.0 + more, 0.0])
    G, size = likelihood.G.copy(), np.sqrt(np.diag(likelihood.G))
    G[0, 1] = G[1, 0] = 0.999 * size[0] * size[1]
    likelihood = replace(likelihood, G=G)
    assert select(likelihood, [0]).support == ((1,) if exchanged else (0,))
    assert select(likelihood, [1]).support == (1,)


def test_what_stays_is_excluded_or_feeds_energy_in_has_its_own_rule():
    strong, weak = 3 * PENALTY, 0.5 * PENALTY
    gains = [strong, weak, strong]
    assert select(diagonal(gains), []).support == (0, 2)
    assert select(diagonal(gains, stays=[1]), [1]).support == (0, 1, 2)
    assert select(diagonal(gains, required=[1]), []).support == (0, 1, 2)
    assert select(diagonal(gains, excluded=(2,)), []).support == (0,)
    losses = np.array([False, False, True])
    feeding = [strong, weak, -(1 + 0.5 * PRICE_OF_GAIN) * PENALTY]
    assert select(diagonal(feeding), []).support == (0, 2)
    assert select(diagonal(feeding, positive=losses), []).support == (0,)
    assert select(diagonal(feeding, positive=losses), [2]).support == (0,)
    feeding[2] *= -1
    likelihood = diagonal(feeding, positive=losses)
    assert select(likelihood, []).support == (0, 2)
    np.testing.assert_array_equal(
        likelihood.price(np.array([-1.0, -1.0, -1.0])), [1, 1, 1 + PRICE_OF_GAIN]
    )
    law = likelihood.solve([0, 2])
    assert likelihood.criterion(law) == pytest.approx(
        law.square + 2 * likelihood.penalty
    )


def test_candidates_that_are_the_same_gain_nothing_beside_each_other():
    likelihood = diagonal([30.0, 20.0, 10.0])
    G, b = likelihood.G.copy(), likelihood.b.copy()
    G[1] = G[:, 1] = 0.0
    G[1, 0] = G[0, 1] = 2.0 * G[0, 0]
    G[1, 1], b[1] = 4.0 * G[0, 0], 2.0 * b[0]
    twice = replace(likelihood, G=G, b=b)
    gains = twice.gains(twice.solve([0]))
    np.testing.assert_allclose(gains, [0, 0, 10.0], atol=1e-6)
    pairs = twice.gains_of_two(twice.solve([]))
    assert pairs[0, 1] == 0.0
    assert pairs[0, 2] == pytest.approx(40.0) == pairs[2, 0]
    excluded = replace(twice, candidates=replace(twice.candidates, excluded=(2,)))
    assert not excluded.gains(excluded.solve([0]))[2]
    assert not excluded.gains_of_two(excluded.solve([])).any()
    none = diagonal([0.0, 0.0])
    none.G[1, 1] = 0.0
    assert not none.gains_of_two(none.solve([])).any()


FRICTION = {"friction": (1,)}


def with_friction(t=2.0, cross=0.9, sign=1.0, unit=1.0):
    """A stiffness that is known to 1, and a friction of t standard errors beside it."""
    G = np.array([[1.0, cross / unit], [cross / unit, 1.0 / unit**2]])
    left = 1 - cross**2
    x = np.array([100.0, sign * t / np.sqrt(left) * unit])
    base = diagonal([1.0, 1.0], **FRICTION)
    return replace(base, G=G, b=G @ x, square=500.0 + x @ G @ x)


@pytest.mark.parametrize("unit", [1e-3, 1.0])
@pytest.mark.parametrize(
    ("t", "cross", "sign", "needed"),
    [
        (2.0, 0.9, 1.0, [1]),
        (1.97, 0.9, 1.0, [1]),
        (1.95, 0.9, 1.0, []),  # its interval holds zero
        (2.0, 0.9, -1.0, []),  # it feeds energy in
        (2.0, 0.46, 1.0, [1]),  # moves the stiffness by 2 · .46/√(1 − .46²) = 1.04
        (2.0, 0.44, 1.0, []),  # by .98
    ],
)
def test_friction_is_needed_where_a_stiffness_is_biased_without(
    t, cross, sign, needed, unit
):
    likelihood = with_friction(t, cross, sign, unit)
    assert biasing(likelihood, likelihood.solve([0])) == needed
    assert biasing(likelihood, likelihood.solve([0, 1])) == []


@pytest.mark.parametrize("correlation", [1.0, 3.0])
@pytest.mark.parametrize("above", [True, False])
def test_rivals_have_odds_of_five_to_ninety_five(correlation, above):
    """2 log 19 of 2Δℓ, for every independent innovation."""
    worst = 2 * np.log(19) * correlation
    less = 200.0 - worst * (1.01 if above else 0.99)
    likelihood = diagonal([200.0, less, 300.0], correlation=correlation)
    law = likelihood.solve([0, 2])
    rivals = [each.support for each in equally_good(likelihood, law)]
    assert rivals == ([] if above else [(1, 2)])
    dear = diagonal(
        [200.0, less, 300.0], correlation=correlation, price=np.array([1, 1.1, 1])
    )
    assert equally_good(dear, dear.solve([0, 2])) == []
    stays = diagonal([200.0, less, 300.0], correlation=correlation, stays=[0])
    assert equally_good(stays, stays.solve([0, 2])) == []


def test_two_are_rivals_only_where_no_exchange_of_one_is_part_of_it():
    likelihood = diagonal([200.0, 199.0, 300.0, 298.0])
    law = likelihood.solve([0, 2])
    rivals = [each.support for each in equally_good(likelihood, law)]
    assert rivals == [(2, 3), (1, 2), (0, 3)]


@pytest.mark.parametrize(
    ("touched", "groups"),
    [([1, 2, 4], [1, 2, 4]), ([1, 2, 3], [3]), ([3, 12, 6], [15]), ([], [])],
)
def test_terms_connect_coordinates(touched, groups):
    assert parts(touched) == groups
