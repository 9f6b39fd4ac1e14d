"""Generalised method of moments with best-subset selection.

The moments g(c) = Σ Z (Σ_i c_i X_i) of a true law have mean zero; the coefficients
minimise the statistic J(c) = gᵀ Cov(g)⁻¹ g (Hansen 1982). For the true support it is χ²
with (moments − terms) degrees of freedom. Whitened moments turn J into a sum of squares
over rows. Subsets compete by J plus the penalty of the extended BIC; no threshold is
tuned.

In the competition J may be in units of each subset's own residual variance where that
is *smaller* than the weighting one: candidates that contain accelerations, such as cos
q̇, could otherwise cancel the kinetic term, and with it the noise, and an empty equation
would seem to fit best. Where it is larger, the weights stay: a subset must not gain
from inflating the noise, as it could in the continuously updated estimator (Hansen,
Heaton and Yaron 1996).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.sparse_regression import best_subset, extended_penalty

MOST_ITERATIONS = 6
# Eigenvalues of a scaled Gram matrix, relative to the largest, that rounding can make.
EIGENVALUE_ROUNDOFF = 1e-13
# A residual variance this much below the realised covariation is rounding error.
NOISE_ROUNDOFF = 1e-10
SMALLEST_VARIANCE_RATIO = 1e-30
# Differences of 2 ln(Bayes factor), and so of the criterion, below this are "not worth
# more than a bare mention" (Kass and Raftery 1995).
INDISTINGUISHABLE_CRITERIA = 2.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Selection:
    """Best subset: its columns `support`, other subsets of its size that fit as well.

    `criterion` is that of the best subset of size 0, 1, 2, ...
    """

    support: tuple[int, ...]
    criterion: np.ndarray
    ties: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Fit(Selection):
    """Coefficients of the selected terms, their covariance, J and its rank.

    J has `rank` − `len(support)` degrees of freedom.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    j: float
    rank: int


@dataclass(frozen=True)
class Converged:
    """Where :func:`iterate` ended: the last selection, and the noise of its residual.

    It `converged` if it repeated itself under its own noise, and is `deterministic` if
    the residual is rounding error only.
    """

    fit: Selection
    noise: object
    converged: bool
    deterministic: bool


def iterate(
    noise,
    fit: Callable[[object], Selection],
    residual_noise: Callable[[Selection, object], object],
    is_rounding: Callable[[object], bool] = lambda noise: False,
) -> Converged:
    """Select under a noise, take the noise of the residual, until the support repeats.

    ``fit(noise)`` whitens the moments and selects; ``residual_noise(selection, noise)``
    is that of the residual, of any type. If it `is_rounding`, there is nothing to
    weight with.
    """
    support, converged, deterministic = None, False, False
    for _ in range(MOST_ITERATIONS):
        selection = fit(noise)
        converged, support = selection.support == support, selection.support
        noise = residual_noise(selection, noise)
        deterministic = is_rounding(noise)
        if converged or deterministic:
            break
    return Converged(selection, noise, converged, deterministic)


def best_by_criterion(
    a: np.ndarray, b: np.ndarray, max_terms: int, samples: float, variance=None
) -> Selection:
    """Best subset of whitened columns by J plus the extended BIC of n `samples`."""
    path = best_subset(a, b, max_terms, INDISTINGUISHABLE_CRITERIA, variance)
    sizes = np.arange(len(path.supports))
    criterion = path.objectives + extended_penalty(sizes, a.shape[-1], samples)
    size = int(np.argmin(criterion))
    return Selection(path.supports[size], criterion, path.ties[size])


