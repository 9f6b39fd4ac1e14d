"""Marginal densities of truth and model, down to their tails."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.densities.figures._stationary import COLOURS, words
from leastaction.densities.figures.density import axes_names, cells
from leastaction.report.panel import Panel, panel_title
from leastaction.report.style import StyledFigure, legend_on_top

ROW_HEIGHT = 55.0
LEGEND_HEIGHT = 9.0
# Faintest density shown, over the highest one.
FAINTEST = 1e-5


def marginals(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Marginal densities of every coordinate and velocity, logarithmic.

    One row per degree of freedom; every estimator that was rolled out. First replicate.
    """
    rows = [
        (i, panel, a)
        for i, panel in enumerate(panels)
        for a in range(len(panel.config["system"]["coordinates"]))
    ]
    figure = StyledFigure(settings, ROW_HEIGHT * len(rows) + LEGEND_HEIGHT)
    grid = figure.subplots(len(rows), 2, squeeze=False)
    shown = set()
    for row, (i, panel, a) in zip(grid, rows, strict=True):
        for axis, axes in enumerate(row):
            shown |= _draw(axes, panel, a, axis, settings)
        if a == 0:
            row[0].set_title(panel_title(panels, i))
    handles = [Line2D([], [], color=settings["truth_color"], lw=2.0, label="truth")]
    handles += [
        Line2D([], [], color=settings[COLOURS[n]], ls="--", label=words(n))
        for n in COLOURS
        if n in shown
    ]
    legend_on_top(figure, handles)
    return figure


def _draw(axes, panel: Panel, a: int, axis: int, settings: Mapping) -> set[str]:
    shown = set()
    highest = 0.0
    for name, rollout in panel.rollouts.items():
        x = cells(rollout, a)
        step = np.diff(x[1 - axis][:2])[0]
        for end in ("true", "estimate"):
            density = rollout[f"density_{end}"].values[0, a]
            if not np.isfinite(density).all() or (end == "true" and highest):
                continue
            marginal = density.sum(axis=1 - axis) * step
            highest = max(highest, marginal.max())
            style = {"color": settings[COLOURS[name]], "ls": "--", "lw": 1.0}
            if end == "true":
                style = {"color": settings["truth_color"], "lw": 2.0, "alpha": 0.6}
            else:
                shown.add(name)
            axes.plot(x[axis], np.where(marginal > 0, marginal, np.nan), **style)
    axes.set_yscale("log")
    axes.set_ylim(FAINTEST * highest, 2 * highest)
    axes.set_xlabel(axes_names(panel, a)[axis])
    axes.set_ylabel("Marginal density (SI units)")
    return shown
