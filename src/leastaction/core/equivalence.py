"""When two Lagrangians of one library are the same law.

Equations of motion do not change if L is multiplied by a constant, if a total time
derivative is added, or if a function is written otherwise (sin² + cos² = 1). The
candidates that algebra calls independent (:mod:`leastaction.core.gauge`) are a
basis in which every law has one form but for its scale, so that structures can be
compared term by term.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leastaction.core.library import Library

# Coefficients below this share of the largest are round-off of a combination.
ROUND_OFF = 1e-9


@dataclass(frozen=True)
class Comparison:
    """An identified law beside the true one, in independent candidates.

    Attributes
    ----------
    exact
        Whether it has exactly the true terms.
    missing, extra
        Names of true terms that it lacks, and of terms that it should not have.
    scale
        Factor by which its coefficients are multiplied to compare them.
    error
        Relative errors of the coefficients of the true terms after that.
    """

    exact: bool
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    scale: float
    error: np.ndarray

    @property
    def worst(self) -> float:
        """Largest relative error."""
        return float(np.abs(self.error).max(initial=0.0))


@lru_cache(maxsize=32)
def reduction(library: Library) -> np.ndarray:
    """Matrix R that writes candidates of L and D in independent ones, shape (all, all).

    Column j holds the weights of candidate j; coefficients c (of L, then of D) of any
    form of a law become R c.
    """
    freedom = library.joint_freedom
    count = len(library.terms) + len(library.dissipation)
    matrix = np.zeros((count, count))
    for j, status in enumerate(freedom.status):
        if status == "independent":
            matrix[j, j] = 1.0
        for i, weight in freedom.relations.get(j, {}).items():
            matrix[i, j] = float(weight)
    matrix.setflags(write=False)
    return matrix


def canonical(coefficients: np.ndarray, library: Library) -> np.ndarray:
    """Coefficients of the same law in independent candidates.

    Parameters
    ----------
    coefficients
        Of L, then of D, shape (..., all candidates).
    library
        The candidates.
    """
    reduced = np.asarray(coefficients) @ reduction(library).T
    largest = np.abs(reduced).max(axis=-1, keepdims=True, initial=0.0)
    return np.where(np.abs(reduced) > ROUND_OFF * largest, reduced, 0.0)


def compare(
    found: np.ndarray, truth: np.ndarray, library: Library, fit_scale: bool = True
) -> Comparison:
    """Compare two laws up to scale, gauge and identities.

    The scale minimises the sum of squared relative errors of the true terms,

    .. math::  k = \\sum_i r_i / \\sum_i r_i^2 , \\qquad r_i = c_i / c_i^{true} .

    Parameters
    ----------
    found, truth
        Coefficients of L, then of D, shape (all candidates,).
    library
        The candidates.
    fit_scale
        Whether the scale is free; it is not where external forces were measured.
    """
    found, truth = canonical(found, library), canonical(truth, library)
    names = np.array([*library.names, *library.dissipation_names], dtype=object)
    there, wanted = found != 0, truth != 0
    ratio = found[wanted] / truth[wanted]
    scale = 1.0
    if fit_scale and ratio.any():
        scale = float(ratio.sum() / (ratio**2).sum())
    return Comparison(
        exact=bool((there == wanted).all()),
        missing=tuple(names[wanted & ~there]),
        extra=tuple(names[there & ~wanted]),
        scale=scale,
        error=scale * ratio - 1.0,
    )