def select(
    columns, rank, directions, share, increments, reference, scale, max_terms, samples
) -> Fit:
    """Best subset by the extended BIC, and its coefficients.

    Parameters
    ----------
    columns, rank
        Whitened moments, shape (direction, row, term), and how many rows are not zero.
    directions
        W that brings the weighting covariance to 1, shape (direction, dof).
    share
        Share of the noise in that covariance, by direction.
    increments
        Mean of X Xᵀ per sample, shape (dof, dof, term, term): the noise of a subset.
    reference, scale
        The given term and its coefficient.
    max_terms, samples
        Largest number of other terms, and n of the criterion.
    """
    terms = columns.shape[-1]
    share = np.maximum(share, NOISE_ROUNDOFF)
    others = [i for i in range(terms) if i != reference]
    a, b = columns[..., others], -scale * columns[..., reference]

    def variance(subsets, values):
        c = np.zeros((len(subsets), terms))
        c[:, reference] = scale
        rows = np.arange(len(subsets))[:, None]
        c[rows, np.asarray(others)[subsets]] = values
        variances = np.einsum("abij,ni,nj->nab", increments, c, c, optimize=True)
        variances = np.einsum("da,nab,db->nd", directions, variances, directions)
        return np.clip(variances / share, SMALLEST_VARIANCE_RATIO, 1.0)

    result = best_by_criterion(a, b, max_terms, samples, variance)
    chosen = list(result.support)
    support = [others[i] for i in chosen]
    coefficients = np.zeros(terms)
    covariance = np.zeros((terms, terms))
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
    ties = tuple(tuple(others[i] for i in tie) for tie in result.ties)
    selection = tuple(support), result.criterion, ties
    return Fit(*selection, coefficients, covariance, float(residual @ residual), rank)


def lagrangian_estimate(
    library,
    end: Converged,
    fixed: np.ndarray | None = None,
    place: Sequence[int] | None = None,
    noise: tuple[np.ndarray, np.ndarray] | None = None,
    diagnostics: Mapping[str, tuple] | None = None,
) -> LagrangianEstimate:
    """Estimate over all candidates from a :class:`Fit` over those of the moments.

    `library` has one replicate of moments, with names and status of all candidates;
    `fixed` (candidate,) are the coefficients of the reference and `place` the positions
    of the columns of the fit, by default as `library` names them; `noise` is S Sᵀ of
    the residual and its standard error, shape (dof, dof).

    Warnings tell if the selection did not converge, or the data look deterministic.
    """
    fit = end.fit
    names = [str(term) for term in library["candidate"].values]
    if fixed is None:
        fixed = library["library_given"].values
    if place is None:
        place = [names.index(str(term)) for term in library["term"].values]
    coefficients, std = np.zeros(len(names)), np.zeros(len(names))
    coefficients[place] = fit.coefficients
    coefficients[fixed != 0] = fixed[fixed != 0]
    std[place] = np.sqrt(np.diag(fit.covariance))
    if end.deterministic:
        std[std > 0] = np.nan
    columns = {
        "terms": [name.removeprefix("D: ") for name in names],
        "coefficients": coefficients,
        "std": std,
        "status": list(library["library_status"].values),
        "equivalent": list(library["library_equivalent"].values),
    }
    covariance, covariance_std = noise or (np.zeros((0, 0)),) * 2
    ties = (" + ".join(names[place[i]] for i in tie) for tie in fit.ties)
    return LagrangianEstimate.of_columns(
        library.attrs.get("lagrangian_candidates", len(names)),
        columns,
        noise_covariance=covariance,
        noise_std=covariance_std,
        diagnostics=_tests(end) | dict(diagnostics or {}),
        criterion=fit.criterion,
        alternatives="; ".join(ties),
    )


def _tests(end: Converged) -> dict[str, tuple]:
    """J and whether the selection converged, as diagnostics; warnings if it did not."""
    j, degrees = end.fit.j, end.fit.rank - len(end.fit.support)
    if end.deterministic:
        log.warning(
            "no noise is left in the residual: the data look deterministic, and there "
            "is nothing to base standard errors and J on"
        )
        j = np.nan
    elif not end.converged:
        log.warning(
            "the selected terms changed in each of %d passes: the data cannot decide "
            "between candidates; list fewer of them",
            MOST_ITERATIONS,
        )
    repeats = "whether the selection repeats itself under its own noise"
    return {
        "j_statistic": (j, "1", "Hansen J statistic"),
        "converged": (int(end.converged), "1", repeats),
        "j_degrees": (degrees, "1", "degrees of freedom of J"),
        "j_p_value": (float(chdtrc(degrees, j)), "1", "p-value of J"),
    }


def root_inverse(gram: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
    """Matrix W with W gram Wᵀ = 1 on the well-determined directions.

    On one energy shell the monomials are nearly collinear; directions below the
    rounding error of the Gram matrix are dropped. `scale` is the size of each row.
    """
    if scale is None:
        scale = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    good = values > EIGENVALUE_ROUNDOFF * values[-1]
    return (vectors[:, good] / np.sqrt(values[good])).T / scale
