"""Gauge freedom: candidates whose Euler–Lagrange expression says nothing new.

Two Lagrangians that differ by a total time derivative have the same equations of
motion, so no data can tell them apart. Such candidates are found symbolically before
any regression; numerically they would not be exactly zero, and a least-squares fit
would give them huge coefficients.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

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
        The candidate's equivalent among the independent ones, as text, or ``""``.
    relations
        The same as {position of an independent candidate: weight}, by position; empty
        for a null candidate.
    """

    status: tuple[str, ...]
    equivalent: tuple[str, ...]
    relations: Mapping[int, Mapping[int, sp.Expr]] = field(default_factory=dict)

    @property
    def independent(self) -> list[int]:
        """Positions of the candidates that a regression may use."""
        return [i for i, status in enumerate(self.status) if status == "independent"]

    @property
    def combinations(self) -> np.ndarray:
        """Weights of the independent candidates in each, (independent, candidate).

        What is true of expressions is true of every column evaluated from them.
        """
        weights = np.eye(len(self.status))
        for candidate, parts in self.relations.items():
            weights[candidate, candidate] = 0.0
            for other, weight in parts.items():
                weights[other, candidate] = float(weight)
        return weights[self.independent]


def gauge_freedom(
    candidates: Sequence[sp.Expr],
    coordinates: Sequence[str],
    dissipation: Sequence[sp.Expr] = (),
    equations: Callable = euler_lagrange,
) -> Freedom:
    """Classify candidates by exact linear algebra on their Euler–Lagrange expressions.

    A candidate of the Rayleigh function stands for its force ∂D/∂q̇. Both kinds are
    classified together: a Rayleigh function linear in q̇, such as ``x**2*xdot``, is the
    force of a potential and therefore a duplicate of a candidate of L.

    Trigonometric functions are rewritten as exponentials, so that every expression is
    a combination of linearly independent functions; the combinations that vanish are
    then the null space of a matrix of exact numbers. An earlier candidate is preferred
    to a later one.

    Parameters
    ----------
    candidates
        Terms D_i(q, q̇) of a Lagrangian.
    coordinates
        Names of q.
    dissipation
        Terms D_j(q, q̇) of a Rayleigh function; they come after `candidates`.
    equations
        Euler–Lagrange expressions of a candidate; those of a density differ.
    """
    return _freedom(
        tuple(candidates), tuple(coordinates), tuple(dissipation), equations
    )


@lru_cache(maxsize=64)
def _freedom(candidates, coordinates, dissipation, equations) -> Freedom:
    question = sp.srepr((candidates, dissipation)) + repr(coordinates)
    question += f"{equations.__module__}.{equations.__qualname__}"
    sources = [__file__, inspect.getfile(equations), inspect.getfile(rayleigh_force)]
    made = []

    def answer():
        made.append(_classified(candidates, coordinates, dissipation, equations))
        return _as_document(made[0])

    document = cached(question, sources, answer)
    return made[0] if made else _from_document(document)


def _classified(candidates, coordinates, dissipation, equations) -> Freedom:
    forces = [equations(c, coordinates) for c in candidates]
    forces += [rayleigh_force(d, coordinates) for d in dissipation]
    columns = [_fingerprint(force) for force in forces]
    pivots, relations = _column_relations(columns)
    status, equivalent = [], []
    for i, column in enumerate(columns):
        if i in pivots:
            status.append("independent")
            equivalent.append("")
        elif not column:
            status.append("null")
            equivalent.append("0")
        else:
            parts = relations[i]
            status.append("duplicate" if len(parts) == 1 else "dependent")
            equivalent.append(_combination(parts, candidates, dissipation))
    return Freedom(tuple(status), tuple(equivalent), relations)


def _as_document(freedom: Freedom) -> dict | None:
    """`freedom` as JSON; None if a weight is not rational."""
    relations = _relations_as_document(freedom.relations)
    if relations is None:
        return None
    return {
        "status": freedom.status,
        "equivalent": freedom.equivalent,
        "relations": relations,
    }


def _from_document(document: dict) -> Freedom:
    relations = _relations_from_document(document["relations"])
    return Freedom(tuple(document["status"]), tuple(document["equivalent"]), relations)


def _relations_as_document(relations: Mapping[int, Mapping]) -> dict | None:
    weights = [w for parts in relations.values() for w in parts.values()]
    if not all(w.is_Rational for w in map(sp.nsimplify, weights)):
        return None
    return {
        str(j): {str(i): str(sp.nsimplify(w)) for i, w in parts.items()}
        for j, parts in relations.items()
    }


def _relations_from_document(document: Mapping) -> dict[int, dict[int, sp.Rational]]:
    return {
        int(j): {
            int(i): sp.Rational(*map(int, Fraction(w).as_integer_ratio()))
            for i, w in parts.items()
        }
        for j, parts in document.items()
    }


