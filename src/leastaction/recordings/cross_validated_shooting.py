"""A law of motion from recordings of sensors, checked on stretches left out.

Multiple shooting (Bock 1983) over windows that grow from one to ten main periods. Terms
enter and leave by the error on blocks that were left out of the fit (Stone 1974).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate, lagrangian_estimate
from leastaction.core.library import Library
from leastaction.core.progress import report
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
    CONFIDENCE,
    doubtful,
    drift,
    has_settled,
    level_of,
    settled,
    total_std,
    window_spread,
    without_doubtful,
)
from leastaction.recordings.lag import Lag, input_lag
from leastaction.recordings.leave_one_out import (
    Candidate,
    LeaveOneOut,
    Problem,
    fitted,
    parts,
    rank,
    search,
)
from leastaction.recordings.windows import (
    Recording,
    durations,
    longest_window,
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

# Windows that grew by more and are lost are tried once more at the geometric mean.
LEAST_GROWTH_RETRIED = 2.0
# Longer windows are given up if their rms misfit, in units of what weights allow, is
# beyond this, and this many times that of the windows before.
MISFIT_OF_LOST_WINDOWS = 8.0
MOST_ALTERNATIVES = 8
# Laws with an error beyond this multiple are no alternative, however few the blocks.
LARGEST_ALTERNATIVE_ERROR = 1.3

# Unit and meaning of what a law says of itself.
NUMBERS = {
    "blocks": ("1", "blocks that were left out in turn"),
    "window": ("s", "length of the windows that were fitted"),
    "force_window": ("s", "length of the windows that coefficients are fitted in"),
    "input_lag": ("s", "time after its record at which the input acts in the law"),
    "input_lag_std": ("s", "standard error of that time"),
    "longest_window": ("s", "length of the longest windows that the recording has"),
    "period": ("s", "main period"),
    "sliding_width": ("(units of q)/s", "velocity where friction turns"),
    "misfit": (
        "1",
        "rms misfit over the windows, in 0.3 % of the amplitude and the noise",
    ),
    "criterion_value": ("1", "log of the error left out"),
    "converged": ("1", "whether a further step would be a fraction of every error bar"),
}
FITTED, COORDINATE = ("column_fitted",), "see coordinate_unit"
# Dimensions, unit and meaning.
ARRAYS = {
    "jackknife_coefficient": (
        ("block", *FITTED),
        "mixed",
        "coefficients with one block left out",
    ),
    "column_position": (FITTED, "1", "position among all candidates"),
    "drift": (
        FITTED,
        "mixed",
        "half the difference between large and small amplitudes",
    ),
    "drift_std": (FITTED, "mixed", "standard error of the drift, over blocks"),
    "amplitude_range": (
        ("dof", "end"),
        COORDINATE,
        "smallest and largest amplitude of a trajectory",
    ),
    "noise_level": (("dof",), COORDINATE, "noise of the sensor"),
    "equivalent_models": ((), "1", "models that fit alike, as JSON"),
}


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
       A lag of the input that is seen (:mod:`leastaction.recordings.lag`) is applied,
       and the law sought again.
    3. The size is the smallest beyond which no term lowers the error left out by 20 %.
    4. Terms whose interval holds zero are dropped, unless they are needed.
    5. Error bars by the jackknife over blocks, with half the difference between large
       and small amplitudes in quadrature; of a driven motion also that between shorter
       and longer windows, and between an input that lags and one that does not.

    Held-out trajectories are not looked at.
    """
    check(equations, "gram")
    observations = training(observations)
    terms = Library.from_config(library, [str(n) for n in equations["dof"].values])
    columns = distinct_forces(terms, free_columns(equations), equations)
    compiled, width = sliding_equations(terms, columns, equations)
    found = recording(observations, equations, compiled)
    whole = Problem(
        found.positions,
        np.zeros(0, dtype=int),
        0.0,
        np.diag(equations["inertia_gram"].values[0])[columns],
        columns >= len(terms.terms),
        feeding_losses(terms, columns),
        prices(terms, columns),
        found.positions.force is not None,
        definite_test(terms, columns, equations),
        touched(terms, columns),
    )

    def begin(problem: Problem, segments: Segments) -> Candidate:
        return _best_start(problem, segments, equations, settings, terms, columns)

    names = [str(name) for name in equations["column"].values[columns]]
    climbed = climb(whole, found, begin, settings["largest"], names)
    lag, late = input_lag(*climbed[:2], found), 0.0
    if lag is not None and lag.seen:
        found, late = lag.applied(found), lag.rows
        whole = replace(whole, positions=found.positions)
        climbed = climb(whole, found, begin, settings["largest"], names)
        lag = input_lag(*climbed[:2], found) or lag
    kept, present, quadratic, reached = climbed
    present = settled(kept, without_doubtful(kept, present, found), found)
    kept = replace(kept, preferred=_references(terms, columns))
    law = kept, present, quadratic, found
    return estimate(*law, equations, terms, columns, reached, width, (late, lag))


