"""Generalised method of moments for fields, whatever time scheme made the data.

Terms are selected on the well-resolved modes, where every scheme agrees to
O((ω dt)²). With the terms fixed, faster modes join, and with them the dispersion ρ of
:mod:`leastaction.fields.modal_moments` as one more unknown:

.. math::

    g(c, ρ) = \\sum Z \\Big(2κ\\,\\frac{Δ^2 q}{dt}
        − \\sum_i c_i\\,dt\\,\\big(F_i + (\\tfrac1{12} + ρ)\\,δ^2 F_i\\big)\\Big),
    \\qquad \\operatorname{Cov} g = γ_0 \\sum Z_k Z_k^T
        + γ_1 \\sum (Z_k Z_{k+1}^T + Z_{k+1} Z_k^T) .

The residual of overlapping second differences is a moving average of order one with
autocovariances γ₀, γ₁ (ratio ¼ for data that are exact in time, 0 for leapfrog, ½ for
average acceleration), and its long-run variance γ₀ + 2γ₁ is that of the noise for all
of them. J(c, ρ) = gᵀ Cov⁻¹ g is minimised (Hansen 1982); subsets compete as in
:mod:`leastaction.ensembles.moment_gmm`. If ρ comes out with a standard error above
`dispersion_error`, the modes are too slow to tell, ρ does not matter, and the estimate
on the well-resolved modes stands.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy.special import chdtrc

from leastaction.core.best_subset import best_subset, extended_penalty
from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.moment_selection import INDISTINGUISHABLE, MOST_ITERATIONS
from leastaction.fields.dispersive_moments import DispersiveMoments
from leastaction.fields.time_scheme import scheme_name

CONTRACT = "modal_moments"
# A residual this much below the second differences, in variance, is not noise.
FAINTEST = 1e-12

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Fit:
    coefficients: np.ndarray
    std: np.ndarray
    rho: float
    rho_std: float
    j: float
    degrees: int
    noise: tuple[float, float]


def identify(library: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Identify the Lagrangian density of one replicate from its modal moments.

    Parameters
    ----------
    library
        One replicate, contract ``modal_moments``.
    settings
        `max_terms`: largest number of terms beside the reference;
        `dispersion_error`: largest standard error of ρ at which it is used.

    Returns
    -------
    LagrangianEstimate
        The noise is left to the volatility method. Diagnostics: J, `dispersion` ρ with
        `dispersion_std`, `residual_autocorrelation` γ₁/γ₀, and the `scheme` that they
        name.
    """
    check(library, "modal_moments")
    slow, all_modes = (DispersiveMoments.of(library, groups) for groups in (1, 2))
    support, path, criterion, size, converged = _select(slow, settings["max_terms"])
    if not converged:
        log.warning(
            "the selected terms changed in each of %d passes: the data cannot decide",
            MOST_ITERATIONS,
        )
    fit = _solve(slow, support, dispersion=False)
    free = _solve(all_modes, support, dispersion=True) if support else fit
    dispersive = bool(support) and free.rho_std < settings["dispersion_error"]
    if dispersive:
        fit = free
    deterministic = fit.noise[0] <= FAINTEST * slow.reference_variance
    if deterministic:
        log.warning(
            "no noise is left in the residual: the data look deterministic, and there "
            "is nothing to base standard errors and J on"
        )
        fit = replace(fit, std=np.where(fit.std > 0, np.nan, 0.0), j=np.nan)
    scheme = scheme_name(
        (free.rho, free.rho_std) if dispersive else None, fit.noise[1] / fit.noise[0]
    )
    log.info("the samples look like those of: %s", scheme)
    return _estimate(
        library,
        path,
        criterion,
        size,
        converged,
        fit,
        free,
        dispersive,
        scheme,
    )


def _select(moments: DispersiveMoments, max_terms: int):
    """Best subset on the moments without dispersion, until it repeats itself."""
    noise, support, converged = moments.first_noise(), None, False
    for _ in range(MOST_ITERATIONS):
        w = moments.whitener(noise)
        a = (w @ moments.columns(0.0))[None]
        b = -moments.scale * (w @ moments.reference)[None]
        path = best_subset(a, b, max_terms, INDISTINGUISHABLE)
        sizes = np.arange(len(path.supports))
        criterion = path.objectives + extended_penalty(
            sizes, moments.terms, moments.samples
        )
        size = int(np.argmin(criterion))
        converged, support = path.supports[size] == support, path.supports[size]
        if converged:
            break
        noise = _solve(moments, support, dispersion=False, noise=noise).noise
    return support, path, criterion, size, converged


