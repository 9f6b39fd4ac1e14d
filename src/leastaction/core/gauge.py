"""Gauge freedom: candidates whose Euler–Lagrange expression says nothing new.

Two Lagrangians that differ by a total time derivative have the same equations of
motion, so no data can tell them apart. Such candidates are found symbolically before
any regression, which would give them huge coefficients.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import sympy as sp
from sympy.polys.matrices import DomainMatrix

from leastaction.core.cache import cached
from leastaction.core.euler_lagrange import euler_lagrange, rayleigh_force
from leastaction.core.expressions import to_text


@dataclass(frozen=True)
class Freedom:
    """What symbolic algebra says about each candidate of a library.

    Attributes
    ----------
    status
        ``independent``, ``null`` (Euler–Lagrange expression identically zero),
        ``duplicate`` (a multiple of an earlier candidate) or ``dependent`` (a linear
        combination of several earlier ones), one per candidate.
    equivalent
        Its equivalent among the independent ones, as text, or ``""``.
    relations
        The same as {position of an independent candidate: weight}, by position.
    """

    status: tuple[str, ...]
    equivalent: tuple[str, ...]
    relations: Mapping[int, Mapping[int, sp.Expr]] = field(default_factory=dict)

    @property
    def independent(self) -> list[int]:
        """Positions of the candidates that a regression may use."""
        return [i for i, status in enumerate(self.status) if status == "independent"]

    def part(self, of: slice) -> "Freedom":
        """Status of some of the candidates, without the algebra."""
        return Freedom(self.status[of], self.equivalent[of])

    @cached_property
    def reduction(self) -> np.ndarray:
        """Weights of the independent candidates in each, (candidate, candidate).

        Coefficients c of any form of a law become R c. What is true of expressions is
        true of every column evaluated from them.
        """
        weights = np.eye(len(self.status))
        for candidate, parts in self.relations.items():
            weights[candidate, candidate] = 0.0
            for other, weight in parts.items():
                weights[other, candidate] = float(weight)
        weights.setflags(write=False)
        return weights


def gauge_freedom(
    candidates: Sequence[sp.Expr],
    coordinates: Sequence[str],
    dissipation: Sequence[sp.Expr] = (),
    equations: Callable = euler_lagrange,
) -> Freedom:
    """Classify candidates by exact linear algebra on their Euler–Lagrange expressions.

    `candidates` D_i(q, q̇) of a Lagrangian are classified together with those of a
    Rayleigh function, `dissipation`, which stand for their force ∂D/∂q̇: one linear in
    q̇, such as ``x**2*xdot``, is the force of a potential. `equations` of a density
    differ.

    Trigonometric functions are rewritten as exponentials, so that every expression is a
    combination of linearly independent functions; the combinations that vanish are the
    null space of a matrix of exact numbers. An earlier candidate is preferred to a
    later.
    """
    made = [(equations, tuple(candidates)), (rayleigh_force, tuple(dissipation))]
    relations = _relations(made, coordinates)
    count = len(candidates) + len(dissipation)
    status, equivalent = ["independent"] * count, [""] * count
    for i, parts in relations.items():
        status[i] = ("null", "duplicate", "dependent")[min(len(parts), 2)]
        equivalent[i] = _combination(parts, candidates, dissipation)
    return Freedom(tuple(status), tuple(equivalent), relations)


def _combination(parts: dict, candidates, dissipation) -> str:
    """Text of a combination; of L and D apart where it has terms of both."""
    count = len(candidates)
    of_l = sum(sp.nsimplify(w) * candidates[j] for j, w in parts.items() if j < count)
    rest = {j - count: w for j, w in parts.items() if j >= count}
    if not rest:
        return to_text(sp.sympify(of_l))
    of_d = sum(sp.nsimplify(w) * dissipation[j] for j, w in rest.items())
    return to_text(of_d) + (f" and, in L, {to_text(of_l)}" if of_l != 0 else "")


def representation(
    function: sp.Expr,
    candidates: Sequence[sp.Expr],
    coordinates: Sequence[str],
    equations: Callable = euler_lagrange,
) -> dict[int, sp.Expr] | None:
    """Coefficients of independent candidates with the equations of `function`.

    None if it is no combination of them, up to a part without equations.
    """
    relations = _relations([(equations, (*candidates, function))], coordinates)
    return relations.get(len(candidates))


def exact_relations(columns: Sequence[Sequence[sp.Expr]]) -> dict:
    """Linear relations between columns, each a list of functions, one per equation."""
    return _relations([(_as_given, tuple(map(tuple, columns)))], ())


def _as_given(expressions: tuple, coordinates: Sequence[str]) -> tuple:
    return expressions


def _relations(made: Sequence[tuple[Callable, tuple]], coordinates) -> dict:
    """Relations {position: {earlier position: weight}} of functions of expressions."""
    result: list[dict] = []

    def answer() -> dict | None:
        columns = [
            _fingerprint(function(expression, coordinates))
            for function, expressions in made
            for expression in expressions
        ]
        result.append(_column_relations(columns))
        parts = {
            str(j): {str(i): sp.nsimplify(weight) for i, weight in row.items()}
            for j, row in result[0].items()
        }
        if not all(w.is_Rational for row in parts.values() for w in row.values()):
            return None
        return {j: {i: str(w) for i, w in row.items()} for j, row in parts.items()}

    question = repr(tuple(coordinates)) + "".join(
        f"{function.__module__}.{function.__qualname__}{sp.srepr(expressions)}"
        for function, expressions in made
    )
    sources = [__file__, *(inspect.getfile(function) for function, _ in made)]
    document = cached(question, sources, answer)
    if result:
        return result[0]
    return {
        int(j): {int(i): sp.Rational(weight) for i, weight in row.items()}
        for j, row in document.items()
    }


def _fingerprint(expressions: Sequence[sp.Expr]) -> dict:
    """Coefficients over independent functions, keyed by (equation, function)."""
    trigonometric = (sp.sin, sp.cos, sp.tan, sp.sinh, sp.cosh, sp.tanh)
    entries: dict = {}
    for equation, expression in enumerate(expressions):
        if expression.has(*trigonometric):
            expression = expression.rewrite(trigonometric, sp.exp)
        expression = sp.expand(expression)
        if not all(power.exp.is_Integer for power in expression.atoms(sp.Pow)):
            # x x^y; products of exponentials are one already
            expression = sp.expand(sp.powsimp(expression, combine="exp"))
        expression = expression.replace(_of_sum, _without_content)
        for term in sp.Add.make_args(expression):
            coefficient, function = term.as_independent(
                *expression.free_symbols, as_Add=False
            )
            if coefficient != 0:
                key = (equation, function)
                entries[key] = entries.get(key, 0) + coefficient
    return {key: value for key, value in entries.items() if sp.expand(value) != 0}


def _of_sum(expression: sp.Expr) -> bool:
    return expression.is_Pow and expression.base.is_Add


def _without_content(power: sp.Expr) -> sp.Expr:
    """c^n p^n of (c p)^n, c the rational content of a sum: √(2x + 2) = √2 √(x + 1)."""
    content, primitive = power.base.primitive()
    return content**power.exp * primitive**power.exp


def _column_relations(columns: Sequence[dict]) -> dict:
    """Each column that is no pivot, as a combination of the pivots before it."""
    keys = dict.fromkeys(key for column in columns for key in column)
    if not keys:
        return {j: {} for j in range(len(columns))}
    rows = {key: i for i, key in enumerate(keys)}
    matrix = sp.zeros(len(rows), len(columns))
    for j, column in enumerate(columns):
        for key, value in column.items():
            matrix[rows[key], j] = value
    reduced, pivots = DomainMatrix.from_Matrix(matrix).to_field().to_sparse().rref()
    reduced = reduced.to_Matrix()
    return {
        j: {i: reduced[row, j] for row, i in enumerate(pivots) if reduced[row, j] != 0}
        for j in range(len(columns))
        if j not in pivots
    }
