"""Candidates that a library lacks: a law is tested for them, and never has them.

A linear oscillator that is fitted to strongly nonlinear data passes every test of
whiteness: the random force hides what the law lacks. The score of the missing term
does not. So cubic and quartic springs, between two coordinates too, and cubic and dry
losses are tested beside the candidates that a user lists.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from leastaction.core.euler_lagrange import symbols
from leastaction.core.library import Library


def widened(library: Library) -> tuple[Library, list[int]]:
    """The library with further candidates, and where its own columns are in that.

    Further ones whose equations its own candidates have already are left out.

    Examples
    --------
    >>> terms = {"reference": "xdot**2", "lagrangian": [{"terms": ["xdot**2", "x**2"]}]}
    >>> wide, own = widened(Library.from_config(terms, ["x"]))
    >>> wide.names, wide.dissipation_names, own
    (['xdot**2', 'x**2', 'x**3', 'x**4'], ['xdot**2', 'xdot**4', 'abs(xdot)'], [0, 1])
    """
    n = len(library.coordinates)
    state = symbols(library.variables)
    springs = _powers(state[:n], (3, 4))
    losses = [*_powers(state[n:], (2, 4)), *map(sp.Abs, state[n:])]
    springs = [term for term in springs if term not in library.terms]
    losses = [term for term in losses if term not in library.dissipation]
    wide = replace(
        library,
        terms=(*library.terms, *springs),
        dissipation=(*library.dissipation, *losses),
    )
    count, all_of_l = len(library.terms), len(wide.terms)
    own = [*range(count), *range(all_of_l, all_of_l + len(library.dissipation))]
    return wide, own


def independent(wide: Library, own: Sequence[int]) -> list[int]:
    """Columns of further candidates whose equations no other candidate has."""
    status = wide.joint_freedom.status
    return [
        i for i in range(len(status)) if i not in own and status[i] == "independent"
    ]


def _powers(variables: Sequence[sp.Symbol], powers: Sequence[int]) -> list[sp.Expr]:
    """Powers of each variable, and of differences of two the highest one."""
    found = [x**p for p in powers for x in variables]
    return found + [
        (b - a) ** powers[-1] for a, b in itertools.combinations(variables, 2)
    ]