def _solve(moments: DispersiveMoments, support, dispersion: bool, noise=None) -> _Fit:
    """Minimise J over the coefficients of `support` (and ρ), Gauss–Newton."""
    chosen = list(support)
    noise = noise or moments.first_noise()
    c, rho = np.zeros(moments.terms), 0.0
    covariance = np.zeros((0, 0))
    residual = np.zeros(0)
    for _ in range(MOST_ITERATIONS):
        w = moments.whitener(noise)
        active = w @ moments.columns(rho)[:, chosen]
        target = -moments.scale * (w @ moments.reference)
        unknowns = len(chosen) + dispersion
        a = active
        if dispersion:
            if not c.any():
                c[chosen] = np.linalg.lstsq(active, target, rcond=None)[0]
            a = np.hstack([active, (w @ (moments.curvature @ c))[:, None]])
        step = np.concatenate([np.zeros(len(chosen)), [0.0] * dispersion])
        if unknowns:
            length = np.linalg.norm(a, axis=0)
            inverse = np.linalg.pinv(a / length) / length[:, None]
            step = inverse @ target
            covariance = inverse @ inverse.T
        c = np.zeros(moments.terms)
        c[chosen] = step[: len(chosen)]
        if dispersion:
            rho += step[-1]
        residual = w @ (moments.scale * moments.reference + moments.columns(rho) @ c)
        noise = moments.noise(c, rho)
    errors = np.sqrt(np.diag(covariance))
    std = np.zeros(moments.terms)
    std[chosen] = errors[: len(chosen)]
    return _Fit(
        c,
        std,
        float(rho),
        float(errors[-1]) if dispersion else np.nan,
        float(residual @ residual),
        residual.size - unknowns,
        noise,
    )


def _estimate(
    library, path, criterion, size, converged, fit, free, dispersive, scheme
) -> LagrangianEstimate:
    names = [str(name) for name in library["candidate"].values]
    used = np.flatnonzero(library["used"].values)
    coefficients, std = np.zeros(len(names)), np.zeros(len(names))
    coefficients[used], std[used] = fit.coefficients, fit.std
    reference = names.index(library.attrs["reference"])
    coefficients[reference] = library.attrs["reference_coefficient"]
    return LagrangianEstimate(
        terms=names,
        coefficients=coefficients,
        std=std,
        status=list(library["library_status"].values),
        equivalent=list(library["library_equivalent"].values),
        noise_covariance=np.zeros((0, 0)),
        noise_std=np.zeros((0, 0)),
        diagnostics={
            "j_statistic": (fit.j, "1", "Hansen J statistic"),
            "j_degrees": (fit.degrees, "1", "degrees of freedom of J"),
            "j_p_value": (float(chdtrc(fit.degrees, fit.j)), "1", "p-value of J"),
            "converged": (
                int(converged),
                "1",
                "whether the selection repeats itself under its own noise",
            ),
            "dispersion": (free.rho, "1", "dispersion rho of the samples"),
            "dispersion_std": (free.rho_std, "1", "its standard error"),
            "dispersion_used": (
                int(dispersive),
                "1",
                "whether modes that show the dispersion are in the estimate",
            ),
            "largest_turn": (
                float(library["largest_turn"].values[0, int(dispersive)]),
                "rad",
                "largest omega dt of the modes in the estimate",
            ),
            "residual_autocorrelation": (
                fit.noise[1] / fit.noise[0],
                "1",
                "gamma_1 / gamma_0 of the residual",
            ),
            "scheme": (
                np.array(scheme, dtype=object),
                "1",
                "time scheme whose samples look like these",
            ),
        },
        criterion=criterion,
        alternatives="; ".join(
            " + ".join(names[used[i]] for i in tie) for tie in path.ties[size]
        ),
    )
