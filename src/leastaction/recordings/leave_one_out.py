"""Error of supports on blocks left out, in the linearised shooting problem.

One sweep with the sensitivities of all candidates gives, block by block, the misfit as
a quadratic function of all coefficients, initial states eliminated. Every support then
costs one small system, leaving out one block at a time included.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from leastaction.likelihood.term_selection import parts
from leastaction.trajectories.multiple_shooting import (
    Fit,
    Positions,
    Segments,
    eliminated,
    enough_steps,
    fit_jointly,
    fit_states,
    normal_equations,
)
from leastaction.trajectories.shooting import references

# A further term must lower the error by this factor.
ERROR_RATIO_OF_TERM = 0.8
# What chance may give: a misfit this close to the noise needs no further term.
MISFIT_OF_CHANCE = 100.0
# A block left out must not change a coefficient by more than this fraction of it.
LARGEST_CHANGE_BY_BLOCK = 0.5
# Coefficient of the term that gives the scale.
SCALE_OF_PART = 0.5
# Price, in terms, of a loss with a negative coefficient: self-excited motion has one.
PRICE_OF_GAIN = 2.0
RIDGE_OF_UNIT_DIAGONAL = 1e-11
# Absent terms that are combined with each other, and losses that are exchanged at once.
TERMS_PAIRED = 10
MOST_LOSSES_EXCHANGED = 4
FITS_PER_ROUND = 5
MOST_SEARCH_ROUNDS = 10
LEAST_GAIN_OF_CRITERION = 1e-3
# Halving the steps may move a position by this fraction of what weights allow.
ACCURACY_OF_STEPS = 0.02
# Misfit of a window that no motion follows: beyond that of any other.
CHI2_OF_LOST = 1e12


@dataclass(frozen=True)
class LeaveOneOut:
    """χ²_s(c + δ) = e_s − 2 g_s·δ + δᵀ h_s δ of every block s."""

    h: np.ndarray  # (block, count, count)
    g: np.ndarray  # (block, count)
    e: np.ndarray  # (block,)
    c: np.ndarray  # coefficients at which it was made
    noise: float  # χ² that noise alone gives, all blocks
    positive: np.ndarray  # losses that feed energy in where they are negative
    price: np.ndarray  # of each term, in terms

    def coefficients(
        self, support: Sequence[int], fixed: Sequence[int], left_out: int | None = None
    ) -> np.ndarray:
        """Least-squares coefficients of a support, one block left out."""
        h, g = self.h.sum(0), self.g.sum(0)
        if left_out is not None:
            h, g = h - self.h[left_out], g - self.g[left_out]
        return self._solve(h, g, support, fixed)

    def of_blocks(self, chosen: Sequence[int]) -> "LeaveOneOut":
        """The same of some blocks alone."""
        return replace(self, h=self.h[chosen], g=self.g[chosen], e=self.e[chosen])

    def _solve(self, h, g, support, fixed) -> np.ndarray:
        """Coefficients of one or of many (leading axis) normal equations."""
        free = np.array([k for k in support if k not in fixed], dtype=int)
        given = list(fixed)
        found = np.zeros_like(g)
        found[..., given] = self.c[given]
        if not len(free):
            return found
        start = found - self.c
        right = (g - np.einsum("...ij,...j->...i", h, start))[..., free]
        own = h[..., free[:, None], free]
        scale = np.sqrt(np.maximum(np.einsum("...ii->...i", own), 1e-300))
        normal = own / (scale[..., :, None] * scale[..., None, :])
        normal = normal + RIDGE_OF_UNIT_DIAGONAL * np.eye(len(free))
        solved = np.linalg.solve(normal, (right / scale)[..., None])[..., 0]
        found[..., free] = solved / scale
        return found

    def block_errors(self, support: Sequence[int], fixed: Sequence[int]) -> np.ndarray:
        """χ² of every block with coefficients from all others."""
        return self._errors(self._all_left_out(support, fixed))

    @cached_property
    def _others(self) -> tuple[np.ndarray, np.ndarray]:
        """Sums over all blocks but one."""
        return self.h.sum(0) - self.h, self.g.sum(0) - self.g

    def _all_left_out(self, support, fixed) -> np.ndarray:
        return self._solve(*self._others, support, fixed)

    def _errors(self, left: np.ndarray) -> np.ndarray:
        step = left - self.c
        curved = np.einsum("si,sij,sj->s", step, self.h, step)
        slope = np.einsum("si,si->s", self.g, step)
        return np.maximum(self.e - 2 * slope + curved, 0.0)

    def criterion(self, support: Sequence[int], fixed: Sequence[int]) -> float:
        """Log of the error left out, beyond the noise, + log 1.25 times the price.

        Its smallest value is the size beyond which no further term lowers the error by
        20 % (per term). A loss that feeds energy in is priced like two terms more. A
        support is infinitely bad if a block left out changes a coefficient by half.
        """
        whole = self.coefficients(support, fixed)
        left = self._all_left_out(support, fixed)
        error = self._errors(left).sum()
        moved = np.abs(left - whole) > LARGEST_CHANGE_BY_BLOCK * np.abs(whole)
        if not np.isfinite(error) or moved.any():
            return np.inf
        beyond = max(error - self.noise, 0.0) + MISFIT_OF_CHANCE
        gains = (whole[self.positive] < 0).sum()
        size = self.price[list(support)].sum() + PRICE_OF_GAIN * gains
        return float(np.log(beyond) - np.log(ERROR_RATIO_OF_TERM) * size)

    def jackknife(
        self, support: Sequence[int], fixed: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Delete-one coefficients (block, count) and their standard error (Tukey)."""
        left = self._all_left_out(support, fixed)
        count = len(left)
        moved = left - left[0]  # exactly zero of what is fixed
        spread = ((moved - moved.mean(0)) ** 2).sum(0)
        return left, np.sqrt((count - 1) / count * spread)


