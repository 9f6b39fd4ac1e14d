"""Whether an input stays as it is from row to row, by the error left out."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from leastaction.core.progress import report
from leastaction.recordings.error_bars import short_windows
from leastaction.recordings.input_dynamics import InputDynamics
from leastaction.recordings.leave_one_out import (
    Candidate,
    LeaveOneOut,
    Problem,
    fitted,
)
from leastaction.recordings.windows import Recording
from leastaction.trajectories.multiple_shooting import Segments


@dataclass(frozen=True)
class Hold:
    """A law with its inputs held or sampled, whichever leaves the smaller error."""

    found: Recording  # with the inputs as they act
    law: tuple[Problem, Candidate, LeaveOneOut]
    ratio: float  # of the error left out, to that with inputs as they were
    change: np.ndarray  # of the coefficients, from sampled inputs to these
    deviation: np.ndarray  # of the coefficients, since the choice may be wrong


def held_or_sampled(
    law: tuple[Problem, Candidate, LeaveOneOut],
    found: Recording,
    dynamics: InputDynamics | None,
    find: Callable,
) -> Hold:
    r"""Take inputs as steps from row to row (zero-order hold) where that fits better.

    A controller writes a new level in every row, which acts half a row later than a
    sampled curve through the same values. The law is fitted with both, in windows of
    half a main period at most; the smaller error left out decides, and where it is that
    of steps, ``find(problem, law)`` looks for terms again. By Student's t test of the
    differences, paired over blocks, the choice is wrong with probability w, and

    .. math::  \sqrt{w (1 - w)} \, Δc

    is a deviation of the coefficients. Inputs stay as they are if they are recorded as
    held, or if a lag is seen in the law, which holds half a row then.
    """
    from scipy.stats import t

    problem, present, _ = law
    none = np.zeros_like(present.fit.c)
    as_it_is = Hold(found, law, 1.0, none, none)
    if not problem.driven or (dynamics is not None and dynamics.seen.any()):
        return as_it_is
    driven = found.inputs.recorded.any(axis=0)
    if all(np.array(found.inputs.held)[driven]):
        return as_it_is
    held = found.driven_by(replace(found.inputs, stepwise=True))
    short, segments = short_windows(problem, present, found)
    laws = [_driven(each, short, segments, present)[1] for each in (found, held)]
    if None in laws:
        return as_it_is
    errors = [x.left_out.block_errors(x.support, []) for x in laws]
    less, count = errors[0] - errors[1], len(errors[0])
    spread = np.sqrt(count) * less.std(ddof=1)
    w = t.sf(abs(less.sum()) / max(spread, 1e-300), count - 1)
    change = laws[1].fit.c - laws[0].fit.c
    deviation = np.sqrt(w * (1 - w)) * change
    if less.sum() <= 0:
        return replace(as_it_is, deviation=deviation)
    problem, other = _driven(held, problem, present.fit.segments, present)
    if other is None:
        return replace(as_it_is, deviation=deviation)
    ratio = float(1 - less.sum() / errors[0].sum())
    report("inputs are held from row to row: error left out times %.3g", ratio)
    return Hold(held, (problem, *find(problem, other)), ratio, change, deviation)


def _driven(
    found: Recording, problem: Problem, segments: Segments, present: Candidate
) -> tuple[Problem, Candidate | None]:
    """A law fitted with the inputs of a recording, and its problem."""
    problem = problem.driven_by(found.positions.force)
    problem = problem.accurate(segments, present.fit.c)
    return problem, fitted(problem, segments, present.fit.c)
