"""What a law of a recording is saved as: coefficients, standard errors, equivalents."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from leastaction.core.contracts import variables
from leastaction.core.estimate import LagrangianEstimate, lagrangian_estimate
from leastaction.core.library import Library
from leastaction.recordings.contracts import OF_COORDINATES
from leastaction.recordings.error import RecordingError
from leastaction.recordings.error_bars import (
    CONFIDENCE,
    absent_term,
    deviations,
    doubtful,
    drift,
    has_settled,
    total_std,
    window_spread,
)
from leastaction.recordings.input_dynamics import InputDynamics, Unknown
from leastaction.recordings.input_hold import Hold
from leastaction.recordings.inputs import LAG, TIME_CONSTANT
from leastaction.recordings.leave_one_out import (
    Candidate,
    LeaveOneOut,
    Problem,
    rank,
)
from leastaction.recordings.windows import Recording, longest_window

MOST_ALTERNATIVES = 8
# Laws with an error beyond this multiple are no alternative, however few the blocks.
LARGEST_ALTERNATIVE_ERROR = 1.3

# What a law says of itself, beside what every model has.
DESCRIBED = variables(
    """
    :
        blocks [1] blocks that were left out in turn
        window [s] length of the windows that were fitted
        force_window [s] length of the windows that coefficients are fitted in
        longest_window [s] length of the longest windows that the recording has
        period [s] main period
        sliding_width [(units of q)/s] velocity where friction turns
        stepwise [1] whether inputs are held from row to row, though none repeats
        misfit [1] rms misfit over the windows, in 0.3 % of the amplitude and the noise
        criterion_value [1] log of the error left out
        converged [1] whether a further step would be a fraction of every error bar
        equivalent_models [1] models that fit alike, as JSON
    block column_fitted:
        jackknife_coefficient [mixed] coefficients with one block left out
    column_fitted:
        column_position [1] position among all candidates
        drift [mixed] half the difference between large and small amplitudes
        drift_std [mixed] standard error of the drift, over blocks
    dof:
        input_lag [s] time after its record at which an input acts
        input_lag_std [s] standard error of that time, NaN if given
        input_time_constant [s] of the first-order lag of an input
        input_time_constant_std [s] standard error of it, NaN if given
        input_gain [mixed] force over the input in the unit given
        input_gain_std [mixed] standard error of that, NaN if given
        noise_level [q] noise of the sensor
    dof end:
        amplitude_range [q] smallest and largest amplitude of a trajectory
    """,
    OF_COORDINATES,
)


@dataclass(frozen=True)
class Identified:
    """A law and what it was found in."""

    problem: Problem  # windows that coefficients are fitted in
    present: Candidate  # the law
    whole: LeaveOneOut  # of all coefficients at it
    found: Recording  # with the inputs as they act
    unknowns: Sequence[Unknown]  # lags and time constants of the inputs
    dynamics: InputDynamics | None  # what was found of them
    hold: Hold  # whether they are held from row to row
    window: float  # length of the windows, s
    longest: float  # that of the longest in which the law leads, s
    misfit: float  # its rms misfit there
    width: float  # velocity where friction turns

    @property
    def deviations(self) -> np.ndarray:
        """Those of :mod:`.error_bars`, and half of what model errors change.

        These are the length of the windows, terms and lags that the law lacks, and
        what inputs are between their rows.
        """
        c = self.present.fit.c
        law = self.problem, self.present
        change = np.zeros_like(c)
        if self.dynamics is not None:
            change = (self.dynamics.change - self.hold.change) / 2
        every = [
            deviations(*law, self.found),
            window_spread(*law, self.found),
            absent_term(*law, self.whole),
            np.where(c != 0, change, 0.0),
            np.where(c != 0, self.hold.deviation, 0.0),
        ]
        return np.vstack(every)


def estimate(
    law: Identified,
    equations: xr.Dataset,
    terms: Library,
    columns: np.ndarray,
    amplified: bool = False,
) -> LagrangianEstimate:
    """Coefficients, standard errors, alternatives and diagnostics.

    .. math::

        s_k^2 = \\frac{S - 1}{S} \\sum_s (c_k^{(s)} - \\bar c_k)^2
        + \\frac14 (c_k^{large} - c_k^{small})^2

    and the squares of model errors. Where an input is `amplified` by an unknown gain,
    all are divided by what was found for the reference, errors by the delta method.
    """
    c, every = law.present.fit.c, law.deviations
    gain, moved = 1.0, np.zeros(len(every))
    if amplified:
        gain, by = gain_of(law)
        moved = -every[:, by] / c[by]
        every = every + np.outer(moved, c)
        every[:, by] = 0.0  # to the last digit
    scale = gain * law.problem.scale(c)
    count = len(terms.terms) + len(terms.dissipation)

    def spread(values, empty=0.0):
        full = np.full((*values.shape[:-1], count), empty)
        full[..., columns] = scale * values
        return full

    names = equations["column"].values[columns]
    alternatives, about = equivalents(
        law.problem, law.whole, law.present, law.found, names, gain
    )
    numbers = _numbers(law)
    values = _of_blocks(law, spread, columns) | {
        "noise_level": equations["noise_std"].values[0],
        "equivalent_models": np.array(json.dumps(about), dtype=object),
        **_of_inputs(law, gain, moved),
    }
    about_it = {k: (v.units, v.long_name) for k, v in DESCRIBED.items()}
    diagnostics = {k: (value, *about_it[k]) for k, value in numbers.items()}
    arrays = {k: (DESCRIBED[k].dims, x, *about_it[k]) for k, x in values.items()}
    size = np.sqrt((every**2).sum(axis=0))
    errors = np.abs(spread(np.where(c != 0, size, np.nan), np.nan))
    found = lagrangian_estimate(equations, spread(c), diagnostics, arrays, errors)
    return replace(found, alternatives=alternatives)


def _numbers(law: Identified) -> dict:
    std = total_std(law.problem, law.present, law.found)
    return {
        "blocks": len(law.present.left_out.e),
        "window": law.longest,
        "misfit": law.misfit,
        "force_window": law.window,
        "longest_window": longest_window(law.found),
        "period": law.found.period,
        "sliding_width": law.width,
        "stepwise": int(law.found.inputs is not None and law.found.inputs.stepwise),
        "criterion_value": law.present.criterion,
        "converged": int(has_settled(law.problem, law.present, std)),
    }


def _of_blocks(law: Identified, spread: Callable, columns: np.ndarray) -> dict:
    """What blocks and amplitudes say; `spread` gives all candidates their places."""
    left_out, support = law.present.left_out, law.present.support
    left, _ = left_out.jackknife(support, law.problem.fixed(law.present.fit.c))
    drifted, drift_std = drift(law.problem, law.present, law.found, left_out, support)
    amplitude = law.found.amplitude
    return {
        "jackknife_coefficient": spread(left)[:, columns],
        "column_position": columns,
        "drift": np.abs(spread(drifted)[columns]),
        "drift_std": np.abs(spread(drift_std)[columns]),
        "amplitude_range": np.stack([f(amplitude, 0) for f in (np.min, np.max)], 1),
    }


def _of_inputs(law: Identified, gain: float, deviation: np.ndarray) -> dict:
    """Gain, lag and time constant of the input of each coordinate, with errors."""
    inputs, dof = law.found.inputs, law.found.positions.dof
    values = {
        "input_gain": np.full(dof, gain),
        "input_gain_std": np.full(dof, abs(gain) * np.sqrt((deviation**2).sum())),
    }
    for key in (LAG, TIME_CONSTANT):
        values[f"input_{key}"] = (
            np.zeros(dof) if inputs is None else getattr(inputs, key)
        )
        std = np.full(dof, np.nan)
        for k, unknown in enumerate(law.unknowns):
            if unknown.name == key and law.dynamics is not None:
                std[list(unknown.coordinates)] = law.dynamics.std[k]
        values[f"input_{key}_std"] = std
    return values


def gain_of(law: Identified) -> tuple[float, int]:
    """Unknown gain of an input, and the reference term that tells it.

    Raises
    ------
    RecordingError
        If the law has no term of `library.reference`.
    """
    c = law.present.fit.c
    for k, value in law.problem.preferred.items():
        if c[k]:
            return value / c[k], k
    raise RecordingError(
        "library.reference is no term of the law, so that nothing gives it its scale; "
        "give the coefficient of another term, such as the square of a velocity"
    )


def equivalents(
    problem: Problem,
    whole: LeaveOneOut,
    present: Candidate,
    found: Recording,
    names: Sequence[str],
    gain: float,
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
        scaled = gain * problem.scale(c) * c
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
