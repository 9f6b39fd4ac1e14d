"""What a fit by shooting says, and whether it is to be believed."""

import logging

import numpy as np
import xarray as xr

from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.gram_estimate import lagrangian_estimate
from leastaction.core.library import Library
from leastaction.trajectories.merging import Level
from leastaction.trajectories.multiple_shooting import Fit
from leastaction.trajectories.segments import Positions
from leastaction.trajectories.trajectory_search import (
    Quadratic,
    criterion,
    references,
)

# A wrong structure cannot be lengthened; noise that exceeds what differences of the
# positions show by this factor is a misfit.
TRUSTED_LENGTH = 0.5
TRUSTED_NOISE = 1.03

log = logging.getLogger(__name__)


def estimate(
    levels: list[Level],
    model: Quadratic,
    given: Positions,
    equations: xr.Dataset,
    terms: Library,
    columns: np.ndarray,
    inertia: np.ndarray,
) -> LagrangianEstimate:
    """Estimate from the last level whose joint fit converged.

    Parameters
    ----------
    levels
        Fits at growing lengths of segments.
    model
        Quadratic model at the last one.
    given
        Positions with the noise that their differences show.
    equations
        Contract ``gram``.
    terms
        Library.
    columns
        Candidates behind the coefficients of the fits.
    inertia
        Mean square of their inertial force.
    """
    converged = [level for level in levels if level.fit.converged]
    level = (converged or levels)[-1]
    fit, positions = level.fit, level.positions
    order = references(fit.c, inertia)
    place = int(np.flatnonzero(columns == terms.reference)[0])
    scaled, position = terms.reference_coefficient, place
    if fit.c[place] == 0:
        scaled, position = 0.5, int(order[0])
    c, covariance = _scaled(fit, position)
    c, std = scaled * c, abs(scaled) * np.sqrt(np.diag(covariance))
    score, wald = _tests(model, fit, order)
    diagnostics = _diagnostics(level, levels, given, bool(converged), score, wald)
    whole = np.zeros(len(terms.terms) + len(terms.dissipation))
    error = np.full(len(whole), np.nan)
    whole[columns] = c
    error[columns[fit.c != 0]] = std[fit.c != 0]
    meaning = "standard deviation of the noise of the positions"
    arrays = {"noise_std": (("dof",), positions.sigma, "as q", meaning)}
    return lagrangian_estimate(equations, whole, diagnostics, arrays, error)


def _scaled(fit: Fit, position: int) -> tuple[np.ndarray, np.ndarray]:
    """C / c[position] and its covariance, by the delta method."""
    covariance = np.zeros((len(fit.c), len(fit.c)))
    covariance[np.ix_(fit.active, fit.active)] = _covariance(fit)
    jacobian = np.eye(len(fit.c))
    jacobian[:, position] -= fit.c / fit.c[position]
    jacobian /= fit.c[position]
    return fit.c / fit.c[position], jacobian @ covariance @ jacobian.T


def _covariance(fit: Fit) -> np.ndarray:
    """Covariance of the active coefficients; NaN if the motion says nothing of one."""
    information = np.diag(fit.schur)
    if not (information > 0).all():
        return np.full_like(fit.schur, np.nan)
    scale = np.sqrt(np.outer(information, information))
    return np.linalg.pinv(fit.schur / scale, rcond=1e-13) / scale


def _tests(model, fit, order) -> tuple[float, float]:
    """Largest score of an absent term, smallest Wald statistic of a present one."""
    present = np.flatnonzero(fit.c)
    absent = np.setdiff1d(np.arange(len(fit.c)), present)
    free = np.setdiff1d(present, order[:1])
    score = model.scores(free, absent).max() if len(absent) else 0.0
    wald = fit.c[fit.active] ** 2 / np.diag(_covariance(fit))
    smallest = np.nan_to_num(wald, nan=0.0).min() if len(wald) else np.inf
    return float(score), float(smallest)


def _diagnostics(level, levels, given, converged, score, wald) -> dict:
    fit = level.fit
    freedom = fit.segments.freedom(level.positions.dof).sum() - len(fit.active)
    excess = float((level.positions.sigma / given.sigma).max())
    at_given = float((fit.square @ given.sigma**-2.0).sum())
    chi2 = at_given / freedom if np.isfinite(at_given) else np.inf
    price = criterion(level.positions, fit)
    trusted = converged and level.reached > TRUSTED_LENGTH and excess < TRUSTED_NOISE
    if not trusted:
        log.warning(
            "shooting: not to be trusted: segments reached %.2g of a trajectory (right "
            "structures reach 1), the noise is %.3g times that of differences of the "
            "positions, joint fit %s",
            level.reached,
            excess,
            "converged" if converged else "not converged",
        )
    elif level is not levels[-1]:
        log.warning("shooting: the longest segments did not converge; shorter ones did")
    return {
        "trusted": (float(trusted), "1", "whether the fit passed its own tests"),
        "converged": (float(converged), "1", "whether a joint fit converged"),
        "chi2_per_dof": (chi2, "1", "chi2 with the noise of differences, per dof"),
        "noise_excess": (excess, "1", "noise over that of differences of positions"),
        "segments": (float(len(fit.segments)), "1", "segments with a free state"),
        "reached": (level.reached, "1", "mean length of a segment over a trajectory"),
        "refused_merges": (float(level.missing), "1", "merges that the noise forbade"),
        "steps": (float(level.positions.steps), "1", "integrator steps per sample"),
        "largest_score": (score, "1", "largest chi2 gain of an absent term"),
        "smallest_wald": (wald, "1", "smallest (c / standard error)^2 of a term"),
        "criterion_value": (price, "1", "chi2 + 30 per term"),
    }
