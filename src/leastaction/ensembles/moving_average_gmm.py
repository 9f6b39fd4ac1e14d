"""Generalised method of moments whose residual is a moving average.

Sensor noise enters two neighbouring increments, and overlapping windows share samples:
the residual r = Σ c_i X_i has the autocovariance Γ_h up to a lag L and none beyond. The
moments g = Σ Z_k r_k then have the covariance (Hansen 1982; Hayashi and Sims 1983)

.. math::  S = Σ_{h=-L}^{L} Γ_h ⊗ \\sum_k Z_k Z_{k+h}^T ,

which is no Kronecker product. Around the long-run covariance Ω = Σ_h Γ_h it reads
Ω ⊗ Σ Z Zᵀ plus terms in differences of instruments, which smooth instruments keep
small. Weighting with Γ_0 alone would overstate the noise by the factor 1 + 2ξ².

Everything else is as in :mod:`~leastaction.ensembles.moment_gmm`: best subsets,
extended BIC, J in units of the smaller noise, weights repeated until the selection
repeats.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy.special import chdtrc

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.moment_selection import (
    FAINTEST,
    MOST_ITERATIONS,
    Fit,
    lagrangian_estimate,
    root_inverse,
    select,
)

CONTRACT = "moving_average_moments"
# Sampling errors of Γ_h may leave S indefinite; true values of S ⊗ (Ω ⊗ ΣZZᵀ)⁻¹ lie
# far above this floor.
FLOOR = 1e-2
# A window whose fit is this improbable is too long for the motion.
REJECTED = 1e-4


@dataclass(frozen=True)
class _Scale:
    fit: Fit
    autocovariance: np.ndarray
    converged: bool
    deterministic: bool


def identify(library: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Identify the Lagrangian of one replicate from noisy moments.

    Parameters
    ----------
    library
        One replicate, contract ``moving_average_moments``.
    settings
        `max_terms`: largest number of terms beside the reference.

    Returns
    -------
    LagrangianEstimate
        As of :func:`leastaction.ensembles.moment_gmm.identify`; `noise_covariance` is
        the long-run covariance of the residual. Of several scales of smoothing, the one
        with the smallest mean of log(SE/|c|) among those that J accepts is taken; it is
        the diagnostic ``smoothing_window``, in samples.
    """
    check(library, "moving_average_moments")
    scales = [
        _at_scale(library.isel(scale=slice(i, i + 1)), settings)
        for i in range(library.sizes["scale"])
    ]
    best = min(range(len(scales)), key=lambda i: _uncertainty(scales[i].fit))
    found = _estimate(library, scales[best])
    window = int(library["window"].values[0, best])
    diagnostics = {
        **found.diagnostics,
        "smoothing_window": (window, "1", "samples of smoothing"),
    }
    return replace(found, diagnostics=diagnostics)


def whitened(total, instruments, autocovariance):
    """Moments in units of their standard errors.

    Parameters
    ----------
    total
        Σ Z Xᵀ, shape (dof, instrument, term).
    instruments
        Σ Z_k Z_{k+h}ᵀ, shape (lag, instrument, instrument).
    autocovariance
        Γ_h, shape (lag, dof, dof).

    Returns
    -------
    columns
        Shape (direction, row, term). Rows stay close to the direction of noise that
        they come from, as the symmetric root is taken last.
    directions
        W with W Ω Wᵀ = 1.
    """
    directions = root_inverse(long_run(autocovariance))
    z = root_inverse(instruments[0])
    noise = np.einsum("da,hab,eb->hde", directions, autocovariance, directions)
    z_lagged = z @ instruments[1:] @ z.T
    covariance = np.kron(noise[0], np.eye(len(z)))
    for gamma, products in zip(noise[1:], z_lagged, strict=True):
        part = np.kron(gamma, products)
        covariance += part + part.T
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors / np.sqrt(np.maximum(values, FLOOR))) @ vectors.T
    columns = np.einsum("da,rp,apm->drm", directions, z, total)
    shape = columns.shape
    return (root @ columns.reshape(-1, shape[2])).reshape(shape), directions


def long_run(gamma: np.ndarray) -> np.ndarray:
    """Γ_0 + Σ (Γ_h + Γ_hᵀ) over the first axis, h = 0, 1, ..."""
    return gamma[0] + (gamma[1:] + np.swapaxes(gamma[1:], 1, 2)).sum(axis=0)


def residual_autocovariance(coefficients, increments) -> np.ndarray:
    """Γ_h(c) = cᵀ G_h c, shape (lag, dof, dof)."""
    return np.einsum("habij,i,j->hab", increments, coefficients, coefficients)


def _at_scale(library: xr.Dataset, settings: Mapping) -> _Scale:
    """Select and solve at one scale of smoothing."""
    reference = int(np.flatnonzero(library["status"].values == "reference")[0])
    given = library["library_given"].values
    scale = given[given != 0][0]
    total = library["moment"].values[0, 0]
    instruments = library["instrument_gram"].values[0, 0]
    increments = library["increment_gram"].values[0, 0]
    samples = int(library["samples"].values[0])
    dt = float(library["time_step"].values[0])
    lags = increments.shape[0]
    summed = increments[0] + sum(
        increments[h] + increments[h].transpose(1, 0, 3, 2) for h in range(1, lags)
    )
    first = library["realised_covariation"].values[0] * dt
    gamma = np.zeros((lags, *first.shape))
    gamma[0] = first
    support, converged, deterministic = None, False, False
    for _ in range(MOST_ITERATIONS):
        columns, directions = whitened(total, instruments, gamma)
        fit = select(
            columns,
            columns.shape[0] * columns.shape[1],
            directions,
            np.ones(len(directions)),
            summed,
            reference,
            scale,
            settings["max_terms"],
            samples,
        )
        converged, support = fit.support == support, fit.support
        gamma = residual_autocovariance(fit.coefficients, increments)
        deterministic = not (np.diag(long_run(gamma)) > FAINTEST * np.diag(first)).all()
        if converged or deterministic:
            break
    return _Scale(fit, gamma, converged, deterministic)


def _estimate(library: xr.Dataset, one: _Scale) -> LagrangianEstimate:
    noise = long_run(one.autocovariance) / float(library["time_step"].values[0])
    return lagrangian_estimate(
        library,
        one.fit,
        noise,
        np.full_like(noise, np.nan),
        converged=one.converged,
        deterministic=one.deterministic,
    )


def _uncertainty(fit: Fit) -> tuple[bool, float]:
    """Whether J rejects the fit, and the mean of log(SE/|c|)."""
    support = list(fit.support)
    rejected = not chdtrc(fit.rank - len(support), fit.j) > REJECTED
    if not support:
        return rejected, np.inf
    error = np.sqrt(np.diag(fit.covariance))[support]
    return rejected, float(np.log(error / np.abs(fit.coefficients[support])).mean())
