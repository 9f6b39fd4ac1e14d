"""A law to begin with, from the motion smoothed without one."""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from scipy.signal import lfilter

from leastaction.core.progress import report
from leastaction.likelihood.iterated_smoother import (
    Fit,
    begin_levels,
    fit,
    smooth_motion,
)
from leastaction.likelihood.noise_levels import LEAST_OF_RANGE
from leastaction.likelihood.term_selection import (
    SHARE_OF_MISSED_POWER,
    Quadratic,
    parts,
    select,
)
from leastaction.recordings.candidates import oscillators
from leastaction.recordings.inputs import OPPOSED
from leastaction.recordings.recorded_problem import Problem
from leastaction.recordings.refusals import RecordingError
from leastaction.trajectories.library_equations import library_equations
from leastaction.trajectories.null_vector import search as null_vector_path
from leastaction.trajectories.splicing import Ratio

# Part of a trajectory at each end that a start does not see: no smoother knows it well.
UNSEEN_BY_START = 0.02
# Starts of growing size that are no better than the best before, until none is fitted.
MOST_WORSE_STARTS = 4
# Rounds of the fit of a start, which is only ranked.
ROUNDS_OF_START = 6
# Largest support that a null vector is sought for, and neighbours that are ranked.
LARGEST_START = 12
NOTHING_FOLLOWS = (
    "no law with these candidates follows the recording; check units and columns, add "
    "candidates under `library`, or state `excitation: random` if the motion is driven "
    "by noise"
)


def first_law(problem: Problem, equations: xr.Dataset) -> Fit:
    """A law to begin with: the one that misses least, a fifth for every term.

    That of a driven motion is the first that follows.

    Raises
    ------
    RecordingError
        If no law follows the recording, or only one with negative masses.
    """
    least = least_noise(problem.motion.y)
    states, noise = smooth_motion(problem.motion, least)
    path = np.hstack([states[:, 0], states[:, 1]])
    inner = np.zeros(len(states), dtype=bool)
    for part in problem.motion.parts:
        unseen = max(round(UNSEEN_BY_START * (part.stop - part.start)), 3)
        inner[part.start + unseen : part.stop - unseen] = True
    compiled = library_equations(problem.terms)
    q, v, a = (np.ascontiguousarray(states[inner, i]) for i in range(3))
    columns, inertia = compiled.columns(q, v, a, problem.columns)
    force = np.zeros_like(q)
    if problem.inputs is not None:
        force = problem.inputs.at(np.flatnonzero(inner))
    best, value, worse, opposed = None, np.inf, 0, False
    if problem.driven:
        candidates = of_filtered_forces(problem, columns, force, inner)
    else:
        candidates = of_null_vectors(problem, equations, compiled)
    for c, certain in candidates:
        if worse >= MOST_WORSE_STARTS and not certain:
            continue
        missed = np.sqrt(((columns @ c - force) ** 2).mean(axis=0))
        force_of_motion = np.sqrt(((inertia @ c) ** 2).mean(axis=0))
        bound = np.sqrt(problem.period) * LEAST_OF_RANGE * force_of_motion
        bound = np.maximum(bound, 1e-300)
        levels = begin_levels(missed, noise, bound, least, problem.motion.dt)
        support = tuple(map(int, np.flatnonzero(c)))
        active = np.setdiff1d(support, problem.candidates.fixed(support, c))
        how = {"rounds_of_starts": 1, "rounds": ROUNDS_OF_START}
        trial = fit(problem.motion, c, active, path, levels, **how)
        if trial is None:
            opposed |= problem.driven and problem.motion.is_definite(path, -c)
            continue
        if problem.driven:
            return trial
        now = missed_value(trial, problem.candidates.price[list(support)].sum())
        report("start of %d terms: %.4g", len(support), now)
        worse += 1
        if now < value:
            best, value, worse = trial, now, 0
    if best is None:
        raise RecordingError(OPPOSED if opposed else NOTHING_FOLLOWS)
    return best