def climb(
    whole: Problem,
    found: Recording,
    begin: Callable,
    largest: int,
    names: Sequence[str],
) -> tuple[Problem, Candidate, LeaveOneOut, float]:
    """Windows level by level, and the search for terms on each.

    Parameters
    ----------
    whole
        The problem without windows.
    found
        The recording.
    begin
        ``begin(problem, segments)``: a law to begin with.
    largest, names
        Most terms of a law; names of the candidates.

    Returns
    -------
    problem, candidate, quadratic, duration
        Of the last level whose windows could be followed.
    """
    present, quadratic, reached, kept = None, None, 0.0, whole
    longer = durations(found)
    while longer:
        duration = longer.pop(0)
        problem, segments = level_of(whole, found, duration, present)
        if present is None:
            level = begin(problem, segments)
        else:
            problem = problem.accurate(segments, present.fit.c)
            level = fitted(problem, segments, present.fit.c, most=30)
        if level is None or (present is not None and _lost(level, present)):
            report("windows of %.3g s cannot be followed", duration)
            if not reached or duration < LEAST_GROWTH_RETRIED * reached:
                break
            longer = [np.sqrt(duration * reached)]
            continue
        problem = problem.accurate(level.fit.segments, level.fit.c)
        level = fitted(problem, level.fit.segments, level.fit.c, most=30) or level
        level, own = search(problem, level, largest)
        text = ", ".join(names[k] for k in level.support)
        report("windows of %.3g s: criterion %.4g, %s", duration, level.criterion, text)
        if present is not None and problem.driven and _integrates(level, present):
            break
        present, quadratic, reached, kept = level, own, duration, problem
    return kept, present, quadratic, reached


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


def _lost(level: Candidate, before: Candidate) -> bool:
    """Whether the longer windows are not followed: a minimum, or chaos."""
    values = [
        np.sqrt(c.fit.chi2.sum() / c.fit.segments.length.sum()) for c in (level, before)
    ]
    return bool(
        values[0] > max(MISFIT_OF_LOST_WINDOWS, MISFIT_OF_LOST_WINDOWS * values[1])
    )


def _best_start(problem, segments, equations, settings, terms, columns) -> Candidate:
    """Best of the supports that smoothed accelerations suggest, by shooting.

    One of oscillators that nothing connects is tried, too: where the ratio of their
    masses is not in the data, the null vector is any of many.
    """
    path, ratio, _ = null_vector_path(
        equations,
        library_equations(terms),
        columns,
        {
            "largest": min(settings["largest"], len(columns)),
            "ranked": settings["ranked"],
        },
    )
    supports = [path.supports[size] for size in sorted(path.supports)]
    apart = (*oscillators(terms, columns), *ratio.kept)
    best = None
    for support in dict.fromkeys([*supports, apart]):
        c = _least_ratio(problem, ratio, support)
        if not (np.isfinite(c).all() and problem.definite(c)):
            continue
        found = fitted(problem.accurate(segments, c), segments, c, most=8)
        value = None if found is None else found.criterion
        report("start of %d terms: %s", len(support), value)
        if found is not None and (best is None or found.criterion < best.criterion):
            best = found
    if best is None:
        raise RecordingError(
            "no law with these candidates follows the recording over one main period; "
            "check units and columns, add candidates under `library`, or state "
            "`excitation: random` if the motion is driven by noise"
        )
    return best


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


