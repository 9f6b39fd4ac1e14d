"""Generalised method of moments with best-subset selection.

The martingale moments g(c) = Σ Z X c have covariance Ω ⊗ dt Σ Z Zᵀ, where Ω is the
covariance of the noise. The coefficients minimise the Hansen statistic

.. math::  J(c) = g(c)^T \\left(Ω ⊗ dt Σ Z Z^T\\right)^{-1} g(c) ,

which for the true support is χ² with (moments − terms) degrees of freedom: an absolute
test of fit. Ω starts from the realised covariation and is updated from the residual.
No threshold is tuned: subsets compete by J plus the penalty of the extended BIC. In
that competition J is in units of each subset's own residual variance where that is
*smaller* than Ω: candidates that contain accelerations, such as cos q̇, could
otherwise cancel the kinetic term, and with it the noise, and an empty equation would
seem to fit best. Where it is larger, Ω stays the unit: a subset must not gain from
inflating the noise, as it could in the continuously updated estimator (Hansen, Heaton
and Yaron 1996).
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

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

CONTRACT = "moments"


def identify(library: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Identify the Lagrangian of one replicate from its martingale moments.

    Parameters
    ----------
    library
        One replicate, contract ``moments``.
    settings
        `max_terms`: largest number of terms beside the reference.

    Returns
    -------
    LagrangianEstimate
        Coefficients of every candidate with standard errors, the residual noise
        covariance Ω and its standard error, J, its degrees of freedom and p-value, and
        the criterion along the selection path.
    """
    check(library, "moments")
    status = library["status"].values
    reference = int(np.flatnonzero(status == "reference")[0])
    given = library["library_given"].values
    scale = given[given != 0][0]
    moment = library["moment"].values[0]
    grams = library["instrument_gram"].values[0]
    weighted = library["weighted_gram"].values[0]
    varies = bool(library.attrs["state_dependent_noise"])
    samples = int(library["samples"].values[0])
    dt = float(library["time_step"].values[0])
    first = noise = library["realised_covariation"].values[0]
    total = moment.sum(axis=0)
    floor = _discretisation_floor(
        scale**2 * weighted[..., reference, reference],
        library["frequency"].values[0] * library["sampling_step"].values[0],
        dt,
    )
    if varies:
        floor = np.diag(np.diag(floor))
    support, converged, deterministic = None, False, False
    for _ in range(MOST_ITERATIONS):
        fit = _fit(
            total,
            grams,
            (np.diag(np.diag(noise)) if varies else noise) * dt,
            floor * dt,
            weighted / samples,
            reference,
            scale,
            settings["max_terms"],
            samples,
        )
        converged, support = fit.support == support, fit.support
        noise = _residual_covariance(fit.coefficients, weighted, samples * dt)
        deterministic = not (np.diag(noise) > FAINTEST * np.diag(first)).all()
        if converged or deterministic:
            break
    noise = _residual_covariance(
        fit.coefficients, library["increment_gram"].values[0], samples * dt
    )
    noise_std = np.sqrt((noise**2 + np.outer(np.diag(noise), np.diag(noise))) / samples)
    return lagrangian_estimate(
        library, fit, noise, noise_std, converged=converged, deterministic=deterministic
    )


def _fit(
    total, grams, noise, floor, increments, reference, scale, max_terms, samples
) -> Fit:
    """Select and solve, given the noise covariance that weights the moments."""
    directions = _directions(noise + floor)
    share = np.einsum("da,ab,db->d", directions, noise, directions)
    columns, rank = _whitened(directions, grams, total)
    return select(
        columns,
        rank,
        directions,
        share,
        increments,
        reference,
        scale,
        max_terms,
        samples,
    )


def _directions(noise: np.ndarray) -> np.ndarray:
    """Matrix that makes the noise white; diagonal where the noise is."""
    variances = np.diag(noise)
    if (noise == np.diag(variances)).all():
        return np.diag(1 / np.sqrt(variances))
    return root_inverse(noise)


def _whitened(directions, grams, total) -> tuple[np.ndarray, int]:
    """Moments of unit covariance, shape (direction, moment, term), and their number.

    With one Gram matrix for all equations, the noise may mix them. Where the weights
    differ from equation to equation, it does not: each has its own matrix, and rows of
    zeros where one has fewer well-determined directions than another.
    """
    if (grams == grams[0]).all():
        z = root_inverse(grams[0])
        columns = np.einsum("da,rp,apm->drm", directions, z, total)
        return columns, columns.shape[0] * columns.shape[1]
    roots = [root_inverse(gram) for gram in grams]
    columns = np.zeros((len(grams), max(map(len, roots)), total.shape[-1]))
    for a, root in enumerate(roots):
        columns[a, : len(root)] = directions[a, a] * (root @ total[a])
    return columns, sum(map(len, roots))


def _discretisation_floor(momentum, theta, dt) -> np.ndarray:
    """Covariance that stands for the time discretisation of whatever made the data.

    A scheme or a sampler distorts frequencies by the order of θ² = (ω dt)² (the strong
    Taylor scheme stiffnesses by θ²/3, Newmark's by θ²/6, leapfrog by θ²/12), so that
    ∫ ∂L/∂q dt may be wrong by that share in every increment alike.
    Where noise excites every degree of freedom this is nothing. Where it leaves a
    combination of them in peace, as one shared Wiener process does, the law would seem
    to be known to more digits than the data have.

    Parameters
    ----------
    momentum
        Σ Δp Δpᵀ of the kinetic term, shape (dof, dof).
    theta
        θ of each degree of freedom, at the step of the observations.
    dt
        Duration of one increment, s.
    """
    theta = np.nan_to_num(theta, nan=0.0, posinf=0.0)
    return np.diag((theta**2 / 3) ** 2 * np.diag(momentum) / dt)


def _residual_covariance(coefficients, increments, time) -> np.ndarray:
    """Quadratic variation with the drift removed, Σ (Xc)(Xc)ᵀ / T."""
    return np.einsum("abij,i,j->ab", increments, coefficients, coefficients) / time
