"""A Lagrangian from positions alone, by shooting over segments with free states.

Multiple shooting (Bock 1983) without continuity constraints: every segment of motion
starts from a state of its own, and neighbours are merged as long as the longer motion
stays within the noise. White noise on the positions is the only assumption; its level
is a result.

With the states eliminated, χ² is nearly quadratic in the coefficients of the whole
library, present and absent ones alike. On that quadratic model all subsets are compared
in no time; the best ones are fitted, and the best fit by χ² + 30 per term is kept.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate, lagrangian_estimate
from leastaction.core.euler_lagrange import velocity_names
from leastaction.core.expressions import parse
from leastaction.core.library import Library
from leastaction.trajectories.gram import evenly
from leastaction.trajectories.library_equations import library_equations
from leastaction.trajectories.merging import (
    Level,
    divided,
    lengthen,
    rescued,
)
from leastaction.trajectories.multiple_shooting import (
    MOST_STEPS_PER_SAMPLE,
    Fit,
    Positions,
    Segments,
    capped,
    enough_steps,
    fit_jointly,
    fit_states,
    misfit_scale,
    noise_level,
    normal_equations,
    solve_voting,
    split,
    start_states,
    voters,
)
from leastaction.trajectories.null_vector import free_columns
from leastaction.trajectories.null_vector import search as null_vector_path
from leastaction.trajectories.variational_equations import variational_equations

# What a term must gain in χ². The largest of 60 absent terms reaches 10 by chance.
PRICE_OF_TERM = 30.0
# Absent terms with a smaller score are not looked at.
LEAST_SCORE = 8.0
# Of a search; supports fitted in a round, the most promising ones.
MOST_ROUNDS, FITS_PER_ROUND = 12, 5
# Best absent terms and largest kinetic ones whose subsets are compared.
ABSENT_TERMS_TRIED, REFERENCES_TRIED = 6, 2
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


@dataclass(frozen=True)
class Quadratic:
    """Model χ²(c + δ) = χ²(c) − 2 gᵀδ + δᵀhδ of all coefficients, states eliminated."""

    h: np.ndarray
    g: np.ndarray
    c: np.ndarray

    def scores(self, free: np.ndarray, absent: np.ndarray) -> np.ndarray:
        """Decrease of χ² that each absent term promises, the `free` ones refitted."""
        scale = np.sqrt(np.maximum(np.diag(self.h), 1e-300))
        h = self.h / np.outer(scale, scale)
        g = self.g / scale
        own = h[np.ix_(free, free)] + 1e-12 * np.eye(len(free))
        cross = h[np.ix_(free, absent)]
        solved = np.linalg.solve(own, np.column_stack([cross, g[free]]))
        left = 1.0 - np.einsum("fa,fa->a", cross, solved[:, :-1])
        slope = g[absent] - cross.T @ solved[:, -1]
        # Below this a column is a combination of the present ones.
        return np.where(left > 1e-9, slope**2 / np.maximum(left, 1e-9), 0.0)

    def best_subsets(
        self, reference: int, pool: np.ndarray, largest: int, best: int
    ) -> list[tuple[float, tuple[int, ...], np.ndarray]]:
        """The `best` subsets of `pool`: change of χ² + 30 per term, columns, c.

        The coefficient of `reference`, which is not among the columns, is given.
        """
        pool = np.setdiff1d(pool, reference, assume_unique=True)
        scale = np.sqrt(np.maximum(np.diag(self.h)[pool], 1e-300))
        h = self.h[np.ix_(pool, pool)] / np.outer(scale, scale)
        c = self.c[pool] * scale
        d = h @ c + self.g[pool] / scale
        here = c @ h @ c + 2 * (self.g[pool] / scale) @ c
        found = []
        for size in range(1, min(largest, len(pool)) + 1):
            sets = np.array(list(combinations(range(len(pool)), size)))
            own = h[sets[:, :, None], sets[:, None, :]] + 1e-10 * np.eye(size)
            values = np.linalg.solve(own, d[sets][..., None])[..., 0]
            change = here - np.einsum("si,si->s", d[sets], values)
            change += PRICE_OF_TERM * size
            for i in np.argsort(change)[:best]:
                whole = np.zeros_like(self.c)
                whole[reference] = self.c[reference]
                whole[pool[sets[i]]] = values[i] / scale[sets[i]]
                found.append((float(change[i]), tuple(pool[sets[i]]), whole))
        return sorted(found, key=lambda item: item[0])[:best]


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

    1. Start: supports of the smoothed motion (:mod:`.null_vector`), refitted to short
       segments of some trajectories; the best by χ² + 30 per term.
    2. Structure: :func:`search`, on these and then on all trajectories.
    3. :func:`lengthen`, σ estimated anew.
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
    given = positions
    if settings["support"]:
        begun = start_states(
            positions, split(positions, settings["segment"]), starts[0]
        )
        positions = enough_steps(positions, begun, starts[0])
        levels = _lengthened(positions, refit(positions, begun, starts[0], inertia))
        model = quadratic(levels[-1].positions, levels[-1].fit)
    else:
        levels, model = _search(positions, settings, starts, inertia)
    return _estimate(levels, model, given, equations, terms, columns, inertia)


def _positions(observations, terms: Library, columns) -> Positions:
    q = observations["q"].values[0]
    still = np.ptp(q, axis=(0, 1)) == 0
    if still.any():
        log.warning(
            "shooting: %s never moves; nothing can be learnt about it",
            ", ".join(np.array(terms.coordinates)[still]),
        )
    time, count = observations["time"].values, len(terms.terms)
    of_l = [terms.terms[i] for i in columns if i < count]
    of_d = [terms.dissipation[i - count] for i in columns if i >= count]
    return Positions(
        variational_equations(of_l, terms.coordinates, of_d),
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


def _search(positions, settings, starts, inertia) -> tuple[list[Level], Quadratic]:
    first = evenly(positions.trajectories, TRAJECTORIES_OF_FIRST_SEARCH)
    few = positions.some(first)
    segments = split(few, settings["segment"])
    few = enough_steps(few, start_states(few, segments, starts[-1]), starts[-1])
    positions = replace(positions, steps=few.steps)
    fit, _ = search(few, best_start(few, segments, starts, inertia), inertia)
    begun = start_states(positions, split(positions, settings["segment"]), fit.c)
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
        levels += lengthen(positions, fit_jointly(positions, halves, fit.c, fit.active))
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


def _estimate(levels, model, given, equations, terms, columns, inertia):
    """Estimate from the last level whose joint fit converged.

    Standard errors in the scale of the reference follow by the delta method.
    """
    converged = [level for level in levels if level.fit.converged]
    level = (converged or levels)[-1]
    fit = level.fit
    order = references(fit.c, inertia)
    place = int(np.flatnonzero(columns == terms.reference)[0])
    scaled = terms.reference_coefficient
    if fit.c[place] == 0:
        scaled, place = 0.5, int(order[0])
    covariance = np.zeros((len(fit.c), len(fit.c)))
    covariance[np.ix_(fit.active, fit.active)] = _covariance(fit)
    jacobian = np.eye(len(fit.c))
    jacobian[:, place] -= fit.c / fit.c[place]
    jacobian /= fit.c[place]
    std = abs(scaled) * np.sqrt(np.diag(jacobian @ covariance @ jacobian.T))
    diagnostics = _diagnostics(
        level, levels, given, bool(converged), *_tests(model, fit, order)
    )
    present = fit.c != 0
    whole = np.zeros(len(terms.terms) + len(terms.dissipation))
    error = np.full(len(whole), np.nan)
    whole[columns] = scaled * (fit.c / fit.c[place])
    error[columns[present]] = std[present]
    meaning = "standard deviation of the noise of the positions"
    arrays = {"noise_std": (("dof",), level.positions.sigma, "as q", meaning)}
    return lagrangian_estimate(equations, whole, diagnostics, arrays, error)


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
    fit, positions = level.fit, level.positions
    freedom = fit.segments.freedom(positions.dof).sum() - len(fit.active)
    excess = float((positions.sigma / given.sigma).max())
    at_given = float((fit.square @ given.sigma**-2.0).sum())
    chi2 = at_given / freedom if np.isfinite(at_given) else np.inf
    refused = len(fit.segments) - positions.trajectories
    long = level.reached > LEAST_TRUSTED_LENGTH
    trusted = converged and long and excess < MOST_TRUSTED_NOISE
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
        "refused_merges": (float(refused), "1", "merges that the noise forbade"),
        "steps": (float(positions.steps), "1", "integrator steps per sample"),
        "largest_score": (score, "1", "largest chi2 gain of an absent term"),
        "smallest_wald": (wald, "1", "smallest (c / standard error)^2 of a term"),
        "criterion_value": (criterion(positions, fit), "1", "chi2 + 30 per term"),
    }


def quadratic(positions: Positions, fit: Fit) -> Quadratic:
    """Quadratic model at a fit, all candidates active."""
    every = np.arange(len(fit.c))
    h, g, chi2, _ = normal_equations(positions, fit.segments, fit.c, every)
    vote = voters(chi2, fit.segments, positions.dof) & ~fit.barred
    system = solve_voting(h, g, 2 * positions.dof, vote)
    return Quadratic(system.schur, system.right, fit.c)


def references(c: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Present terms by the inertial force they make, √K_kk |c_k|, largest first.

    The first gives the scale of a fit: in units of a spurious one c means nothing.
    """
    force = np.sqrt(np.maximum(inertia, 0.0)) * np.abs(c)
    order = np.argsort(-force, kind="stable")
    return order[force[order] > 0]


