"""Moments of the stationary generator, continuous-updating GMM by the Itô isometry.

The moments ḡ(θ) = Σ θ_i ḡ_i are linear in the coefficients, and their covariance
Ω(θ) = Σ θ_i Ω_i is known (:mod:`~leastaction.densities.weak_fokker_planck`). The
estimate minimises (Hansen, Heaton, Yaron 1996)

.. math:: J(θ) = ḡ(θ)^T Ω(θ)^{-1} ḡ(θ)

by rounds of linear equations, Σ_j z_i^T Ω^{-1} ḡ_j θ_j = 0 with the instruments
z_i = ḡ_i − ½ Ω_i Ω^{-1} ḡ(θ). With z_i = ḡ_i (two-step GMM) the noise of the columns
would make damping and noise too small together wherever they are close to detailed
balance. The smallest eigenvalues of Ω are raised to a fraction of the largest one.
Standard errors are those of the instruments (Newey, Windmeijer 2009), which hold for
weak moments, too.
"""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import xarray as xr
from scipy.special import chdtrc

from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.densities.stationary_estimate import (
    Solution,
    stationary_estimate,
    unknown,
)

# Smallest noise strength in the weights, relative to the mean over all noise terms.
LEAST_NOISE_STRENGTH = 1e-3
# Relative change of coefficients that ends the rounds, and the most rounds.
SETTLED, MOST_ROUNDS = 1e-8, 100


def identify(
    equations: xr.Dataset, settings: Mapping
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Estimate all unknown coefficients with standard errors."""
    variables = equations.variables
    by_batch = variables["moment"].values[0]
    moments = by_batch.mean(axis=0)
    names = variables["test_name"].values
    noise = variables["noise_gram"].values[0] / float(variables["duration"].values[0])
    isometry = Isometry(noise, settings["ridge"])

    def solve(known: np.ndarray) -> Solution:
        values, instruments, weights = known, moments, np.eye(len(moments))
        for rounds in range(MOST_ROUNDS):
            before = values
            values, sensitivity = _weighted(moments, instruments, weights, known)
            if rounds and np.allclose(values, before, rtol=SETTLED, atol=0.0):
                break
            weights = isometry.weights(values)
            instruments = isometry.instruments(moments, weights, values)
        free = unknown(known)
        spread = np.zeros((*known.shape, known.shape[-1]))
        spread[..., np.outer(free, free)] = (
            sensitivity @ isometry.covariance(values) @ sensitivity.swapaxes(-1, -2)
        ).reshape(*known.shape[:-1], -1)
        residual = values @ moments.T
        j = (residual[..., None, :] @ weights @ residual[..., None])[..., 0, 0]
        degrees = len(moments) - free.sum()
        diagnostics = {
            "j_statistic": (j, "1", "J of all moments"),
            "j_degrees": (degrees, "1", "degrees of freedom of J"),
            "j_p_value": (chdtrc(degrees, j), "1", "p-value of J"),
        }
        deviation = np.sqrt(np.diagonal(isometry.covariance(values), 0, -2, -1))
        scores = np.zeros(residual.shape)
        np.divide(residual, deviation, out=scores, where=deviation > 0)
        of_test = ("test_function",)
        arrays = {
            "moment_score": (
                of_test,
                scores,
                "1",
                "moment over its s.e.",
            ),
            "moment_name": (of_test, names, "1", "test function of the moment"),
        }
        settled = rounds + 1 < MOST_ROUNDS
        return Solution(values, spread, diagnostics, arrays, settled)

    def products(values: np.ndarray) -> np.ndarray:
        even = noise.sum(axis=0)
        residual = by_batch @ values
        return residual @ _inverse(even, settings["ridge"]) @ residual.T

    return stationary_estimate(equations, settings, solve, products=products)


def _weighted(moments, instruments, weights, known) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients, and the matrix from moments to the unknown ones, in every case."""
    free = unknown(known)
    values = np.where(free, 0.0, known)
    columns, target = moments[:, free], -values @ moments.T
    projected = instruments[..., free].swapaxes(-1, -2) @ weights
    gram = projected @ columns
    size = np.sqrt(np.abs(np.diagonal(gram, axis1=-2, axis2=-1)))
    scaled = gram / (size[..., :, None] * size[..., None, :])
    inverse = np.linalg.pinv(scaled) / size[..., None, :] / size[..., :, None]
    sensitivity = inverse @ projected
    values[..., free] = (sensitivity @ target[..., None])[..., 0]
    return values, sensitivity


class Isometry:
    """Ω(θ) of the moments, and the weights that are its inverse.

    `noise` is that of every term with the coefficient one, (term, moment, moment); the
    fraction `ridge` of the largest eigenvalue is added to all.
    """

    def __init__(self, noise: np.ndarray, ridge: float):
        self._noise, self._ridge = noise, ridge
        self._size = np.trace(noise, axis1=1, axis2=2)
        self._noisy = np.flatnonzero(self._size > 0)

    def covariance(self, values: np.ndarray) -> np.ndarray:
        """Ω(θ), shape (..., moment, moment)."""
        return np.tensordot(self._strength(values), self._noise, axes=1)

    def weights(self, values: np.ndarray) -> np.ndarray:
        """Inverse of Ω(θ), regularised; without any noise, that of equal noises."""
        strength = self._strength(values)
        none = ~strength.any(axis=-1, keepdims=True)
        strength = np.where(none & (self._size > 0), 1.0, strength)
        if len(self._noisy) == 1:
            return self._alone / strength[..., self._noisy, None]
        return _inverse(np.tensordot(strength, self._noise, axes=1), self._ridge)

    def instruments(self, moments, weights, values: np.ndarray) -> np.ndarray:
        """Columns ḡ_i less ½ Ω_i Ω⁻¹ ḡ(θ), what they share with ḡ(θ) by chance."""
        weighted = (weights @ (values @ moments.T)[..., None])[..., 0]
        shared = np.tensordot(weighted, self._noise, axes=(-1, -1))
        return moments - shared.swapaxes(-1, -2) / 2

    @cached_property
    def _alone(self) -> np.ndarray:
        return _inverse(self._noise[self._noisy[0]], self._ridge)

    def _strength(self, values: np.ndarray) -> np.ndarray:
        """θ of the noise; one that came out negative counts as nearly none."""
        size = self._size
        part = values * size
        floor = LEAST_NOISE_STRENGTH * np.abs(part).sum(axis=-1, keepdims=True)
        strength = np.maximum(part, floor / max(1, np.count_nonzero(size)))
        factor = np.zeros_like(part)
        return np.divide(strength, size, out=factor, where=size > 0)


def _inverse(covariance: np.ndarray, ridge: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    scaled = vectors / (values + ridge * values[..., -1:])[..., None, :]
    return scaled @ vectors.swapaxes(-1, -2)
