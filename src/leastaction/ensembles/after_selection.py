"""Errors of a law whose terms were selected: what its innovations and its search leave.

The inverse information holds if the law has the right terms and its innovations are
white. To it is added what the absent candidate that most nearly belongs would change.
It belongs with a probability w, and C becomes C + w (1 − w) Δθ Δθᵀ
(:func:`leastaction.core.sparse_regression.deviation_of_absent`).
Where innovations are not white C is the sandwich I⁻¹ (Σ_b g_b g_bᵀ) I⁻¹ of the scores
of stretches b (White 1982; Newey and West 1987), with Student's factor.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, t

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.sparse_regression import deviation_of_absent
from leastaction.ensembles.innovations_likelihood import (
    Fit,
    Likelihood,
    normalised_inverse,
)

# Stretches of a sandwich: each is far longer than the memory of a score, and their
# Student factor is within 6 % of the normal one.
STRETCHES = 24
# Fall of ℓ at the upper end of a one-sided interval of 95 %.
FALL_AT_BOUND = 0.5 * float(chi2.isf(0.1, 1))
ONE_SIDED = 1.645
# Part of the force of the motion that is no force at all.
NO_FORCE = 1e-9


@dataclass(frozen=True)
class Nearest:
    """Absent candidate that most nearly belongs to a law.

    Its `column`, and the deviation √(w (1 − w)) Δ of its own `entry` and of `theta`.
    """

    column: int
    entry: float
    theta: np.ndarray


def nearest_absent(
    likelihood: Likelihood, fit: Fit, absent, count: int, penalty: float
) -> Nearest | None:
    """The most likely of the first `count` absent columns; None if there are none."""
    if not count:
        return None
    entry, variance, moves = likelihood.entries(fit, absent, not fit.structure.coloured)
    gain = entry[:count] ** 2 * variance[:count]
    new = int(np.argmax(gain))
    size = float(deviation_of_absent(gain[new], penalty))
    return Nearest(absent[new], size * entry[new], size * moves[new])


def robust_covariance(likelihood: Likelihood, fit: Fit) -> np.ndarray:
    """Sandwich of the parameters, times Student's factor over the normal one."""
    per_sample: list = []
    likelihood.pieces(
        fit.structure, fit.theta, fit.axes, fit.order, per_sample=per_sample
    )
    total, scores = sum(len(ratio) for _, ratio, _ in per_sample), []
    for _, ratio, slopes in per_sample:
        each = slopes[:, 1] * ((ratio**2 - 1) / np.sqrt(2)) - slopes[:, 0] * ratio
        count = max(1, round(STRETCHES * len(ratio) / total))
        scores += [part.sum(axis=1) for part in np.array_split(each, count, axis=1)]
    spread = np.array(scores) - np.mean(scores, axis=0)
    blocks = len(spread)
    factor = t.isf(0.025, blocks - 1) / NORMAL_QUANTILE
    inverse, size = normalised_inverse(fit.information)
    influence = spread @ (inverse / np.outer(size, size)) @ fit.axes.T
    result = factor**2 * blocks / (blocks - 1) * influence.T @ influence
    unknown = ~fit.axes.any(axis=1)
    result[unknown, unknown] = np.inf
    return result


def with_selection(fit: Fit, covariance: np.ndarray, nearest: Nearest | None) -> Fit:
    """The fit with the covariance that counts."""
    moved = 0.0 if nearest is None else np.outer(nearest.theta, nearest.theta)
    return replace(fit, total=covariance + moved)


def force_bounds(likelihood: Likelihood, fit: Fit) -> np.ndarray:
    """Bound (95 %) of every entry of S that may be zero; NaN of the others.

    ℓ is even in an entry, so its information there vanishes at zero, and S² is what is
    estimated: its mean and variance come from the entry at which ℓ falls by 1.35.
    """
    entries = likelihood.model.places(fit.structure)[1]
    result = np.full(entries.stop - entries.start, np.nan)
    spread = np.sqrt(np.diag(fit.covariance))
    for k, place in enumerate(range(entries.start, entries.stop)):
        value = abs(fit.theta[place])
        if value < 2 * ONE_SIDED * spread[place]:
            result[k] = _bound(likelihood, fit, place)
    return result


def _bound(likelihood: Likelihood, fit: Fit, place: int) -> float:
    """Upper end of the one-sided interval of an entry of S."""

    def at(value: float) -> np.ndarray:
        theta = fit.theta.copy()
        theta[place] = value
        return theta

    def fall(log_value: float) -> float:
        theta = at(np.exp(log_value))
        return fit.value - likelihood.value(fit.structure, theta, fit.order)[0]

    typical = np.abs(fit.theta[likelihood.model.places(fit.structure)[1]]).max()
    typical = max(typical, np.sqrt(likelihood.model.dt) * likelihood.force_of_motion)
    low = np.log(max(abs(fit.theta[place]), NO_FORCE * typical))
    high = np.log(typical)
    while fall(high) < FALL_AT_BOUND:
        high += 1.0
    if fall(low) < FALL_AT_BOUND:
        low = brentq(lambda x: fall(x) - FALL_AT_BOUND, low, high, xtol=0.02)
    end = np.exp(low)
    axis = np.zeros((len(fit.theta), 1))
    axis[place] = 1e-2 * end
    others = fit.axes.copy()
    others[place] = 0.0
    others = others[:, others.any(axis=0)]
    axes = np.hstack([others, axis])
    _, _, information = likelihood.pieces(fit.structure, at(end), axes, fit.order)
    inverse, size = normalised_inverse(information)
    std = np.sqrt(inverse[-1, -1]) / size[-1] * axis[place, 0]
    square = fit.theta[place] ** 2 + ONE_SIDED * 2 * end * std
    return float(max(end, np.sqrt(square)))
