"""A law of motion from recordings of sensors, checked on stretches left out.

Multiple shooting (Bock 1983) over windows that grow from one to ten main periods. Terms
enter and leave by the error on blocks that were left out of the fit (Stone 1974).
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate, lagrangian_estimate
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.library import Library
from leastaction.core.progress import report
from leastaction.recordings.contracts import training
from leastaction.recordings.error import RecordingError
from leastaction.recordings.leave_one_out import (
    Candidate,
    LeaveOneOut,
    Problem,
    fitted,
    rank,
    search,
)
from leastaction.recordings.windows import (
    LEAST_SAMPLES_OF_WINDOW,
    Recording,
    blocks,
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
from leastaction.trajectories.variational_equations import (
    VariationalEquations,
    variational_equations,
)

# Coulomb friction turns around within this fraction of the rms velocity.
SLIDING_WIDTH_OF_RMS = 0.01
# Windows that grew by more and are lost are tried once more at the geometric mean.
LEAST_GROWTH_RETRIED = 2.0
# Share of the samples with an indefinite mass matrix that a law may have.
LARGEST_INDEFINITE_SHARE = 0.01
# Longer windows are given up if their rms misfit, in units of what weights allow, is
# beyond this, and this many times that of the windows before.
MISFIT_OF_LOST_WINDOWS = 8.0
# Prices, in terms, of one that imitates a simpler one, and of one that imitates many.
PRICE_OF_IMITATOR, PRICE_OF_COMPLEX_TERM = 1.25, 2.0
# Part of a force, squared, that is not one of simpler terms.
LEAST_DISTINCT_FORCE = 1e-11
log = logging.getLogger(__name__)
MOST_ALTERNATIVES = 8
# Laws with an error beyond this multiple are no alternative, however few the blocks.
LARGEST_ALTERNATIVE_ERROR = 1.3
CONFIDENCE = 0.95
# A step of this fraction of an error bar ends the fit.
CONVERGED_STANDARD_ERRORS = 0.2
MOST_LAST_STEPS = 5
# Part of a coefficient that the steps of integration leave open, however good the data.
NUMERICAL_ERROR = 1e-7
# A term of doubtful size stays if without it the error left out is this many times.
ERROR_RATIO_OF_NEEDED_TERM = 3.0

# Unit and meaning of what a law says of itself.
NUMBERS = {
    "blocks": ("1", "blocks that were left out in turn"),
    "window": ("s", "length of the windows that were fitted"),
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
    "jackknife_std": (FITTED, "mixed", "standard error over blocks alone"),
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
    3. The size is the smallest beyond which no term lowers the error left out by 20 %.
    4. Terms whose interval holds zero are dropped, unless they are needed.
    5. Error bars by the jackknife over blocks, with half the difference between large
       and small amplitudes in quadrature.

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
        _positive(terms, columns),
        _price(terms, columns),
        found.positions.force is not None,
        _definite(terms, columns, equations),
    )

    def begin(problem: Problem, segments: Segments) -> Candidate:
        return _best_start(problem, segments, equations, settings, terms, columns)

    names = [str(name) for name in equations["column"].values[columns]]
    climbed = climb(whole, found, begin, settings["largest"], names)
    kept, present, quadratic, reached = climbed
    present = settled(kept, without_doubtful(kept, present, found), found)
    law = kept, present, quadratic, found
    return estimate(*law, equations, terms, columns, reached, width)


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


def window_spread(kept: Problem, present: Candidate, found: Recording) -> np.ndarray:
    """Half the difference of coefficients from half and from twice as long windows.

    Zero of a free motion. An error of the force or of its interpolation has its own
    weight in windows of each length, and moves the coefficients of a driven motion.
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
        trial = fitted(problem, segments, c)
        ends.append(c if trial is None else trial.fit.c)
    return np.abs(ends[0] - ends[1]) / 2


def level_of(
    whole: Problem, found: Recording, duration: float, present: Candidate | None
) -> tuple[Problem, Segments]:
    """Problem and windows of `duration` (s), which inherit the states of a law."""
    before = None if present is None else present.fit.segments
    segments, trajectory = windows(found, duration, before)
    positions, noise = weighted(found, duration)
    problem = replace(
        whole, positions=positions, blocks=blocks(segments, trajectory), noise=noise
    )
    return problem, segments


