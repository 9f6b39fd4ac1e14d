"""Viscous damping that is never zero for certain, and stays in a law.

A law without a damper is a stronger claim than one with a small damper.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from leastaction.core.euler_lagrange import symbols
from leastaction.core.library import Library


@dataclass(frozen=True)
class Damper:
    """Candidate of viscous damping, and the springs of the same coordinates."""

    column: int  # among candidates of L, then of D
    coordinates: frozenset[int]
    springs: frozenset[int]  # columns

    def at(self, columns: Mapping[int, int]) -> "Damper":
        """The damper with other columns; springs that have none are left out."""
        springs = frozenset(columns[i] for i in self.springs if i in columns)
        return Damper(columns[self.column], self.coordinates, springs)


def dampers(library: Library) -> list[Damper]:
    """Viscous damping q̇² of a coordinate, and (q̇_b − q̇_a)² of a pair.

    Examples
    --------
    >>> springs = ["adot**2", "bdot**2", "a**2", "(b - a)**2"]
    >>> terms = {"reference": "adot**2/2", "lagrangian": [{"terms": springs}]}
    >>> losses = ["adot**2", "bdot**2", "(bdot - adot)**2", "adot**4"]
    >>> terms["dissipation"] = [{"terms": losses}]
    >>> known = dampers(Library.from_config(terms, ["a", "b"]))
    >>> [(each.column, sorted(each.springs)) for each in known]
    [(4, [2]), (5, []), (6, [3])]
    >>> staying(known, [2, 3]), staying(known, [2])
    ([4, 6], [4, 5])
    """
    n, count = len(library.coordinates), len(library.terms)
    state = symbols(library.variables)
    q, v = state[:n], state[n:]
    springs: dict[frozenset, set[int]] = {}
    for i, term in enumerate(library.terms):
        coordinates = frozenset(a for a in range(n) if term.has(q[a]))
        if coordinates and not term.has(*v):
            for pair in itertools.combinations(sorted(coordinates), 2):
                if term.diff(q[pair[0]], q[pair[1]]) != 0:
                    springs.setdefault(frozenset(pair), set()).add(i)
            if len(coordinates) == 1:
                springs.setdefault(coordinates, set()).add(i)
    result = []
    for j, loss in enumerate(library.dissipation):
        if coordinates := damped_coordinates(loss, q, v):
            beside = frozenset(springs.get(coordinates, ()))
            result.append(Damper(count + j, coordinates, beside))
    return result


def damped_coordinates(loss: sp.Expr, q: Sequence, v: Sequence) -> frozenset[int]:
    """Coordinates of viscous damping, one or a pair; none of any other loss."""
    coordinates = frozenset(a for a in range(len(v)) if loss.has(v[a]))
    curved = sp.hessian(loss, v).free_symbols or loss.has(*q, sp.Abs)
    return frozenset() if curved or len(coordinates) > 2 else coordinates


def staying(known: Sequence[Damper], support: Sequence[int]) -> list[int]:
    """Columns of the dampers that a law with a support has for certain.

    Those beside a spring of the law, and of a coordinate that then has no other one.
    """
    beside = [each for each in known if not each.springs.isdisjoint(support)]
    damped = {a for each in beside for a in each.coordinates}
    alone = [d for d in known if len(d.coordinates) == 1 and not d.coordinates & damped]
    return sorted(each.column for each in (*beside, *alone))