@dataclass(frozen=True)
class Problem:
    """Windows of a recording and what a law of it may consist of."""

    positions: Positions
    blocks: np.ndarray  # block of each window
    noise: float  # χ² that noise alone gives
    inertia: np.ndarray  # mean square inertial force of each candidate
    losses: np.ndarray  # whether a candidate is one of the Rayleigh function
    positive: np.ndarray  # whether it feeds energy in with a negative coefficient
    price: np.ndarray  # of each candidate, in terms
    driven: bool  # whether a recorded input gives the scale
    definite: Callable  # of c: whether the kinetic energy is positive in the data
    touched: np.ndarray  # coordinates that each candidate holds, as bits
    # Coefficients of terms that give the scale rather than those of the largest
    # inertial force, by position.
    preferred: Mapping[int, float] = field(default_factory=dict)

    def accurate(self, segments: Segments, c: np.ndarray) -> "Problem":
        """The problem with steps so fine that halving them moves next to nothing."""
        finer = enough_steps(self.positions, segments, c, ACCURACY_OF_STEPS)
        return replace(self, positions=finer)

    def driven_by(self, force: Callable | None) -> "Problem":
        """The problem with another recorded force."""
        return replace(self, positions=replace(self.positions, force=force))

    def of_windows(
        self, segments: Segments, chosen: np.ndarray
    ) -> tuple["Problem", Segments]:
        """The problem of some windows, and these."""
        some = segments[chosen]
        blocks = np.unique(self.blocks[chosen], return_inverse=True)[1]
        noise = self.noise * some.length.sum() / segments.length.sum()
        return replace(self, blocks=blocks, noise=noise), some

    def fixed(self, c: np.ndarray, support: Sequence[int] | None = None) -> list[int]:
        """Terms that give the scale while others are fitted, one of every part.

        Coordinates that no term connects are parts with a scale each. Of a part, the
        term of the largest inertial force at `c` is taken; `support` are the terms that
        are present, those of `c` if absent.
        """
        if self.driven:
            return []
        order = [int(k) for k in references(c, self.inertia)]
        order = [*(k for k in self.preferred if k in order), *order]
        if support is not None:
            order = [k for k in order if k in support]
        terms = np.flatnonzero(c) if support is None else list(support)
        of = parts(self.touched[terms])
        firsts = (
            next((k for k in order if self.touched[k] & part), None) for part in of
        )
        return [k for k in firsts if k is not None]

    def scale(self, c: np.ndarray) -> np.ndarray:
        """Factors of coefficients with which `fixed` have ½, or what is preferred."""
        factor = np.ones(len(c))
        for part in parts(self.touched[np.flatnonzero(c)]):
            mine = (self.touched & part) > 0
            for k in self.fixed(np.where(mine, c, 0.0)):
                factor[mine] = self.preferred.get(k, SCALE_OF_PART) / c[k]
        return factor


@dataclass(frozen=True)
class Candidate:
    """A fitted law and its error on blocks left out."""

    fit: Fit
    left_out: LeaveOneOut
    criterion: float

    @property
    def support(self) -> tuple[int, ...]:
        """Terms that are not zero."""
        return tuple(map(int, np.flatnonzero(self.fit.c)))


def fitted(
    problem: Problem, segments: Segments, c: np.ndarray, most: int = 15
) -> Candidate | None:
    """Fit of the terms of `c`; None if it has no kinetic energy or does not follow."""
    if not len(references(c, problem.inertia)):
        return None
    positions = problem.positions
    segments, _ = fit_states(positions, segments, c)
    fixed = problem.fixed(c)
    active = np.setdiff1d(np.flatnonzero(c), fixed)
    fit = fit_jointly(positions, segments, c, active, most)
    if not np.isfinite(fit.chi2).all() or not problem.definite(fit.c):
        return None
    every = np.flatnonzero(c)
    quadratic = linearised(problem, fit, every)
    value = quadratic.criterion(every, fixed)
    return Candidate(fit, quadratic, value)


