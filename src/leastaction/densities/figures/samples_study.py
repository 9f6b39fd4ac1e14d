"""What the number of samples does to the estimates."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.densities.figures._stationary import (
    ORDER,
    estimator_handles,
    parameter_label,
    plain_numbers,
)
from leastaction.densities.stationary_parameters import parameters
from leastaction.report.looks import look
from leastaction.report.panel import MAIN, Panel
from leastaction.report.style import grid_of, legend_on_top


def samples_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Root mean square of the relative errors against the number of samples.

    One row per system, one column per parameter. A single replicate, at the largest
    number, has a hollow mark.
    """
    groups: dict[tuple, list[Panel]] = {}
    for panel in panels:
        labels = [p.label for p in parameters(panel.config, panel.model(MAIN))]
        groups.setdefault(tuple(labels), []).append(panel)
    columns = max(map(len, groups))
    figure, grid = grid_of(settings, len(groups), columns, row=58, rest=10)
    for row, (labels, members) in zip(grid, groups.items(), strict=True):
        for axes in row[len(labels) :]:
            axes.set_axis_off()
        for j, (axes, label) in enumerate(zip(row, labels, strict=False)):
            for name in ORDER:
                _draw(axes, members, name, j, settings)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("Samples")
            plain_numbers(axes.yaxis)
            text = parameter_label(members[0], label, " ")
            axes.set_ylabel(f"Relative error of {text} (%)")
        row[0].set_title(members[0].title)
    names = {name for panel in panels for name in panel.models}
    legend_on_top(figure, estimator_handles(names, settings, " (rms)"))
    return figure


def samples_of(panel: Panel) -> float:
    """Number of samples of one replicate."""
    given = panel.config["simulate"]
    return given["duration"] / given["time_step"] * given["trajectories"]


def _draw(axes, members: Sequence[Panel], name: str, j: int, settings: Mapping) -> None:
    points = []
    for panel in members:
        if name in panel.models:
            error = parameters(panel.config, panel.models[name])[j].error
            rms = 100 * np.sqrt(np.mean(error**2))
            points.append((samples_of(panel), rms, len(error)))
    points.sort()
    if not points:
        return
    colour, marker = look(name).color(settings), look(name).marker
    x, y, _ = zip(*points, strict=True)
    axes.plot(x, y, color=colour, linewidth=0.9)
    for samples, error, count in points:
        face = colour if count > 1 else "white"
        style = {"color": colour, "markersize": 4.0, "markerfacecolor": face}
        axes.plot(samples, error, marker=marker, **style)
