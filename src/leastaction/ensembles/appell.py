"""Unbiased functions of noisy data: Appell's operator, the inverse of the heat kernel.

If e is Gaussian with covariance diag(s²), the mean of f(x + e) is exp(½ Σ s_j² ∂_j²) f.
So f̃ = exp(−½ Σ s_j² ∂_j²) f has E f̃(x + e) = f(x); on monomials it gives Hermite
polynomials (Appell 1880; Stefanski 1989 for errors in variables).
"""

from collections.abc import Mapping

import sympy as sp

# Exact for polynomials of degree 7; the next term of sin x is s⁸/384.
ORDER = 3


def unbiased(
    expression: sp.Expr, variance: Mapping[sp.Symbol, sp.Expr], order: int = ORDER
) -> sp.Expr:
    """f̃ with E f̃(x + e) = f(x), to the power `order` of the variances.

    Parameters
    ----------
    expression
        f.
    variance
        s² of each symbol that is measured with noise.
    """
    total = term = sp.sympify(expression)
    for n in range(1, order + 1):
        if term == 0:
            break
        term = sum(
            (-s2 * sp.diff(term, x, 2) / (2 * n) for x, s2 in variance.items()),
            sp.Integer(0),
        )
        total += term
    return total
