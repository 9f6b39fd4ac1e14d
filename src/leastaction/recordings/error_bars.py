"""Error bars of a law of a recording, and the terms that they leave in doubt."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leastaction.recordings.leave_one_out import (
    Candidate,
    LeaveOneOut,
    Problem,
    fitted,
)
from leastaction.recordings.windows import (
    LEAST_SAMPLES_OF_WINDOW,
    Recording,
    blocks,
    weighted,
    windows,
)
from leastaction.trajectories.multiple_shooting import Segments

# A step of this fraction of an error bar ends the fit.
CONVERGED_STANDARD_ERRORS = 0.2
MOST_LAST_STEPS = 5
# Part of a coefficient that the steps of integration leave open, however good the data.
NUMERICAL_ERROR = 1e-7
# A term of doubtful size stays if without it the error left out is this many times.
ERROR_RATIO_OF_NEEDED_TERM = 3.0
CONFIDENCE = 0.95


def level_of(
    whole: Problem, found: Recording, duration: float, present: Candidate | None
) -> tuple[Problem, Segments]:
    """Problem and windows of `duration` (s), which inherit the states of a law."""
    before = None if present is None else present.fit.segments
    segments, trajectory = windows(found, duration, before)
    positions, noise = weighted(found, duration)
    problem = replace(
        whole, positions=positions, blocks=blocks(segments, trajectory), noise=noise
    )
    return problem, segments


def window_spread(kept: Problem, present: Candidate, found: Recording) -> np.ndarray:
    """Half the difference of coefficients from half and from twice as long windows.

    Zero of a free motion. An error of the force or of its interpolation has its own
    weight in windows of each length, and moves the coefficients of a driven motion.
    """
    c = present.fit.c
    if not kept.driven:
        return np.zeros_like(c)
    dt = found.positions.dt
    own = float(np.median(present.fit.segments.length)) * dt
    ends = []
    for duration in (max(own / 2, LEAST_SAMPLES_OF_WINDOW * dt), own * 2):
        problem, segments = level_of(kept, found, duration, None)
        problem = problem.accurate(segments, c)
        trial = fitted(problem, segments, c)
        ends.append(c if trial is None else trial.fit.c)
    return np.abs(ends[0] - ends[1]) / 2


def drift(
    problem: Problem,
    present: Candidate,
    found: Recording,
    left_out: LeaveOneOut,
    support: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Half the difference between the louder and the quieter half of the blocks.

    And its standard error, by the jackknife within each half.
    """
    segments, q = present.fit.segments, found.positions.q
    scale = np.maximum(found.amplitude.max(axis=0), 1e-300)
    size = np.array(
        [
            np.mean(np.ptp(q[a : a + n], axis=0) / scale)
            for a, n in zip(segments.first, segments.length, strict=True)
        ]
    )
    count = len(left_out.e)
    loud = np.array([size[problem.blocks == s].mean() for s in range(count)])
    order = np.argsort(-loud)
    fixed = problem.fixed(left_out.c, support)
    halves = [left_out.of_blocks(half) for half in np.array_split(order, 2)]
    large, small = (half.coefficients(support, fixed) for half in halves)
    std = np.hypot(*(half.jackknife(support, fixed)[1] for half in halves))
    return np.abs(large - small) / 2, std / 2


def total_std(
    problem: Problem,
    present: Candidate,
    found: Recording,
    other: tuple[LeaveOneOut, Sequence[int]] | None = None,
) -> np.ndarray:
    """Standard error over blocks, with drift and numerical error in quadrature.

    Of the present law, or of an `other` support in the quadratic functions given.
    """
    left_out, support = other or (present.left_out, present.support)
    fixed = problem.fixed(left_out.c, support)
    c = left_out.coefficients(support, fixed)
    _, jackknife = left_out.jackknife(support, fixed)
    numerical = NUMERICAL_ERROR * c
    numerical[fixed] = 0.0
    drifted, _ = drift(problem, present, found, left_out, support)
    return np.sqrt(jackknife**2 + drifted**2 + numerical**2)


def doubtful(c: np.ndarray, std: np.ndarray, blocks: int) -> list:
    """Terms whose interval holds zero, the least certain first.

    A term was picked among all candidates, so the interval is that of as many tests at
    once (Bonferroni).
    """
    from scipy.stats import t

    factor = t.isf((1 - CONFIDENCE) / (2 * len(c)), blocks - 1)
    certainty = np.abs(c) / np.maximum(std, 1e-300)
    terms = [k for k in np.flatnonzero(c) if certainty[k] < factor]
    return sorted(terms, key=lambda k: certainty[k])


def has_settled(problem: Problem, present: Candidate, std: np.ndarray) -> bool:
    """Whether a further step would be a fraction of every error bar."""
    c = present.fit.c
    there = present.left_out.coefficients(present.support, problem.fixed(c))
    allowed = CONVERGED_STANDARD_ERRORS * np.where(std > 0, std, np.inf)
    return bool((np.abs(there - c) <= allowed).all())


def settled(problem: Problem, present: Candidate, found: Recording) -> Candidate:
    """Gauss–Newton steps until they are small beside the error bars.

    A fit ends where a step would not lower χ², which weighs an error of 0.3 % of the
    amplitude like one deviation; error bars of good data are far smaller.
    """
    for _ in range(MOST_LAST_STEPS):
        if has_settled(problem, present, total_std(problem, present, found)):
            break
        fixed = problem.fixed(present.fit.c)
        c = present.left_out.coefficients(present.support, fixed)
        trial = fitted(problem, present.fit.segments, c)
        if trial is None or trial.support != present.support:
            break
        present = trial
    return present


def without_doubtful(
    problem: Problem, present: Candidate, found: Recording
) -> Candidate:
    """The law without doubtful terms, unless they are needed.

    Where two losses exchange what they stand for, both are doubtful; one of them goes,
    and the other is then certain.
    """
    while True:
        c, std = present.fit.c, total_std(problem, present, found)
        smaller = None
        for k in doubtful(c, std, len(present.left_out.e)):
            support = [j for j in present.support if j != k]
            fixed = problem.fixed(c, support)
            start = present.left_out.coefficients(support, fixed)
            trial = fitted(problem, present.fit.segments, start)
            if trial is not None and trial.criterion < present.criterion + np.log(
                ERROR_RATIO_OF_NEEDED_TERM
            ):
                smaller = trial
                break
        if smaller is None:
            return present
        present = smaller
