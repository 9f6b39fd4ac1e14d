"""A Lagrangian from positions alone, by shooting over segments with free states.

Multiple shooting (Bock 1983) without continuity constraints: every segment of motion
starts from a state of its own, and neighbours are merged as long as the longer motion
stays within the noise. White noise on the positions is the only assumption; its level
is a result.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate, lagrangian_estimate
from leastaction.core.euler_lagrange import velocity_names
from leastaction.core.expressions import parse
from leastaction.core.library import Library
from leastaction.trajectories.gram import evenly
from leastaction.trajectories.library_equations import library_equations
from leastaction.trajectories.multiple_shooting import (
    MOST_STEPS_PER_SAMPLE,
    Fit,
    Positions,
    enough_steps,
    fit_jointly,
    noise_level,
    split,
    start_states,
)
from leastaction.trajectories.null_vector import free_columns
from leastaction.trajectories.null_vector import search as null_vector_path
from leastaction.trajectories.trajectory_search import (
    Level,
    Quadratic,
    best_start,
    criterion,
    divided,
    lengthen,
    quadratic,
    references,
    refit,
    search,
)
from leastaction.trajectories.variational_equations import variational_equations

# Sizes beyond the largest start that the search looks at: supports come from both
# neighbouring sizes.
SIZES_BEYOND_LARGEST = 2
# Trajectories that the first search looks at: enough for the structure, and cheap.
TRAJECTORIES_OF_FIRST_SEARCH = 25
# Searches on segments that have grown; one usually changes nothing any more.
MOST_SEARCHES = 4
# Shift of c, in standard errors, below which steps of the integrator are fine enough.
NEGLIGIBLE_STANDARD_ERRORS = 0.1
log = logging.getLogger(__name__)
# A wrong structure cannot be lengthened to half a trajectory; noise that exceeds what
# differences of the positions show by this factor is a misfit.
LEAST_TRUSTED_LENGTH = 0.5
MOST_TRUSTED_NOISE = 1.03


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> LagrangianEstimate:
    """Identify L and D of one case from its positions.

    .. math::

        χ² = \\sum_{s, k, a} (q_a(t_k) − q_a(t_k; x_s, c))² / σ_a²

    is minimised over the states x_s of all segments s and the coefficients c.

    1. Start: supports of the smoothed motion
       (:mod:`leastaction.trajectories.null_vector`), refitted to short
       segments of some trajectories; the best by χ² + 30 per term.
    2. Structure: :func:`leastaction.trajectories.trajectory_search.search`, on these
       and then on all trajectories.
    3. :func:`leastaction.trajectories.trajectory_search.lengthen`, σ estimated anew.
    4. Structure again on the long segments, where tests are sharper; if it changes, 3.

    Standard errors are those of the Schur complement on c. `diagnostics` tell whether
    to believe the law: `trusted`, and what it is made of.

    Raises
    ------
    ValueError
        If there is an external input, or `support` names a term that is no free
        candidate, or no kinetic one.
    """
    check(equations, "gram")
    if "input" in observations:
        raise ValueError(
            "shooting: motions with an external input are given, motions without are "
            "expected; identify them with null_vector"
        )
    terms = Library.from_config(library, [str(n) for n in equations["dof"].values])
    columns = free_columns(equations)
    inertia = np.diag(equations["inertia_gram"].values[0])[columns]
    positions = _positions(observations, terms, columns)
    starts = _starts(equations, settings, terms, columns, inertia)
    if settings["support"]:
        levels = _fit_support(positions, settings, starts, inertia)
        model = quadratic(levels[-1].positions, levels[-1].fit)
    else:
        levels, model = _search(positions, settings, starts, inertia)
    return estimate(levels, model, positions, equations, terms, columns, inertia)


def _positions(observations, terms: Library, columns) -> Positions:
    q = observations["q"].values[0]
    still = np.ptp(q, axis=(0, 1)) == 0
    if still.any():
        log.warning(
            "shooting: %s never moves; nothing can be learnt about it",
            ", ".join(np.array(terms.coordinates)[still]),
        )
    time = observations["time"].values
    of_l = columns[columns < len(terms.terms)]
    of_d = columns[columns >= len(terms.terms)] - len(terms.terms)
    return Positions(
        variational_equations(
            [terms.terms[i] for i in of_l],
            terms.coordinates,
            [terms.dissipation[i] for i in of_d],
        ),
        np.ascontiguousarray(q.reshape(-1, q.shape[2])),
        q.shape[1],
        float(time[1] - time[0]),
        noise_level(q),
    )


def _starts(equations, settings, terms, columns, inertia) -> list[np.ndarray]:
    """Lagrangians that the smoothed motion suggests, in columns."""
    given, largest = settings["support"], settings["largest"]
    supports = []
    if given:
        supports = [_places(given, terms, columns)]
        if not (inertia[supports[0]] > 0).any():
            raise ValueError(
                f"support: {', '.join(given)} is given, which has no kinetic term; "
                "a Lagrangian has one, so add terms with products of two velocities"
            )
    sought = 0 if given else largest + SIZES_BEYOND_LARGEST
    path, ratio, _ = null_vector_path(
        equations, library_equations(terms), columns, {**settings, "largest": sought}
    )
    sizes = range(min(2, largest), largest + 1)
    supports = supports or [path.supports[k] for k in sizes if k in path.supports]
    starts = np.zeros((len(supports), len(columns)))
    for c, support in zip(starts, map(list, supports), strict=True):
        c[support] = ratio.minimise(support)[1] / ratio.length[support]
    return list(starts)


def _places(given: Sequence[str], terms: Library, columns) -> list[int]:
    names = (*terms.coordinates, *velocity_names(terms.coordinates))
    free = [(*terms.terms, *terms.dissipation)[i] for i in columns]
    places = []
    for text in given:
        term = parse(text.removeprefix("D:"), names)
        begin = np.searchsorted(columns, len(terms.terms)) if "D:" in text else 0
        if term not in free[begin:]:
            raise ValueError(
                f"support: {text!r} is not a free candidate; these are "
                f"{', '.join(map(str, free))}"
            )
        places.append(begin + free[begin:].index(term))
    return sorted(places)


def _fit_support(positions, settings, starts, inertia) -> list[Level]:
    segments = split(positions, settings["segment"])
    begun = start_states(positions, segments, starts[0])
    positions = enough_steps(positions, begun, starts[0])
    fit = refit(positions, begun, starts[0], inertia)
    return _lengthened(positions, fit)


def _search(positions, settings, starts, inertia) -> tuple[list[Level], Quadratic]:
    trajectories = len(positions.q) // positions.samples
    few = positions.some(evenly(trajectories, TRAJECTORIES_OF_FIRST_SEARCH))
    segments = split(few, settings["segment"])
    few = enough_steps(few, start_states(few, segments, starts[-1]), starts[-1])
    positions = replace(positions, steps=few.steps)
    fit, _ = search(few, best_start(few, segments, starts, inertia), inertia)
    segments = split(positions, settings["segment"])
    begun = start_states(positions, segments, fit.c)
    fit, _ = search(positions, refit(positions, begun, fit.c, inertia), inertia)
    for _ in range(MOST_SEARCHES):
        levels = _lengthened(positions, fit)
        long = levels[-1]
        fit, model = search(long.positions, long.fit, inertia)
        if np.array_equal(np.flatnonzero(fit.c), np.flatnonzero(long.fit.c)):
            break
        positions = long.positions
    else:
        levels = _lengthened(positions, fit)
        model = quadratic(levels[-1].positions, levels[-1].fit)
    return levels, model


def _lengthened(positions: Positions, fit: Fit) -> list[Level]:
    """Levels of merging; segments stuck in a minimum are divided and merged again."""
    levels = lengthen(positions, fit)
    positions, fit = levels[-1].positions, levels[-1].fit
    halves = divided(positions, fit)
    if halves is not None:
        fit = fit_jointly(positions, halves, fit.c, fit.active)
        levels += lengthen(positions, fit)
    return [*levels[:-1], _accurate(levels[-1])]


def _accurate(level: Level) -> Level:
    """The level with steps so fine that halving them moves no c by a tenth of its σ."""
    positions, fit = level.positions, level.fit
    while positions.steps < MOST_STEPS_PER_SAMPLE:
        positions = replace(positions, steps=2 * positions.steps)
        again = fit_jointly(positions, fit.segments, fit.c, fit.active)
        moved = (again.c - fit.c)[fit.active]
        fit, shift = again, np.sqrt(max(moved @ again.schur @ moved, 0.0))
        if shift < NEGLIGIBLE_STANDARD_ERRORS:
            break
    return Level(positions, fit)


def estimate(
    levels: list[Level],
    model: Quadratic,
    given: Positions,
    equations: xr.Dataset,
    terms: Library,
    columns: np.ndarray,
    inertia: np.ndarray,
) -> LagrangianEstimate:
    """Estimate from the last level whose joint fit converged."""
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
    trusted = (
        converged
        and level.reached > LEAST_TRUSTED_LENGTH
        and excess < MOST_TRUSTED_NOISE
    )
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
