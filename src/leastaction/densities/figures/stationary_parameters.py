"""Errors of the parameters that were estimated from a stationary density."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.densities.figures._stationary import (
    COLOURS,
    MARKERS,
    estimator_handles,
    parameter_label,
    plain_numbers,
)
from leastaction.densities.stationary_parameters import parameters
from leastaction.report.panel import Panel, panel_title
from leastaction.report.study import range_bar
from leastaction.report.style import SMALL, StyledFigure, legend_on_top

ROW_HEIGHT = 62.0
LEGEND_HEIGHT = 10.0
APART = 0.22
# Errors beyond it, in per cent, stand at the edge: a parameter that collapsed to zero.
LARGEST = 200.0


def stationary_parameters(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Relative errors in per cent: medians and 5–95 % ranges over the replicates.

    The scale is linear within one per cent and logarithmic beyond it. What the density
    does not determine has no mark, and the figure says so.
    """
    figure = StyledFigure(settings, ROW_HEIGHT * len(panels) + LEGEND_HEIGHT)
    grid = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for i, (axes, panel) in enumerate(zip(grid, panels, strict=True)):
        _draw(axes, panel, settings)
        axes.set_title(panel_title(panels, i))
    names = {name for panel in panels for name in panel.models}
    handles = estimator_handles(names, settings, " (median, 5–95 %)")
    legend_on_top(figure, handles)
    return figure


def _draw(axes: Axes, panel: Panel, settings: Mapping) -> None:
    estimators = [name for name in COLOURS if name in panel.models]
    labels: list[str] = []
    for k, name in enumerate(estimators):
        found = parameters(panel.config, panel.models[name])
        labels = [parameter.label for parameter in found]
        for i, parameter in enumerate(found):
            x = i + APART * (k - (len(estimators) - 1) / 2)
            style = {"color": settings[COLOURS[name]], "marker": MARKERS[name]}
            error = np.clip(100 * parameter.error, -LARGEST, LARGEST)
            if not range_bar(axes, x, error, **style) and not k:
                axes.annotate(
                    "not identifiable",
                    (i, 0.5),
                    xycoords=("data", "axes fraction"),
                    ha="center",
                    fontsize=SMALL * settings["font_size"],
                )
    axes.axhline(0, color=settings["truth_color"], linewidth=0.8, zorder=0)
    axes.set_xticks(range(len(labels)), [parameter_label(panel, n) for n in labels])
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_yscale("symlog", linthresh=1.0)
    plain_numbers(axes.yaxis)
    axes.set_ylabel("Relative error (%)")
