"""What shooting found in recordings, as an estimate with honest error bars."""

import json
from dataclasses import replace

import numpy as np
import xarray as xr

from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.gram_estimate import lagrangian_estimate
from leastaction.core.library import Library
from leastaction.recordings.drift import drift, total_std
from leastaction.recordings.held_out_search import Candidate, Problem, rank
from leastaction.recordings.leave_one_out import LeaveOneOut
from leastaction.recordings.recorded_windows import Recording, longest_window

MOST_ALTERNATIVES = 8
# Laws with an error beyond this multiple are no alternative, however few the blocks.
WORSE = 10.0
CONFIDENCE = 0.95
# A step of this fraction of an error bar ends the fit.
SETTLED = 0.2


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
    support = list(present.support)
    fixed = problem.fixed(present.fit.c)
    left, jackknife = present.left_out.jackknife(support, fixed)
    std = total_std(problem, present, found)
    drifted = drift(problem, present, found)
    scale = _scale(problem, present.fit.c, terms, columns)
    count = len(terms.terms) + len(terms.dissipation)

    def spread(values, empty=0.0):
        full = np.full((*values.shape[:-1], count), empty)
        full[..., columns] = scale * values
        return full

    errors = spread(np.where(present.fit.c != 0, std, np.nan), np.nan)
    remaining = np.abs(present.left_out.coefficients(support, fixed) - present.fit.c)
    alternatives, about = equivalents(problem, whole, present, equations, columns)
    block_count = len(present.left_out.e)
    values = present.left_out.e.sum()
    freedom = found.positions.q.size
    diagnostics = {
        "blocks": (block_count, "1", "blocks that were left out in turn"),
        "window": (window, "s", "length of the windows that were fitted"),
        "longest_window": (
            longest_window(found),
            "s",
            "length of the longest windows that the recording has",
        ),
        "period": (found.period, "s", "main period"),
        "sliding_width": (width, "(units of q)/s", "velocity where friction turns"),
        "misfit": (
            float(np.sqrt(values / freedom)),
            "1",
            "rms misfit over the windows, in 0.3 % of the amplitude and the noise",
        ),
        "criterion_value": (present.criterion, "1", "log of the error left out"),
        "converged": (
            int((remaining <= SETTLED * np.where(std > 0, std, np.inf)).all()),
            "1",
            "whether a further step would be a fraction of every error bar",
        ),
    }
    arrays = {
        "jackknife_coefficient": (
            ("block", "column_fitted"),
            spread(left)[:, columns],
            "mixed",
            "coefficients with one block left out",
        ),
        "column_position": (
            ("column_fitted",),
            columns,
            "1",
            "position among all candidates",
        ),
        "drift": (
            ("column_fitted",),
            spread(drifted)[columns],
            "mixed",
            "half the difference between large and small amplitudes",
        ),
        "jackknife_std": (
            ("column_fitted",),
            spread(jackknife)[columns],
            "mixed",
            "standard error over blocks alone",
        ),
        "amplitude_range": (
            ("dof", "end"),
            np.stack([found.amplitude.min(0), found.amplitude.max(0)], axis=1),
            "see coordinate_unit",
            "smallest and largest amplitude of a trajectory",
        ),
        "noise_level": (
            ("dof",),
            equations["noise_std"].values[0],
            "see coordinate_unit",
            "noise of the sensor",
        ),
        "equivalent_models": (
            (),
            np.array(json.dumps(about), dtype=object),
            "1",
            "models that fit alike, as JSON",
        ),
    }
    found_law = lagrangian_estimate(
        equations, spread(present.fit.c), diagnostics, arrays, errors
    )
    return replace(found_law, alternatives=alternatives)


def _scale(problem: Problem, c, terms: Library, columns) -> float:
    """Factor that gives the largest kinetic term ½, unless an input gives the scale."""
    if problem.driven:
        return 1.0
    fixed = problem.fixed(c)
    return 0.5 / c[fixed]


def equivalents(
    problem: Problem, whole: LeaveOneOut, present: Candidate, equations, columns
) -> tuple[str, list[dict]]:
    """Models of the same size whose error left out is not significantly larger.

    By Student's t test of the differences, paired over blocks, at 95 %.
    """
    from scipy.stats import t

    support = present.support
    fixed = problem.fixed(present.fit.c)
    names = [str(equations["column"].values[k]) for k in columns]
    own = whole.block_errors(support, fixed)
    found = []
    for _, other in rank(problem, whole, support, len(support)):
        if len(other) != len(support) or other == support:
            continue
        errors = whole.block_errors(other, fixed)
        difference = errors - own
        spread = np.sqrt(len(own)) * difference.std(ddof=1)
        alike = difference.sum() < t.ppf(CONFIDENCE, len(own) - 1) * spread
        if errors.sum() < (WORSE if alike else 1.05) * own.sum():
            c = whole.coefficients(other, fixed)
            found.append((float(errors.sum() / own.sum()), other, c))
    found = sorted(found, key=lambda each: each[0])[:MOST_ALTERNATIVES]
    scale = 1.0 if problem.driven else 0.5 / present.fit.c[fixed]
    about, texts = [], []
    for ratio, other, c in found:
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
