"""Backward error analysis of variational integrators, as formulas.

A variational integrator applied to L solves the Euler–Lagrange equation of a *modified
Lagrangian* L_mod = L + h² c_2 + h⁴ c_4 + ..., up to its truncation error. Applied to
the *inverse modified Lagrangian* L_invmod it solves that of L. Both are made here from
the rule alone, for an L given as an expression or, in one dimension, for a general L.

Sources: Vermeeren, Numerische Mathematik 137 (2017) 1001; Ober-Blöbaum and Offen,
Theorems 4.2 and 4.3, Examples 4.1 and 4.2. At many points at once, from the derivatives
of a learned L: :mod:`backward_error_numerical`.
"""

from collections.abc import Sequence
from fractions import Fraction

import sympy as sp
from sympy.polys.rings import PolyElement, ring

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import symbol
from leastaction.snapshots.backward_error_powers import Exact
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
    its terms from the rule (:mod:`backward_error_terms`).

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

    Raises
    ------
    ValueError
        If the order is odd or negative, the rule unknown or L_vv singular.
    """
    algebra = _Expressions(coordinates)
    coefficients = modified_coefficients(algebra, sp.sympify(lagrangian), order, rule)
    return _series(coefficients, step)


def inverse_modified_lagrangian(
    lagrangian: sp.Expr,
    coordinates: Sequence[str],
    order: int = 2,
    rule: str = "midpoint",
    step: sp.Expr = STEP,
) -> sp.Expr:
    """Inverse modified Lagrangian: integrated, it gives motions of L (Theorem 4.3).

    Parameters, errors
    ------------------
    As :func:`modified_lagrangian`.
    """
    algebra = _Expressions(coordinates)
    coefficients = inverse_modified_coefficients(
        algebra, sp.sympify(lagrangian), order, rule
    )
    return _series(coefficients, step)


def energy(lagrangian: sp.Expr, coordinates: Sequence[str]) -> sp.Expr:
    """Energy q̇·∂L/∂q̇ − L; of L_mod it is the modified Hamiltonian H^[k](q, q̇)."""
    v = symbols(velocity_names(coordinates))
    return sum(x * sp.diff(lagrangian, x) for x in v) - lagrangian


def general_coefficient(
    order: int, rule: str = "midpoint", inverse: bool = False
) -> sp.Expr:
    """Coefficient of h^order of a general L(q, q̇) in one dimension.

    Computed in the polynomial ring of q̇, the derivatives of L and I = 1/L_vv, in which
    dI = −I² dL_vv.

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
    algebra = _GeneralLagrangian(order)
    found = inverse_modified_coefficients if inverse else modified_coefficients
    polynomial = found(algebra, algebra.derivative[0, 0], order, rule)[-1]
    return polynomial.as_expr().subs(symbol("I"), 1 / symbol("L_02"))


def _series(coefficients: Sequence[sp.Expr], step: sp.Expr) -> sp.Expr:
    return sum(c * step ** (2 * j) for j, c in enumerate(coefficients))


class _Expressions(Exact):
    """Expressions in q and q̇."""

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

    def number(self, fraction: Fraction) -> sp.Rational:
        return sp.Rational(fraction.numerator, fraction.denominator)


class _GeneralLagrangian(Exact):
    """Polynomials in q̇, I = 1/L_vv and the derivatives of L, in one dimension."""

    dof = 1

    def __init__(self, order: int):
        degree = order + 2
        orders = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
        names = ["v", "I", *(f"L_{i}{j}" for i, j in orders)]
        self.ring, *generators = ring(symbols(names), sp.QQ)
        self._v, self._inverse = generators[:2]
        self.derivative = dict(zip(orders, generators[2:], strict=True))
        self._rates = [self._rates_of_generators(slot) for slot in (0, 1)]

    def _rates_of_generators(self, slot: int) -> list:
        """(generator, its derivative); a derivative of L beyond `degree` has none."""
        mass_rate = self.derivative[1 - slot, 2 + slot]
        rates = [(self._inverse, -(self._inverse**2) * mass_rate)]
        if slot == 1:
            rates.append((self._v, self.ring(1)))
        for (i, j), generator in self.derivative.items():
            rates.append((generator, self.derivative.get((i + 1 - slot, j + slot))))
        return rates

    def velocity(self) -> list[PolyElement]:
        return [self._v]

    def partial(self, polynomial: PolyElement, slot: int, _i: int) -> PolyElement:
        total = self.ring(0)
        for generator, rate in self._rates[slot]:
            part = polynomial.diff(generator)
            if part:
                total += part * rate
        return total

    def solve(self, _matrix, right) -> list[PolyElement]:
        return [self._inverse * right[0]]

    def number(self, fraction: Fraction):
        return sp.QQ(fraction.numerator, fraction.denominator)
