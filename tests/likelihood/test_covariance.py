"""Covariance of coefficients: by information, by scores of stretches, of the absent."""

from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.likelihood.covariance import nearest_absent, spread, whiteness

INFORMATION = np.array([[4.0, 1e3], [1e3, 9e6]])


def innovations(series, scores=None, correlated=1.0):
    scores = np.zeros((24, 2)) if scores is None else scores
    moment = np.zeros((len(scores), 3, 3))
    moment[:, 0, 1:] = -scores
    return SimpleNamespace(
        standardised=lambda: iter(series),
        information=INFORMATION,
        moment=moment,
        count=sum(map(len, series)),
        correlation_length=correlated,
    )


@pytest.mark.parametrize("unit", [[1.0, 1.0], [1e-9, 1.0], [1.0, 1e9]])
def test_white_innovations_have_the_covariance_of_the_information(rng, unit):
    one, G = innovations([rng.standard_normal(480)]), INFORMATION * np.outer(unit, unit)
    one.information = G
    result = spread(one)
    assert result.stretches == 0
    D = result.deviations
    np.testing.assert_allclose(D.T @ D, np.linalg.inv(G), rtol=1e-9)


@pytest.mark.parametrize(
    ("correlated", "joined"), [(1.0, 1), (19.0, 1), (21.0, 2), (47.0, 3), (1e9, 6)]
)
def test_correlated_innovations_have_that_of_their_scores(rng, correlated, joined):
    """Of neighbouring stretches together, as many as the correlation reaches over."""
    series = np.repeat(rng.standard_normal(120), 4)
    scores = rng.standard_normal((24, 2)) * [2.0, 3e3] + [1.0, 0.0]
    result = spread(innovations([series], scores, correlated))
    count = 24 // joined
    assert result.stretches == count
    about = scores - scores.mean(axis=0)
    padded = np.vstack([np.zeros((joined - 1, 2)), about, np.zeros((joined - 1, 2))])
    sums = [padded[k : k + joined].sum(axis=0) for k in range(24 + joined - 1)]
    meat = sum(np.outer(s, s) for s in sums) / joined * count / (count - 1)
    expected = np.linalg.solve(INFORMATION, np.linalg.solve(INFORMATION, meat).T)
    np.testing.assert_allclose(result.deviations.T @ result.deviations, expected)


def test_the_least_white_of_all_sensors_counts(rng):
    white = rng.standard_normal(400)
    coloured = white + np.roll(white, 1)
    assert whiteness(innovations([coloured])) < 1e-5
    both = whiteness(innovations([white, coloured]))
    assert both == pytest.approx(2 * whiteness(innovations([coloured])))
    one = whiteness(innovations([white]))
    assert 1e-3 < one <= 1.0
    assert whiteness(innovations([white] * 5)) == pytest.approx(min(1.0, 5 * one))


def law_of(gain, support=(0,)):
    calls = []

    def solve(terms):
        calls.append(terms)
        return SimpleNamespace(x=np.array([5.0, 7.0, 9.0, 11.0]))

    quadratic = SimpleNamespace(
        gains=lambda law: np.array(gain),
        penalty=5.0,
        candidates=SimpleNamespace(price=np.array([1.0, 1.0, 2.0, 1.0])),
        solve=solve,
    )
    law = SimpleNamespace(x=np.array([1.0, 0.0, 0.0, 0.0]), support=support)
    return quadratic, law, calls


@pytest.mark.parametrize(
    ("gain", "k", "beyond"), [([0, 3.0, 2.0, 1.0], 1, -2.0), ([0, 3, 9.0, 6], 2, -1.0)]
)
def test_the_nearest_absent_term_moves_those_of_the_law(gain, k, beyond):
    """What the extended BIC accepts, a gain of 6, is listed elsewhere."""
    quadratic, law, calls = law_of(gain)
    w = 1 / (1 + np.exp(-beyond / 2))
    change = nearest_absent(quadratic, law)
    np.testing.assert_allclose(change, [4 * np.sqrt(w * (1 - w)), 0, 0, 0])
    assert calls == [{0, k}]


@pytest.mark.parametrize("gain", [[0, 0, 0, 0], [0, 5.0, -1.0, 8.0]])
def test_no_absent_term_moves_nothing(gain):
    quadratic, law, calls = law_of(gain)
    assert not nearest_absent(quadratic, law).any() and not calls
