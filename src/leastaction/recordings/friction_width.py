"""Velocity within which dry friction turns, by the likelihood.

Friction is smooth as √(v² + w²). Each reversal loses an impulse in proportion to w, so
that a wrong width is in all losses: of 1 % of the rms velocity three to five standard
errors.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from leastaction.core.progress import report
from leastaction.likelihood.horizons import Law
from leastaction.likelihood.iterated_smoother import fit
from leastaction.recordings.recorded_problem import Problem

# Factors of two that a width of friction is profiled over, down or up from the first.
WIDTHS = 8
# Changes of ℓ by a width that has no weight, and by one that is not felt: for w → 0
# changes halve with w, so that narrower ones are not felt either, but cost steps of the
# integrator. Two changes in turn are small: one is, too, where a maximum is in between.
UNLIKELY, INDIFFERENT = 10.0, 0.5


def with_width(problem: Problem, law: Law) -> tuple[Law, np.ndarray]:
    """The law at the most likely width of dry friction, and deviations by the width.

    Widths are equally likely a priori on a logarithmic scale.
    """
    if not {*problem.motion.dry} & {*law.solution.support}:
        return law, np.zeros((0, len(law.c)))
    laws = {problem.width: law}

    def likelier(width: float, near: Law) -> float:
        trial = _of_width(near, width)
        if trial is None:
            return -np.inf
        laws[width] = trial
        return trial.fit.value - law.fit.value

    for factor in (1 / 2, 2.0):
        here, value, change = problem.width, 0.0, np.inf
        for _ in range(1, WIDTHS):
            last, before, near, here = value, change, laws[here], here * factor
            value = likelier(here, near)
            change = abs(value - last)
            if value < max(last, 0) - UNLIKELY or max(change, before) < INDIFFERENT:
                break
        if max(laws.values(), key=lambda each: each.fit.value) is not law:
            break
    best = max(laws, key=lambda width: laws[width].fit.value)
    between = vertex(laws, best)
    if between is not None:
        likelier(between, laws[best])
    report("widths: %s", {width: each.fit.value for width, each in laws.items()})
    values = np.array([each.fit.value for each in laws.values()])
    weight = np.exp(values - values.max())
    weight /= weight.sum()
    law = max(laws.values(), key=lambda each: each.fit.value)
    c = np.array([each.c for each in laws.values()])
    return law, np.sqrt(weight)[:, None] * (c - law.c)


def _of_width(law: Law, width: float) -> Law | None:
    """The law fitted again with friction that turns within `width`."""
    here = law.fit
    start = here.motion.with_width(width), here.c, here.active, here.path, here.levels
    trial = fit(*start, not here.levels.is_free.any(), rounds_of_starts=0)
    return None if trial is None else replace(law, fit=trial)


def vertex(laws: Mapping[float, Law], best: float) -> float | None:
    """Width at the top of the parabola through the best and its neighbours.

    Over the logarithm of widths that are factors of two apart; None without a neighbour
    on each side, or where these are not felt.
    """
    if not {best / 2, 2 * best} <= set(laws):
        return None
    low, top, high = (laws[w].fit.value for w in (best / 2, best, 2 * best))
    if top - min(low, high) < INDIFFERENT:
        return None
    return float(best * 2 ** ((high - low) / 2 / (2 * top - low - high)))