def refit(
    positions: Positions,
    segments: Segments,
    c: np.ndarray,
    inertia: np.ndarray,
    most: int = 15,
) -> Fit:
    """Fit the present terms of `c`, lost segments started anew."""
    segments, chi2 = fit_states(positions, segments, c)
    segments, _ = rescued(positions, segments, c, chi2)
    order = references(c, inertia)
    active = np.setdiff1d(np.flatnonzero(c), order[:1])
    return fit_jointly(positions, segments, c, active, most)


def criterion(positions: Positions, fit: Fit, scale: float = 1.0) -> float:
    """χ² (capped by segment, at 25 · `scale` per value) + 30 per term."""
    cost = capped(fit.chi2, fit.segments, positions.dof, scale)
    return cost + PRICE_OF_TERM * np.count_nonzero(fit.c)


def common_scale(positions: Positions, fits: Sequence[Fit]) -> float:
    """Median χ² per degree of freedom of the best fit: where to cap, to compare all."""
    return min(misfit_scale(f.chi2, f.segments, positions.dof) for f in fits)


def best_start(
    positions: Positions,
    segments: Segments,
    starts: Sequence[np.ndarray],
    inertia: np.ndarray,
) -> Fit:
    """Best fit from several Lagrangians; ValueError if none has a kinetic energy."""
    fits = [
        refit(positions, start_states(positions, segments, c), c, inertia, most=8)
        for c in starts
        if len(references(c, inertia))
    ]
    if not fits:
        raise ValueError("no start has a kinetic energy; list candidates with q̇²")
    scale = common_scale(positions, fits)
    return min(fits, key=lambda fit: criterion(positions, fit, scale))


