"""Error bars of a law of a recording, and the terms that they leave in doubt."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leastaction.recordings.leave_one_out import (
    ERROR_RATIO_OF_TERM,
    Candidate,
    LeaveOneOut,
    Problem,
    fitted,
    linearised,
)
from leastaction.recordings.windows import (
    INPUT_OF_FREE_MOTION,
    LEAST_SAMPLES_OF_WINDOW,
    Recording,
    blocks,
    weighted,
    windows,
)
from leastaction.trajectories.multiple_shooting import (
    Segments,
    fit_states,
    normal_equations,
)

# A step of this fraction of an error bar ends the fit.
CONVERGED_STANDARD_ERRORS = 0.2
MOST_LAST_STEPS = 5
# Part of a coefficient that the steps of integration leave open, however good the data.
NUMERICAL_ERROR = 1e-7
# A term of doubtful size stays if without it the error left out is this many times.
ERROR_RATIO_OF_NEEDED_TERM = 3.0
CONFIDENCE = 0.95
# Windows are lost if their rms misfit, in units of what weights allow, is beyond this,
# and this many times that of others.
MISFIT_OF_LOST_WINDOWS = 8.0
# Main periods of a window that inputs are told apart in, at most.
LONGEST_PART_OF_PERIOD = 0.5


def level_of(
    whole: Problem, found: Recording, duration: float, present: Candidate | None
) -> tuple[Problem, Segments]:
    """Problem and windows of `duration` (s), which inherit the states of a law."""
    before = None if present is None else present.fit.segments
    segments, trajectory = windows(found, duration, before)
    positions, noise = weighted(found, duration)
    noise *= 1 - 2 * len(segments) / segments.length.sum()  # states are fitted to it
    problem = replace(
        whole,
        positions=positions,
        blocks=blocks(found, segments, trajectory),
        noise=noise,
    )
    return problem, segments


def followed_windows(
    problem: Problem, segments: Segments, c: np.ndarray, found: Recording
) -> tuple[Problem, Segments]:
    """The problem without windows that a law with fitted states loses.

    Their states are in another minimum, or the motion is chaotic over them: their
    misfit, beyond 2.4 % of the amplitude, tells nothing of a coefficient.
    """
    segments, _ = fit_states(problem.positions, segments, c)
    positions = replace(problem.positions, sigma=found.positions.sigma)
    chi2 = normal_equations(positions, segments, c)[2]
    misfit = np.sqrt(chi2 / segments.length)
    least = max(float(np.median(misfit)), 1.0)
    return problem.of_windows(segments, misfit <= MISFIT_OF_LOST_WINDOWS * least)


def lost(misfit: float, before: Candidate) -> bool:
    """Whether windows of another length are not followed: a minimum, or chaos."""
    least = max(rms_misfit(before.fit.chi2, before.fit.segments), 1.0)
    return not misfit <= MISFIT_OF_LOST_WINDOWS * least


def rms_misfit(chi2: np.ndarray, segments: Segments) -> float:
    """Rms misfit of all windows, in units of what weights allow."""
    return float(np.sqrt(chi2.sum() / segments.length.sum()))


def short_windows(
    problem: Problem, present: Candidate, found: Recording
) -> tuple[Problem, Segments]:
    """Windows of a law, of half a main period at most, that it follows."""
    segments, c = present.fit.segments, present.fit.c
    dt = found.positions.dt
    longest = max(LONGEST_PART_OF_PERIOD * found.period, LEAST_SAMPLES_OF_WINDOW * dt)
    if np.median(segments.length) * dt > longest:
        problem, segments = level_of(problem, found, longest, None)
        problem = problem.accurate(segments, c)
    return followed_windows(problem, segments, c, found)


def window_spread(kept: Problem, present: Candidate, found: Recording) -> np.ndarray:
    """Half the change of coefficients from half to twice as long windows.

    Zero of a free motion. An error of the force or of its interpolation has its own
    weight in windows of each length, and moves the coefficients of a driven motion.
    Windows that the law loses have no say.
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
        problem, segments = followed_windows(problem, segments, c, found)
        chi2 = normal_equations(problem.positions, segments, c)[2]
        trial = None
        if not lost(rms_misfit(chi2, segments), present):
            trial = fitted(problem, segments, c)
        ends.append(c if trial is None else trial.fit.c)
    return (ends[1] - ends[0]) / 2


def absent_term(kept: Problem, present: Candidate, whole: LeaveOneOut) -> np.ndarray:
    r"""Deviation of all coefficients for the absent term that most probably belongs.

    Of a driven motion. A term that lowers the error left out by r < 1, though not by
    the R that its price asks for, is taken to belong to the law with probability
    w = ½ log r / log R, and changes the coefficients by Δc:

    .. math::  \sqrt{w (1 - w)} \, Δc

    A slide hardly tells a constant force from a friction that differs by direction:
    each is what it is for the other being zero.
    """
    support, c = present.support, present.fit.c
    likely, found = 0.0, np.zeros(len(c))
    own = whole.block_errors(support, []).sum()
    there = whole.coefficients(support, [])
    for k in set(range(len(c))) - set(support) if kept.driven else ():
        more = tuple(sorted((*support, k)))
        lower = np.log(whole.block_errors(more, []).sum() / own)
        needed = kept.price[k] * np.log(ERROR_RATIO_OF_TERM)
        w = min(0.5 * lower / needed, 0.5)
        if w > likely:
            change = whole.coefficients(more, []) - there
            likely, found = w, np.sqrt(w * (1 - w)) * np.where(c != 0, change, 0.0)
    return found


