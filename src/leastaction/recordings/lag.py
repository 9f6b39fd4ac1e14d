"""Delay between an input and its record, by the error left out of a law with it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from leastaction.recordings.leave_one_out import (
    ERROR_RATIO_OF_TERM,
    Candidate,
    Problem,
    fitted,
)
from leastaction.recordings.windows import Recording

# Main periods that an input may be early or late.
LARGEST_PART_OF_PERIOD = 0.1
MOST_MOVES = 8
PARTS_OF_WINDOW = 8
# A move of this part of a recorded row ends the search.
LAST_MOVE = 0.1
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Lag:
    """Time after its record at which an input acts.

    Attributes
    ----------
    rows, std
        Recorded rows, negative if it acts before; standard error.
    change
        Change of the coefficients with it.
    seen
        Whether it is more than one row with 95 % confidence, and lowers the error left
        out as a term must. What is less is how an input is held from row to row.
    """

    rows: float
    std: float
    change: np.ndarray
    seen: bool

    def applied(self, found: Recording) -> Recording:
        """The recording with its input moved by the lag."""
        positions = replace(found.positions, force=found.delayed(self.rows))
        later = partial(_later, found.delayed, self.rows)
        return replace(found, positions=positions, delayed=later)


def _later(delayed: Callable, by: float, rows: float) -> Callable:
    return delayed(by + rows)


def input_lag(kept: Problem, present: Candidate, found: Recording) -> Lag | None:
    r"""Lag τ of the input, by Newton steps on the error left out, E(τ).

    .. math::

        τ ← τ - \frac{h}{2} \frac{E(τ + h) - E(τ - h)}{E(τ + h) - 2 E(τ) + E(τ - h)}

    with h of an eighth of a window and then of one recorded row, the law fitted again
    at each. Its standard error is the jackknife's over blocks. None without an input,
    of one that is recorded as held, or if no law follows.
    """
    from scipy.stats import t

    if found.delayed is None:
        return None
    known: dict[float, Candidate | None] = {}

    def at(rows: float) -> Candidate | None:
        if rows not in known:
            force = found.delayed(rows)
            late = replace(kept, positions=replace(kept.positions, force=force))
            known[rows] = fitted(late, present.fit.segments, present.fit.c)
        return known[rows]

    def errors(rows: float) -> np.ndarray:
        law = at(rows)
        if law is None:
            return np.full(len(present.left_out.e), np.nan)
        return law.left_out.block_errors(law.support, kept.fixed(law.fit.c))

    largest = LARGEST_PART_OF_PERIOD * found.period
    wide = max(np.median(present.fit.segments.length) / PARTS_OF_WINDOW, 1.0)
    rows, h, move = 0.0, wide * found.positions.dt / found.row, np.inf
    for _ in range(MOST_MOVES):
        three = np.array([errors(rows + step) for step in (-h, 0.0, h)])
        move = h * _vertex(three.sum(axis=1))
        if not abs(rows + move) * found.row < largest:
            return None
        rows += move
        if h == 1.0 and abs(move) < LAST_MOVE:
            break
        h = 1.0 if abs(move) < 2 * h else h
    best, own = at(rows), errors(0.0).sum()
    if best is None or h != 1.0 or not abs(move) < 1.0:
        return None
    left = np.array([_vertex(rest) for rest in (three.sum(1)[:, None] - three).T])
    count = len(left)
    std = float(np.sqrt((count - 1) / count * ((left - left.mean()) ** 2).sum()))
    sure = abs(rows) - t.ppf((1 + CONFIDENCE) / 2, count - 1) * std > 1.0
    better = errors(rows).sum() < ERROR_RATIO_OF_TERM * own
    return Lag(rows, std, best.fit.c - present.fit.c, bool(sure and better))


def _vertex(values: np.ndarray) -> float:
    """Minimum of a parabola through values at −1, 0, 1; NaN if it has none."""
    low, middle, high = values
    curved = high - 2 * middle + low
    return float((low - high) / (2 * curved)) if curved > 0 else np.nan
