"""Least squares of the Fokker–Planck residual of a measured density.

Yoshida and Yamanaka (2020), eqs. (9), (21) and (22): the parameters minimise the sum of
squared residuals. It is a quadratic form E(θ) = θᵀ G θ in the coefficients, with the
squares of the noise strengths among them, so its minimum is a linear system, with
squared volatilities that are not negative.

The columns of the residual carry counting noise, which the normal equations square:
their mean is Gᵢⱼ + noise, and the estimates are drawn towards zero, without a standard
error. The product of columns of two *independent* batches has the mean Gᵢⱼ alone. The
mean over all pairs of different batches,

.. math::

    \\bar G = \\frac{1}{B(B-1)} \\sum_{b \\ne b'} r_i^{(b)}\\cdot r_j^{(b')},

is the smallest change that makes the residual consistent in the amount of data; its
error of O(h²) stays. Standard errors come from a jackknife over batches.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.densities.stationary_estimate import (
    Solution,
    nonnegative,
    stationary_estimate,
    unknown,
)

RELATIVE_ROUNDOFF = np.finfo(float).eps
# The simplex ends at ten digits of the parameters, whatever the residual.
SIMPLEX_OPTIONS = {"xatol": 1e-10, "fatol": 0.0, "maxiter": 4000, "maxfev": 8000}


def residual_least_squares(
    equations: xr.Dataset, settings: Mapping
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Minimise the residual, as published; the paper names no minimiser."""
    gram = equations.variables["gram"].values[0].mean(axis=(0, 1))
    kind = equations.variables["kind"].values

    def solve(known: np.ndarray) -> Solution:
        if settings["minimiser"] == "nelder_mead":
            values = _nelder_mead(gram, known, kind)
        else:
            values = _minimum(gram, known)
        least = (values @ gram * values).sum(axis=-1)
        meaning = "sum of squared residuals at the minimum"
        about = {"objective": (least, "mixed", meaning)}
        return Solution(values, _no_errors(known), about)

    return stationary_estimate(
        equations, settings, nonnegative(solve, kind), _form(gram)
    )


def _no_errors(known: np.ndarray) -> np.ndarray:
    """Covariance of a method that gives none."""
    nothing = np.where(unknown(known), np.nan, 0.0)
    return np.broadcast_to(np.diag(nothing), (*known.shape, nothing.size))


def _form(gram: np.ndarray) -> dict[str, tuple]:
    """The quadratic form E(θ) for the model, from which its surfaces are drawn."""
    dims = ("equation_term", "equation_term_other")
    return {"objective_form": (dims, gram, "mixed", "E = theta^T G theta")}


def _minimum(gram: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Minimum of θᵀ G θ over the unknown coefficients, NaN in `known`.

    Forms (..., term, term) and given coefficients (..., term) are broadcast against
    each other.
    """
    free = unknown(known)
    given = np.where(free, 0.0, known)
    right = -(gram @ given[..., None])[..., free, 0]
    size = np.sqrt(np.abs(np.diagonal(gram, axis1=-2, axis2=-1)))[..., free]
    scaled = gram[..., free, :][..., free] / (size[..., :, None] * size[..., None, :])
    inverse = np.linalg.pinv(scaled, rcond=free.sum() * RELATIVE_ROUNDOFF)
    values = np.empty((*right.shape[:-1], known.shape[-1]))
    values[...] = given
    values[..., free] = (inverse @ (right / size)[..., None])[..., 0] / size
    return values


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
        options=SIMPLEX_OPTIONS,
    )
    return coefficients(found.x)


def split_sample_residual(
    equations: xr.Dataset, settings: Mapping
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Solve the normal equations of pairs of different batches.

    There are no standard errors: the scatter of the batches does not know the bias of
    the differences, which is as large with many samples.

    Raises
    ------
    ValueError
        If there are fewer than three batches.
    """
    gram = equations.variables["gram"].values[0]
    batches = len(gram)
    if batches < 3:
        raise ValueError(
            f"{batches} batches cannot be split and told apart; set simulate.batches "
            "to 3 or more"
        )
    total = cross_product(gram)

    def solve(known: np.ndarray) -> Solution:
        return Solution(_minimum(total, known), _no_errors(known), {})

    def products(values: np.ndarray) -> np.ndarray:
        return np.einsum("bcij,i,j->bc", gram, values, values)

    solver = nonnegative(solve, equations.variables["kind"].values)
    return stationary_estimate(equations, settings, solver, _form(total), products)


def cross_product(gram: np.ndarray) -> np.ndarray:
    """Mean over pairs of different batches, symmetric; shape (term, term)."""
    batches = len(gram)
    own = np.einsum("bbij->ij", gram)
    mean = (gram.sum(axis=(0, 1)) - own) / (batches * (batches - 1))
    return (mean + mean.T) / 2
