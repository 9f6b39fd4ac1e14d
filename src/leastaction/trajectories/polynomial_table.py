"""Equations of motion of a whole library as a sparse table of monomials.

Candidates are polynomials in q, q̇ and a few functions of them, such as sin θ. So are
their Euler–Lagrange expressions E = H q̈ + C and the derivatives of H and C. The table
holds their coefficients. For given c, the sum over candidates is taken once, and what
is left to evaluate at a state is a handful of monomials.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from sympy.polys.domains import RR
from sympy.polys.rings import PolyElement, ring

from leastaction.core.euler_lagrange import symbols, velocity_names

# E, ∂E/∂(q, q̇) need derivatives of a candidate up to the third.
ORDER = 3


@dataclass(frozen=True)
class PolynomialTable:
    """H, C and their derivatives of every candidate, as coefficients of monomials.

    The entries of a candidate are numbered: H (dof × dof), C (dof), ∂H/∂(q, q̇)
    (dof × dof × 2 dof), ∂C/∂(q, q̇) (dof × 2 dof).

    Attributes
    ----------
    dof, count
        Number of coordinates and of candidates.
    functions
        Functions other than powers, of ``position_0 ... velocity_0 ...``.
    left, right
        Monomial i is the product of monomials left[i] and right[i]; the first ones,
        without factors, are 1, q, q̇ and the functions.
    candidate, entry, monomial, value
        Nonzero coefficients.
    """

    dof: int
    count: int
    functions: tuple[sp.Expr, ...]
    left: np.ndarray
    right: np.ndarray
    candidate: np.ndarray
    entry: np.ndarray
    monomial: np.ndarray
    value: np.ndarray

    def contract(self, c: np.ndarray, active: np.ndarray | None) -> tuple:
        """Sum the entries over candidates, and number what stays.

        Without `active`, H and C alone. With it, all entries, and then H and C of each
        active candidate, entry by entry.

        Returns
        -------
        left, right, target, pointer, monomial, value
            Entry target[e] is Σ value[i] · monomial[i] over
            pointer[e] ≤ i < pointer[e+1]; monomials from `left` and `right`.
        """
        n = self.dof
        plain, everything = n * n + n, (n * n + n) * (2 * n + 1)
        used = c[self.candidate] != 0
        if active is None:
            used &= self.entry < plain
        keys, values = [self.entry[used]], [(c[self.candidate] * self.value)[used]]
        monomials = [self.monomial[used]]
        if active is not None:
            position = np.full(self.count, -1)
            position[active] = np.arange(len(active))
            column = position[self.candidate]
            own = (column >= 0) & (self.entry < plain)
            keys.append(everything + plain * column[own] + self.entry[own])
            values.append(self.value[own])
            monomials.append(self.monomial[own])
        kept = len(self.left)
        key = np.concatenate(keys) * kept + np.concatenate(monomials)
        key, inverse = np.unique(key, return_inverse=True)
        value = np.bincount(inverse, np.concatenate(values), len(key)).astype(float)
        target, start = np.unique(key // kept, return_index=True)
        left, right, number = self._needed(key % kept)
        pointer = np.append(start, len(key))
        return left, right, target, pointer, number[key % kept], value

    def _needed(self, monomials):
        """Factors of the monomials needed, and the new number of each."""
        base = 1 + 2 * self.dof + len(self.functions)
        needed = np.zeros(len(self.left), dtype=bool)
        needed[:base] = True
        needed[monomials] = True
        for i in range(len(needed) - 1, base - 1, -1):
            if needed[i]:
                needed[self.left[i]] = True
        number = np.cumsum(needed) - 1
        return number[self.left[needed]], number[self.right[needed]], number


def polynomial_table(
    terms: Sequence[sp.Expr],
    coordinates: Sequence[str],
    dissipation: Sequence[sp.Expr] = (),
) -> PolynomialTable:
    """Table of the candidates `terms` of L and `dissipation` of the Rayleigh function.

    Raises
    ------
    ValueError
        If a candidate is not a polynomial in q, q̇ and functions of them.
    """
    dof = len(coordinates)
    given = symbols((*coordinates, *velocity_names(coordinates)))
    kinds = ("position", "velocity")
    x = symbols([f"{kind}_{a}" for kind in kinds for a in range(dof)])
    renamed = dict(zip(given, x, strict=True))
    expressions = [sp.sympify(e).xreplace(renamed) for e in (*terms, *dissipation)]
    functions, rates = _closure(expressions, x)
    polynomials, *names = ring([*x, *functions.values()], RR)
    slopes = [
        [_element(polynomials, _named(rates[f, v], functions)) for f in functions]
        for v in x
    ]

    def diff(f: PolyElement, i: int) -> PolyElement:
        inner = (
            f.diff(name) * slope
            for name, slope in zip(names[2 * dof :], slopes[i], strict=True)
            if slope
        )
        return sum(inner, f.diff(names[i]))

    rows = []
    for k, expression in enumerate(expressions):
        f = _element(polynomials, _named(expression, functions))
        if k < len(terms):
            entries = _euler_lagrange_entries(f, diff, names, dof)
        else:
            rest = [diff(f, dof + a) for a in range(dof)]
            entries = [polynomials.zero] * dof**2 + rest
        entries += [diff(e, i) for e in entries for i in range(2 * dof)]
        rows += [(k, i, *item) for i, e in enumerate(entries) for item in e.terms()]
    order, left, right = _products([row[2] for row in rows])
    return PolynomialTable(
        dof,
        len(expressions),
        tuple(functions),
        left,
        right,
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.int64),
        np.array([order[row[2]] for row in rows], dtype=np.int64),
        np.array([float(row[3]) for row in rows]),
    )


def _euler_lagrange_entries(f, diff, names, dof):
    momenta = [diff(f, dof + a) for a in range(dof)]
    mass = [diff(p, dof + b) for p in momenta for b in range(dof)]
    rest = [
        sum((diff(p, b) * names[dof + b] for b in range(dof)), -diff(f, a))
        for a, p in enumerate(momenta)
    ]
    return mass + rest


def _atoms(expression: sp.Expr) -> set:
    """Outermost parts that are not polynomial in the state."""
    if expression.is_Function and expression.free_symbols:
        return {expression}
    if expression.is_Pow and not (expression.exp.is_Integer and expression.exp > 0):
        if expression.exp.is_Integer:
            return {1 / expression.base}
        return {expression} if expression.free_symbols else set()
    return set().union(*map(_atoms, expression.args))


def _named(expression: sp.Expr, functions: Mapping) -> sp.Expr:
    """`expression` with names in place of the functions; x**(-n) is (1/x)**n."""
    if expression in functions:
        return functions[expression]
    if expression.is_Pow and expression.exp.is_Integer and expression.exp < 0:
        return functions[1 / expression.base] ** (-expression.exp)
    if not expression.args:
        return expression
    return expression.func(*(_named(part, functions) for part in expression.args))


def _closure(expressions, x) -> tuple[Mapping, Mapping]:
    """Functions in the expressions and in their derivatives, with those derivatives."""
    functions: dict[sp.Expr, sp.Symbol] = {}
    rates: dict[tuple, sp.Expr] = {}
    front = sorted(set().union(*map(_atoms, expressions)), key=sp.default_sort_key)
    for order in range(ORDER + 1):
        found = set()
        for f in front:
            functions[f] = sp.Symbol(f"function_{len(functions)}", real=True)
            for v in x:
                rates[f, v] = sp.diff(f, v) if order < ORDER else sp.Integer(0)
                found |= _atoms(rates[f, v])
        front = sorted(found - set(functions), key=sp.default_sort_key)
    return functions, rates


def _element(polynomials, expression):
    try:
        return polynomials.from_expr(sp.expand(expression))
    except (ValueError, sp.PolynomialError):
        raise ValueError(
            f"{expression} is not a polynomial in positions, velocities and functions "
            "of them; write the candidate as sums of products"
        ) from None


def _products(exponents) -> tuple[dict, np.ndarray, np.ndarray]:
    """Number of every monomial and two earlier ones that it is the product of."""
    if not exponents:
        return {}, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    width = len(exponents[0])
    order = {(0,) * width: 0}
    for i in range(width):
        order[tuple(int(j == i) for j in range(width))] = i + 1
    left, right = list(range(width + 1)), [0] * (width + 1)

    def number(exponent: tuple) -> int:
        if exponent not in order:
            last = max(i for i, power in enumerate(exponent) if power)
            less = (*exponent[:last], exponent[last] - 1, *exponent[last + 1 :])
            left.append(number(less))
            right.append(last + 1)
            order[exponent] = len(order)
        return order[exponent]

    for exponent in exponents:
        number(tuple(exponent))
    return order, np.array(left), np.array(right)
