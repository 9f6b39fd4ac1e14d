"""Backward error analysis of variational integrators, as formulas.

A variational integrator applied to L solves the Euler–Lagrange equation of a *modified
Lagrangian* L_mod = L + h² c_2 + h⁴ c_4 + ..., up to its truncation error. Applied to
the *inverse modified Lagrangian* L_invmod it solves that of L. Both are made here from
the rule alone, for an L given as an expression, or for a general L of one coordinate.

Sources: Vermeeren, Numerische Mathematik 137 (2017) 1001; Ober-Blöbaum and Offen,
Theorems 4.2 and 4.3, Examples 4.1 and 4.2. At many points at once, from the derivatives
of a learned L: :mod:`backward_error_numerical`.
"""

from collections.abc import Sequence
from fractions import Fraction

import sympy as sp

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import symbol
from leastaction.snapshots.backward_error_series import (
    inverse_modified_coefficients,
    modified_coefficients,
)

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
    its terms from the rule (:mod:`backward_error_series`).

    Parameters
    ----------
    lagrangian
        L(q, q̇), regular. It may contain undefined functions of q and q̇.
    coordinates
        Names of q.
    order
        Of the truncation, even.
    rule
        ``midpoint`` or ``trapezoidal``.
    step
        h (s).
    inverse
        The inverse modified Lagrangian instead: integrated, it gives motions of L
        (Theorem 4.3).

    Raises
    ------
    ValueError
        If the order is odd or negative, the rule unknown or L_vv singular.
    """
    coefficients = _coefficients(lagrangian, coordinates, order, rule, inverse)
    return sum(c * step ** (2 * j) for j, c in enumerate(coefficients))


def energy(lagrangian: sp.Expr, coordinates: Sequence[str]) -> sp.Expr:
    """Energy q̇·∂L/∂q̇ − L; of L_mod it is the modified Hamiltonian H^[k](q, q̇)."""
    v = symbols(velocity_names(coordinates))
    return sum(x * sp.diff(lagrangian, x) for x in v) - lagrangian


def general_coefficient(
    order: int, rule: str = "midpoint", inverse: bool = False
) -> sp.Expr:
    """Coefficient of h^order of a general L(q, q̇) in one dimension.

    Parameters
    ----------
    order
        Power of h, even.
    rule
        ``midpoint`` or ``trapezoidal``.
    inverse
        Of the inverse modified Lagrangian.

    Returns
    -------
    A sum of monomials in ``v`` and ``L_ij`` = ∂^(i+j) L/∂qⁱ∂q̇ʲ.
    """
    q, v = symbol("q"), symbol("qdot")
    lagrangian = sp.Function("L")(q, v)
    found = sp.expand(_coefficients(lagrangian, ["q"], order, rule, inverse)[-1])
    names = {lagrangian: symbol("L_00"), v: symbol("v")}
    for derivative in found.atoms(sp.Derivative):
        by = dict(derivative.variable_count)
        names[derivative] = symbol(f"L_{by.get(q, 0)}{by.get(v, 0)}")
    return found.xreplace(names)


def _coefficients(
    lagrangian: sp.Expr, coordinates: Sequence[str], order: int, rule: str, inverse
) -> list[sp.Expr]:
    """Coefficients of h⁰, h², ... of L_mod or L_invmod."""
    series = inverse_modified_coefficients if inverse else modified_coefficients
    return series(_Expressions(coordinates), sp.sympify(lagrangian), order, rule)


class _Expressions:
    """Expressions in q and q̇, an algebra of :mod:`backward_error_series`."""

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

    def limited(self, expression: sp.Expr, _m: int) -> sp.Expr:
        """Expressions have all their derivatives."""
        return expression

    def number(self, fraction: Fraction) -> sp.Rational:
        return sp.Rational(fraction.numerator, fraction.denominator)
