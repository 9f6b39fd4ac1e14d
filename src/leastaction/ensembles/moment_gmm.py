"""Generalised method of moments for martingale moments, exact or of noisy data.

*Martingale moments.* The moments g(c) = Σ Z X c have the covariance Ω ⊗ dt Σ Z Zᵀ,
where Ω is the covariance of the noise. Ω starts from the realised covariation and is
updated from the residual.

*A residual that is a moving average.* Sensor noise enters two neighbouring increments,
and overlapping windows share samples: the residual r = Σ c_i X_i has the autocovariance
Γ_h up to a lag L and none beyond. The moments then have the covariance (Hansen 1982;
Hayashi and Sims 1983)

.. math::  S = Σ_{h=-L}^{L} Γ_h ⊗ \\sum_k Z_k Z_{k+h}^T ,

which is no Kronecker product. Around the long-run covariance Ω = Σ_h Γ_h it reads
Ω ⊗ Σ Z Zᵀ plus terms in differences of instruments, which smooth instruments keep
small. Weighting with Γ_0 alone would overstate the noise by the factor 1 + 2ξ².

Selection and J are those of :mod:`leastaction.core.gmm`.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from scipy.special import chdtrc

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.gmm import (
    NOISE_ROUNDOFF,
    Converged,
    Fit,
    iterate,
    lagrangian_estimate,
    root_inverse,
    select,
)

# Sampling errors of Γ_h may leave S indefinite; true values of S ⊗ (Ω ⊗ ΣZZᵀ)⁻¹ lie
# far above this floor of its eigenvalues.
EIGENVALUE_FLOOR = 1e-2
# A window whose fit is this improbable is too long for the motion.
REJECTED_P_VALUE = 1e-4


def identify(library: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Lagrangian, and residual noise covariance Ω, from martingale moments.

    `settings` hold `max_terms`, the largest number of terms beside the reference.
    """
    check(library, "moments")
    reference, scale = _reference(library)
    total = library["moment"].values[0].sum(axis=0)
    grams = library["instrument_gram"].values[0]
    weighted = library["weighted_gram"].values[0]
    varies = bool(library.attrs["state_dependent_noise"])
    samples = int(library["samples"].values[0])
    dt = float(library["time_step"].values[0])
    first = library["realised_covariation"].values[0]
    floor = _discretisation_floor(
        scale**2 * weighted[..., reference, reference],
        library["frequency"].values[0] * library["sampling_step"].values[0],
        dt,
    )

    problem = weighted / samples, reference, scale, settings["max_terms"], samples

    def fit(noise: np.ndarray) -> Fit:
        noise = (np.diag(np.diag(noise)) if varies else noise) * dt
        columns, rank, directions = _whitened(noise + floor * dt, grams, total)
        share = np.einsum("da,ab,db->d", directions, noise, directions)
        return select(columns, rank, directions, share, *problem)

    found = iterate(
        first,
        fit,
        lambda fit, _: _residual_covariance(fit.coefficients, weighted, samples * dt),
        lambda noise: not (np.diag(noise) > NOISE_ROUNDOFF * np.diag(first)).all(),
    )
    noise = _residual_covariance(
        found.fit.coefficients, library["increment_gram"].values[0], samples * dt
    )
    noise_std = np.sqrt((noise**2 + np.outer(np.diag(noise), np.diag(noise))) / samples)
    return lagrangian_estimate(library, found, noise=(noise, noise_std))


def _reference(library: xr.Dataset) -> tuple[int, float]:
    """Column whose coefficient is given, and that coefficient."""
    given = library["library_given"].values
    reference = np.flatnonzero(library["status"].values == "reference")[0]
    return int(reference), given[given != 0][0]


def _whitened(noise, grams, total) -> tuple[np.ndarray, int, np.ndarray]:
    """Moments of unit covariance, (direction, moment, term), their number, directions.

    With one Gram matrix for all equations, the noise may mix them. Where the weights
    differ, it is diagonal, and shorter equations are filled with rows of zeros.
    """
    variances = np.diag(noise)
    if (noise == np.diag(variances)).all():
        directions = np.diag(1 / np.sqrt(variances))
    else:
        directions = root_inverse(noise)
    if (grams == grams[0]).all():
        z = root_inverse(grams[0])
        columns = np.einsum("da,rp,apm->drm", directions, z, total)
        return columns, columns.shape[0] * columns.shape[1], directions
    roots = [root_inverse(gram) for gram in grams]
    columns = np.zeros((len(grams), max(map(len, roots)), total.shape[-1]))
    for a, root in enumerate(roots):
        columns[a, : len(root)] = directions[a, a] * (root @ total[a])
    return columns, sum(map(len, roots)), directions


