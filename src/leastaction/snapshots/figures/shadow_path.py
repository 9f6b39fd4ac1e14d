"""Motions of Lagrangians that were learned from snapshots, beside the truth."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import Panel, panel_title
from leastaction.report.style import SMALL, StyledFigure, legend_on_top
from leastaction.snapshots.figures._energy_lines import largest_by_window
from leastaction.snapshots.figures._looks import line_handles, shadow_look
from leastaction.snapshots.shadow_panel import Learned, learned

ROW_HEIGHT = 38.0
REST_HEIGHT = 18.0
# Samples of the path on the left.
FIRST = 60
# Errors are drawn as the largest of so many windows: a line of 2000 is a bar.
WINDOWS = 200
LEAST = 1e-9


def shadow_path(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Path of the long rollout: left its beginning, right its error up to the end.

    One row per coordinate, first replicate, lowest noise. The error |q̂ − q| is the
    largest in each of 200 windows of time. A line that ends has failed there, which is
    written beside it.

    Raises
    ------
    ValueError
        If a panel has no rollout of a learned Lagrangian.
    """
    rows = [(i, name) for i, p in enumerate(panels) for name in p.truth.coordinates]
    found = [learned(panel) for panel in panels]
    figure = StyledFigure(settings, ROW_HEIGHT * len(rows) + REST_HEIGHT)
    grid = figure.subplots(len(rows), 2, squeeze=False)
    for (left, right), (i, name) in zip(grid, rows, strict=True):
        panel, label = panels[i], panels[i].label(name)
        unit = panel.coordinate_unit(name)
        _paths(left, found[i], name, settings)
        _errors(right, found[i], name, settings)
        left.set_ylabel(f"{label} ({unit})")
        right.set_ylabel(f"Error of {label} ({unit})")
        if name == panel.truth.coordinates[0]:
            left.set_title(panel_title(panels, i))
            _failures(right, found[i], settings)
        for axes in (left, right):
            axes.set_xlabel("Time (s)")
    figure.align_ylabels(grid[:, 0])
    figure.align_ylabels(grid[:, 1])
    names = list(dict.fromkeys(name for each in found for name in each))
    legend_on_top(figure, line_handles(names, settings), min(5, len(names) + 1))
    return figure


def _paths(axes: Axes, found: Mapping[str, Learned], name: str, settings) -> None:
    first = next(iter(found.values())).first
    time = first["time"].values[:FIRST]
    truth = first["q_true"].sel(dof=name).values[:FIRST]
    axes.plot(time, truth, color=settings["truth_color"], linewidth=1.6)
    for one in found.values():
        _line(axes, time, _path(one, name).values[:FIRST], one, settings)
    low, high = truth.min(), truth.max()
    margin = 0.25 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(time[0], time[-1])


def _errors(axes: Axes, found: Mapping[str, Learned], name: str, settings) -> None:
    for one in found.values():
        error = np.abs(_path(one, name) - one.first["q_true"].sel(dof=name)).values
        time = one.first["time"].values
        # All start at the same position.
        middle, largest = largest_by_window(time[1:], error[1:], WINDOWS)
        _line(axes, middle, np.maximum(largest, LEAST), one, settings)
    axes.set_yscale("log")
    axes.set_xlim(time[0], time[-1])


def _path(one: Learned, name: str) -> xr.DataArray:
    return one.first["q_estimate"].sel(order=one.main, dof=name)


def _line(axes: Axes, time, values, one: Learned, settings: Mapping) -> None:
    look = shadow_look(one.estimator)
    axes.plot(
        time,
        values,
        color=look.color(settings),
        linestyle=look.dashes,
        linewidth=1.0,
        zorder=3,
    )


def _failures(axes: Axes, found: Mapping[str, Learned], settings: Mapping) -> None:
    steps = [
        f"{shadow_look(one.estimator).label} after "
        f"{int(one.first['steps_done'].sel(order=one.main))} steps"
        for one in found.values()
        if one.failed
    ]
    axes.set_title(
        "failed: " + ", ".join(steps) if steps else "none failed",
        loc="right",
        fontsize=SMALL * settings["font_size"],
    )
