"""Moments of a field as a function of its coefficients and of the dispersion ρ."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from leastaction.core.gmm import EIGENVALUE_ROUNDOFF, root_inverse

NUMEROV = 1 / 12


@dataclass(frozen=True)
class DispersiveMoments:
    """Moments of some of the modes (:mod:`leastaction.fields.modal_moments`).

    Attributes
    ----------
    reference, force, curvature
        Σ Z Xᵀ of the reference, shape (instrument,), of dt F and of dt δ²F, shape
        (instrument, term).
    instruments, increments
        Σ Z Zᵀ and Σ X Xᵀ at lag 0, and at lags ±1 together.
    samples
        Number of second differences.
    scale
        Coefficient of the reference.
    """

    reference: np.ndarray
    force: np.ndarray
    curvature: np.ndarray
    instruments: np.ndarray
    increments: np.ndarray
    samples: float
    scale: float

    @classmethod
    def of(cls, library: xr.Dataset, groups: int) -> "DispersiveMoments":
        """Sum over the first `groups` groups of modes."""

        def total(name):
            return library[name].values[0, :groups].sum(axis=0)

        moment = total("moment")
        terms = moment.shape[1] // 2
        return cls(
            moment[:, 0],
            moment[:, 1 : 1 + terms],
            moment[:, 1 + terms :],
            total("instrument_gram"),
            total("increment_gram"),
            float(total("samples")),
            float(library.attrs["reference_coefficient"]),
        )

    @property
    def terms(self) -> int:
        """Number of candidates."""
        return self.force.shape[1]

    def columns(self, rho: float) -> np.ndarray:
        """Moments of every candidate at dispersion ρ, shape (instrument, term)."""
        return self.force + (NUMEROV + rho) * self.curvature

    def combination(self, c: np.ndarray, rho: float) -> np.ndarray:
        """Weights of all columns in the residual."""
        return np.concatenate([[self.scale], c, (NUMEROV + rho) * c])

    @property
    def reference_variance(self) -> float:
        """Mean square of the reference column in the residual."""
        return float(self.scale**2 * self.increments[0][0, 0] / self.samples)

    def noise(self, c: np.ndarray, rho: float) -> tuple[float, float]:
        """Autocovariances γ₀, γ₁ of the residual."""
        weights = self.combination(c, rho)
        zero, both = (weights @ gram @ weights for gram in self.increments)
        return zero / self.samples, both / (2 * self.samples)

    def first_noise(self) -> tuple[float, float]:
        """γ₀, γ₁ left by least squares on all candidates, which needs no selection."""
        unit = np.eye(self.terms)
        mix = np.vstack([np.zeros(self.terms), unit, NUMEROV * unit])
        gram = self.increments[0]
        inner = mix.T @ gram @ mix
        size = np.sqrt(np.diag(inner))
        values, vectors = np.linalg.eigh(inner / np.outer(size, size))
        good = values > EIGENVALUE_ROUNDOFF * values[-1]
        right = vectors[:, good].T @ (mix.T @ gram[:, 0] / size)
        c = -self.scale * (vectors[:, good] @ (right / values[good])) / size
        return self.noise(c, 0.0)

    def whitener(self, noise: tuple[float, float]) -> np.ndarray:
        """W with W Cov(g) Wᵀ = 1 on the well-determined directions."""
        covariance = noise[0] * self.instruments[0] + noise[1] * self.instruments[1]
        return root_inverse(covariance, np.sqrt(np.diag(self.instruments[0])))
