"""Delay and first-order lag between an input and its force, by the error left out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations

import numpy as np
import xarray as xr

from leastaction.recordings.error_bars import short_windows
from leastaction.recordings.inputs import (
    LAG,
    TIME_CONSTANT,
    UNKNOWN,
    Inputs,
    said_of_inputs,
)
from leastaction.recordings.leave_one_out import (
    ERROR_RATIO_OF_TERM,
    MISFIT_OF_CHANCE,
    Candidate,
    Problem,
    fitted,
)
from leastaction.recordings.windows import (
    LEAST_SAMPLES_OF_WINDOW,
    SHORTEST_PART_OF_PERIOD,
    Recording,
)
from leastaction.trajectories.multiple_shooting import Segments

# Main periods that an input may be early or late.
LARGEST_PART_OF_PERIOD = 0.1
MOST_MOVES = 16
# Of a fit at one value, which begins at that of the nearest one.
MOST_STEPS = 4
PARTS_OF_WINDOW = 8
# Of a move, in the steps of the differences that it comes from; and of one that these
# are fine enough for.
LARGEST_MOVE, FARTHEST_VERTEX = 4.0, 2.0
# A move of this part of a recorded row ends the search.
LAST_MOVE = 0.1
CONFIDENCE = 0.95
# Standard error, in rows, of a lag for what an input does between its rows: half a row
# if it is held.
UNKNOWN_HOLD = 0.25
# Of what is found before there is a law: the degree of local polynomials, and their
# rows, at most in all and at least over those of a polynomial.
DEGREE_OF_POLYNOMIALS = 4
MOST_FIRST_ROWS = 1000
LEAST_FIRST_WINDOWS = 10


@dataclass(frozen=True)
class Unknown:
    """A lag or a time constant to be found, of the inputs of some coordinates."""

    name: str  # ``lag`` or ``time_constant``
    coordinates: tuple[int, ...]  # whose inputs have it
    asked: bool  # by the user; what nobody asked for is told only if it is seen


def unknowns_of(observations: xr.Dataset, inputs: Inputs) -> list[Unknown]:
    """Unknown lags and time constants; one lag of all of which nothing is said."""
    stated = said_of_inputs(observations)
    names = [str(name) for name in observations["dof"].values]
    found = [
        Unknown(key, (a,), True)
        for a, name in enumerate(names)
        for key in (LAG, TIME_CONSTANT)
        if stated.get(name, {}).get(key) == UNKNOWN
    ]
    told = {n for n, said in stated.items() if {LAG, TIME_CONSTANT} & set(said)}
    driven = inputs.recorded.any(axis=0)
    rest = tuple(a for a, name in enumerate(names) if driven[a] and name not in told)
    if rest:
        found.append(Unknown(LAG, rest, False))
    return found


def changed(inputs: Inputs, unknowns: Sequence[Unknown], values: np.ndarray) -> Inputs:
    """The inputs with `values` (s) added to their unknown lags and time constants."""
    for unknown, value in zip(unknowns, values, strict=True):
        inputs = inputs.changed(unknown.name, unknown.coordinates, value)
    return inputs


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
    window = max(SHORTEST_PART_OF_PERIOD * period / inputs.dt, LEAST_SAMPLES_OF_WINDOW)
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

    found = np.zeros(len(unknowns))
    largest = LARGEST_PART_OF_PERIOD * period
    count = int(np.ceil(largest / (window * inputs.dt / PARTS_OF_WINDOW)))
    for k, unknown in enumerate(unknowns):
        begin = -count if unknown.name == LAG else 0
        trials = np.tile(found, (count - begin + 1, 1))
        trials[:, k] = np.arange(begin, count + 1) * largest / count
        errors = [residual(trial) for trial in trials]
        if min(errors) < ERROR_RATIO_OF_TERM * errors[-begin]:
            found = trials[int(np.argmin(errors))]
    return found


def _smoothed(
    parts: Sequence[slice], width: int, dt: float, values: np.ndarray, order: int
) -> np.ndarray:
    """Derivative of an order of local polynomials, trajectory by trajectory."""
    from scipy.signal import savgol_filter

    found = np.zeros_like(values)
    for part in parts:
        if part.stop - part.start >= width:
            found[part] = savgol_filter(
                values[part], width, DEGREE_OF_POLYNOMIALS, order, dt, axis=0
            )
    return found


@dataclass(frozen=True)
class InputDynamics:
    """Lags and time constants of the inputs."""

    values: np.ndarray  # by unknown, s; negative if the input acts before its record
    std: np.ndarray  # of them, s
    change: np.ndarray  # of the coefficients with them
    # Which of them belong into the law: asked for; or more than one row with 95 %
    # confidence, with an error left out, beyond the noise, that is lower as a term must
    # make it. What is less is how an input is held from row to row.
    seen: np.ndarray


def input_dynamics(
    kept: Problem,
    present: Candidate,
    found: Recording,
    unknowns: Sequence[Unknown],
    start: np.ndarray,
) -> InputDynamics | None:
    r"""Lags and time constants p, by Newton steps on the error left out, E(p).

    .. math::  p ← p - (∇^2 E)^{-1} ∇ E

    by differences over one recorded row, or over an eighth of a window before, the law
    fitted again at each, from `start` (s) on; inputs of `found` have no unknown lag.
    Windows are those of the law, of half a main period at most: longer ones know no
    more of a lag, and may be lost to chaos. Standard errors are those of the jackknife
    over blocks. None if nothing is unknown, or if no law follows.
    """
    if found.inputs is None or not unknowns:
        return None
    row = found.inputs.dt
    moved = found.driven_by(changed(found.inputs, unknowns, start))
    windows = short_windows(kept, present, moved)
    laws = _Laws(*windows, present.fit.c, found, unknowns)
    length = np.median(laws.segments.length) * found.positions.dt
    wide = max(length / PARTS_OF_WINDOW / row, 1.0)
    along = directions(unknowns)
    first = np.linalg.solve(along, start / row)
    best = minimum(lambda y: laws.errors(along @ y), first, wide, found.period / row)
    if best is None or None in (laws.at(start / row), laws.at(along @ best[0])):
        return None
    rows = along @ best[0]
    hold = [found.inputs.hold[list(unknown.coordinates)].max() for unknown in unknowns]
    std, least = _spread(best[1], along, np.array(hold))
    better = laws.beyond(rows) < ERROR_RATIO_OF_TERM * laws.beyond(np.zeros(len(rows)))
    asked = np.array([unknown.asked for unknown in unknowns])
    seen = asked | ((np.abs(rows) > least) & better)
    change = laws.coefficients(rows) - laws.coefficients(start / row)
    return InputDynamics(rows * row, std * row, change, seen)


@dataclass(frozen=True)
class _Laws:
    """The law fitted again at lags and time constants, each begun at the nearest."""

    problem: Problem
    segments: Segments
    c: np.ndarray
    found: Recording
    unknowns: Sequence[Unknown]
    known: dict[tuple, Candidate | None] = field(default_factory=dict)

    def at(self, rows: np.ndarray) -> Candidate | None:
        """The law at values in rows; None if it does not follow."""
        key = tuple(np.round(rows, 9))
        if key not in self.known:
            inputs, values = self.found.inputs, rows * self.found.inputs.dt
            moved = self.found.driven_by(changed(inputs, self.unknowns, values))
            late = self.problem.driven_by(moved.positions.force)
            laws = {k: law.fit for k, law in self.known.items() if law is not None}
            near = min(laws, key=lambda k: np.abs(rows - k).max(), default=None)
            begin = laws.get(near, self)
            self.known[key] = fitted(late, begin.segments, begin.c, MOST_STEPS)
        return self.known[key]

    def coefficients(self, rows: np.ndarray) -> np.ndarray:
        """Coefficients of the law after a last step."""
        law = self.at(rows)
        fixed = self.problem.fixed(law.fit.c)
        return law.left_out.coefficients(law.support, fixed)

    def errors(self, rows: np.ndarray) -> np.ndarray:
        """Error left out of every block; NaN if the law does not follow."""
        law = self.at(rows)
        if law is None:
            return np.full(self.problem.blocks.max() + 1, np.nan)
        return law.left_out.block_errors(law.support, self.problem.fixed(law.fit.c))

    def beyond(self, rows: np.ndarray) -> float:
        """Error left out beyond the noise, which no lag lowers, and that of chance.

        Infinite if the law does not follow.
        """
        beyond = np.maximum(self.errors(rows).sum() - self.problem.noise, 0.0)
        return float(np.nan_to_num(beyond, nan=np.inf) + MISFIT_OF_CHANCE)


def _spread(
    around: Mapping[tuple, np.ndarray], along: np.ndarray, hold: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Standard error over blocks, and least value that is seen, in rows.

    What is below one row, or below the `hold` of held inputs, is how these are held.
    """
    from scipy.stats import t

    total = {where: e.sum() for where, e in around.items()}
    count = len(next(iter(around.values())))
    left = np.array(
        [
            along @ _vertex({where: total[where] - e[s] for where, e in around.items()})
            for s in range(count)
        ]
    )
    std = np.sqrt((count - 1) / count * ((left - left.mean(0)) ** 2).sum(0))
    least = t.ppf((1 + CONFIDENCE) / 2, count - 1) * std + hold
    return np.hypot(std, UNKNOWN_HOLD), least