def search(
    positions: Positions, fit: Fit, inertia: np.ndarray
) -> tuple[Fit, Quadratic]:
    """Improve the structure until no subset near the present one is better.

    Each round: scores of the absent terms; all subsets of the present and the best
    absent terms, on the quadratic model, with each of the two largest kinetic terms for
    reference; fits of the best five; the best is taken.
    """
    tried = {tuple(np.flatnonzero(fit.c))}
    for _ in range(MOST_ROUNDS):
        model = quadratic(positions, fit)
        present = np.flatnonzero(fit.c)
        absent = np.setdiff1d(np.arange(len(fit.c)), present)
        order = references(fit.c, inertia)[:REFERENCES_TRIED]
        score = model.scores(np.setdiff1d(present, order[:1]), absent)
        rank = np.argsort(-score, kind="stable")[:ABSENT_TERMS_TRIED]
        pool = np.concatenate([present, absent[rank[score[rank] > LEAST_SCORE]]])
        base = PRICE_OF_TERM * (len(present) - 1)
        proposals = [
            (change - base, tuple(sorted((reference, *subset))), c)
            for reference in order
            for change, subset, c in model.best_subsets(
                reference, pool, len(present) + 1, 3 * FITS_PER_ROUND
            )
        ]
        improved, trials = None, 0
        for promised, support, c in sorted(proposals, key=lambda item: item[0]):
            if support in tried or promised > -1.0 or trials == FITS_PER_ROUND:
                continue
            if not len(references(c, inertia)):
                continue
            tried.add(support)
            trials += 1
            new = refit(positions, fit.segments, c, inertia)
            best = improved or fit
            scale = common_scale(positions, (best, new))
            gain = criterion(positions, best, scale) - criterion(positions, new, scale)
            if gain > 0:
                improved = new
                if gain > -promised / 2:
                    break
        if improved is None:
            return fit, model
        fit = improved
    return fit, quadratic(positions, fit)
