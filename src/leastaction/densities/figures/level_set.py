"""Dampings and noise strengths with one density."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.densities.figures._stationary import (
    COLOURS,
    MARKERS,
    estimator_handles,
    plain_numbers,
)
from leastaction.densities.stationary_parameters import (
    equation_of,
    true_coefficients,
)
from leastaction.report.panel import Panel
from leastaction.report.style import StyledFigure, legend_on_top

HEIGHT = 75.0


def level_set(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Damping as a function of the noise strength, and its error (Fig. 5).

    First replicate; the curve is the exact level set c = a² c₀/a₀².
    """
    (panel,) = panels
    equation = equation_of(panel.config)
    truth = true_coefficients(equation, panel.truth)
    kinds = [term.kind for term in equation.terms]
    ratio = truth[kinds.index("dissipation")] / truth[kinds.index("volatility")]
    figure = StyledFigure(settings, HEIGHT)
    left, right = figure.subplots(1, 2)
    estimators = [name for name in COLOURS if name in panel.models]
    for name in estimators:
        model = panel.models[name]
        a = model["level_volatility"].values[0]
        c = model["level_dissipation_estimate"].values[0]
        style = {
            "color": settings[COLOURS[name]],
            "marker": MARKERS[name],
            "markersize": 3.6,
            "markerfacecolor": "none",
        }
        left.plot(a, c, linestyle="none", **style)
        right.plot(a, 100 * (c / (ratio * a**2) - 1), linewidth=0.7, **style)
    fine = np.linspace(0, a.max(), 200)
    left.plot(fine, ratio * fine**2, color=settings["truth_color"], lw=1.0, zorder=0)
    left.annotate(
        "exact level set",
        (0.6 * a.max(), ratio * (0.6 * a.max()) ** 2),
        xytext=(6, -10),
        textcoords="offset points",
        color=settings["truth_color"],
    )
    left.set_ylabel("Damping $c$ (N s/m)")
    right.set_ylabel("Relative error of $c$ (%)")
    right.set_yscale("symlog", linthresh=1.0)
    plain_numbers(right.yaxis)
    right.axhline(0, color=settings["truth_color"], lw=0.8, zorder=0)
    for axes in (left, right):
        axes.set_xlabel("Noise strength $a$ (N s$^{0.5}$)")
    legend_on_top(figure, estimator_handles(estimators, settings))
    return figure