def distinct_forces(
    terms: Library, columns: np.ndarray, equations: xr.Dataset
) -> np.ndarray:
    """Candidates without those whose force no sample tells from that of simpler ones.

    A joint that never turns back has a Coulomb friction that is a constant, as is the
    force of a potential linear in its angle. Such combinations of forces would be null
    vectors without any inertia. Terms with accelerations are not touched: theirs is the
    relation that is looked for.
    """
    massive = library_equations(terms).has_mass[columns]
    gram = equations["gram"].values[0][np.ix_(columns, columns)]
    length = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    gram = gram / np.outer(length, length)
    order = np.argsort(_price(terms, columns), kind="stable")
    kept: list[int] = []
    for k in order:
        if massive[k]:
            continue
        own = gram[np.ix_(kept, kept)] + 1e-14 * np.eye(len(kept))
        left = 1.0 - gram[k, kept] @ np.linalg.solve(own, gram[kept, k])
        if left > LEAST_DISTINCT_FORCE:
            kept.append(k)
            continue
        log.warning(
            "in these data the force of %s is one of simpler terms; it is left out",
            equations["column"].values[columns[k]],
        )
    return columns[np.sort([*np.flatnonzero(massive), *kept])]


def _lost(level: Candidate, before: Candidate) -> bool:
    """Whether the longer windows are not followed: a minimum, or chaos."""
    values = [
        np.sqrt(c.fit.chi2.sum() / c.fit.segments.length.sum()) for c in (level, before)
    ]
    return bool(
        values[0] > max(MISFIT_OF_LOST_WINDOWS, MISFIT_OF_LOST_WINDOWS * values[1])
    )


def sliding_equations(
    terms: Library, columns: np.ndarray, equations: xr.Dataset
) -> tuple[VariationalEquations, float]:
    """Compiled motions in which Coulomb friction |v| is √(v² + w²) − w."""
    rms = np.sqrt((equations["qdot"].values[0] ** 2).mean())
    width = one_two_five(SLIDING_WIDTH_OF_RMS * float(rms))
    of_l = columns[columns < len(terms.terms)]
    of_d = columns[columns >= len(terms.terms)] - len(terms.terms)
    return (
        variational_equations(
            [terms.terms[i] for i in of_l],
            terms.coordinates,
            [smooth_friction(terms.dissipation[i], width) for i in of_d],
        ),
        width,
    )


def smooth_friction(term: sp.Expr, width: float) -> sp.Expr:
    """|v| as √(v² + w²) − w; other terms as they are."""
    if not isinstance(term, sp.Abs):
        return term
    return sp.sqrt(term.args[0] ** 2 + sp.Float(width) ** 2)