def missed_value(fitted: Fit, price: float) -> float:
    """Log of the missed power, and a fifth for every term; less is better."""
    excess = fitted.innovations.moment[:, 0, 0].sum() - fitted.innovations.sensor_share
    count = fitted.innovations.count
    if excess < 3 * np.sqrt(2 * count):
        excess = 0.0
    power = np.log(np.square(fitted.levels.process)).mean() if excess else -np.inf
    if not np.isfinite(power):
        # Nothing is missed: the extended BIC, below anything that misses a force.
        return -1e6 + (-2 * fitted.value + np.log(count) * price) / count
    return float(power - np.log(1 - SHARE_OF_MISSED_POWER) * price)


def of_filtered_forces(
    problem, columns, force, inner
) -> Iterator[tuple[np.ndarray, bool]]:
    """Coefficients of a driven motion by least squares: chosen terms, then all.

    Noise e of a position is a force (K − M ω²) e, large where no motion is. It is about
    white behind a filter 1/(ω₀ + iω)² of the main frequency ω₀ (state-variable filter;
    Young, Automatica 17 (1981) 23), through which columns and input both go. Two arms
    whose noise is seven times the torque, unfiltered, have an indefinite mass matrix.
    """
    k = np.exp(-2 * np.pi * problem.motion.dt / problem.period)
    filtered = []
    for part in problem.motion.parts:
        some = inner[: part.start].sum() + np.arange(inner[part].sum())
        rows = np.concatenate([columns[some], force[some][:, :, None]], axis=2)
        filtered.append(lfilter([(1 - k) ** 2], [1, -2 * k, k**2], rows, axis=0))
    rows = np.concatenate(filtered).reshape(-1, columns.shape[2] + 1)
    rows, right = rows[:, :-1], rows[:, -1]
    size = np.maximum(np.sqrt((rows**2).sum(axis=0)), 1e-300)
    every = np.linalg.lstsq(rows / size, right, rcond=1e-10)[0] / size
    power = max(float(((rows @ every - right) ** 2).mean()), 1e-300)
    count = len(right)
    quadratic = Quadratic(
        problem.candidates, rows.T @ rows / power, rows.T @ right / power,
        np.zeros_like(every), float(right @ right / power), count, count,
    )  # fmt: skip
    yield select(quadratic, []).x, True
    yield every, True


def of_null_vectors(problem, equations, compiled) -> Iterator[tuple[np.ndarray, bool]]:
    """Coefficients of a free motion, and whether they are fitted whatever was before.

    So are oscillators that nothing connects: these have a null vector each, and any sum
    of them follows the motion, of which the ranking of one vector of every size knows
    nothing.
    """
    how = {"largest": min(LARGEST_START, len(problem.columns)), "ranked": LARGEST_START}
    path, ratio, _ = null_vector_path(equations, compiled, problem.columns, how)
    supports = [path.supports[size] for size in sorted(path.supports)]
    apart = tuple(oscillators(problem.terms, problem.columns))
    supports.append(apart)
    for support in dict.fromkeys(map(tuple, supports)):
        c = least_ratio(problem, ratio, support)
        if np.isfinite(c).all() and c.any():
            yield c, support == apart


def least_ratio(problem: Problem, ratio: Ratio, support) -> np.ndarray:
    """Coefficients of least ρ of a support, each part with a scale of its own."""
    c = np.zeros(len(problem.touched))
    for part in parts(problem.touched[[*support]]):
        mine = [k for k in support if problem.touched[k] & part]
        c[mine] = ratio.minimise(mine)[1] / ratio.length[mine]
        scale = problem.candidates.fixed([k for k in mine if c[k]], c)
        if not scale or not c[scale[0]]:
            return np.full_like(c, np.nan)
        value = problem.references.get(scale[0], 0.5)
        c[mine] *= value / c[scale[0]]
        c[scale[0]] = value  # to the last digit
    return c


def least_noise(y: np.ndarray) -> np.ndarray:
    """Lower bound of the noise of every sensor: a tenth of its step, or 24 bits."""
    bounds = []
    for values in y.T:
        levels = np.unique(values[np.isfinite(values)])
        size = max(float(np.ptp(levels)), 1e-300)
        step = np.diff(levels).min() if 1 < len(levels) < len(values) / 2 else 0.0
        bounds.append(max(step / 10, LEAST_OF_RANGE * size))
    return np.array(bounds)
