"""A law of a recording by one likelihood: process and sensor noise are estimated.

Prediction error method (Ljung 1999) with an augmented Kalman filter; see
``likelihood/README.md``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.library import Library
from leastaction.core.progress import report
from leastaction.likelihood.covariance import nearest_absent, spread
from leastaction.likelihood.iterated_smoother import (
    Fit,
    begin_levels,
    fit,
    smooth_motion,
)
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.likelihood.noise_levels import NoiseLevels
from leastaction.likelihood.term_selection import (
    SHARE_OF_MISSED_POWER,
    Candidates,
    Quadratic,
    Solution,
    corrections,
    parts,
    select,
)
from leastaction.recordings.candidates import (
    distinct_forces,
    feeding_losses,
    oscillators,
    prices,
    sliding_equations,
    touched,
)
from leastaction.recordings.contracts import pieces, training
from leastaction.recordings.error import RecordingError
from leastaction.recordings.inputs import Inputs, inputs_of
from leastaction.trajectories.library_equations import (
    LibraryEquations,
    library_equations,
)
from leastaction.trajectories.null_vector import free_columns
from leastaction.trajectories.null_vector import search as null_vector_path
from leastaction.trajectories.splicing import Ratio

# Part of a trajectory at each end that a start does not see: no smoother knows it well.
UNSEEN_BY_START = 0.02
# Rounds of selection and refit; two or three are usual.
MOST_ROUNDS = 8
# A width of friction is profiled over factors of two down to this part of the first.
WIDTHS = 8
# Changes of ℓ by a width that has no weight, and by one that is not felt: narrower ones
# are not felt either.
UNLIKELY, INDIFFERENT = 10.0, 0.1
# Starts of growing size that are no better than the best before, until no more is made.
MOST_WORSE_STARTS = 4
# Largest support that a null vector is sought for, and neighbours that are ranked.
LARGEST_START = 12


@dataclass(frozen=True)
class Problem:
    """A recording and what its law may consist of."""

    terms: Library
    columns: np.ndarray  # candidates, among the columns of the library
    names: list[str]
    motion: MeasuredMotion
    candidates: Candidates
    inputs: Inputs | None
    references: Mapping[int, float]  # coefficients that are given, by candidate
    touched: np.ndarray
    width: float

    @property
    def driven(self) -> bool:
        """Whether a recorded input gives the scale."""
        return self.inputs is not None


@dataclass(frozen=True)
class Law:
    """A fitted law and the likelihood of all candidates about it."""

    fit: Fit
    quadratic: Quadratic
    solution: Solution

    @property
    def c(self) -> np.ndarray:
        """Coefficients of all candidates."""
        return self.fit.c


def problem_of(
    observations: xr.Dataset, equations: xr.Dataset, library: Mapping
) -> Problem:
    """Training data, candidates and their compiled motions."""
    terms = Library.from_config(library, [str(n) for n in equations["dof"].values])
    columns = distinct_forces(terms, free_columns(equations), equations)
    inputs = inputs_of(observations)
    compiled, width = sliding_equations(terms, columns, equations, inputs is not None)
    q = observations["q"].values[0]
    force = None if inputs is None else inputs.nodes(np.arange(len(q)), 1)
    dt = float(observations.attrs["time_step"])
    motion = MeasuredMotion(compiled, q, pieces(observations), dt, force=force)
    known = {int(k): float(value) for k, value in terms.references}
    references = {i: known[int(k)] for i, k in enumerate(columns) if int(k) in known}
    held = touched(terms, columns)
    inertia = np.diag(equations["inertia_gram"].values[0])[columns]

    def fixed(support, c) -> list[int]:
        if inputs is not None:
            return []
        force = np.sqrt(np.maximum(inertia, 0.0)) * np.abs(c)
        chosen = []
        for part in parts(held[list(support)]):
            mine = [k for k in support if held[k] & part]
            given = [k for k in references if k in mine]
            chosen.append(given[0] if given else max(mine, key=lambda k: force[k]))
        return chosen

    stays = [] if inputs is not None else list(references)
    candidates = Candidates(
        prices(terms, columns),
        [*viscous(terms, columns), *stays],
        stays,
        feeding_losses(terms, columns),
        fixed,
    )
    names = [str(name) for name in equations["column"].values[columns]]
    about = terms, columns, names, motion, candidates, inputs, references, held
    return Problem(*about, width)


def viscous(terms: Library, columns: np.ndarray) -> list[int]:
    """Places of the viscous damping of every coordinate: it is never zero for sure."""
    squares = {v**2 for v in symbols(velocity_names(terms.coordinates))}
    count = len(terms.terms)
    losses = enumerate(columns)
    return [
        i for i, k in losses if k >= count and terms.dissipation[k - count] in squares
    ]


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> LagrangianEstimate:
    """Identify L and D of a free or driven motion; nothing is set per system.

    1. Smoothed without a law, and a start from it: all candidates by least squares of a
       driven motion, null vectors of a free one.
    2. Path, coefficients, process noise and sensor noise by the iterated smoother;
       terms by the likelihood of all candidates; again until the terms stay.
    3. The same without process noise. Of the two laws the one is taken that misses less
       at both horizons, from row to row and over the whole run, per term.
    4. The width within which dry friction turns is profiled.
    5. Intervals: information or sandwich, with the nearest absent term, the width, and
       half the difference between the horizons.

    Held-out trajectories are not looked at.
    """
    from leastaction.recordings.recorded_law import estimate

    check(equations, "gram")
    seen = training(observations)
    problem = problem_of(seen, equations, library)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = search(problem, equations)
        law, of_width = with_width(problem, found.law)
    found = replace(found, law=law)
    return estimate(problem, found, of_width, equations, seen)


@dataclass(frozen=True)
class Horizons:
    """A law fitted with process noise, and without any."""

    law: Law  # the one that is taken
    near: Fit  # its terms with process noise
    far: Fit | None  # without; None where nothing follows the motion

    @property
    def deviation(self) -> np.ndarray:
        """Half of what coefficients differ by, shape (candidate,)."""
        if self.far is None:
            return np.zeros_like(self.law.c)
        return (self.near.c - self.far.c) / 2


def search(problem: Problem, equations: xr.Dataset) -> Horizons:
    """The law of a recording at the horizon that it misses less in."""
    motion = problem.motion
    least = least_noise(motion.y)
    states, noise = smooth_motion(motion, least)
    path = np.hstack([states[:, 0], states[:, 1]])
    first = begin(problem, equations, states, noise, least, path)
    if first is None:
        raise RecordingError(
            "no law with these candidates follows the recording; check units and "
            "columns, add candidates under `library`, or state `excitation: random` if "
            "the motion is driven by noise"
        )
    near = selected(problem, first)
    if not near.fit.levels.is_free.any():
        return Horizons(near, near.fit, None)
    run = without_process_noise(near.fit)
    if run is None:
        return Horizons(near, near.fit, None)
    if problem.driven:
        far = selected(problem, run, True, near.fit.levels.sensor)
        if far.solution.support == near.solution.support:
            return Horizons(near, near.fit, far.fit)
        if missed_at_both(problem, far, near) < missed_at_both(problem, near, near):
            again = with_process_noise(far.fit, near.fit.levels)
            if again is not None and far.fit.converged:
                return Horizons(far, again, far.fit)
    return Horizons(near, near.fit, run)


def least_noise(y: np.ndarray) -> np.ndarray:
    """Lower bound of the noise of every sensor: a tenth of its step, or roundoff."""
    found = []
    for values in y.T:
        levels = np.unique(values[np.isfinite(values)])
        size = max(float(np.abs(levels).max()), 1e-300)
        step = np.diff(levels).min() if 1 < len(levels) < len(values) / 2 else 0.0
        found.append(max(step / 10, 1e-9 * size))
    return np.array(found)


def begin(problem, equations, states, noise, least, path) -> Fit | None:
    """A law to begin with: the one that misses least, a fifth for every term."""
    inner = np.zeros(len(states), dtype=bool)
    for part in problem.motion.parts:
        unseen = max(round(UNSEEN_BY_START * (part.stop - part.start)), 3)
        inner[part.start + unseen : part.stop - unseen] = True
    compiled = library_equations(problem.terms)
    q, v, a = (np.ascontiguousarray(states[inner, i]) for i in range(3))
    columns, _ = compiled.columns(q, v, a, problem.columns)
    force = np.zeros_like(q)
    if problem.inputs is not None:
        force = problem.inputs.at(np.flatnonzero(inner))
    best, value, worse = None, np.inf, 0
    for c, last in starts(problem, equations, compiled, columns, force):
        missed = np.sqrt(((columns @ c - force) ** 2).mean(axis=0))
        levels = begin_levels(missed, noise, least, problem.motion.dt)
        support = tuple(map(int, np.flatnonzero(c)))
        active = np.setdiff1d(support, problem.candidates.fixed(support, c))
        trial = fit(problem.motion, c, active, path, levels, rounds_of_starts=1)
        if trial is None:
            continue
        if last:
            return trial
        now = missed_value(trial, problem.candidates.price[list(support)].sum())
        report("start of %d terms: %.4g", len(support), now)
        worse += 1
        if now < value:
            best, value, worse = trial, now, 0
        if worse >= MOST_WORSE_STARTS:
            break
    return best


def missed_value(found: Fit, price: float) -> float:
    """Log of the missed power, and a fifth for every term; less is better."""
    excess = found.innovations.moment[:, 0, 0].sum() - found.innovations.sensor_share
    count = found.innovations.count
    if excess < 3 * np.sqrt(2 * count):
        excess = 0.0
    power = np.log(np.square(found.levels.process)).mean() if excess else -np.inf
    if not np.isfinite(power):
        # Nothing is missed: the extended BIC, below anything that misses a force.
        return -1e6 + (-2 * found.value + np.log(count) * price) / count
    return float(power - np.log(1 - SHARE_OF_MISSED_POWER) * price)


def starts(problem, equations, compiled, columns, force):
    """Coefficients to begin with, and whether a fit of them ends the search."""
    rows = columns.reshape(-1, columns.shape[2])
    if problem.driven:
        size = np.maximum(np.sqrt((rows**2).sum(axis=0)), 1e-300)
        yield np.linalg.lstsq(rows / size, force.ravel(), rcond=1e-10)[0] / size, True
    how = {"largest": min(LARGEST_START, len(problem.columns)), "ranked": LARGEST_START}
    found, ratio, _ = null_vector_path(equations, compiled, problem.columns, how)
    supports = [found.supports[size] for size in sorted(found.supports)]
    supports.append((*oscillators(problem.terms, problem.columns), *ratio.kept))
    for support in dict.fromkeys(map(tuple, supports)):
        c = least_ratio(problem, ratio, support)
        if np.isfinite(c).all() and c.any():
            yield c, False


def least_ratio(problem: Problem, ratio: Ratio, support) -> np.ndarray:
    """Coefficients of least ρ of a support, each part with a scale of its own."""
    c = np.zeros(len(problem.touched) + len(ratio.kept))
    held = problem.touched[[k for k in support if k not in ratio.kept]]
    for part in [-1] if problem.driven else parts(held):
        mine = [k for k in support if k in ratio.kept or problem.touched[k] & part]
        c[mine] = ratio.minimise(mine)[1] / ratio.length[mine]
        if not problem.driven:
            scale = problem.candidates.fixed([k for k in mine if c[k]], c)
            if not scale or not c[scale[0]]:
                return np.full_like(c, np.nan)
            c[mine] *= problem.references.get(scale[0], 0.5) / c[scale[0]]
    return c[:-1] / c[-1] if problem.driven else c


def selected(
    problem: Problem, found: Fit, fixed_process: bool = False, noise=None
) -> Law:
    """Terms chosen and fitted again until they stay.

    Without process noise the missed power is what `noise` of the sensors, that of a fit
    with process noise, does not explain.
    """
    every = np.arange(len(problem.columns))
    seen: set = set()
    while True:
        quadratic = Quadratic.of(problem.candidates, found.c, found.of_all(every))
        if noise is not None:
            share = float(np.mean(np.square(noise / found.levels.sensor)))
            quadratic = replace(quadratic, sensor_share=share * quadratic.count)
        law = select(quadratic, np.flatnonzero(found.c))
        report("terms: %s", ", ".join(problem.names[k] for k in law.support))
        done = set(law.support) == set(np.flatnonzero(found.c))
        if done or law.support in seen or len(seen) >= MOST_ROUNDS:
            return Law(found, quadratic, quadratic.solve(np.flatnonzero(found.c)))
        seen.add(law.support)
        start = found.motion, law.x, law.free, found.path, found.levels
        again = fit(*start, fixed_process, rounds_of_starts=0)
        if again is None:
            return Law(found, quadratic, quadratic.solve(np.flatnonzero(found.c)))
        found = again


def without_process_noise(near: Fit) -> Fit | None:
    """The law over whole runs, all that is missed taken for noise of the sensors."""
    levels = near.levels._replace(process=near.levels.least_process)
    found = fit(near.motion, near.c, near.active, near.path, levels, True)
    return found if found is not None and found.converged else None


def with_process_noise(far: Fit, levels: NoiseLevels) -> Fit | None:
    """The terms of a law over whole runs with process noise."""
    return fit(far.motion, far.c, far.active, far.path, levels, rounds_of_starts=0)


def missed_at_both(problem: Problem, law: Law, near: Law) -> float:
    """Log of the power missed from row to row, and over whole runs; less is better."""
    price = problem.candidates.price[list(law.solution.support)].sum()
    none = np.zeros(0, dtype=int)
    levels = near.fit.levels
    free = fit(law.fit.motion, law.c, none, near.fit.path, levels, rounds_of_starts=0)
    whole = levels._replace(process=levels.least_process)
    run = fit(law.fit.motion, law.c, none, law.fit.path, whole, True)
    if free is None or run is None:
        return np.inf
    value = np.log(np.square(free.levels.process)).mean()
    value += np.log(np.square(run.levels.sensor)).mean()
    report("horizons: S %s, run %s, price %g", free.levels.process,
           run.levels.sensor, price)  # fmt: skip
    return float(value - np.log(1 - SHARE_OF_MISSED_POWER) * price)


def with_width(problem: Problem, law: Law) -> tuple[Law, np.ndarray]:
    """The law at the most likely width of dry friction, and deviations by the width.

    Widths are equally likely a priori on a logarithmic scale.
    """
    losses = problem.terms.dissipation
    count = len(problem.terms.terms)
    dry = [
        k
        for k in law.solution.support
        if problem.columns[k] >= count
        and losses[problem.columns[k] - count].has(*_absolute())
    ]
    if not dry:
        return law, np.zeros((0, len(law.c)))
    found, values = [law], [law.fit.value]
    fixed = not law.fit.levels.is_free.any()
    for n in range(1, WIDTHS):
        here = found[-1].fit
        motion = here.motion.with_width(problem.width / 2**n)
        motion = replace(motion, steps=min(2 * (1 + n), 16))
        trial = fit(
            motion, here.c, here.active, here.path, here.levels, fixed,
            rounds_of_starts=0,
        )  # fmt: skip
        if trial is None or trial.value < max(values) - UNLIKELY:
            break
        found.append(replace(found[-1], fit=trial))
        values.append(trial.value)
        if abs(values[-1] - values[-2]) < INDIFFERENT:
            break
    weight = np.exp(np.array(values) - max(values))
    weight /= weight.sum()
    c = np.array([each.c for each in found])
    best = found[int(np.argmax(values))]
    report("widths: %s", values)
    return best, np.sqrt(weight)[:, None] * (c - best.c)


def _absolute():
    import sympy as sp

    return (sp.Abs,)
