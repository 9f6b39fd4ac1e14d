"""Search for the terms of a law by the error of shooting on blocks left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from leastaction.recordings.leave_one_out import LeaveOneOut, leave_one_out
from leastaction.trajectories.multiple_shooting import (
    Fit,
    fit_jointly,
    fit_states,
)
from leastaction.trajectories.segments import Positions, Segments, enough_steps
from leastaction.trajectories.trajectory_search import references

# Absent terms that are combined with each other, and losses that are exchanged at once.
POOL = 10
LOSSES = 3
TRIALS = 5
ROUNDS = 10
LEAST_GAIN = 1e-3
# Halving the steps may move a position by this fraction of what weights allow.
ACCURACY = 0.02


@dataclass(frozen=True)
class Problem:
    """Windows of a recording and what a law of it may consist of.

    Attributes
    ----------
    positions
        Samples and weights.
    blocks
        Block of each window.
    noise
        χ² that noise alone gives.
    inertia
        Mean square inertial force of each candidate.
    losses
        Whether a candidate is one of the Rayleigh function.
    price
        Of each candidate, in terms: an inertia that changes with the position counts
        twice, because it can imitate many things.
    driven
        Whether a recorded input gives the scale.
    definite
        ``definite(c)``: whether the kinetic energy is positive in the data.
    """

    positions: Positions
    blocks: np.ndarray
    noise: float
    inertia: np.ndarray
    losses: np.ndarray
    price: np.ndarray
    driven: bool
    definite: object

    def accurate(self, segments: Segments, c: np.ndarray) -> "Problem":
        """The problem with steps so fine that halving them moves next to nothing."""
        finer = enough_steps(self.positions, segments, c, ACCURACY)
        return replace(self, positions=finer)

    def fixed(self, c: np.ndarray) -> int | None:
        """Term that gives the scale while others are fitted."""
        return None if self.driven else int(references(c, self.inertia)[0])


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
    active = np.setdiff1d(np.flatnonzero(c), [] if fixed is None else [fixed])
    fit = fit_jointly(positions, segments, c, active, most)
    if not np.isfinite(fit.chi2).all() or not problem.definite(fit.c):
        return None
    every = np.flatnonzero(c)
    quadratic = _left_out(problem, fit, every)
    value = quadratic.criterion(every, fixed)
    return Candidate(fit, quadratic, value)


def _left_out(problem: Problem, fit: Fit, active: np.ndarray) -> LeaveOneOut:
    return leave_one_out(
        problem.positions,
        fit,
        problem.blocks,
        active,
        problem.noise,
        problem.losses,
        problem.price,
    )


def search(
    problem: Problem, present: Candidate, most: int, trials: int = TRIALS
) -> tuple[Candidate, LeaveOneOut]:
    """Add, drop, swap and exchange terms until no fit has a smaller criterion.

    Parameters
    ----------
    problem
        The recording.
    present
        Where to begin.
    most
        Most terms of a law.
    trials
        Fits per round.

    Returns
    -------
    candidate, quadratic
        The law, and the quadratic functions of all coefficients at it.
    """
    tried = {present.support}
    every = np.arange(len(present.fit.c))
    for _ in range(ROUNDS):
        whole = _left_out(problem, present.fit, every)
        ranked = rank(problem, whole, present.support, most)
        here = whole.criterion(present.support, problem.fixed(present.fit.c))
        new = [
            (value, support)
            for value, support in ranked
            if support not in tried and value < here - LEAST_GAIN
        ]
        better = None
        for _value, support in new[:trials]:
            tried.add(support)
            fixed = problem.fixed(present.fit.c)
            c = whole.coefficients(support, fixed)
            found = fitted(problem, present.fit.segments, c)
            if found is None:
                continue
            best = present if better is None else better
            if found.criterion < best.criterion - LEAST_GAIN:
                better = found
        if better is None:
            break
        present = better
    else:
        whole = _left_out(problem, present.fit, every)
    return present, whole


def rank(
    problem: Problem, whole: LeaveOneOut, present: Sequence[int], most: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Supports around the present one by their promised criterion, best first."""
    fixed = problem.fixed(whole.c)
    found = []
    for support in _neighbours(problem, whole, tuple(present), fixed, most):
        value = whole.criterion(support, fixed)
        if np.isfinite(value):
            found.append((value, support))
    return sorted(found)


def _neighbours(
    problem: Problem, whole: LeaveOneOut, present: tuple, fixed: int | None, most: int
) -> Iterator[tuple[int, ...]]:
    """One term added, dropped or swapped; two for one; all losses exchanged."""
    count = len(whole.c)
    seen = set()

    def once(terms) -> Iterator[tuple[int, ...]]:
        support = tuple(sorted(set(terms)))
        if support and len(support) <= most and support not in seen:
            seen.add(support)
            yield support

    absent = [k for k in range(count) if k not in present]
    movable = [k for k in present if k != fixed]
    for k in movable:
        yield from once(set(present) - {k})
    promise = []
    for k in absent:
        for support in once((*present, k)):
            promise.append((whole.criterion(support, fixed), k))
            yield support
        for old in movable:
            yield from once({*present, k} - {old})
    pool = [k for _, k in sorted(promise)[:POOL]]
    for pair in combinations(pool, 2):
        yield from once((*present, *pair))
        for old in movable:
            yield from once({*present, *pair} - {old})
    conservative = [k for k in present if not problem.losses[k]]
    for old in combinations([k for k in conservative if k != fixed], 2):
        for k in absent:
            if not problem.losses[k]:
                yield from once({*present, k} - set(old))
    losses = np.flatnonzero(problem.losses)
    if len(losses) > 8:
        strong = [k for _, k in sorted(promise) if problem.losses[k]][:6]
        losses = sorted({*strong, *(k for k in present if problem.losses[k])})
    for size in range(LOSSES + 1):
        for chosen in combinations(losses, size):
            yield from once((*conservative, *chosen))
