"""A conserved energy, and L from it: in the spirit of Lagrangian-SINDy."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate

CONTRACT = "energy_gram"


def sparse_null_vector(gram: np.ndarray, tolerance: float) -> tuple[np.ndarray, float]:
    """Smallest singular vector, repeated on the entries that are not small.

    Parameters
    ----------
    gram
        Products of columns, shape (column, column); columns are scaled to unit length.
    tolerance
        Entries below this share of the largest are set to zero.

    Returns
    -------
    coefficients of the unscaled columns, shape (column,), and the smallest eigenvalue
    of the scaled matrix on what is left: the share of the rates that does not cancel.
    """
    length = np.sqrt(np.diag(gram))
    active = np.flatnonzero(length > 0)
    vector, value = np.zeros(0), np.inf
    while active.size:
        scaled = gram[np.ix_(active, active)] / np.outer(length[active], length[active])
        values, vectors = np.linalg.eigh(scaled)
        value, vector = float(max(values[0], 0.0)), vectors[:, 0]
        large = np.abs(vector) >= tolerance * np.abs(vector).max()
        if large.all():
            break
        active = active[large]
    coefficients = np.zeros(len(gram))
    coefficients[active] = vector / length[active]
    return coefficients, value


def lagrangian_of_energy(energy: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """Legendre transform back: a term of degree k in q̇ of E is (k − 1) times that of L.

    Parameters
    ----------
    energy
        Coefficients of E = q̇·∂L/∂q̇ − L, shape (term,).
    degree
        Degree k of each term; terms of degree one are not in E and stay zero.
    """
    factor = np.where(degree == 1, np.inf, degree - 1.0)
    return energy / factor


def identify(equations: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Identify the energy that one case conserves, and L by the Legendre transform.

    Paper: Chu and Hayashibe (2020) enumerate subsets of the null vector and accept one
    whose energy varies by less than 1e-13, which no noise passes. Here the subset
    comes from sequential thresholding with a relative tolerance. This is in the spirit
    of their passive method, not their method.

    Parameters
    ----------
    equations
        One case, contract ``energy_gram``.
    settings
        `tolerance`: see :func:`sparse_null_vector`.

    Returns
    -------
    LagrangianEstimate
        Scaled to the reference if that is selected. No standard errors.
    """
    check(equations, "energy_gram")
    energy, left = sparse_null_vector(
        equations["gram"].values[0], settings["tolerance"]
    )
    coefficients = lagrangian_of_energy(energy, equations["degree"].values)
    given = equations["given"].values
    reference = int(np.flatnonzero(given)[0])
    if coefficients[reference] != 0:
        coefficients *= given[reference] / coefficients[reference]
    dof = equations.sizes["dof"]
    return LagrangianEstimate(
        terms=[str(term) for term in equations["term"].values],
        coefficients=coefficients,
        std=np.full(coefficients.size, np.nan),
        status=list(equations["status"].values),
        equivalent=list(equations["equivalent"].values),
        noise_covariance=np.full((dof, dof), np.nan),
        noise_std=np.full((dof, dof), np.nan),
        diagnostics={
            "energy_residual": (left, "1", "share of the rates that does not cancel")
        },
    )