def linearised(problem: Problem, fit: Fit, active: np.ndarray) -> LeaveOneOut:
    """Quadratic functions of all blocks at a fit, `active` coefficients free."""
    h, g, chi2, _ = normal_equations(problem.positions, fit.segments, fit.c, active)
    solved, schur, right = eliminated(h, g, 2 * problem.positions.dof)
    gain = np.einsum("si,si->s", g[:, : solved.shape[1]], solved[:, :, -1])
    followed = np.isfinite(chi2)
    blocks = problem.blocks
    count, size = blocks.max() + 1, len(fit.c)
    whole = np.zeros((count, size, size))
    slope, error = np.zeros((count, size)), np.zeros(count)
    for s in range(count):
        mine = (blocks == s) & followed
        whole[s][np.ix_(active, active)] = schur[mine].sum(0)
        slope[s][active] = right[mine].sum(0)
        error[s] = np.where(followed, chi2 - gain, CHI2_OF_LOST)[blocks == s].sum()
    return LeaveOneOut(
        whole, slope, error, fit.c, problem.noise, problem.positive, problem.price
    )


def search(
    problem: Problem, present: Candidate, most: int
) -> tuple[Candidate, LeaveOneOut]:
    """Add, drop, swap and exchange terms until no fit has a smaller criterion.

    From `present` on, with `most` terms; the law, and the quadratic functions of all
    coefficients at it.
    """
    tried = {present.support}
    every = np.arange(len(present.fit.c))
    for _ in range(MOST_SEARCH_ROUNDS):
        whole = linearised(problem, present.fit, every)
        ranked = rank(problem, whole, present.support, most)
        here = whole.criterion(present.support, problem.fixed(whole.c))
        new = [
            (value, support)
            for value, support in ranked
            if support not in tried and value < here - LEAST_GAIN_OF_CRITERION
        ]
        better = None
        for _value, support in new[:FITS_PER_ROUND]:
            tried.add(support)
            c = whole.coefficients(support, problem.fixed(whole.c, support))
            found = fitted(problem, present.fit.segments, c)
            if found is None:
                continue
            best = present if better is None else better
            if found.criterion < best.criterion - LEAST_GAIN_OF_CRITERION:
                better = found
        if better is None:
            break
        present = better
    else:
        whole = linearised(problem, present.fit, every)
    return present, whole


def rank(
    problem: Problem, whole: LeaveOneOut, present: Sequence[int], most: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Supports around the present one by their promised criterion, best first."""
    found = []
    for support in _neighbours(problem, whole, tuple(present), most):
        value = whole.criterion(support, problem.fixed(whole.c, support))
        if np.isfinite(value):
            found.append((value, support))
    return sorted(found)


def _neighbours(
    problem: Problem, whole: LeaveOneOut, present: tuple, most: int
) -> Iterator[tuple[int, ...]]:
    """One term added, dropped or swapped; two, one for two; all losses exchanged."""
    count = len(whole.c)
    fixed = problem.fixed(whole.c)
    seen = set()

    def once(terms) -> Iterator[tuple[int, ...]]:
        support = tuple(sorted(set(terms)))
        if support and len(support) <= most and support not in seen:
            seen.add(support)
            yield support

    absent = [k for k in range(count) if k not in present]
    movable = [k for k in present if k not in fixed]
    for k in movable:
        yield from once(set(present) - {k})
    promise = []
    for k in absent:
        for support in once((*present, k)):
            value = whole.criterion(support, problem.fixed(whole.c, support))
            promise.append((value, k))
            yield support
        for old in movable:
            yield from once({*present, k} - {old})
    pool = [k for _, k in sorted(promise)[:TERMS_PAIRED]]
    for pair in combinations(pool, 2):
        yield from once((*present, *pair))
        for old in movable:
            yield from once({*present, *pair} - {old})
    conservative = [k for k in present if not problem.losses[k]]
    for old in combinations([k for k in conservative if k not in fixed], 2):
        yield from once(set(present) - set(old))
        for k in absent:
            if not problem.losses[k]:
                yield from once({*present, k} - set(old))
    losses = np.flatnonzero(problem.losses)
    if len(losses) > 8:
        strong = [k for _, k in sorted(promise) if problem.losses[k]][:6]
        losses = sorted({*strong, *(k for k in present if problem.losses[k])})
    for size in range(MOST_LOSSES_EXCHANGED + 1):
        for chosen in combinations(losses, size):
            yield from once((*conservative, *chosen))
