"""Errors of the parameters that were estimated from a stationary density."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.densities.figures import ORDER
from leastaction.densities.stationary_parameters import parameters
from leastaction.report.looks import look, marked
from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.style import (
    AT_X,
    RANGE,
    grid_of,
    legend_on_top,
    note,
    plain_numbers,
    range_bar,
    small,
)

DISTANCE_OF_ESTIMATORS = 0.22
# Errors beyond it, in per cent, stand at the edge: a parameter that collapsed to zero.
LARGEST_ERROR = 200.0
KINDS = {"lagrangian": "$L$", "dissipation": "damping"}
# Of the marks of two estimators, over the number of cells.
RELATIVE_DISTANCE = 0.04


def stationary_parameters(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Relative errors in per cent: medians and 5–95 % ranges over the replicates.

    The scale is linear within one per cent and logarithmic beyond it. What the density
    does not determine has no mark, and the figure says so.
    """
    figure, grid = grid_of(settings, len(panels), 1, row=62, rest=10)
    for i, (axes, panel) in enumerate(zip(grid[:, 0], panels, strict=True)):
        _errors(axes, panel, settings)
        axes.set_title(panel_title(panels, i))
    names = {name for panel in panels for name in panel.models}
    legend_on_top(figure, estimator_handles(names, settings, RANGE))
    return figure


def _errors(axes: Axes, panel: Panel, settings: Mapping) -> None:
    estimators = [name for name in ORDER if name in panel.models]
    labels: list[str] = []
    for k, name in enumerate(estimators):
        found = parameters(panel.config, panel.models[name])
        labels = [parameter.label for parameter in found]
        style = {"color": look(name).color(settings), "marker": look(name).marker}
        for i, parameter in enumerate(found):
            x = i + DISTANCE_OF_ESTIMATORS * (k - (len(estimators) - 1) / 2)
            error = np.clip(100 * parameter.error, -LARGEST_ERROR, LARGEST_ERROR)
            if not range_bar(axes, x, error, **style) and not k:
                centre = {"ha": "center", "fontsize": small(settings)}
                note(axes, "not identifiable", i, 0.5, AT_X, **centre)
    axes.axhline(0, color=settings["truth_color"], linewidth=0.8, zorder=0)
    axes.set_xticks(range(len(labels)), [parameter_label(panel, n) for n in labels])
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_yscale("symlog", linthresh=1.0)
    plain_numbers(axes.yaxis)
    axes.set_ylabel("Relative error (%)")


def estimator_handles(
    estimators: Iterable[str], settings: Mapping, note: str = ""
) -> list[Line2D]:
    """Legend of estimators, each with a `note`."""
    there = set(estimators)
    return marked([name for name in ORDER if name in there], settings, note)


def parameter_label(panel: Panel, label: str, separator: str = "\n") -> str:
    """Label of a parameter for an axis: what it belongs to, and the candidate."""
    kind, _, term = label.partition(": ")
    shown = panel.label(term)
    if kind.startswith("noise strength"):
        several = len(panel.config["system"]["coordinates"]) > 1
        of = f" of {kind.rpartition(' ')[2]}" if several else ""
        return f"noise{of},{separator}{shown}"
    return f"{KINDS[kind]},{separator}{shown}"


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
                _rms_errors(axes, members, name, j, settings)
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


def _rms_errors(
    axes, members: Sequence[Panel], name: str, j: int, settings: Mapping
) -> None:
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
            x = bins * (1 + RELATIVE_DISTANCE * (k - 1))
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