def directions(unknowns: Sequence[Unknown]) -> np.ndarray:
    """Columns that a search goes along: unknowns, and T with τ + T as it is.

    For slow inputs τ + T is all that counts.
    """
    along = np.eye(len(unknowns))
    for i, lag in enumerate(unknowns):
        for j, other in enumerate(unknowns):
            if (lag.name, other.name) == (LAG, TIME_CONSTANT):
                along[i, j] = -float(lag.coordinates == other.coordinates)
    return along


def minimum(
    errors: Callable, rows: np.ndarray, wide: float, period: float
) -> tuple[np.ndarray, dict] | None:
    """Minimum of the summed errors, and the errors around it; None if there is none.

    By differences over one row; if they tell of none close by, over `wide` rows first.
    Where they are not convex the best point of the stencil is the next one.
    """
    h, largest = 1.0, LARGEST_PART_OF_PERIOD * period
    for number in range(MOST_MOVES):
        around = {w: errors(rows + h * np.array(w)) for w in _stencil(len(rows))}
        total = {where: e.sum() for where, e in around.items()}
        move, is_convex = _vertex(total), True
        if np.isnan(move).any():
            is_convex = False
            move = np.array(
                min(total, key=lambda w: np.nan_to_num(total[w], nan=np.inf))
            )
        is_close = is_convex and (np.abs(move) < FARTHEST_VERTEX).all()
        if number == 0 and not is_close:
            h = wide
            continue
        move = h * np.clip(move, -LARGEST_MOVE, LARGEST_MOVE)
        rows = rows + move
        if not (np.abs(rows) < largest).all():
            return None
        if h == 1.0 and (np.abs(move) < LAST_MOVE).all():
            break
        if is_close:
            h = 1.0
        elif not move.any():
            h = max(h / 2, 1.0)
    is_there = h == 1.0 and is_convex and (np.abs(move) < 1.0).all()
    return (rows, around) if is_there else None


