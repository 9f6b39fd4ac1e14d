"""A law of motion from recordings of sensors, checked on stretches left out.

Multiple shooting (Bock 1983) over windows that grow from one to ten main periods. Terms
enter and leave by the error on blocks that were left out of the fit (Stone 1974).
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.library import Library
from leastaction.core.progress import report
from leastaction.likelihood.term_selection import parts
from leastaction.recordings.candidates import (
    definite_test,
    distinct_forces,
    feeding_losses,
    oscillators,
    prices,
    sliding_equations,
    touched,
)
from leastaction.recordings.contracts import training
from leastaction.recordings.error import RecordingError
from leastaction.recordings.error_bars import (
    MISFIT_OF_LOST_WINDOWS,
    level_of,
    lost,
    rms_misfit,
    settled,
    with_biasing_friction,
    without_doubtful,
)
from leastaction.recordings.input_dynamics import (
    InputDynamics,
    Unknown,
    changed,
    input_dynamics,
    unknowns_of,
)
from leastaction.recordings.input_hold import held_or_sampled
from leastaction.recordings.inputs import OPPOSED, has_unknown_gain
from leastaction.recordings.law_estimate import Identified, estimate
from leastaction.recordings.leave_one_out import (
    ERROR_RATIO_OF_TERM,
    Candidate,
    LeaveOneOut,
    Problem,
    fitted,
    search,
)
from leastaction.recordings.windows import (
    Recording,
    durations,
    recording,
    weighted,
    windows,
)
from leastaction.trajectories.library_equations import library_equations
from leastaction.trajectories.multiple_shooting import (
    Segments,
    enough_steps,
    fit_states,
)
from leastaction.trajectories.null_vector import free_columns
from leastaction.trajectories.null_vector import search as null_vector_path
from leastaction.trajectories.splicing import Ratio

log = logging.getLogger(__name__)
# Searches for a law whose lags are those that it was sought with.
MOST_CLIMBS = 4
# Samples that the laws to begin with are compared on.
SAMPLES_OF_STARTS = 6000
# Main periods of the shortest windows that a free motion is begun in.
SHORTEST_FREE_WINDOW = 1 / 8
# Windows that grew by more and are lost are tried once more at the geometric mean.
LEAST_GROWTH_RETRIED = 2.0


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> LagrangianEstimate:
    """Identify L and D of recordings; nothing is set per system.

    1. Skeleton: supports of every size from smoothed accelerations
       (:mod:`leastaction.trajectories.splicing`), refitted by shooting over one main
       period; the best by its error on blocks left out.
    2. Windows of one, three and ten main periods. On each level terms are added,
       dropped, swapped and exchanged (:mod:`leastaction.recordings.leave_one_out`).
       Windows of a driven motion begin much shorter, and grow as long as the squared
       misfit grows no faster than they: a force that the law misses is then not
       integrated over and over.
       Lags and time constants of inputs (:mod:`.input_dynamics`) that are seen, or
       asked for, are applied, and the law sought again; without any, inputs are held
       from row to row where that fits better (:mod:`.input_hold`), and the law sought
       again where it fits much better.
    3. The size is the smallest beyond which no term lowers the error left out by 20 %.
    4. Terms whose interval holds zero are dropped, unless they are needed. Friction of
       a driven motion without which an inertia or a stiffness is biased is kept.
    5. Error bars by the jackknife over blocks, with half the difference between large
       and small amplitudes in quadrature; of a driven motion also that between shorter
       and longer windows, and between an input that lags and one that does not.

    Held-out trajectories are not looked at. Laws on trial may diverge: then they have
    an infinite misfit.
    """
    check(equations, "gram")
    observations = training(observations)
    terms = Library.from_config(library, [str(n) for n in equations["dof"].values])
    columns = distinct_forces(terms, free_columns(equations), equations)
    driven = "input" in observations
    compiled, width = sliding_equations(terms, columns, equations, driven)
    found = recording(observations, equations, compiled)
    whole = Problem(
        found.positions,
        np.zeros(0, dtype=int),
        0.0,
        np.diag(equations["inertia_gram"].values[0])[columns],
        columns >= len(terms.terms),
        feeding_losses(terms, columns),
        prices(terms, columns),
        driven,
        definite_test(terms, columns, equations),
        touched(terms, columns),
    )

    def begin(problem: Problem, segments: Segments) -> Candidate:
        return _best_start(problem, segments, equations, settings, terms, columns)

    names = [str(name) for name in equations["column"].values[columns]]
    rise = partial(climb, begin=begin, largest=settings["largest"], names=names)
    unknowns = unknowns_of(observations, found.inputs) if driven else []
    start = np.array(json.loads(equations.attrs["input_start"]))
    through = partial(_through_inputs, whole, rise=rise, unknowns=unknowns)
    found, climbed, dynamics = through(found, start=start)
    find = partial(search, most=settings["largest"])
    hold = held_or_sampled(climbed[:3], found, dynamics, find)
    if hold.ratio < ERROR_RATIO_OF_TERM:  # so windows can grow as they could not
        found, climbed, dynamics = through(hold.found, start=np.zeros_like(start))
        hold = held_or_sampled(climbed[:3], found, dynamics, find)
    found, (kept, present, quadratic), reached = hold.found, hold.law, climbed[3]
    present = settled(kept, without_doubtful(kept, present, found), found)
    most = settings["largest"]
    present = with_biasing_friction(kept, present, found, most)
    present = settled(kept, present, found)
    if len(present.support) >= most:
        log.warning(
            "the law has %d terms, as many as `largest` of identify allows; more may "
            "be needed",
            len(present.support),
        )
    ends = followed(kept, present, found, reached)
    inputs = unknowns, dynamics, hold
    kept = replace(kept, preferred=_references(terms, columns))
    law = Identified(kept, present, quadratic, found, *inputs, reached, *ends, width)
    amplified = has_unknown_gain(observations)
    return estimate(law, equations, terms, columns, amplified)


def _through_inputs(
    whole: Problem,
    found: Recording,
    rise: Callable,
    unknowns: Sequence[Unknown],
    start: np.ndarray,
) -> tuple[Recording, tuple, InputDynamics | None]:
    """The law by windows that grow, with the lags of the inputs that it has.

    It is sought with those to begin with, and again until the lags that are seen in it
    are those that it was sought with, within their standard errors. The recording with
    its inputs as they act, what `rise` gives of it, and what is unknown of the inputs.
    """
    values, known = start, None
    for number in range(MOST_CLIMBS):
        moved = found
        if whole.driven:
            moved = found.driven_by(changed(found.inputs, unknowns, values))
        law = rise(replace(whole, positions=moved.positions), moved)
        dynamics = input_dynamics(*law[:2], found, unknowns, values)
        known = dynamics or known
        better, allowed = np.zeros_like(start), 0.0
        if dynamics is not None:
            better = np.where(dynamics.seen, dynamics.values, 0.0)
            allowed = dynamics.std if number else 0.0
        if (np.abs(better - values) <= allowed).all():
            break
        values = better
    return moved, law, known


def climb(
    whole: Problem,
    found: Recording,
    begin: Callable,
    largest: int,
    names: Sequence[str],
) -> tuple[Problem, Candidate, LeaveOneOut, float]:
    """Windows level by level, and the search for terms on each.

    ``begin(problem, segments)`` is a law to begin with; where it loses the first
    windows of a free motion, which may be chaotic, those of half the length come first.
    Problem, law, quadratic functions and duration are those of the last level whose
    windows could be followed.
    """
    present, quadratic, reached, kept = None, None, 0.0, whole
    longer = durations(found)
    while longer:
        duration = longer.pop(0)
        problem, segments = level_of(whole, found, duration, present)
        if present is None:
            level = begin(problem, segments)
            is_lost = _misfit(level) > MISFIT_OF_LOST_WINDOWS
            is_short = duration < 2 * SHORTEST_FREE_WINDOW * found.period
            if is_lost and not is_short and not whole.driven:
                longer = [duration / 2, duration, *longer]
                continue
        else:
            problem = problem.accurate(segments, present.fit.c)
            level = grown(problem, segments, present)
        if level is None or (present and lost(_misfit(level), present)):
            report("windows of %.3g s cannot be followed", duration)
            if not reached or duration < LEAST_GROWTH_RETRIED * reached:
                break
            longer = [np.sqrt(duration * reached)]
            continue
        finer = problem.accurate(level.fit.segments, level.fit.c)
        if finer.positions.steps > problem.positions.steps or not reached:
            level = fitted(finer, level.fit.segments, level.fit.c, most=30) or level
        problem = finer
        level, own = search(problem, level, largest)
        text = ", ".join(names[k] for k in level.support)
        report("windows of %.3g s: criterion %.4g, %s", duration, level.criterion, text)
        if present is not None and problem.driven and _integrates(level, present):
            break
        present, quadratic, reached, kept = level, own, duration, problem
    if present is None:
        raise RecordingError(
            "no law with these candidates follows the recording over one main period; "
            "check units and columns, add candidates under `library`, or state "
            "`excitation: random` if the motion is driven by noise"
        )
    return kept, present, quadratic, reached


def grown(problem: Problem, segments: Segments, before: Candidate) -> Candidate | None:
    """The law fitted in longer windows; None if it does not lead through driven ones.

    A fit would have to lower the squared misfit twentyfold before these were taken; see
    :func:`_integrates`. It would cost more than all shorter ones together.
    """
    c = before.fit.c
    segments, chi2 = fit_states(problem.positions, segments, c)
    if problem.driven and lost(rms_misfit(chi2, segments), before):
        return None
    return fitted(problem, segments, c, most=30)


def _integrates(level: Candidate, before: Candidate) -> bool:
    """Whether the squared misfit grows faster than the windows.

    So does the effect of a force that the law misses, while noise of the sensor stays
    as it is. Longer windows would then give that force a greater weight.
    """
    size = [np.median(c.fit.segments.length) for c in (level, before)]
    square = [c.fit.square.sum(axis=0) for c in (level, before)]
    return bool((square[0] / square[1]).mean() > size[0] / size[1])


def followed(
    kept: Problem, present: Candidate, found: Recording, reached: float
) -> tuple[float, float]:
    """Longest windows, s, in which a driven law leads, and its rms misfit over them."""
    segments, c = present.fit.segments, present.fit.c
    misfit = np.sqrt(present.left_out.e.sum() / found.positions.q.size)
    for duration in durations(found) if kept.driven else ():
        if duration <= reached:
            continue
        positions = weighted(found, duration)[0]
        longer, _ = windows(found, duration, segments)
        positions = enough_steps(positions, longer, c)
        longer, chi2 = fit_states(positions, longer, c)
        now = np.sqrt(chi2.sum() / positions.q.size)
        if not now < MISFIT_OF_LOST_WINDOWS * max(misfit, 1.0):
            break
        segments, misfit, reached = longer, now, duration
    return reached, float(misfit)


def _misfit(level: Candidate | None) -> float:
    """Rms misfit of all windows of a law; infinite without one."""
    return np.inf if level is None else rms_misfit(level.fit.chi2, level.fit.segments)


def _best_start(
    problem, segments, equations, settings, terms, columns
) -> Candidate | None:
    """Best of the supports that smoothed accelerations suggest, by shooting.

    One of oscillators that nothing connects is tried, too: where the ratio of their
    masses is not in the data, the null vector is any of many.
    """
    largest = min(settings["largest"], len(columns))
    how = {"largest": largest, "ranked": settings["ranked"]}
    path, ratio, _ = null_vector_path(equations, library_equations(terms), columns, how)
    supports = [path.supports[size] for size in sorted(path.supports)]
    apart = (*oscillators(terms, columns), *ratio.kept)
    few, some = _compared_on(problem, segments)
    starts, opposed = [], False
    for support in dict.fromkeys([*supports, apart]):
        c = _least_ratio(problem, ratio, support)
        if not np.isfinite(c).all():
            continue
        if not problem.definite(c):
            opposed = opposed or (problem.driven and problem.definite(-c))
            continue
        found = fitted(few.accurate(some, c), some, c, most=8)
        value = None if found is None else found.criterion
        report("start of %d terms: %s", len(support), value)
        starts += [] if found is None else [found]
    for start in sorted(starts, key=lambda each: each.criterion):
        c = start.fit.c
        whole = fitted(problem.accurate(segments, c), segments, c, most=8)
        if whole is not None:
            return whole
    if opposed:
        raise RecordingError(OPPOSED)
    return None


def _compared_on(problem: Problem, segments: Segments) -> tuple[Problem, Segments]:
    """Evenly spaced windows of about so many samples as tell starts apart."""
    every = max(round(segments.length.sum() / SAMPLES_OF_STARTS), 1)
    return problem.of_windows(segments, np.arange(0, len(segments), every))


def _least_ratio(problem: Problem, ratio: Ratio, support: Sequence[int]) -> np.ndarray:
    """Coefficients of least ρ of a support, each part with a scale of its own."""
    c = np.zeros(len(problem.touched) + len(ratio.kept))
    touched = problem.touched[[k for k in support if k not in ratio.kept]]
    for part in [-1] if problem.driven else parts(touched):
        mine = [k for k in support if k in ratio.kept or problem.touched[k] & part]
        c[mine] = ratio.minimise(mine)[1] / ratio.length[mine]
    if problem.driven:
        with np.errstate(all="ignore"):
            return c[:-1] / c[-1]
    return problem.scale(c) * c


def _references(terms: Library, columns: np.ndarray) -> dict[int, float]:
    """Coefficients of the reference terms of the library, by position in `columns`."""
    found = {int(k): float(value) for k, value in terms.references}
    return {i: found[int(k)] for i, k in enumerate(columns) if int(k) in found}