def drift(
    problem: Problem,
    present: Candidate,
    found: Recording,
    left_out: LeaveOneOut,
    support: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Half of the louder half of the blocks less the quieter half.

    And its standard error, by the jackknife within each half.
    """
    fixed = problem.fixed(left_out.c, support)
    halves = [left_out.of_blocks(h) for h in halves_of(problem, present, found)]
    large, small = (half.coefficients(support, fixed) for half in halves)
    std = np.hypot(*(half.jackknife(support, fixed)[1] for half in halves))
    return (large - small) / 2, std / 2


def halves_of(
    problem: Problem, present: Candidate, found: Recording
) -> list[np.ndarray]:
    """Louder and quieter half of the blocks, each with as many free motions.

    Without an input nothing tells the scale of a driven law.
    """
    segments, q = present.fit.segments, found.positions.q
    scale = np.maximum(found.amplitude.max(axis=0), 1e-300)
    power = found.input_power
    ends = np.transpose([segments.first, segments.first + segments.length])
    size = np.array([np.mean(np.ptp(q[a:b], axis=0) / scale) for a, b in ends])
    square = np.array([power[a:b].mean() for a, b in ends])
    every = [problem.blocks == s for s in range(problem.blocks.max() + 1)]
    order = np.argsort([-size[mine].mean() for mine in every])
    free = np.array([square[every[s]].mean() < INPUT_OF_FREE_MOTION**2 for s in order])
    halves = [np.array_split(order[free == alone], 2) for alone in (False, True)]
    return [np.concatenate(pair) for pair in zip(*halves, strict=True)]


def total_std(
    problem: Problem,
    present: Candidate,
    found: Recording,
    other: tuple[LeaveOneOut, Sequence[int]] | None = None,
) -> np.ndarray:
    """Standard error: :func:`deviations` in quadrature."""
    every = deviations(problem, present, found, other)
    return np.sqrt((every**2).sum(axis=0))


def deviations(
    problem: Problem,
    present: Candidate,
    found: Recording,
    other: tuple[LeaveOneOut, Sequence[int]] | None = None,
) -> np.ndarray:
    """Independent deviations of all coefficients together, shape (deviation, term).

    Those of blocks left out (jackknife), the drift, and the numerical error of every
    term; of the present law, or of an `other` support in the quadratic functions given.
    """
    left_out, support = other or (present.left_out, present.support)
    fixed = problem.fixed(left_out.c, support)
    c = left_out.coefficients(support, fixed)
    left, _ = left_out.jackknife(support, fixed)
    moved = left - left[0]  # exactly zero of what is fixed
    moved = np.sqrt((len(left) - 1) / len(left)) * (moved - moved.mean(0))
    numerical = NUMERICAL_ERROR * c
    numerical[fixed] = 0.0
    drifted, _ = drift(problem, present, found, left_out, support)
    return np.vstack([moved, drifted, np.diag(numerical)])


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


def with_biasing_friction(
    problem: Problem, present: Candidate, found: Recording, most: int
) -> Candidate:
    """The driven law with friction whose absence biases its inertia or stiffness.

    Every machine has friction. A record that is too short to show it in the error left
    out still has an inertia that is 10 % too large without it; see :func:`biasing`.
    Other terms must lower the error left out. The law has `most` terms at most, and
    none that a block left out changes by half.
    """
    every = np.arange(len(present.fit.c))
    friction = problem.losses & problem.positive & (problem.price == 1)
    while problem.driven and len(present.support) < most:
        whole = linearised(problem, present.fit, every)
        std = np.where(problem.losses, np.inf, total_std(problem, present, found))
        absent = np.flatnonzero(friction & (present.fit.c == 0))
        k = biasing(whole, present.support, absent, std)
        if k is None:
            break
        start = whole.coefficients((*present.support, k), [])
        trial = fitted(problem, present.fit.segments, start)
        if trial is None or not (trial.fit.c[k] > 0 and np.isfinite(trial.criterion)):
            break
        present = trial
    return present


def biasing(
    whole: LeaveOneOut, support: Sequence[int], absent: Sequence[int], std: np.ndarray
) -> int | None:
    r"""Most certain of `absent` terms without which another one is biased, or None.

    Focused information criterion (Claeskens and Hjort, J. Am. Stat. Assoc. 98, 2003,
    900). A term d ± τ that is left out moves another coefficient by ω d, and adds
    ω² τ² to its variance if it is kept. With the term the mean square error is smaller
    if

    .. math::  ω^2 (d^2 - τ^2) > ω^2 τ^2, \qquad d > \sqrt 2\, τ,

    with d > 0, as of a loss. It counts where ω d is larger than the standard error
    `std` of the other coefficient, which is infinite if that is of no interest.
    """
    there = whole.coefficients(support, [])
    certainty, found = np.sqrt(2.0), None
    for k in map(int, absent):
        more = tuple(sorted((*support, k)))
        c = whole.coefficients(more, [])
        own = whole.jackknife(more, [])[1][k]
        moved = np.abs(c - there)[list(support)] > std[list(support)]
        if moved.any() and c[k] > certainty * own:
            certainty, found = c[k] / own, k
    return found