def _stencil(count: int) -> list[tuple[int, ...]]:
    """Points from which two derivatives of a function of so many variables follow."""
    one = np.eye(count, dtype=int)
    signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    corners = [
        a * one[i] + b * one[j]
        for i, j in combinations(range(count), 2)
        for a, b in signs
    ]
    return [tuple(map(int, w)) for w in (0 * one[0], *one, *-one, *corners)]


def _vertex(values: Mapping[tuple, float]) -> np.ndarray:
    """Minimum of a function by its differences on a stencil; NaN if it has none."""
    count = len(next(iter(values)))
    one = np.eye(count, dtype=int)

    def at(where) -> float:
        return values[tuple(map(int, where))]

    def mixed(a, b) -> float:
        return (at(a + b) - at(a - b) - at(b - a) + at(-a - b)) / 4

    slope = np.array([at(e) - at(-e) for e in one]) / 2
    curved = np.diag([at(e) - 2 * at(0 * e) + at(-e) for e in one])
    for i, j in combinations(range(count), 2):
        curved[i, j] = curved[j, i] = mixed(one[i], one[j])
    if not np.isfinite(curved).all() or np.linalg.eigvalsh(curved)[0] <= 0:
        return np.full(count, np.nan)
    return -np.linalg.solve(curved, slope)
