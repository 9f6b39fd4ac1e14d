"""Generalised method of moments for martingale moments.

The moments g(c) = Σ Z X c have the covariance Ω ⊗ dt Σ Z Zᵀ, where Ω is the covariance
of the noise. Ω starts from the realised covariation and is updated from the residual.
Selection and J are those of :mod:`leastaction.core.gmm`.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.gmm import (
    NOISE_ROUNDOFF,
    Fit,
    iterate,
    lagrangian_estimate,
    root_inverse,
    select,
)


def identify(library: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Lagrangian, and residual noise covariance Ω, from martingale moments."""
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

    end = iterate(
        first,
        fit,
        lambda fit, _: _residual_covariance(fit.coefficients, weighted, samples * dt),
        lambda noise: not (np.diag(noise) > NOISE_ROUNDOFF * np.diag(first)).all(),
    )
    noise = _residual_covariance(
        end.fit.coefficients, library["increment_gram"].values[0], samples * dt
    )
    noise_std = np.sqrt((noise**2 + np.outer(np.diag(noise), np.diag(noise))) / samples)
    return lagrangian_estimate(library, end, noise=(noise, noise_std))


def _reference(library: xr.Dataset) -> tuple[int, float]:
    """Column whose coefficient is given, and that coefficient."""
    fixed = library["library_given"].values
    reference = np.flatnonzero(library["status"].values == "reference")[0]
    return int(reference), fixed[fixed != 0][0]


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