def _combination(parts: dict, candidates, dissipation) -> str:
    """Text of a combination; of L and D apart where it has terms of both."""
    count = len(candidates)
    of_l = sum(sp.nsimplify(w) * candidates[j] for j, w in parts.items() if j < count)
    rest = {j - count: w for j, w in parts.items() if j >= count}
    of_d = sum(sp.nsimplify(w) * dissipation[j] for j, w in rest.items())
    if not dissipation or not rest:
        return to_text(sp.sympify(of_l))
    return to_text(of_d) + (f" and, in L, {to_text(of_l)}" if of_l != 0 else "")


def representation(
    lagrangian: sp.Expr,
    candidates: Sequence[sp.Expr],
    coordinates: Sequence[str],
    equations: Callable = euler_lagrange,
) -> dict[int, sp.Expr] | None:
    """Coefficients over independent candidates with the equations of `lagrangian`.

    Returns
    -------
    dict or None
        Coefficient by position of the candidate; None if `lagrangian` is not a linear
        combination of the candidates, up to a total time derivative.
    """
    return _relations((*candidates, lagrangian), tuple(coordinates), equations).get(
        len(candidates)
    )


def rayleigh_representation(
    function: sp.Expr, candidates: Sequence[sp.Expr], coordinates: Sequence[str]
) -> dict[int, sp.Expr] | None:
    """Coefficients over Rayleigh candidates with the forces ∂D/∂q̇ of `function`.

    Returns
    -------
    dict or None
        As :func:`representation`.
    """
    return _relations((*candidates, function), tuple(coordinates), rayleigh_force).get(
        len(candidates)
    )


def exact_relations(columns: Sequence[Sequence[sp.Expr]]) -> dict:
    """Linear relations between lists of functions, by exact algebra.

    Parameters
    ----------
    columns
        Functions of each column, one per equation; trigonometric functions and powers.

    Returns
    -------
    dict
        {position: {earlier position: weight}}: that column as the combination of
        earlier independent ones; empty weights for a column that vanishes.
    """
    return _relations(tuple(map(tuple, columns)))


def _as_given(expressions: tuple, coordinates: tuple[str, ...]) -> tuple:
    return expressions


def _relations(
    expressions: tuple, coordinates: tuple[str, ...] = (), made_of=_as_given
) -> dict:
    """Relations between ``made_of(expression, coordinates)``, cached."""

    def answer() -> dict | None:
        columns = [_fingerprint(made_of(e, coordinates)) for e in expressions]
        found.append(_column_relations(columns)[1])
        return _relations_as_document(found[0])

    found: list[dict] = []
    question = sp.srepr(expressions) + repr(coordinates)
    question += f"{made_of.__module__}.{made_of.__qualname__}"
    document = cached(question, [__file__, inspect.getfile(made_of)], answer)
    return found[0] if found else _relations_from_document(document)


def _fingerprint(expressions: Sequence[sp.Expr]) -> dict:
    """Coefficients over independent functions, keyed by (equation, function)."""
    trigonometric = (sp.sin, sp.cos, sp.tan, sp.sinh, sp.cosh, sp.tanh)
    entries: dict = {}
    for equation, expression in enumerate(expressions):
        if expression.has(*trigonometric):
            expression = expression.rewrite(trigonometric, sp.exp)
        expression = sp.expand(expression)
        if not all(power.exp.is_Integer for power in expression.atoms(sp.Pow)):
            # roots; products of exponentials are one already
            expression = sp.expand(sp.powsimp(expression))
        for term in sp.Add.make_args(expression):
            coefficient, function = term.as_independent(
                *expression.free_symbols, as_Add=False
            )
            if coefficient != 0:
                key = (equation, function)
                entries[key] = entries.get(key, 0) + coefficient
    return {key: value for key, value in entries.items() if sp.expand(value) != 0}


def _column_relations(columns: Sequence[dict]) -> tuple[list[int], dict]:
    """Pivot columns, and each other column as a combination of the pivots before it."""
    rows = {
        key: i for i, key in enumerate(dict.fromkeys(k for c in columns for k in c))
    }
    if not rows:
        return [], {j: {} for j in range(len(columns))}
    matrix = sp.zeros(len(rows), len(columns))
    for j, column in enumerate(columns):
        for key, value in column.items():
            matrix[rows[key], j] = value
    reduced, pivots = DomainMatrix.from_Matrix(matrix).to_field().to_sparse().rref()
    reduced = reduced.to_Matrix()
    relations = {
        j: {
            pivot: reduced[row, j]
            for row, pivot in enumerate(pivots)
            if reduced[row, j] != 0
        }
        for j in range(len(columns))
        if j not in pivots
    }
    return list(pivots), relations
