"""How far coefficients differ between large and small amplitudes, and what to drop."""

import numpy as np

from leastaction.recordings.held_out_search import Candidate, Problem, fitted
from leastaction.recordings.recorded_windows import Recording

CONFIDENCE = 0.95
# A term of doubtful size stays if without it the error left out is this many times.
NEEDED = 3.0


def drift(problem: Problem, present: Candidate, found: Recording) -> np.ndarray:
    """Half the difference between the louder and the quieter half of the blocks."""
    segments, q = present.fit.segments, found.positions.q
    scale = np.maximum(found.amplitude.max(axis=0), 1e-300)
    size = np.array(
        [
            np.mean(np.ptp(q[a : a + n], axis=0) / scale)
            for a, n in zip(segments.first, segments.length, strict=True)
        ]
    )
    count = len(present.left_out.e)
    loud = np.array([size[problem.blocks == s].mean() for s in range(count)])
    order = np.argsort(-loud)
    fixed = problem.fixed(present.fit.c)
    large, small = (
        present.left_out.block_coefficients(present.support, fixed, list(half))
        for half in (order[: (count + 1) // 2], order[(count + 1) // 2 :])
    )
    return np.abs(large - small) / 2


def total_std(problem: Problem, present: Candidate, found: Recording) -> np.ndarray:
    """Standard error over blocks, with the drift in quadrature."""
    fixed = problem.fixed(present.fit.c)
    _, jackknife = present.left_out.jackknife(list(present.support), fixed)
    return np.sqrt(jackknife**2 + drift(problem, present, found) ** 2)


def without_doubtful(
    problem: Problem, present: Candidate, found: Recording
) -> Candidate:
    """The law without terms of L whose interval holds zero, unless they are needed.

    Losses are exempt: their partners exchange what they stand for, and each alone is
    uncertain while their sum is not.
    """
    from scipy.stats import t

    while True:
        factor = t.ppf((1 + CONFIDENCE) / 2, len(present.left_out.e) - 1)
        c, std = present.fit.c, total_std(problem, present, found)
        fixed = problem.fixed(c)
        doubtful = [
            k
            for k in present.support
            if k != fixed and not problem.losses[k] and abs(c[k]) < factor * std[k]
        ]
        smaller = None
        for k in sorted(doubtful, key=lambda k: abs(c[k]) / max(std[k], 1e-300)):
            support = [j for j in present.support if j != k]
            start = present.left_out.coefficients(support, fixed)
            trial = fitted(problem, present.fit.segments, start)
            if trial is not None and trial.criterion < present.criterion + np.log(
                NEEDED
            ):
                smaller = trial
                break
        if smaller is None:
            return present
        present = smaller
