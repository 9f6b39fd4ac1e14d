"""Search for the structure of a Lagrangian among fits to whole segments of motion.

With the states eliminated, χ² is nearly quadratic in the coefficients of the whole
library, present and absent ones alike. On that quadratic model all subsets are compared
in no time; the best ones are fitted, and the best fit by χ² + 30 per term is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from leastaction.trajectories.merging import rescued
from leastaction.trajectories.multiple_shooting import (
    Eliminated,
    Fit,
    fit_jointly,
    fit_states,
)
from leastaction.trajectories.segments import (
    Positions,
    Segments,
    misfit_scale,
    normal_equations,
    start_states,
    voters,
)

# What a term must gain in χ². The largest of 60 absent terms reaches 10 by chance.
PRICE = 30.0
# Absent terms with a smaller score are not looked at.
LEAST_SCORE = 8.0
TRIALS = 5


@dataclass(frozen=True)
class Quadratic:
    """Quadratic model of χ² in all coefficients, states eliminated.

    Attributes
    ----------
    h, g
        χ²(c + δ) = χ²(c) − 2 gᵀδ + δᵀhδ.
    c
        Where it was made.
    """

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
        solved = np.linalg.solve(
            own, np.column_stack([h[np.ix_(free, absent)], g[free]])
        )
        cross = h[np.ix_(free, absent)]
        left = 1.0 - np.einsum("fa,fa->a", cross, solved[:, :-1])
        slope = g[absent] - cross.T @ solved[:, -1]
        # Below this a column is a combination of the present ones.
        return np.where(left > 1e-9, slope**2 / np.maximum(left, 1e-9), 0.0)

    def best_subsets(
        self, reference: int, pool: Sequence[int], largest: int, best: int
    ) -> list[tuple[float, tuple[int, ...], np.ndarray]]:
        """Subsets of `pool`, the coefficient of `reference` given, by promised χ².

        Returns
        -------
        list of (change of χ² + 30 per term, columns without reference, c)
            The `best` lowest, all sizes together.
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
            change = here - np.einsum("si,si->s", d[sets], values) + PRICE * size
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
    system = Eliminated.from_normal(h, g, 2 * positions.dof, vote)
    return Quadratic(system.schur, system.right, fit.c)


def references(c: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Present terms by the inertial force they make, √K_kk |c_k|, largest first.

    The first one gives the scale while a support is fitted. It must be a term that
    matters: coefficients in units of a spurious one mean nothing.
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
    return fit.cost(positions.dof, scale) + PRICE * np.count_nonzero(fit.c)


def common_scale(positions: Positions, fits: Sequence[Fit]) -> float:
    """Median χ² per degree of freedom of the best fit: where to cap, to compare all.

    With little noise every segment of every wrong structure is beyond 25 per value.
    """
    return min(misfit_scale(f.chi2, f.segments, positions.dof) for f in fits)


def best_start(
    positions: Positions,
    segments: Segments,
    starts: Sequence[np.ndarray],
    inertia: np.ndarray,
) -> Fit:
    """Fit of the best of several Lagrangians."""
    fits = []
    for c in starts:
        if not len(references(c, inertia)):
            continue
        begun = start_states(positions, segments, c)
        fits.append(refit(positions, begun, c, inertia, most=8))
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

    Returns
    -------
    fit, model
        The quadratic model at the fit.
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
        base = PRICE * (len(present) - 1)
        proposals = [
            (change - base, tuple(sorted((reference, *subset))), c)
            for reference in order
            for change, subset, c in model.best_subsets(
                reference, pool, len(present) + 1, 3 * TRIALS
            )
        ]
        improved = None
        trials = 0
        for promised, support, c in sorted(proposals, key=lambda item: item[0]):
            if support in tried or promised > -1.0 or trials == TRIALS:
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
