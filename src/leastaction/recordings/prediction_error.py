"""A law of a recording by one likelihood: process and sensor noise are estimated.

Prediction error method (Ljung 1999) with an augmented Kalman filter; see
``likelihood/README.md``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.library import Library
from leastaction.core.progress import report
from leastaction.likelihood.augmented_kalman_filter import augmented_filter
from leastaction.likelihood.covariance import spread
from leastaction.likelihood.horizons import Horizons, Law, both_horizons, selected
from leastaction.likelihood.iterated_smoother import (
    Fit,
    accurate,
    begin_levels,
    fit,
    smooth_motion,
)
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.likelihood.noise_levels import step_of
from leastaction.likelihood.term_selection import (
    SHARE_OF_MISSED_POWER,
    Candidates,
    parts,
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
from leastaction.recordings.inputs import (
    LAG,
    OPPOSED,
    TIME_CONSTANT,
    UNKNOWN,
    Inputs,
    inputs_of,
    said_of_inputs,
)
from leastaction.trajectories.library_equations import library_equations
from leastaction.trajectories.null_vector import free_columns
from leastaction.trajectories.null_vector import search as null_vector_path
from leastaction.trajectories.splicing import Ratio

# Part of a trajectory at each end that a start does not see: no smoother knows it well.
UNSEEN_BY_START = 0.02
# Factors of two that a width of friction is profiled over, down or up from the first.
WIDTHS = 8
# Changes of ℓ by a width that has no weight, and by one that is not felt: narrower ones
# are not felt either, but cost steps of the integrator.
UNLIKELY, INDIFFERENT = 10.0, 0.5
# Starts of growing size that are no better than the best before, until no more is made.
MOST_WORSE_STARTS = 4
# Rounds of the fit of a start, which is only ranked.
ROUNDS_OF_START = 6
# Gauss–Newton steps along a lag, the longest and the last one, in rows.
MOST_LAG_STEPS, LARGEST_MOVE, LAST_MOVE = 12, 4.0, 0.05
# Standard error, in rows, of how an input is held between them: uniform over a row.
UNKNOWN_HOLD = 0.25
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
    stated: np.ndarray  # whether the lag of the input of a coordinate is stated

    @property
    def driven(self) -> bool:
        """Whether a recorded input gives the scale."""
        return self.inputs is not None


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
    said = said_of_inputs(observations)
    stated = np.array(
        [LAG in said.get(n, {}) and said[n][LAG] != UNKNOWN for n in _dof(equations)]
    )
    return Problem(*about, width, stated)


def _dof(equations: xr.Dataset) -> list[str]:
    return [str(name) for name in equations["dof"].values]


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
    3. The width within which dry friction turns is profiled.
    4. Of these terms the law has those that count over whole runs, without process
       noise (:mod:`leastaction.likelihood.horizons`).
    5. Intervals: information or sandwich, with the nearest absent term, the width, and
       half the difference between the horizons.

    Held-out trajectories are not looked at.
    """
    from leastaction.recordings.recorded_law import estimate

    check(equations, "gram")
    seen = training(observations)
    for name, said in said_of_inputs(seen).items():
        if said.get(TIME_CONSTANT) == UNKNOWN:
            raise RecordingError(
                f"import.inputs.{name}.{TIME_CONSTANT} is unknown; method "
                "prediction_error finds lags only: state the time constant, or take "
                "method cross_validated_shooting"
            )
    problem = problem_of(seen, equations, library)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = search(problem, equations)
        law = found.horizons.law
        law = replace(law, fit=accurate(law.fit, not law.fit.levels.is_free.any()))
    found = replace(found, horizons=replace(found.horizons, law=law))
    return estimate(found, equations, seen)


@dataclass(frozen=True)
class Identified:
    """A law at both horizons, and the inputs that it was found with."""

    problem: Problem  # with inputs as they act
    horizons: Horizons
    of_width: np.ndarray  # deviations by the width of dry friction, (deviation, term)
    lag_std: np.ndarray | None = None  # of lags that are seen, by coordinate


