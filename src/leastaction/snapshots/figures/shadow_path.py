"""Motions of Lagrangians that were learned from snapshots, beside the truth."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import Panel, panel_title
from leastaction.report.style import grid_of, legend_on_top, small, time_axis
from leastaction.snapshots.figures._shared import (
    largest_by_window,
    line_handles,
    look_of,
    names_of,
)
from leastaction.snapshots.shadow_panel import Learned, learned

# Samples of the path on the left.
FIRST_SAMPLES = 60
# Errors are drawn as the largest of so many windows: a line of 2000 is a bar.
WINDOWS = 200
# Smaller errors of a position are round-off.
LEAST_ERROR = 1e-9


def shadow_path(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Path of the long rollout: left its beginning, right its error up to the end.

    One row per coordinate, first replicate, lowest noise. The error |q̂ − q| is the
    largest in each of 200 windows of time. A line that ends has failed there, which is
    written beside it.
    """
    rows = [(i, name) for i, p in enumerate(panels) for name in p.truth.coordinates]
    found = [learned(panel) for panel in panels]
    figure, grid = grid_of(settings, len(rows), 2, row=38, rest=18)
    for (left, right), (i, name) in zip(grid, rows, strict=True):
        panel, label = panels[i], panels[i].label(name)
        unit = panel.coordinate_unit(name)
        _paths(left, found[i], name, settings)
        _errors(right, found[i], name, settings)
        left.set_ylabel(f"{label} ({unit})")
        right.set_ylabel(f"Error of {label} ({unit})")
        if name == panel.truth.coordinates[0]:
            left.set_title(panel_title(panels, i))
            failures = _failures(found[i])
            right.set_title(failures, loc="right", fontsize=small(settings))
    figure.align_ylabels(grid[:, 0])
    figure.align_ylabels(grid[:, 1])
    names = names_of(found)
    legend_on_top(figure, line_handles(names, settings), min(5, len(names) + 1))
    return figure


def _paths(axes: Axes, found: Mapping[str, Learned], name: str, settings) -> None:
    first = next(iter(found.values())).first
    time = first["time"].values[:FIRST_SAMPLES]
    truth = first["q_true"].sel(dof=name).values[:FIRST_SAMPLES]
    axes.plot(time, truth, color=settings["truth_color"], linewidth=1.6)
    for one in found.values():
        _line(axes, time, _path(one, name).values[:FIRST_SAMPLES], one, settings)
    low, high = truth.min(), truth.max()
    margin = 0.25 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)
    time_axis(axes, time)


def _errors(axes: Axes, found: Mapping[str, Learned], name: str, settings) -> None:
    for one in found.values():
        error = np.abs(_path(one, name) - one.first["q_true"].sel(dof=name)).values
        time = one.first["time"].values
        # All start at the same position.
        middle, largest = largest_by_window(time[1:], error[1:], WINDOWS)
        _line(axes, middle, np.maximum(largest, LEAST_ERROR), one, settings)
    axes.set_yscale("log")
    time_axis(axes, time)


def _path(one: Learned, name: str) -> xr.DataArray:
    return one.first["q_estimate"].sel(order=one.main, dof=name)


def _line(axes: Axes, time, values, one: Learned, settings: Mapping) -> None:
    look = look_of(one.estimator)
    style = {"linestyle": look.dashes, "linewidth": 1.0, "zorder": 3}
    axes.plot(time, values, color=look.color(settings), **style)


def _failures(found: Mapping[str, Learned]) -> str:
    steps = [
        f"{look_of(one.estimator).label} after "
        f"{int(one.first['steps_done'].sel(order=one.main))} steps"
        for one in found.values()
        if one.failed
    ]
    return "failed: " + ", ".join(steps) if steps else "none failed"