def one_two_five(value: float) -> float:
    """Largest of 1, 2, 5 times a power of ten that is not above `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(m for m in (1, 2, 5) if m * power <= value * (1 + 1e-12)) * power)


def _positive(terms: Library, columns: np.ndarray) -> np.ndarray:
    """Losses that are even in the velocities: with a negative coefficient they gain."""
    flipped = {v: -v for v in symbols(velocity_names(terms.coordinates))}
    count = len(terms.terms)
    even = [term.xreplace(flipped) == term for term in terms.dissipation]
    return np.array([k >= count and even[k - count] for k in columns])


def _price(terms: Library, columns: np.ndarray) -> np.ndarray:
    """What a term costs, in terms: 1, but more for those that imitate others.

    An inertia or a loss that changes with the position costs 2, and so does a loss that
    is neither Coulomb nor viscous friction. A power of an angle, or its double, costs
    1.25: beside cos θ, sin θ (a mounting angle) is preferred to θ⁴.
    """
    q = set(symbols(terms.coordinates))
    velocities = set(symbols(velocity_names(terms.coordinates)))
    price = np.ones(len(columns))
    every = [*terms.terms, *terms.dissipation]
    for i, k in enumerate(columns):
        term = every[k]
        waves = {x for f in term.atoms(sp.sin, sp.cos) for x in f.free_symbols}
        mixed = term.free_symbols & q and term.free_symbols & velocities
        if mixed or (k >= len(terms.terms) and not _is_simple_loss(term)):
            price[i] = PRICE_OF_COMPLEX_TERM
        elif (
            waves
            and any(f.args[0].is_Mul for f in term.atoms(sp.sin, sp.cos))
            or not waves
            and term.free_symbols & _angles(terms)
        ):
            price[i] = PRICE_OF_IMITATOR
    return price


def _is_simple_loss(term: sp.Expr) -> bool:
    """Whether a loss is Coulomb or viscous friction, the latter by direction or not."""
    degree = sum(
        (
            exponent
            for base, exponent in term.as_powers_dict().items()
            if base.atoms(sp.Symbol)
        ),
        sp.Integer(0),
    )
    return bool(degree <= 2)


def _angles(terms: Library) -> set:
    """Coordinates that stand in a sine or cosine of some candidate."""
    return {
        x
        for term in terms.terms
        for f in term.atoms(sp.sin, sp.cos)
        for x in f.free_symbols
    }


def _definite(terms: Library, columns: np.ndarray, equations: xr.Dataset):
    """Test whether the mass matrix of c is positive at the samples."""
    q, v = (equations[f"{name}_sample"].values[0] for name in ("q", "qdot"))
    some = slice(None, None, max(len(q) // 200, 1))
    mass, _ = library_equations(terms).mass_and_force(q[some], v[some], columns)

    def definite(c: np.ndarray) -> bool:
        lowest = np.linalg.eigvalsh(mass @ c)[:, 0]
        return bool((lowest <= 0).mean() <= LARGEST_INDEFINITE_SHARE)

    return definite


def _best_start(problem, segments, equations, settings, terms, columns) -> Candidate:
    """Best of the supports that smoothed accelerations suggest, by shooting."""
    path, ratio, _ = null_vector_path(
        equations,
        library_equations(terms),
        columns,
        {
            "largest": min(settings["largest"], len(columns)),
            "ranked": settings["ranked"],
        },
    )
    best = None
    for size in sorted(path.supports):
        support = path.supports[size]
        values = ratio.minimise(list(support))[1] / ratio.length[list(support)]
        c = np.zeros(len(columns) + len(ratio.kept))
        c[list(support)] = values
        if problem.driven:
            if c[-1] == 0:
                continue
            c = c[:-1] / c[-1]
        else:
            order = np.argmax(np.sqrt(problem.inertia) * np.abs(c))
            c = c * 0.5 / c[order]
        if not problem.definite(c):
            continue
        found = fitted(problem.accurate(segments, c), segments, c, most=8)
        report(
            "start of %d terms: %s", size, None if found is None else found.criterion
        )
        if found is not None and (best is None or found.criterion < best.criterion):
            best = found
    if best is None:
        raise RecordingError(
            "no law with these candidates follows the recording over one main period; "
            "check units and columns, add candidates under `library`, or state "
            "`excitation: random` if the motion is driven by noise"
        )
    return best


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
) -> LagrangianEstimate:
    """Coefficients, standard errors, alternatives and diagnostics.

    .. math::

        s_k^2 = \\frac{S - 1}{S} \\sum_s (c_k^{(s)} - \\bar c_k)^2
        + \\frac14 (c_k^{large} - c_k^{small})^2
    """
    fit, left_out = present.fit, present.left_out
    support, fixed = list(present.support), problem.fixed(fit.c)
    left, jackknife = left_out.jackknife(support, fixed)
    std = total_std(problem, present, found)
    drifted = drift(problem, present, found, left_out, support)
    scale = _scale(problem, fit.c)
    count = len(terms.terms) + len(terms.dissipation)

    def spread(values, empty=0.0):
        full = np.full((*values.shape[:-1], count), empty)
        full[..., columns] = scale * values
        return full

    window, misfit = followed(problem, present, found, window)
    spread_of_windows = window_spread(problem, present, found)
    alternatives, about = equivalents(
        problem, whole, present, found, equations["column"].values[columns]
    )
    numbers = {
        "blocks": len(left_out.e),
        "window": window,
        "longest_window": longest_window(found),
        "period": found.period,
        "sliding_width": width,
        "misfit": misfit,
        "criterion_value": present.criterion,
        "converged": int(has_settled(problem, present, std)),
    }
    values = {
        "jackknife_coefficient": spread(left)[:, columns],
        "column_position": columns,
        "drift": spread(drifted)[columns],
        "jackknife_std": spread(jackknife)[columns],
        "amplitude_range": np.stack(
            [found.amplitude.min(0), found.amplitude.max(0)], axis=1
        ),
        "noise_level": equations["noise_std"].values[0],
        "equivalent_models": np.array(json.dumps(about), dtype=object),
    }
    diagnostics = {k: (value, *NUMBERS[k]) for k, value in numbers.items()}
    arrays = {k: (ARRAYS[k][0], value, *ARRAYS[k][1:]) for k, value in values.items()}
    every = np.sqrt(std**2 + spread_of_windows**2)
    errors = spread(np.where(fit.c != 0, every, np.nan), np.nan)
    law = lagrangian_estimate(equations, spread(fit.c), diagnostics, arrays, errors)
    return replace(law, alternatives=alternatives)


def _scale(problem: Problem, c: np.ndarray) -> float:
    """Factor that gives the largest kinetic term ½, unless an input gives the scale."""
    return 1.0 if problem.driven else 0.5 / c[problem.fixed(c)]


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
    fixed = problem.fixed(present.fit.c)
    own = whole.block_errors(support, fixed)
    std = total_std(problem, present, found)
    doubts = len(doubtful(present.fit.c, std, len(own)))
    alike_ones = []
    for _, other in rank(problem, whole, support, len(support)):
        if len(other) != len(support) or other == support:
            continue
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
    scale = _scale(problem, present.fit.c)
    about, texts = [], []
    for ratio, other, c in alike_ones:
        gone = [names[k] for k in support if k not in other]
        new = [names[k] for k in other if k not in support]
        about.append(
            {
                "error_ratio": ratio,
                "coefficients": {names[k]: float(scale * c[k]) for k in other},
                "instead_of": gone,
                "has": new,
            }
        )
        texts.append(f"{' + '.join(new)} instead of {' + '.join(gone)}")
    return "; ".join(texts), about


def drift(
    problem: Problem,
    present: Candidate,
    found: Recording,
    left_out: LeaveOneOut,
    support: Sequence[int],
) -> np.ndarray:
    """Half the difference between the louder and the quieter half of the blocks."""
    segments, q = present.fit.segments, found.positions.q
    scale = np.maximum(found.amplitude.max(axis=0), 1e-300)
    size = np.array(
        [
            np.mean(np.ptp(q[a : a + n], axis=0) / scale)
            for a, n in zip(segments.first, segments.length, strict=True)
        ]
    )
    count = len(left_out.e)
    loud = np.array([size[problem.blocks == s].mean() for s in range(count)])
    order = np.argsort(-loud)
    fixed = problem.fixed(present.fit.c)
    large, small = (
        left_out.block_coefficients(support, fixed, list(half))
        for half in (order[: (count + 1) // 2], order[(count + 1) // 2 :])
    )
    return np.abs(large - small) / 2


def total_std(
    problem: Problem,
    present: Candidate,
    found: Recording,
    other: tuple[LeaveOneOut, Sequence[int]] | None = None,
) -> np.ndarray:
    """Standard error over blocks, with drift and numerical error in quadrature.

    Of the present law, or of an `other` support in the quadratic functions given.
    """
    left_out, support = other or (present.left_out, present.support)
    fixed = problem.fixed(present.fit.c)
    c = left_out.coefficients(support, fixed)
    _, jackknife = left_out.jackknife(support, fixed)
    numerical = np.where(np.arange(len(c)) == fixed, 0.0, NUMERICAL_ERROR * c)
    drifted = drift(problem, present, found, left_out, support)
    return np.sqrt(jackknife**2 + drifted**2 + numerical**2)


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
        fixed = problem.fixed(c)
        smaller = None
        for k in doubtful(c, std, len(present.left_out.e)):
            support = [j for j in present.support if j != k]
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