def estimate(
    problem: Problem,
    present: Candidate,
    whole: LeaveOneOut,
    found: Recording,
    equations: xr.Dataset,
    terms: Library,
    columns: np.ndarray,
    window: float,
    width: float,
    delay: tuple[float, Lag | None],
) -> LagrangianEstimate:
    """Coefficients, standard errors, alternatives and diagnostics.

    .. math::

        s_k^2 = \\frac{S - 1}{S} \\sum_s (c_k^{(s)} - \\bar c_k)^2
        + \\frac14 (c_k^{large} - c_k^{small})^2
    """
    fit, left_out = present.fit, present.left_out
    support, fixed = list(present.support), problem.fixed(fit.c)
    left, _ = left_out.jackknife(support, fixed)
    std = total_std(problem, present, found)
    drifted, drift_std = drift(problem, present, found, left_out, support)
    scale = problem.scale(fit.c)
    count = len(terms.terms) + len(terms.dissipation)

    def spread(values, empty=0.0):
        full = np.full((*values.shape[:-1], count), empty)
        full[..., columns] = scale * values
        return full

    alternatives, about = equivalents(
        problem, whole, present, found, equations["column"].values[columns]
    )
    followed_for = followed(problem, present, found, window)
    late, lag = delay
    numbers = {
        "blocks": len(left_out.e),
        "window": followed_for[0],
        "misfit": followed_for[1],
        "force_window": window,
        **_times(found, late, lag),
        "sliding_width": width,
        "criterion_value": present.criterion,
        "converged": int(has_settled(problem, present, std)),
    }
    values = {
        "jackknife_coefficient": spread(left)[:, columns],
        "column_position": columns,
        "drift": spread(drifted)[columns],
        "drift_std": spread(drift_std)[columns],
        "amplitude_range": np.stack(
            [f(found.amplitude, 0) for f in (np.min, np.max)], 1
        ),
        "noise_level": equations["noise_std"].values[0],
        "equivalent_models": np.array(json.dumps(about), dtype=object),
    }
    diagnostics = {k: (value, *NUMBERS[k]) for k, value in numbers.items()}
    arrays = {k: (ARRAYS[k][0], value, *ARRAYS[k][1:]) for k, value in values.items()}
    every = np.hypot(std, model_error(problem, present, found, lag))
    errors = spread(np.where(fit.c != 0, every, np.nan), np.nan)
    law = lagrangian_estimate(equations, spread(fit.c), diagnostics, arrays, errors)
    return replace(law, alternatives=alternatives)


def _times(found: Recording, late: float, lag: Lag | None) -> dict:
    """What a recording itself says of times, s; the lag is given in recorded rows."""
    return {
        "input_lag": found.row * late,
        "input_lag_std": np.nan if lag is None else found.row * lag.std,
        "longest_window": longest_window(found),
        "period": found.period,
    }


def model_error(
    problem: Problem, present: Candidate, found: Recording, lag: Lag | None
) -> np.ndarray:
    """Half of what windows, and a lag that is not in the law, would change."""
    change = np.zeros_like(present.fit.c) if lag is None else lag.change
    lagging = np.where(present.fit.c != 0, change, 0.0) / 2
    return np.hypot(window_spread(problem, present, found), lagging)


def _references(terms: Library, columns: np.ndarray) -> dict[int, float]:
    """Coefficients of the reference terms of the library, by position in `columns`."""
    found = {int(k): float(value) for k, value in terms.references}
    return {i: found[int(k)] for i, k in enumerate(columns) if int(k) in found}


def equivalents(
    problem: Problem,
    whole: LeaveOneOut,
    present: Candidate,
    found: Recording,
    names: Sequence[str],
) -> tuple[str, list[dict]]:
    """Models of the same size whose error left out is not significantly larger.

    By Student's t test of the differences, paired over blocks, at 95 %. One with
    more doubtful terms is none.
    """
    from scipy.stats import t

    support = present.support
    own = whole.block_errors(support, problem.fixed(whole.c))
    std = total_std(problem, present, found)
    doubts = len(doubtful(present.fit.c, std, len(own)))
    alike_ones = []
    for _, other in rank(problem, whole, support, len(support)):
        if len(other) != len(support) or other == support:
            continue
        fixed = problem.fixed(whole.c, other)
        errors = whole.block_errors(other, fixed)
        difference = errors - own
        spread = np.sqrt(len(own)) * difference.std(ddof=1)
        alike = difference.sum() < t.ppf(CONFIDENCE, len(own) - 1) * spread
        if errors.sum() < (LARGEST_ALTERNATIVE_ERROR if alike else 1.05) * own.sum():
            c = whole.coefficients(other, fixed)
            std = total_std(problem, present, found, (whole, other))
            if len(doubtful(c, std, len(own))) <= doubts:
                alike_ones.append((float(errors.sum() / own.sum()), other, c))
    alike_ones = sorted(alike_ones, key=lambda each: each[0])[:MOST_ALTERNATIVES]
    about, texts = [], []
    for ratio, other, c in alike_ones:
        scaled = problem.scale(c) * c
        gone = [names[k] for k in support if k not in other]
        new = [names[k] for k in other if k not in support]
        about.append(
            {
                "error_ratio": ratio,
                "coefficients": {names[k]: float(scaled[k]) for k in other},
                "instead_of": gone,
                "has": new,
            }
        )
        texts.append(f"{' + '.join(new)} instead of {' + '.join(gone)}")
    return "; ".join(texts), about
