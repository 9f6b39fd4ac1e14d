"""Lagrangians that a paper prints, one for each level of noise."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp

from leastaction.core.euler_lagrange import velocity_names
from leastaction.core.expressions import parse
from leastaction.report.truth import Truth


@dataclass(frozen=True)
class PrintedLagrangian:
    """One Lagrangian as printed.

    Attributes
    ----------
    entry
        Its entry under ``publish.lagrangians``.
    level
        Noise level.
    terms
        (coefficient, function), in the order of the paper.
    extra
        Whether a term is not one of the truth, or stands a second time.
    missing
        True functions that are not printed.
    """

    entry: Mapping
    level: float
    terms: list[tuple[float, sp.Expr]]
    extra: list[bool]
    missing: list[sp.Expr]


def printed_lagrangians(config: Mapping, truth: Truth) -> list[PrintedLagrangian]:
    """Read ``publish.lagrangians`` of an example.

    Raises
    ------
    ValueError
        If a term is not arithmetic over coordinates and velocities.
    """
    library = truth.library
    names = (*library.coordinates, *velocity_names(library.coordinates))
    true = [library.terms[i] for i in np.flatnonzero(truth.coefficients)]
    found = []
    for entry in (config.get("publish") or {}).get("lagrangians") or []:
        terms = [(float(c), parse(text, names)) for c, text in entry["terms"]]
        functions = [function for _, function in terms]
        extra = [
            function not in true or function in functions[:i]
            for i, function in enumerate(functions)
        ]
        missing = [function for function in true if function not in functions]
        level = float(entry["noise_level"])
        found.append(PrintedLagrangian(entry, level, terms, extra, missing))
    return found