def search(problem: Problem, equations: xr.Dataset) -> Identified:
    """The law of a recording, with inputs as they act."""
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
    near = selected(problem.candidates, first)
    problem, near, lag_std = with_lags(*held_or_sampled(problem, near))
    near, of_width = with_width(problem, near)
    support = near.solution.support
    near = selected(problem.candidates, near.fit)
    if near.solution.support != support:
        near, of_width = with_width(problem, near)
    found = both_horizons(problem.candidates, near)
    return Identified(problem, found, of_width, lag_std)


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
    best, value, worse, opposed = None, np.inf, 0, False
    for c, last in starts(problem, equations, compiled, columns, force):
        missed = np.sqrt(((columns @ c - force) ** 2).mean(axis=0))
        levels = begin_levels(missed, noise, least, problem.motion.dt)
        support = tuple(map(int, np.flatnonzero(c)))
        active = np.setdiff1d(support, problem.candidates.fixed(support, c))
        how = {"rounds_of_starts": 1, "rounds": ROUNDS_OF_START}
        trial = fit(problem.motion, c, active, path, levels, **how)
        if trial is None:
            opposed |= problem.driven and problem.motion.is_definite(path, -c)
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
    if best is None and opposed:
        raise RecordingError(OPPOSED)
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
            given = problem.references.get(scale[0], 0.5)
            c[mine] *= given / c[scale[0]]
            c[scale[0]] = given  # to the last digit
    return c[:-1] / c[-1] if problem.driven else c


def driven_by(problem: Problem, inputs: Inputs) -> Problem:
    """The problem with other inputs."""
    force = inputs.nodes(np.arange(len(problem.motion.y)), 1)
    motion = replace(problem.motion, force=force)
    return replace(problem, inputs=inputs, motion=motion)


def held_or_sampled(problem: Problem, law: Law) -> tuple[Problem, Law]:
    """The law with its inputs held from row to row (zero-order hold), if likelier.

    Neither has a parameter that the other has not. Terms are chosen again.
    """
    if not problem.driven or all(problem.inputs.held):
        return problem, law
    one = law.fit
    held = driven_by(problem, replace(problem.inputs, stepwise=True, curves={}))
    start = held.motion, one.c, one.active, one.path, one.levels
    trial = fit(*start, rounds_of_starts=1)
    if trial is None or trial.value <= one.value:
        return problem, law
    report("inputs are held from row to row: ell %.5g more", trial.value - one.value)
    return held, selected(held.candidates, trial)


def with_lags(problem: Problem, law: Law) -> tuple[Problem, Law, np.ndarray | None]:
    """The law with its inputs delayed, where a delay is seen: beyond one row.

    A delay is a column of the likelihood beside the coefficients, by differences of the
    inputs over half a row; below one row it is how an input is held.
    """
    if not problem.driven:
        return problem, law, None
    unknowns = unknowns_of_lags(problem)
    std = np.full(problem.motion.dof, np.nan)
    for _ in range(MOST_LAG_STEPS if unknowns else 0):
        late, error = lags(problem, law, unknowns)
        row = problem.motion.dt
        total = np.array([problem.inputs.lag[list(u)].mean() for u in unknowns]) + late
        seen = np.abs(total) > 2 * error + row * problem.inputs.hold.max()
        std[:] = np.nan
        for coordinates, e, is_seen in zip(unknowns, error, seen, strict=True):
            if is_seen:
                std[list(coordinates)] = np.hypot(e, UNKNOWN_HOLD * row)
        moves = np.where(seen, late, late - total)
        if (np.abs(moves) < LAST_MOVE * row).all():
            break
        inputs = problem.inputs
        for coordinates, move in zip(unknowns, moves, strict=True):
            move = float(np.clip(move, -LARGEST_MOVE * row, LARGEST_MOVE * row))
            inputs = inputs.changed(LAG, coordinates, move)
        moved = driven_by(problem, inputs)
        one = law.fit
        start = moved.motion, one.c, one.active, one.path, one.levels
        trial = fit(*start, rounds_of_starts=0)
        if trial is None:
            break
        problem, law = moved, selected(moved.candidates, trial)
        report("lags: %s s", problem.inputs.lag)
    return problem, law, std


