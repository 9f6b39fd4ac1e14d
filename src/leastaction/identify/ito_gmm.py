"""Weighted moments of the stationary generator (GMM), with weights by the Itô isometry.

The moments ḡ(θ) = Σ θ_i ḡ_i are linear in the coefficients, and their covariance
Ω(θ) is known from the noise strengths (:mod:`leastaction.assemble.weak_fokker_planck`).
The estimate minimises (Hansen 1982)

.. math:: J(θ) = ḡ(θ)^T Ω^{-1} ḡ(θ),

starting from equal weights; Ω follows the estimate for a few rounds. Its smallest
eigenvalues are raised to a fraction of the largest one, and standard errors are those
of the weights that were used.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from scipy.special import chdtrc

from leastaction.identify.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.identify.stationary_estimate import stationary_estimate
from leastaction.identify.stationary_solution import Solution, nonnegative

# Smallest noise strength in the weights, relative to the mean over all noise terms.
FLOOR = 1e-3


def identify(
    equations: xr.Dataset, settings: Mapping
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Estimate all unknown coefficients with standard errors.

    Parameters
    ----------
    equations
        Contract ``generator_moments``.
    settings
        `reweightings`; `ridge`, the fraction of the largest eigenvalue; `level_set`.
    """
    moments = equations["moment"].values[0].mean(axis=0)
    noise = equations["noise_gram"].values[0] / float(equations["duration"].values[0])
    kind = equations["kind"].values

    def solve(known: np.ndarray) -> Solution:
        weights = np.eye(len(moments))
        for _ in range(settings["reweightings"]):
            values, sensitivity = _weighted(moments, weights, known)
            covariance = _noise_covariance(noise, values)
            weights = _inverse(covariance, settings["ridge"])
        values, sensitivity = _weighted(moments, weights, known)
        free = np.isnan(known)
        spread = np.zeros((len(known), len(known)))
        covariance = _noise_covariance(noise, values)
        spread[np.ix_(free, free)] = sensitivity @ covariance @ sensitivity.T
        residual = moments @ values
        j = float(residual @ weights @ residual)
        degrees = len(moments) - int(free.sum())
        return Solution(values, spread, _diagnostics(j, degrees))

    def products(values: np.ndarray) -> np.ndarray:
        even = noise.sum(axis=0)
        residual = equations["moment"].values[0] @ values
        return residual @ _inverse(even, settings["ridge"]) @ residual.T

    solver = nonnegative(solve, kind)
    return stationary_estimate(equations, settings, solver, products=products)


def _weighted(moments, weights, known) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients, and the matrix from moments to the unknown ones."""
    free = np.isnan(known)
    values = np.where(free, 0.0, known)
    columns, target = moments[:, free], -moments @ values
    size = np.sqrt(np.einsum("mi,mn,ni->i", columns, weights, columns))
    scaled = columns / size
    sensitivity = np.linalg.pinv(scaled.T @ weights @ scaled) @ scaled.T @ weights
    sensitivity /= size[:, None]
    values[free] = sensitivity @ target
    return values, sensitivity


def _noise_covariance(noise: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Ω(θ); a noise strength that came out negative counts as nearly none."""
    size = np.trace(noise, axis1=1, axis2=2)
    part = values * size
    floor = FLOOR * np.abs(part).sum() / max(1, np.count_nonzero(size))
    strength = np.where(size > 0, np.maximum(part, floor), 0.0)
    factor = np.divide(strength, size, out=np.zeros_like(size), where=size > 0)
    return np.tensordot(factor, noise, axes=1)


def _inverse(covariance: np.ndarray, ridge: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    return (vectors / (values + ridge * values[-1])) @ vectors.T


def _diagnostics(j: float, degrees: int) -> dict[str, tuple]:
    return {
        "j_statistic": (j, "1", "J of all moments"),
        "j_degrees": (degrees, "1", "degrees of freedom of J"),
        "j_p_value": (float(chdtrc(degrees, j)), "1", "p-value of J"),
    }
