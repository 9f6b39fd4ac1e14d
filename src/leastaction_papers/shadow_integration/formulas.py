"""Modified Lagrangians as formulas: the algebra of expressions in q and q̇.

The terms are those of :mod:`leastaction.snapshots.backward_error`.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import sympy as sp

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import symbol
from leastaction.snapshots.backward_error import modified_coefficients

STEP = symbol("h")


def modified_lagrangian(
    lagrangian: sp.Expr,
    coordinates: Sequence[str],
    order: int = 2,
    rule: str = "midpoint",
    step: sp.Expr = STEP,
    inverse: bool = False,
) -> sp.Expr:
    """Modified Lagrangian, of which the numerical solution is a motion (Theorem 4.2).

    In any dimension, with A = L_vv⁻¹ (L_q − L_vq q̇) and s = −1 for the midpoint rule,
    s = 2 for the trapezoidal rule,

        L_mod = L + h²/24 [L_vv(A, A) + s L_qq(q̇, q̇)] + h⁴ c_4 + ...

    For the midpoint rule, with the directional derivative D = q̇·∂_q + A·∂_q̇ that
    leaves its own q̇ and A alone, and the jerk J = dA/dt along motions of L,

        5760 c_4 = 7 D⁴L + 12 D²(L_q)·A + 36 L_qq(A, A) − 16 L_vv(J, J).

    For the trapezoidal rule −15 L_qqqq(q̇, q̇, q̇, q̇) − 60 L_qqqv(q̇, q̇, q̇, A)
    − 30 L_qqvv(q̇, q̇, A, A) − 60 L_qqq(q̇, q̇, A) − 120 L_qqv(q̇, A, A)
    − 60 L_qq(A, A) are added to it. These displays are for the reader; the code makes
    its terms from the rule.

    L is regular and may contain undefined functions of q and q̇. The inverse modified
    Lagrangian, if asked for, gives motions of L when it is integrated (Theorem 4.3).
    Raises a ValueError if the order is not 0, 2 or 4 (of the inverse any even one), the
    rule unknown or L_vv singular.
    """
    algebra, lagrangian = _Expressions(coordinates), sp.sympify(lagrangian)
    result = modified_coefficients(algebra, lagrangian, order, rule, inverse)
    return sum(c * step ** (2 * j) for j, c in enumerate(result))


@lru_cache
def general_coefficient(
    order: int, rule: str = "midpoint", inverse: bool = False
) -> sp.Expr:
    """Coefficient of h^order of a general L(q, q̇) in one dimension.

    A sum of monomials in ``v`` and ``L_ij`` = ∂^(i+j) L/∂qⁱ∂q̇ʲ.
    """
    q, v = symbol("q"), symbol("qdot")
    lagrangian = sp.Function("L")(q, v)
    algebra = _Expressions(["q"])
    coefficients = modified_coefficients(algebra, lagrangian, order, rule, inverse)
    result = sp.expand(coefficients[-1])
    names = {lagrangian: symbol("L_00"), v: symbol("v")}
    for derivative in result.atoms(sp.Derivative):
        by = dict(derivative.variable_count)
        names[derivative] = symbol(f"L_{by.get(q, 0)}{by.get(v, 0)}")
    return result.xreplace(names)


class _Expressions:
    """The algebra of expressions in q and q̇."""

    def __init__(self, coordinates: Sequence[str]):
        self._slots = (symbols(coordinates), symbols(velocity_names(coordinates)))
        self.dof = len(coordinates)

    def velocity(self) -> list[sp.Expr]:
        return list(self._slots[1])

    def partial(self, expression: sp.Expr, slot: int, i: int) -> sp.Expr:
        return sp.diff(expression, self._slots[slot][i])

    def solve(self, matrix, right) -> list[sp.Expr]:
        matrix = sp.Matrix(matrix)
        determinant = sp.simplify(matrix.det())
        if determinant == 0:
            raise ValueError(
                "the Lagrangian is singular: det ∂²L/∂q̇∂q̇ = 0; backward error analysis "
                "needs a kinetic energy in every velocity"
            )
        return list(matrix.adjugate() * sp.Matrix(right) / determinant)

    def shortened(self, elements: list, _function, _k: int) -> list:
        """Expressions have all their derivatives."""
        return elements

    def number(self, fraction: Fraction) -> sp.Rational:
        return sp.Rational(fraction.numerator, fraction.denominator)
