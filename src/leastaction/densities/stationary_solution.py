"""Solution of a stationary equation for its coefficients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Solution:
    """Coefficients of all terms, or of all terms in many cases.

    Attributes
    ----------
    values
        θ, given ones included; shape (..., term).
    covariance
        Of `values`, shape (..., term, term); zero for given ones, NaN where the method
        gives none.
    diagnostics
        Name to (value, unit, meaning).
    """

    values: np.ndarray
    covariance: np.ndarray
    diagnostics: Mapping[str, tuple]


# Coefficients for given ones: ``solve(known)``, NaN where one is to be estimated. Cases
# that differ in their given values alone may be stacked, shape (..., term).
Solver = Callable[[np.ndarray], Solution]


def unknown(known: np.ndarray) -> np.ndarray:
    """Which coefficients are to be estimated in every case, shape (term,)."""
    return np.isnan(known.reshape(-1, known.shape[-1])[0])


def nonnegative(solve: Callable[[np.ndarray], Solution], kind: np.ndarray) -> Solver:
    """Solver whose squared volatilities are not negative, by an active set.

    Stacked cases must have all of these given: their active sets would differ.
    """

    def solver(known: np.ndarray) -> Solution:
        held = known.copy()
        while True:
            solution = solve(held)
            free = np.isnan(held) & (kind == "volatility")
            negative = free & (solution.values < 0)
            if not negative.any():
                return solution
            held[np.argmin(np.where(negative, solution.values, 0.0))] = 0.0

    return solver


def standard_errors(solution: Solution) -> np.ndarray:
    """Standard errors of all coefficients, zero for given ones."""
    variance = np.diagonal(solution.covariance, axis1=-2, axis2=-1)
    return np.sqrt(np.clip(variance, 0.0, None))


def replaced(known: np.ndarray, place: int, value: float) -> np.ndarray:
    """`known` with one coefficient given, or with NaN no longer."""
    changed = known.copy()
    changed[place] = value
    return changed
