"""Least squares of the Fokker–Planck residual of a measured density.

Yoshida and Yamanaka (2020), eqs. (9), (21) and (22): the parameters minimise the sum of
squared residuals. It is a quadratic form E(θ) = θᵀ G θ in the coefficients, with the
squares of the noise strengths among them, so its minimum is a linear system, with
squared volatilities that are not negative. The residual has counting noise in its
regressors and an error of O(h²): estimates are drawn towards zero, without a standard
error.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.densities.stationary_estimate import stationary_estimate
from leastaction.densities.stationary_solution import (
    Solution,
    nonnegative,
    unknown,
)

EPSILON = np.finfo(float).eps


def identify(
    equations: xr.Dataset, settings: Mapping
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Minimise the residual.

    Parameters
    ----------
    equations
        Contract ``stationary_residual``.
    settings
        `minimiser`, ``closed_form`` or ``nelder_mead`` (the paper names no minimiser);
        `level_set`.
    """
    gram = equations.variables["gram"].values[0].mean(axis=(0, 1))
    kind = equations.variables["kind"].values
    minimise = MINIMISERS[settings["minimiser"]]

    def solve(known: np.ndarray) -> Solution:
        values = minimise(gram, known, kind)
        nothing = np.where(unknown(known), np.nan, 0.0)
        covariance = np.broadcast_to(np.diag(nothing), (*known.shape, nothing.size))
        return Solution(values, covariance, _objective(gram, values))

    return stationary_estimate(
        equations, settings, nonnegative(solve, kind), form_arrays(gram)
    )


def form_arrays(gram: np.ndarray) -> dict[str, tuple]:
    """The quadratic form E(θ) for the model, from which its surfaces are drawn."""
    dims = ("equation_term", "equation_term_other")
    return {"objective_form": (dims, gram, "mixed", "E = theta^T G theta")}


def minimum(gram: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Minimum of θᵀ G θ over the unknown coefficients.

    Parameters
    ----------
    gram
        Shape (..., term, term), symmetric.
    known
        Given coefficients, NaN for unknown ones; shape (..., term). Forms and given
        coefficients are broadcast against each other.
    """
    free = unknown(known)
    given = np.where(free, 0.0, known)
    right = -(gram @ given[..., None])[..., free, 0]
    size = np.sqrt(np.abs(np.diagonal(gram, axis1=-2, axis2=-1)))[..., free]
    scaled = gram[..., free, :][..., free] / (size[..., :, None] * size[..., None, :])
    inverse = np.linalg.pinv(scaled, rcond=free.sum() * EPSILON)
    values = np.empty((*right.shape[:-1], known.shape[-1]))
    values[...] = given
    values[..., free] = (inverse @ (right / size)[..., None])[..., 0] / size
    return values


def _closed_form(gram, known, kind) -> np.ndarray:
    return minimum(gram, known)


def _nelder_mead(gram, known, kind) -> np.ndarray:
    """Simplex search over parameters: noise strengths stand for their squares."""
    if known.ndim > 1:
        return np.array([_nelder_mead(gram, one, kind) for one in known])
    from scipy.optimize import minimize  # slow to import, for a search alone

    free = np.isnan(known)
    noise = (kind == "volatility")[free]

    def coefficients(x):
        values = known.copy()
        values[free] = np.where(noise, x**2, x)
        return values

    def objective(x):
        values = coefficients(x)
        return values @ gram @ values

    found = minimize(
        objective,
        np.ones(free.sum()),
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 0.0, "maxiter": 4000, "maxfev": 8000},
    )
    return coefficients(found.x)


def _objective(gram: np.ndarray, values: np.ndarray) -> dict[str, tuple]:
    value = (values @ gram * values).sum(axis=-1)
    return {"objective": (value, "mixed", "sum of squared residuals at the minimum")}


MINIMISERS = {"closed_form": _closed_form, "nelder_mead": _nelder_mead}
