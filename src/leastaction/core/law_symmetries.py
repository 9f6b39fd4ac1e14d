"""Affine symmetries of a law of written terms, and their Noether quantities.

What a symmetry is, and what decides: :mod:`leastaction.core.symmetries`.
"""

from collections.abc import Sequence

import numpy as np
import sympy as sp

from leastaction.core.multi_index import multi_indices
from leastaction.core.symmetries import (
    Invariance,
    Symmetry,
    change_along,
    polynomials,
    sizes_along,
)

# Degree of F.
GAUGE_DEGREE = 4
DIGITS = 4


def symmetries_of_terms(
    terms: Sequence[sp.Expr],
    coefficients: np.ndarray,
    errors: np.ndarray,
    q: np.ndarray,
    qdot: np.ndarray,
    state: Sequence[sp.Symbol],
    resolution: float = 5e-3,
) -> list[Symmetry]:
    """Affine symmetries of L = Σ c_f φ_f(q, q̇), a sum of written terms.

    Parameters
    ----------
    terms
        φ_f, functions of `state`.
    coefficients, errors
        c and its standard errors, taken as independent, shape (term,).
    q, qdot
        States of the motion, shape (sample, dof); they say how large things are.
    state
        Symbols of q, then of q̇.
    resolution
        Bound of a violation below which a symmetry is found.
    """
    n, count = q.shape[1], len(q)
    columns = list(np.hstack([q, qdot]).T)
    gradient = np.array(
        [
            [
                np.broadcast_to(
                    sp.lambdify(state, sp.diff(term, s), "numpy")(*columns), count
                )
                for term in terms
            ]
            for s in state
        ],
        dtype=float,
    ).swapaxes(1, 2)
    scale = q.std(axis=0)
    rate = float(np.sqrt(np.mean((qdot.std(axis=0) / scale) ** 2)))
    problem = Invariance(
        scale, change_along(q, qdot, gradient, scale), total_rates(q, qdot, scale)
    )
    momenta = (gradient[n:] @ coefficients).T
    size = sizes_along(q, momenta, scale, rate, GAUGE_DEGREE)
    known = np.diag(np.nan_to_num(errors))
    return problem.symmetries(coefficients, known, size, resolution)


def total_rates(q: np.ndarray, qdot: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Rates dF/dt of the monomials F of q/s, and of t; shape (sample, polynomial)."""
    _, gradients = polynomials(q, scale, GAUGE_DEGREE)
    rates = np.einsum("sfi,si->sf", gradients, qdot)
    return np.hstack([rates, np.ones((len(q), 1))])


def noether_quantity(
    lagrangian: sp.Expr,
    symmetry: Symmetry,
    q: np.ndarray,
    qdot: np.ndarray,
    state: Sequence[sp.Symbol],
) -> sp.Expr:
    """I = p·ξ(q) − F(q), numbers rounded to four digits.

    >>> x, y, xdot, ydot = state = sp.symbols("x y xdot ydot")
    >>> turn = Symmetry(np.zeros(2), np.array([[0.0, -1.0], [1.0, 0.0]]), 0, 0, True)
    >>> q, qdot = np.random.default_rng(1).standard_normal((2, 50, 2))
    >>> law = (xdot**2 + ydot**2 - x**2 - y**2) / 2
    >>> noether_quantity(law, turn, q, qdot, state)
    x*ydot - xdot*y
    """
    n = q.shape[1]
    names, rates = sp.Matrix(state[:n]), sp.Matrix(state[n:])
    matrix = sp.Matrix(symmetry.matrix.tolist())
    field = sp.Matrix(symmetry.offset.tolist()) + matrix * names
    momenta = sp.Matrix([sp.diff(lagrangian, v) for v in rates])
    change = sum(
        sp.diff(lagrangian, a) * b
        for a, b in zip(state, [*field, *(matrix * rates)], strict=True)
    )
    values = sp.lambdify(state, change, "numpy")(*np.hstack([q, qdot]).T)
    scale = q.std(axis=0)
    total = total_rates(q, qdot, scale)[:, :-1]
    found = np.linalg.lstsq(total, np.broadcast_to(values, len(q)), rcond=None)[0]
    size = np.abs(total * found).max() if len(found) else 0.0
    momentum = sp.lambdify(state, list(momenta), "numpy")(*np.hstack([q, qdot]).T)
    least = max(float(np.abs(np.asarray(p)).max()) for p in momentum)
    remainder = 0
    for powers, c in zip(multi_indices(n, GAUGE_DEGREE)[1:], found, strict=True):
        if abs(c) > 1e-3 * max(size, least * float(scale.max())):
            c = c / np.prod(scale**powers)
            remainder += c * sp.prod([x**k for x, k in zip(names, powers, strict=True)])
    return readable_numbers(sp.expand((momenta.T * field)[0] - remainder))


def readable_numbers(expression: sp.Expr) -> sp.Expr:
    """The same with numbers of four digits, integers where they are."""
    numbers = {}
    for number in expression.atoms(sp.Float):
        short = float(f"{float(number):.{DIGITS}g}")
        whole = short.is_integer()
        numbers[number] = sp.Integer(short) if whole else sp.Float(short, DIGITS)
    return expression.xreplace(numbers)
