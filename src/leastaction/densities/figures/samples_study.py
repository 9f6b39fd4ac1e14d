"""What the number of samples, and the size of the cells, do to the estimates."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.densities.figures import ORDER
from leastaction.densities.figures.stationary_parameters import (
    estimator_handles,
    parameter_label,
    plain_numbers,
)
from leastaction.densities.stationary_parameters import parameters
from leastaction.report.looks import look
from leastaction.report.panel import MAIN, Panel
from leastaction.report.study import range_bar
from leastaction.report.style import grid_of, legend_on_top

# Of the marks of two estimators, over the number of cells.
DISTANCE_OF_ESTIMATORS = 0.04


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


def bins_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors against the number of cells: exact density (lines), samples (marks)."""
    labels = [p.label for p in parameters(panels[0].config, panels[0].model(MAIN))]
    figure, (grid,) = grid_of(settings, 1, len(labels), row=75)
    for k, name in enumerate(ORDER):
        there = [panel for panel in panels if name in panel.models]
        style = {"color": look(name).color(settings)}
        bias = {}
        for panel in there:
            bins = panel.config["simulate"]["histogram"]["bins"]
            found = parameters(panel.config, panel.models[name])
            if panel.config["simulate"].get("exact"):
                bias[bins] = [100 * parameter.error[0] for parameter in found]
                continue
            x = bins * (1 + DISTANCE_OF_ESTIMATORS * (k - 1))
            marks = {"marker": look(name).marker, **style}
            for axes, parameter in zip(grid, found, strict=True):
                range_bar(axes, x, 100 * parameter.error, **marks)
        if bias:
            x, y = zip(*sorted(bias.items()), strict=True)
            for axes, errors in zip(grid, np.transpose(y), strict=True):
                axes.plot(x, errors, linewidth=0.9, **style)
    for axes, label in zip(grid, labels, strict=True):
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=0.1)
        plain_numbers(axes.yaxis)
        axes.set_xticks([25, 50, 100, 200], ["25", "50", "100", "200"])
        axes.minorticks_off()
        axes.axhline(0, color=settings["truth_color"], linewidth=0.8, zorder=0)
        axes.set_xlabel("Cells along each side")
        name = parameter_label(panels[0], label, " ")
        axes.set_ylabel(f"Relative error of {name} (%)")
    names = {name for panel in panels for name in panel.models}
    legend_on_top(figure, estimator_handles(names, settings))
    return figure
