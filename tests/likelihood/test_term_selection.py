"""Gains and losses of terms are those of laws that are fitted with and without them."""

import numpy as np

from leastaction.likelihood.term_selection import Candidates, Quadratic

TERMS = 6


def quadratic(seed: int) -> Quadratic:
    """A random likelihood whose first term gives the scale."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, TERMS))
    target = rng.standard_normal(40)
    candidates = Candidates(
        names=list("abcdef"),
        price=np.ones(TERMS),
        required=[0],
        stays=[0],
        positive=np.zeros(TERMS, dtype=bool),
        fixed=lambda support, c: [0],
    )
    G, b = rows.T @ rows, rows.T @ target
    return Quadratic(candidates, G, b, np.ones(TERMS), float(target @ target), 40.0, 40)


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
