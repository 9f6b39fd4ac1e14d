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

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.special import chdtrc

from leastaction.contracts import check
from leastaction.identify.best_subset import best_subset, extended_penalty
from leastaction.identify.estimate import LagrangianEstimate

CONTRACT = "moments"
MOST_ITERATIONS = 6
RANK_TOLERANCE = 1e-13
# A residual this much below the realised covariation is rounding error.
FAINTEST = 1e-10
# Kass and Raftery (1995): less is "not worth more than a bare mention".
INDISTINGUISHABLE = 2.0


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Fit:
    coefficients: np.ndarray
    covariance: np.ndarray
    support: tuple[int, ...]
    criterion: np.ndarray
    j: float
    rank: int
    ties: tuple[tuple[int, ...], ...]


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
    if deterministic:
        log.warning(
            "no noise is left in the residual: the data look deterministic, and there "
            "is nothing to base standard errors and J on"
        )
    elif not converged:
        log.warning(
            "the selected terms changed in each of %d passes: the data cannot decide "
            "between kinetic terms; list fewer of them",
            MOST_ITERATIONS,
        )
    noise = _residual_covariance(
        fit.coefficients, library["increment_gram"].values[0], samples * dt
    )
    names = [str(term) for term in library["term"].values]
    all_names = [str(term) for term in library["candidate"].values]
    place = [all_names.index(name) for name in names]
    coefficients, std = np.zeros(len(all_names)), np.zeros(len(all_names))
    coefficients[place] = fit.coefficients
    coefficients[given != 0] = given[given != 0]
    std[place] = np.sqrt(np.diag(fit.covariance))
    degrees = fit.rank - len(fit.support)
    j, p_value = fit.j, float(chdtrc(degrees, fit.j))
    if deterministic:
        std[std > 0] = np.nan
        j = p_value = np.nan
    status = list(library["library_status"].values)
    equivalent = list(library["library_equivalent"].values)
    count = library.attrs["lagrangian_candidates"]
    return LagrangianEstimate(
        terms=all_names[:count],
        coefficients=coefficients[:count],
        std=std[:count],
        status=status[:count],
        equivalent=equivalent[:count],
        dissipation_terms=[name.removeprefix("D: ") for name in all_names[count:]],
        dissipation_coefficients=coefficients[count:],
        dissipation_std=std[count:],
        dissipation_status=status[count:],
        dissipation_equivalent=equivalent[count:],
        noise_covariance=noise,
        noise_std=np.sqrt(
            (noise**2 + np.outer(np.diag(noise), np.diag(noise))) / samples
        ),
        diagnostics={
            "j_statistic": (j, "1", "Hansen J statistic"),
            "converged": (
                int(converged),
                "1",
                "whether the selection repeats itself under its own noise",
            ),
            "j_degrees": (degrees, "1", "degrees of freedom of J"),
            "j_p_value": (p_value, "1", "p-value of J"),
        },
        criterion=fit.criterion,
        alternatives="; ".join(" + ".join(names[i] for i in tie) for tie in fit.ties),
    )


def _fit(
    total, grams, noise, floor, increments, reference, scale, max_terms, samples
) -> _Fit:
    """Select and solve, given the noise covariance that weights the moments."""
    directions = _directions(noise + floor)
    share = np.einsum("da,ab,db->d", directions, noise, directions)
    share = np.maximum(share, FAINTEST)
    columns, rank = _whitened(directions, grams, total)
    others = [i for i in range(total.shape[-1]) if i != reference]
    a, b = columns[..., others], -scale * columns[..., reference]

    def variance(subsets, values):
        c = np.zeros((len(subsets), total.shape[-1]))
        c[:, reference] = scale
        rows = np.arange(len(subsets))[:, None]
        c[rows, np.asarray(others)[subsets]] = values
        own = np.einsum("abij,ni,nj->nab", increments, c, c, optimize=True)
        own = np.einsum("da,nab,db->nd", directions, own, directions)
        return np.minimum(own / share, 1.0)

    path = best_subset(a, b, max_terms, INDISTINGUISHABLE, variance)
    sizes = np.arange(len(path.supports))
    criterion = path.objectives + extended_penalty(sizes, len(others), samples)
    size = int(np.argmin(criterion))
    chosen = list(path.supports[size])
    support = [others[i] for i in chosen]
    coefficients = np.zeros(total.shape[-1])
    covariance = np.zeros((total.shape[-1],) * 2)
    coefficients[reference] = scale
    residual = b.ravel()
    if support:
        active = a[..., chosen].reshape(-1, len(chosen))
        length = np.linalg.norm(active, axis=0)
        q, r = np.linalg.qr(active / length)
        solution = np.linalg.solve(r, q.T @ b.ravel()) / length
        inverse = np.linalg.inv(r) / length[:, None]
        coefficients[support] = solution
        covariance[np.ix_(support, support)] = inverse @ inverse.T
        residual = b.ravel() - active @ solution
    return _Fit(
        coefficients,
        covariance,
        tuple(support),
        criterion,
        float(residual @ residual),
        rank,
        tuple(tuple(others[i] for i in tie) for tie in path.ties[size]),
    )


def _directions(noise: np.ndarray) -> np.ndarray:
    """Matrix that makes the noise white; diagonal where the noise is."""
    variances = np.diag(noise)
    if (noise == np.diag(variances)).all():
        return np.diag(1 / np.sqrt(variances))
    return _root_inverse(noise)


def _whitened(directions, grams, total) -> tuple[np.ndarray, int]:
    """Moments of unit covariance, shape (direction, moment, term), and their number.

    With one Gram matrix for all equations, the noise may mix them. Where the weights
    differ from equation to equation, it does not: each has its own matrix, and rows of
    zeros where one has fewer well-determined directions than another.
    """
    if (grams == grams[0]).all():
        z = _root_inverse(grams[0])
        columns = np.einsum("da,rp,apm->drm", directions, z, total)
        return columns, columns.shape[0] * columns.shape[1]
    roots = [_root_inverse(gram) for gram in grams]
    columns = np.zeros((len(grams), max(map(len, roots)), total.shape[-1]))
    for a, root in enumerate(roots):
        columns[a, : len(root)] = directions[a, a] * (root @ total[a])
    return columns, sum(map(len, roots))


def _root_inverse(gram: np.ndarray) -> np.ndarray:
    """Matrix W with W gram Wᵀ = 1 on the well-determined directions.

    On one energy shell the monomials are nearly collinear; directions below the
    rounding error of the Gram matrix are dropped.
    """
    scale = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    good = values > RANK_TOLERANCE * values[-1]
    return (vectors[:, good] / np.sqrt(values[good])).T / scale


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