def _discretisation_floor(momentum, theta, dt) -> np.ndarray:
    """Covariance that stands for the time discretisation of whatever made the data.

    The kinetic term has Σ Δp Δpᵀ = `momentum`. A scheme distorts stiffnesses by the
    order of θ² = (ω dt)²: strong Taylor by θ²/3, Newmark by θ²/6, leapfrog by θ²/12.
    """
    theta = np.nan_to_num(theta, nan=0.0, posinf=0.0)
    return np.diag((theta**2 / 3) ** 2 * np.diag(momentum) / dt)


def _residual_covariance(coefficients, increments, time) -> np.ndarray:
    """Quadratic variation with the drift removed, Σ (Xc)(Xc)ᵀ / T."""
    return np.einsum("abij,i,j->ab", increments, coefficients, coefficients) / time


def identify_moving_average(
    library: xr.Dataset, settings: Mapping
) -> LagrangianEstimate:
    """Lagrangian, and long-run covariance of the residual, from noisy moments.

    Of several scales of smoothing, the one with the smallest mean of log(SE/|c|) among
    those that J accepts is taken; it is the diagnostic ``smoothing_window``, in
    samples. `settings` hold `max_terms`, as of :func:`identify`.
    """
    check(library, "moving_average_moments")
    scales = [
        _at_scale(library.isel(scale=slice(i, i + 1)), settings)
        for i in range(library.sizes["scale"])
    ]
    best = min(range(len(scales)), key=lambda i: _uncertainty(scales[i].fit))
    window = int(library["window"].values[0, best])
    noise = long_run(scales[best].noise) / float(library["time_step"].values[0])
    return lagrangian_estimate(
        library,
        scales[best],
        noise=(noise, np.full_like(noise, np.nan)),
        diagnostics={"smoothing_window": (window, "1", "samples of smoothing")},
    )


def whitened(total, instruments, autocovariance):
    """Moments in units of their standard errors, and W with W Ω Wᵀ = 1.

    From Σ Z Xᵀ, Σ Z_k Z_{k+h}ᵀ and Γ_h; shape (direction, row, term). Rows stay close
    to the direction of noise that they come from: the symmetric root is taken last.
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
    root = (vectors / np.sqrt(np.maximum(values, EIGENVALUE_FLOOR))) @ vectors.T
    columns = np.einsum("da,rp,apm->drm", directions, z, total)
    shape = columns.shape
    return (root @ columns.reshape(-1, shape[2])).reshape(shape), directions


def long_run(gamma: np.ndarray) -> np.ndarray:
    """Γ_0 + Σ (Γ_h + Γ_hᵀ) over the first axis, h = 0, 1, ..."""
    return gamma[0] + (gamma[1:] + np.swapaxes(gamma[1:], 1, 2)).sum(axis=0)


def _at_scale(library: xr.Dataset, settings: Mapping) -> Converged:
    """Select and solve at one scale of smoothing."""
    reference, scale = _reference(library)
    total = library["moment"].values[0, 0]
    instruments = library["instrument_gram"].values[0, 0]
    increments = library["increment_gram"].values[0, 0]
    samples = int(library["samples"].values[0])
    summed = increments[0] + sum(g + g.transpose(1, 0, 3, 2) for g in increments[1:])
    first = library["realised_covariation"].values[0]
    first = first * float(library["time_step"].values[0])
    gamma = np.zeros((len(increments), *first.shape))
    gamma[0] = first
    problem = summed, reference, scale, settings["max_terms"], samples

    def fit(gamma: np.ndarray) -> Fit:
        columns, directions = whitened(total, instruments, gamma)
        rank = columns.shape[0] * columns.shape[1]
        return select(columns, rank, directions, np.ones(len(directions)), *problem)

    return iterate(
        gamma,
        fit,
        # Γ_h(c) = cᵀ G_h c, shape (lag, dof, dof).
        lambda fit, _: np.einsum(
            "habij,i,j->hab", increments, fit.coefficients, fit.coefficients
        ),
        lambda gamma: (
            not (np.diag(long_run(gamma)) > NOISE_ROUNDOFF * np.diag(first)).all()
        ),
    )


def _uncertainty(fit: Fit) -> tuple[bool, float]:
    """Whether J rejects the fit, and the mean of log(SE/|c|)."""
    support = list(fit.support)
    rejected = not chdtrc(fit.rank - len(support), fit.j) > REJECTED_P_VALUE
    if not support:
        return rejected, np.inf
    error = np.sqrt(np.diag(fit.covariance))[support]
    return rejected, float(np.log(error / np.abs(fit.coefficients[support])).mean())
