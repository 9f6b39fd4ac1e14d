"""Search for the structure of a Lagrangian among fits to whole segments of motion.

With the states eliminated, χ² is nearly quadratic in the coefficients of the whole
library, present and absent ones alike. On that quadratic model all subsets are compared
in no time; the best ones are fitted, and the best fit by χ² + 30 per term is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from leastaction.trajectories.multiple_shooting import (
    Fit,
    Positions,
    Segments,
    allowed_rise,
    capped,
    enough_steps,
    fit_jointly,
    fit_states,
    joined,
    least_noise,
    misfit_scale,
    normal_equations,
    solve_voting,
    start_states,
    voters,
)

# χ² per degree of freedom up to which a merged segment is tried at all: coefficients
# from shorter segments are not good enough yet for one.
TRIED_MISFIT = 4.0
# What a term must gain in χ². The largest of 60 absent terms reaches 10 by chance.
PRICE_OF_TERM = 30.0
# Absent terms with a smaller score are not looked at.
LEAST_SCORE = 8.0
# Supports fitted in a round, the most promising ones.
FITS_PER_ROUND = 5


@dataclass(frozen=True)
class Level:
    """A fit at one length of segments."""

    positions: Positions  # with the noise and the steps that it used
    fit: Fit

    @property
    def missing(self) -> int:
        """Merges that are missing to whole trajectories."""
        trajectories = len(self.positions.q) // self.positions.samples
        return len(self.fit.segments) - trajectories

    @property
    def reached(self) -> float:
        """Mean length of a segment over the length of a trajectory."""
        return float(self.fit.segments.length.mean() / self.positions.samples)


def with_noise(positions: Positions, fit: Fit) -> Positions:
    """Positions weighted by the noise that the fit leaves, unless all are lost."""
    dof = positions.dof
    vote = voters(fit.chi2, fit.segments, dof) & ~fit.barred
    if not vote.any():
        return positions
    free = fit.segments.length[vote].sum() - 2 * vote.sum() - len(fit.active) / dof
    square = fit.square[vote].sum(axis=0) / max(free, 1)
    sigma = np.maximum(np.sqrt(square), least_noise(positions.q))
    return replace(positions, sigma=sigma)


def rescued(
    positions: Positions,
    segments: Segments,
    c: np.ndarray,
    chi2: np.ndarray,
    begun=None,
) -> tuple[Segments, np.ndarray]:
    """Segments beyond 4 χ² per degree of freedom start anew; the better fit stays.

    They start as ``begun(stuck)`` says, else by local polynomials.
    """
    stuck = np.flatnonzero(~(chi2 < TRIED_MISFIT * segments.freedom(positions.dof)))
    if not len(stuck):
        return segments, chi2
    new = begun(stuck) if begun else start_states(positions, segments[stuck], c)
    again, lower = fit_states(positions, new, c)
    better = lower < chi2[stuck]
    state, chi2 = segments.state.copy(), chi2.copy()
    state[stuck[better]], chi2[stuck[better]] = again.state[better], lower[better]
    return segments.at(state), chi2


def lengthen(positions: Positions, fit: Fit) -> list[Level]:
    """Merge neighbouring segments until no more merge stays within the noise.

    A merge is tried with the coefficients given (its χ² may be up to 4 per degree of
    freedom, since they are not good enough yet), all are fitted jointly, and those
    merges are undone whose χ² rose by more than 2 dof + 6 √(4 dof) over the two
    separate fits. So each trajectory finds its own length, and a wrong structure finds
    none.
    """
    positions = with_noise(positions, fit)
    fit = fit_jointly(positions, fit.segments, fit.c, fit.active)
    levels = [Level(positions, fit)]
    shift, idle = 0, 0
    while idle < 2 and len(fit.segments) > len(positions.q) // positions.samples:
        parts, merged = _neighbours(fit.segments, positions.samples, shift)
        if not len(parts):
            idle, shift = idle + 1, 1 - shift
            continue
        positions = enough_steps(positions, merged, fit.c)
        backward = partial(_backward, positions, fit, parts, merged)
        trial, chi2 = fit_states(positions, merged, fit.c)
        trial, chi2 = rescued(positions, trial, fit.c, chi2, backward)
        good = chi2 < TRIED_MISFIT * trial.freedom(positions.dof)
        if good.any():
            fit, undone = _merged(positions, fit, parts[good], trial[good])
        grown = good.any() and undone < good.sum()
        idle, shift = (0, 0) if grown else (idle + 1, 1 - shift)
        if grown:
            positions = with_noise(positions, fit)
            levels.append(Level(positions, fit))
    return levels


def _backward(positions, fit, parts, merged, stuck) -> Segments:
    """Start merged segments that do not fit from the second part, back in time."""
    rows = fit.segments.length[parts[stuck, 0]]
    second = fit.segments[parts[stuck, 1]]
    return merged[stuck].at(_states_at(positions, second, fit.c, rows, -1.0))


def _merged(positions, fit, parts, merged) -> tuple[Fit, int]:
    """Fit with `merged` in place of their `parts`; merges that cost too much undone."""
    single = np.setdiff1d(np.arange(len(fit.segments)), parts.ravel())
    whole = joined([fit.segments[single], merged])
    new = fit_jointly(positions, whole, fit.c, fit.active)
    place = np.searchsorted(new.segments.first, merged.first)
    allowed = allowed_rise(positions.dof)
    bad = new.chi2[place] - fit.chi2[parts].sum(axis=1) > allowed
    bad |= new.barred[place]
    if bad.any():  # the coefficients have moved: compare at the new ones
        apart, chi2 = fit_states(positions, fit.segments[parts[bad].ravel()], new.c)
        rise = new.chi2[place[bad]] - chi2.reshape(-1, 2).sum(axis=1)
        still = rise > allowed
        still |= new.barred[place[bad]]
        bad[np.flatnonzero(bad)[~still]] = False
        apart = apart[np.repeat(still, 2)]
    if bad.any():
        kept = np.setdiff1d(np.arange(len(new.segments)), place[bad])
        whole = joined([new.segments[kept], apart])
        new = fit_jointly(positions, whole, new.c, fit.active)
    return new, int(bad.sum())


def _neighbours(segments: Segments, samples: int, shift: int):
    """Pairs of neighbours in a trajectory, and the segments that they would make."""
    trajectory = segments.first // samples
    begin = np.searchsorted(trajectory, trajectory)
    order = np.arange(len(segments)) - begin
    left = np.flatnonzero(order % 2 == shift)
    left = left[left + 1 < len(segments)]
    left = left[trajectory[left + 1] == trajectory[left]]
    parts = np.stack([left, left + 1], axis=1)
    merged = Segments(
        segments.first[left],
        segments.length[left] + segments.length[left + 1],
        segments.state[left],
    )
    return parts, merged


def divided(positions: Positions, fit: Fit) -> Segments | None:
    """Segments, those divided that fit too much worse than their halves at the same c.

    A state can be stuck in a local minimum that the sum over all samples hides.
    """
    segments, dof = fit.segments, positions.dof
    half = segments.length // 2
    long = np.flatnonzero(half >= 4 * dof)
    if not len(long):
        return None
    chosen, half = segments[long], half[long]
    middle = _states_at(positions, chosen, fit.c, half)
    first, one = fit_states(
        positions, Segments(chosen.first, half, chosen.state), fit.c
    )
    second = Segments(chosen.first + half, chosen.length - half, middle)
    second, other = fit_states(positions, second, fit.c)
    stuck = fit.chi2[long] > one + other + allowed_rise(dof)
    if not stuck.any():
        return None
    kept = np.setdiff1d(np.arange(len(segments)), long[stuck])
    return joined([segments[kept], first[stuck], second[stuck]])


def _states_at(positions, segments, c, row, direction=1.0) -> np.ndarray:
    """State of each motion `row` samples after (before) the start of the segment."""
    dt, samples = direction * positions.dt, int(row.max()) + 1
    with np.errstate(all="ignore"):
        path = positions.equations.rollout(
            segments.state, c, dt, samples, positions.steps
        )
    return np.nan_to_num(path[np.arange(len(segments)), row])


@dataclass(frozen=True)
class Quadratic:
    """Model χ²(c + δ) = χ²(c) − 2 gᵀδ + δᵀhδ of all coefficients, states eliminated."""

    h: np.ndarray
    g: np.ndarray
    c: np.ndarray

    def scores(self, free: Sequence[int], absent: Sequence[int]) -> np.ndarray:
        """Decrease of χ² that each absent term promises, the `free` ones refitted."""
        free, absent = np.asarray(free, dtype=int), np.asarray(absent, dtype=int)
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
        self, reference: int, pool: Sequence[int], largest: int, best: int
    ) -> list[tuple[float, tuple[int, ...], np.ndarray]]:
        """The `best` subsets of `pool`: change of χ² + 30 per term, columns, c.

        The coefficient of `reference`, which is not among the columns, is given.
        """
        pool = np.asarray([k for k in pool if k != reference], dtype=int)
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
    """Fit of the best of several Lagrangians."""
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
    positions: Positions,
    fit: Fit,
    inertia: np.ndarray,
    enumerated: int = 6,
    rounds: int = 12,
    charts: int = 2,
) -> tuple[Fit, Quadratic]:
    """Improve the structure until no subset near the present one is better.

    Each round: scores of the absent terms; all subsets of the present and the
    `enumerated` best absent terms, on the quadratic model, with each of the `charts`
    largest kinetic terms for reference; fits of the best five; the best is taken.
    """
    tried = {tuple(np.flatnonzero(fit.c))}
    for _ in range(rounds):
        model = quadratic(positions, fit)
        present = np.flatnonzero(fit.c)
        absent = np.setdiff1d(np.arange(len(fit.c)), present)
        order = references(fit.c, inertia)[:charts]
        score = model.scores(np.setdiff1d(present, order[:1]), absent)
        rank = np.argsort(-score, kind="stable")[:enumerated]
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
