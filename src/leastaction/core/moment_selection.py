"""What the methods of moments share: selection, whitening, and their result.

Whitened moments turn the Hansen statistic into a sum of squares over rows. Subsets
compete by J plus the penalty of the extended BIC, J in units of each subset's own
residual variance where that is smaller than the weighting one
(:mod:`leastaction.ensembles.moment_gmm`).
"""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from leastaction.core.best_subset import best_subset, extended_penalty
from leastaction.core.estimate import LagrangianEstimate

MOST_ITERATIONS = 6
RANK_TOLERANCE = 1e-13
# A residual this much below the realised covariation is rounding error.
FAINTEST = 1e-10
VANISHING = 1e-30
# Kass and Raftery (1995): less is "not worth more than a bare mention".
INDISTINGUISHABLE = 2.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fit:
    """Selected terms with coefficients, their covariance, J, its rank, and ties."""

    coefficients: np.ndarray
    covariance: np.ndarray
    support: tuple[int, ...]
    criterion: np.ndarray
    j: float
    rank: int
    ties: tuple[tuple[int, ...], ...]


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
    share = np.maximum(share, FAINTEST)
    others = [i for i in range(terms) if i != reference]
    a, b = columns[..., others], -scale * columns[..., reference]

    def variance(subsets, values):
        c = np.zeros((len(subsets), terms))
        c[:, reference] = scale
        rows = np.arange(len(subsets))[:, None]
        c[rows, np.asarray(others)[subsets]] = values
        own = np.einsum("abij,ni,nj->nab", increments, c, c, optimize=True)
        own = np.einsum("da,nab,db->nd", directions, own, directions)
        return np.clip(own / share, VANISHING, 1.0)

    path = best_subset(a, b, max_terms, INDISTINGUISHABLE, variance)
    sizes = np.arange(len(path.supports))
    criterion = path.objectives + extended_penalty(sizes, len(others), samples)
    size = int(np.argmin(criterion))
    chosen = list(path.supports[size])
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
    return Fit(
        coefficients,
        covariance,
        tuple(support),
        criterion,
        float(residual @ residual),
        rank,
        tuple(tuple(others[i] for i in tie) for tie in path.ties[size]),
    )


def lagrangian_estimate(
    library, fit: Fit, noise, noise_std, *, converged: bool, deterministic: bool
) -> LagrangianEstimate:
    """Estimate over all candidates of `library` from the fit over independent ones.

    Parameters
    ----------
    library
        One replicate of moments, with the names and the status of the candidates.
    fit
        Result of :func:`select`.
    noise, noise_std
        S Sᵀ of the residual and its standard error, shape (dof, dof).
    converged
        Whether the selection repeated itself under its own noise.
    deterministic
        Whether the residual is rounding error only.
    """
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
    given = library["library_given"].values
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
        noise_std=noise_std,
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


def root_inverse(gram: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
    """Matrix W with W gram Wᵀ = 1 on the well-determined directions.

    On one energy shell the monomials are nearly collinear; directions below the
    rounding error of the Gram matrix are dropped. `scale` is the size of each row, by
    default the root of its diagonal entry.
    """
    if scale is None:
        scale = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    good = values > RANK_TOLERANCE * values[-1]
    return (vectors[:, good] / np.sqrt(values[good])).T / scale