def unknowns_of_lags(problem: Problem) -> list[tuple[int, ...]]:
    """Coordinates whose inputs have one lag that nobody stated."""
    driven = problem.inputs.recorded.any(axis=0)
    free = [a for a in range(problem.motion.dof) if driven[a] and not problem.stated[a]]
    return [tuple(free)] if free else []


def lags(problem: Problem, law: Law, unknowns) -> tuple[np.ndarray, np.ndarray]:
    """Lags, s, beyond those that inputs have, and their standard errors."""
    one, dt = law.fit, problem.motion.dt
    m = len(one.active)
    model, _ = problem.motion.linearised(one.path, one.c, one.active)
    columns = []
    for coordinates in unknowns:
        ends = []
        for sign in (1, -1):
            inputs = problem.inputs.changed(LAG, coordinates, sign * dt / 2)
            moved = driven_by(problem, inputs).motion
            ends.append(moved.linearised(one.path, one.c, one.active[:0])[0].d)
        columns.append((ends[0] - ends[1]) / dt)
    B = np.concatenate([model.B, np.stack(columns, axis=2)], axis=2)
    model = model._replace(B=np.ascontiguousarray(B))
    found = augmented_filter(model, one.levels.process, one.levels.sensor)
    change, _ = step_of(found)
    rows = spread(found).deviations
    return change[m:], np.sqrt((rows**2).sum(axis=0))[m:]


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
        and losses[problem.columns[k] - count].has(sp.Abs)
    ]
    if not dry:
        return law, np.zeros((0, len(law.c)))
    found = {problem.width: law}

    def likelier(width: float, near: Law) -> float:
        trial = _of_width(near, width, problem.width)
        if trial is None:
            return -np.inf
        found[width] = trial
        return trial.fit.value - law.fit.value

    for factor in (1 / 2, 2.0):
        here, value = problem.width, 0.0
        for _ in range(1, WIDTHS):
            last, near, here = value, found[here], here * factor
            value = likelier(here, near)
            if value < max(last, 0) - UNLIKELY or abs(value - last) < INDIFFERENT:
                break
        if max(found.values(), key=lambda each: each.fit.value) is not law:
            break
    best = max(found, key=lambda width: found[width].fit.value)
    between = vertex(found, best)
    if between is not None:
        likelier(between, found[best])
    report("widths: %s", {width: each.fit.value for width, each in found.items()})
    values = np.array([each.fit.value for each in found.values()])
    weight = np.exp(values - values.max())
    weight /= weight.sum()
    law = max(found.values(), key=lambda each: each.fit.value)
    c = np.array([each.c for each in found.values()])
    return law, np.sqrt(weight)[:, None] * (c - law.c)


def _of_width(law: Law, width: float, widest: float) -> Law | None:
    """The law fitted again with friction that turns within `width`."""
    here = law.fit
    motion = here.motion.with_width(width)
    sharper = 1 + int(np.ceil(np.log2(widest / width)))
    motion = replace(motion, steps=max(motion.steps, min(2 * sharper, 8)))
    start = motion, here.c, here.active, here.path, here.levels
    trial = fit(*start, not here.levels.is_free.any(), rounds_of_starts=0)
    return None if trial is None else replace(law, fit=trial)


def vertex(found: Mapping[float, Law], best: float) -> float | None:
    """Width at the top of the parabola through the best and its neighbours.

    Over the logarithm of widths that are factors of two apart; None without a neighbour
    on each side, or where these are not felt.
    """
    if not {best / 2, 2 * best} <= set(found):
        return None
    low, top, high = (found[w].fit.value for w in (best / 2, best, 2 * best))
    if top - min(low, high) < INDIFFERENT:
        return None
    return float(best * 2 ** ((high - low) / 2 / (2 * top - low - high)))
