"""Appell's operator undoes what Gaussian noise does to the mean of a function."""

import numpy as np
import pytest
import sympy as sp

from leastaction.ensembles.moving_average_moments import unbiased

x, v, s, t = sp.symbols("x v s t", real=True)


def mean_over_noise(expression):
    """E f(x + e, v + e') of a polynomial, by the moments of a normal."""
    e, d = sp.symbols("e d")
    moved = sp.Poly(sp.expand(expression.subs({x: x + e, v: v + d})), e, d)
    total = 0
    for (i, j), factor in moved.terms():
        if i % 2 == 0 and j % 2 == 0:
            moments = sp.factorial2(i - 1) * s**i * sp.factorial2(j - 1) * t**j
            total += factor * moments
    return sp.expand(total)


@pytest.mark.parametrize(
    "f", [sp.Integer(3), x, x**2, x**3 * v, x**5, x**2 * v**3, 7 * x * v**4, x**7]
)
def test_polynomials_are_freed_of_bias_exactly(f):
    assert sp.expand(mean_over_noise(unbiased(f, {x: s**2, v: t**2})) - f) == 0


def test_without_the_operator_there_is_a_bias():
    assert sp.expand(mean_over_noise(x**3) - x**3 - 3 * s**2 * x) == 0


def test_functions_are_freed_to_the_order_of_the_series():
    """E sin(x + e) = exp(−s²/2) sin x; what is left is of order s⁸."""
    f = unbiased(sp.sin(x), {x: s**2})
    factor = sp.simplify(f / sp.sin(x)) * sp.exp(-(s**2) / 2)
    series = sp.series(factor, s, 0, 8).removeO()
    assert sp.simplify(series - 1) == 0


def test_noise_of_another_symbol_changes_nothing():
    assert unbiased(x**4, {v: t**2}) == x**4


def test_it_holds_for_a_sample(rng):
    f = sp.lambdify(x, unbiased(sp.cos(x) + x**4, {x: 0.09}))
    values = f(0.7 + 0.3 * rng.standard_normal(400_000))
    expected = np.cos(0.7) + 0.7**4
    assert values.mean() == pytest.approx(expected, abs=5 * values.std() / 632)
