"""What lies between a recorded input and its force: form, delay and first-order lag.

A delay and a time constant are columns of the likelihood beside the coefficients, by
differences of the inputs over half a row to both sides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.progress import report
from leastaction.likelihood.augmented_kalman_filter import augmented_filter
from leastaction.likelihood.covariance import spread
from leastaction.likelihood.horizons import Law, selected
from leastaction.likelihood.iterated_smoother import fit
from leastaction.likelihood.noise_levels import profiled, step_of
from leastaction.likelihood.term_selection import SHARE_OF_MISSED_POWER
from leastaction.recordings.inputs import (
    FORMS,
    LAG,
    TIME_CONSTANT,
    Inputs,
    Unknown,
    changed,
)
from leastaction.recordings.recorded_problem import Problem

# Main periods that an input may be early or late.
LARGEST_PART_OF_PERIOD = 0.1
# Gauss–Newton steps along delays and time constants, the longest one in rows, and the
# last one, in standard errors.
MOST_STEPS, LARGEST_MOVE, LAST_MOVE = 12, 4.0, 0.5
# Standard error, in rows, of how an input is held between them: uniform over a row.
UNKNOWN_HOLD = 0.25
# Likelihood of a form of inputs over that of the one before, for it to be taken.
ODDS_OF_FORM = 20.0
# Windows of the local polynomials that are used before there is a law: main periods,
# and rows at least; their degree; rows in all at most, and windows at least.
PART_OF_PERIOD, LEAST_ROWS, DEGREE_OF_POLYNOMIALS = 1 / 50, 8, 4
MOST_FIRST_ROWS = 1000
LEAST_FIRST_WINDOWS = 10
PARTS_OF_WINDOW = 8


def first_values(
    unknowns: Sequence[Unknown],
    inputs: Inputs,
    q: np.ndarray,
    forces: Callable,
    period: float,
) -> np.ndarray:
    """Lags and time constants before there is a law, s.

    Each in turn is that of the smallest residual of the inputs, regressed on the forces
    of all candidates, if it is smaller by as much as a term must make it; else zero.
    Positions and inputs are local polynomials (Savitzky and Golay 1964) over a fiftieth
    of a main `period` (s). Positions have the shape (row, dof), ``forces(q, qdot,
    qddot)`` of all candidates (row, dof, candidate).
    """
    window = max(PART_OF_PERIOD * period / inputs.dt, LEAST_ROWS)
    half = int(window / 2)
    rows = [np.arange(p.start + half, p.stop - half) for p in inputs.parts]
    rows = np.concatenate(rows)
    if len(rows) < LEAST_FIRST_WINDOWS * window:
        return np.zeros(len(unknowns))
    smooth = partial(_smoothed, inputs.parts, 2 * half + 1, inputs.dt)
    rows = rows[:: max(len(rows) // MOST_FIRST_ROWS, 1)]
    columns = forces(*(smooth(q, order)[rows] for order in range(3)))
    flat = columns.reshape(-1, columns.shape[2])
    flat = flat[:, np.isfinite(flat).all(axis=0)]
    length = np.sqrt((flat**2).sum(axis=0))
    basis, size, _ = np.linalg.svd(flat / np.where(length > 0, length, 1.0), False)
    basis = basis[:, size > 1e-8 * size[0]]
    inputs = replace(inputs, recorded=smooth(inputs.recorded, 0), curves={})

    def residual(values: np.ndarray) -> float:
        force = changed(inputs, unknowns, values).at(rows).ravel()
        return float(force @ force - ((force @ basis) ** 2).sum())

    values_so_far = np.zeros(len(unknowns))
    largest = LARGEST_PART_OF_PERIOD * period
    count = int(np.ceil(largest / (window * inputs.dt / PARTS_OF_WINDOW)))
    for k, unknown in enumerate(unknowns):
        begin = -count if unknown.name == LAG else 0
        trials = np.tile(values_so_far, (count - begin + 1, 1))
        trials[:, k] = np.arange(begin, count + 1) * largest / count
        errors = [residual(trial) for trial in trials]
        if min(errors) < (1 - SHARE_OF_MISSED_POWER) * errors[-begin]:
            values_so_far = trials[int(np.argmin(errors))]
    return values_so_far


def _smoothed(
    parts: Sequence[slice], width: int, dt: float, values: np.ndarray, order: int
) -> np.ndarray:
    """Derivative of an order of local polynomials, trajectory by trajectory."""
    from scipy.signal import savgol_filter

    smooth = np.zeros_like(values)
    for part in parts:
        if part.stop - part.start >= width:
            smooth[part] = savgol_filter(
                values[part], width, DEGREE_OF_POLYNOMIALS, order, dt, axis=0
            )
    return smooth


def of_likeliest_form(problem: Problem, law: Law) -> tuple[Problem, Law]:
    """The law with its inputs of the likeliest form between rows.

    No form has a parameter that another has not, so that odds of twenty decide. Noise
    levels and terms of a law are those of its own form, by which another that is right
    is likelier at once: only such a form is fitted.
    """
    if not problem.driven or not problem.inputs.degrees.any():
        return problem, law
    delayed = [a for u in problem.unknowns if u.name == LAG for a in u.coordinates]
    delayed = [a for a in delayed if problem.inputs.lag[a]]
    least, best = law.fit.value + np.log(ODDS_OF_FORM), (problem, law)
    for degree in FORMS:
        inputs = problem.inputs.of_degree(degree, delayed)
        if degree == problem.inputs.degree or _driven_by(problem, law, inputs) < least:
            continue
        other = refitted(problem, law, inputs)
        if other is not None and other[1].fit.value > max(least, best[1].fit.value):
            best = other
    if best[0] is problem:
        return best
    form, more = FORMS[best[0].inputs.degree], best[1].fit.value - law.fit.value
    report("inputs are %s: ell %.5g more", form.name, more)
    return best[0], selected(best[0].candidates, best[1].fit)


def _driven_by(problem: Problem, law: Law, inputs: Inputs) -> float:
    """ℓ of a law under other inputs, at its noise levels: one Gauss–Newton step."""
    one = law.fit
    motion = replace(one.motion, force=problem.driven_by(inputs).motion.force)
    model, _ = motion.linearised(one.path, one.c, one.active)
    return profiled(model, one.levels)


@dataclass(frozen=True)
class InputDynamics:
    """Delays and time constants of the inputs of a law."""

    std: np.ndarray  # by unknown, s; NaN of what is not seen
    # What coefficients move by within the errors of what is unknown, (unknown, term).
    deviations: np.ndarray


def with_input_dynamics(
    problem: Problem, law: Law
) -> tuple[Problem, Law, InputDynamics]:
    """The law with its inputs as they act, by Gauss and Newton's method.

    A delay that was not requested belongs to the law if it is significant: beyond half
    its interval and one row; what is less is how an input is held. Terms are chosen
    again after every step.
    """
    unknowns, row = problem.unknowns, problem.motion.dt
    if not unknowns:
        return problem, law, InputDynamics(np.zeros(0), np.zeros((0, len(law.c))))
    if any(unknown.name == TIME_CONSTANT for unknown in unknowns):
        problem, law = with_time_constants(problem, law)
    requested = np.array([unknown.requested for unknown in unknowns])
    hold = np.array([problem.inputs.hold[list(u.coordinates)].max() for u in unknowns])
    for _ in range(MOST_STEPS):
        late, error, _ = steps(problem, law)
        total = values_of(problem.inputs, unknowns) + late
        resolved = requested | (np.abs(total) > NORMAL_QUANTILE * error + row * hold)
        moves = np.where(resolved, late, late - total)
        if (np.abs(moves) < LAST_MOVE * error).all():
            break
        moves = np.clip(moves, -LARGEST_MOVE * row, LARGEST_MOVE * row)
        moved = refitted(problem, law, changed(problem.inputs, unknowns, moves))
        if moved is None:
            break
        problem, law = moved[0], selected(moved[0].candidates, moved[1].fit)
        report("delays and time constants: %s s", values_of(problem.inputs, unknowns))
    late, error, slope = steps(problem, law)
    # Of an insignificant one, half of what it would change.
    size = np.where(resolved, error, late / 2)
    std = np.where(resolved, np.hypot(error, UNKNOWN_HOLD * row), np.nan)
    dynamics = InputDynamics(std, size[:, None] * slope)
    return problem, law, dynamics


def values_of(inputs: Inputs, unknowns: Sequence[Unknown]) -> np.ndarray:
    """Delays and time constants that inputs have, s."""
    return np.array([getattr(inputs, u.name)[u.coordinates[0]] for u in unknowns])


def refitted(problem: Problem, law: Law, inputs: Inputs) -> tuple[Problem, Law] | None:
    """The terms of a law with other inputs; None if nothing follows the motion."""
    moved, one = problem.driven_by(inputs), law.fit
    start = moved.motion, one.c, one.active, one.path, one.levels
    trial = fit(*start, rounds_of_starts=1)
    return None if trial is None else (moved, replace(law, fit=trial))


def with_time_constants(problem: Problem, law: Law) -> tuple[Problem, Law]:
    """The likeliest of time constants that double, with τ + T as it is.

    Slow inputs see τ + T alone, and the rest is even in T, so that T = 0 is a saddle
    that no Gauss–Newton step leaves.
    """
    row = problem.motion.dt
    for a, unknown in enumerate(problem.unknowns):
        if unknown.name != TIME_CONSTANT:
            continue
        delays = [
            b
            for b, other in enumerate(problem.unknowns)
            if (other.name, other.coordinates) == (LAG, unknown.coordinates)
        ]
        best = problem, law
        largest = LARGEST_PART_OF_PERIOD * problem.period
        for rows in 2.0 ** np.arange(0, np.log2(largest / row)):
            move = np.zeros(len(problem.unknowns))
            move[a], move[delays] = rows * row, -rows * row
            inputs = changed(problem.inputs, problem.unknowns, move)
            trial = refitted(problem, best[1], inputs)
            if trial is not None and trial[1].fit.value > best[1].fit.value:
                best = trial
        problem, law = best
    return problem, selected(problem.candidates, law.fit)


def steps(problem: Problem, law: Law) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss–Newton steps of the unknowns, s, their standard errors, and ∂c/∂p."""
    one, dt = law.fit, problem.motion.dt
    m = len(one.active)
    model, columns = one.model, []
    for unknown in problem.unknowns:
        ends = []
        for sign in (1, -1):
            inputs = problem.inputs.changed(
                unknown.name, unknown.coordinates, sign * dt / 2
            )
            moved = problem.driven_by(inputs).motion
            moved = replace(one.motion, force=moved.force)
            ends.append(moved.linearised(one.path, one.c, one.active[:0])[0].d)
        columns.append((ends[0] - ends[1]) / dt)
    B = np.concatenate([model.B, np.stack(columns, axis=2)], axis=2)
    model = model._replace(B=np.ascontiguousarray(B))
    filtered = augmented_filter(model, one.levels.process, one.levels.sensor)
    change, _ = step_of(filtered)
    error = np.sqrt((spread(filtered).deviations ** 2).sum(axis=0))
    G = filtered.information
    slope = np.zeros((len(columns), len(law.c)))
    slope[:, one.active] = -np.linalg.lstsq(G[:m, :m], G[:m, m:], rcond=None)[0].T
    return change[m:], error[m:], slope
