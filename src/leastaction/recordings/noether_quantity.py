"""Noether quantity of a law of written terms, as an expression."""

from collections.abc import Sequence

import numpy as np
import sympy as sp

from leastaction.core.multi_index import multi_indices
from leastaction.core.symmetries import GAUGE_DEGREE, Symmetry, total_rates

DIGITS = 4


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
    values = np.broadcast_to(values, len(q))
    found = np.linalg.lstsq(total, values, rcond=None)[0]
    if ((values - total @ found) ** 2).sum() > (values**2).sum() / 2:
        found = np.zeros_like(found)  # a constant force is no total derivative
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
