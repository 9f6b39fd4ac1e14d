"""Power series in h² with coefficients in an algebra, themselves an algebra.

See :mod:`backward_error_series` for what an algebra is.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import zip_longest


class Exact:
    """An algebra whose elements hold any number of derivatives."""

    def shortened(self, elements: list, _function, _k: int) -> list:
        """They are whole."""
        return elements

    def limited(self, element, _m: int):
        """It is whole."""
        return element


class Series:
    """Polynomial in h²; coefficients that are absent are zero.

    Parameters
    ----------
    coefficients
        From h⁰ on, at least one.
    terms
        Number of coefficients to keep, at least one.
    """

    __slots__ = ("coefficients", "terms")

    def __init__(self, coefficients: Sequence, terms: int):
        self.coefficients = list(coefficients[:terms])
        self.terms = terms

    def __add__(self, other: "Series") -> "Series":
        pairs = zip_longest(self.coefficients, other.coefficients)
        total = [b if a is None else a if b is None else a + b for a, b in pairs]
        return Series(total, min(self.terms, other.terms))

    def __sub__(self, other: "Series") -> "Series":
        return self + other * -1

    def __mul__(self, other) -> "Series":
        if not isinstance(other, Series):
            return self.mapped(lambda a: a * other)
        terms = min(self.terms, other.terms)
        product = Series([], terms)
        for i, a in enumerate(self.coefficients[:terms]):
            for j, b in enumerate(other.coefficients[: terms - i], start=i):
                if j < len(product.coefficients):
                    product.coefficients[j] = product.coefficients[j] + a * b
                else:
                    product.coefficients.append(a * b)
        return product

    def mapped(self, function: Callable) -> "Series":
        """The same of every coefficient."""
        return Series([function(a) for a in self.coefficients], self.terms)


class SeriesAlgebra:
    """Series over another algebra, up to h^(2 terms − 2)."""

    def __init__(self, algebra, terms: int):
        self._algebra = algebra
        self._terms = terms
        self.dof = algebra.dof

    def velocity(self) -> list[Series]:
        """q̇, without powers of h."""
        return [Series([v], self._terms) for v in self._algebra.velocity()]

    def partial(self, series: Series, slot: int, i: int) -> Series:
        """∂f/∂q_i (slot 0) or ∂f/∂q̇_i (slot 1)."""
        return series.mapped(lambda f: self._algebra.partial(f, slot, i))

    def number(self, fraction: Fraction):
        """A rational number as a factor."""
        return self._algebra.number(fraction)

    def shortened(self, elements: list[Series], function: Series, k: int):
        """Beside h^k the series end k/2 terms earlier."""
        first, terms = function.coefficients[0], self._terms - k // 2
        columns = zip(*(x.coefficients[:terms] for x in elements), strict=True)
        short = [
            self._algebra.shortened(list(column), first, k + 2 * j)
            for j, column in enumerate(columns)
        ]
        return [Series(row, terms) for row in zip(*short, strict=True)]

    def limited(self, series: Series, m: int) -> Series:
        """q⁽ᵐ⁾ occurs beside h^m or, for odd m, h^(m + 1) at the earliest."""
        return Series(series.coefficients, max(self._terms - (m + 1) // 2, 1))

    def solve(self, matrix: list[list[Series]], right: list[Series]) -> list[Series]:
        """Solve order by order; beside h² one term fewer is needed."""
        dofs, terms = range(self.dof), self._terms - 1
        leading = [[x.coefficients[0] for x in row] for row in matrix]
        found: list[Series] = [Series([], terms) for _ in dofs]
        for k in range(terms):
            residual = [self._at(x, k) for x in right]
            for i in dofs:
                for j in dofs:
                    for power in range(1, k + 1):
                        mass = self._at(matrix[i][j], power)
                        part = mass * found[j].coefficients[k - power]
                        residual[i] = residual[i] - part
            solved = self._algebra.solve(leading, residual)
            for series, value in zip(found, solved, strict=True):
                series.coefficients.append(value)
        return found

    def _at(self, series: Series, k: int):
        known = series.coefficients
        return known[k] if k < len(known) else known[0] * self.number(Fraction(0))
