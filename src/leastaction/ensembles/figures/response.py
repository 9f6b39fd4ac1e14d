"""Response: mean path and its scatter, truth beside the identified model."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.readable import mean_path_errors
from leastaction.report.style import (
    AT_X,
    DASHED,
    grid_of,
    key,
    legend_on_top,
    note,
    small,
    time_axis,
)


def response(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Ensemble response E[q] ± 2 std over training and prediction windows.

    One row per coordinate of each panel. The paths are those of the first replicate;
    its relative error ‖E[q̂] − E[q]‖ / ‖E[q]‖ and the median over all replicates stand
    above each panel.
    """
    rows = [(i, name) for i, p in enumerate(panels) for name in p.truth.coordinates]
    figure, grid = grid_of(settings, len(rows), 1, row=44, rest=10)
    for axes, (i, name) in zip(grid[:, 0], rows, strict=True):
        panel = panels[i]
        rollout = panel.rollout(MAIN)
        _draw(axes, rollout, name, settings)
        axes.set_ylabel(f"{panel.label(name)} ({panel.coordinate_unit(name)})")
        if name == panel.truth.coordinates[0]:
            axes.set_title(panel_title(panels, i))
            errors = mean_path_errors(rollout)
            axes.set_title(errors, loc="right", fontsize=small(settings))
    red, blue = settings["truth_color"], settings["estimate_color"]
    model = "identified model, mean"
    handles = [
        key("truth, mean", red, linewidth=1.4),
        key(r"truth, mean $\pm$ 2 std", red, linewidth=0.4),
        key(model, blue, linestyle=DASHED, linewidth=1.0),
        Patch(facecolor=settings["band_color"], label=rf"{model} $\pm$ 2 std"),
    ]
    legend_on_top(figure, handles)
    return figure


def _draw(axes: Axes, rollout: xr.Dataset, name: str, settings: Mapping) -> None:
    shown = rollout.isel(replicate=0).sel(state=name)
    time = rollout["time"].values
    mean, std = shown["mean_estimate"].values, shown["std_estimate"].values
    band = {"color": settings["band_color"], "linewidth": 0, "zorder": 1}
    axes.fill_between(time, mean - 2 * std, mean + 2 * std, **band)
    truth, scatter = shown["mean_true"].values, shown["std_true"].values
    red = {"color": settings["truth_color"]}
    for edge in (truth - 2 * scatter, truth + 2 * scatter):
        axes.plot(time, edge, linewidth=0.4, zorder=2, **red)
    axes.plot(time, truth, linewidth=1.4, zorder=3, **red)
    blue = {"color": settings["estimate_color"], "linestyle": DASHED}
    axes.plot(time, mean, linewidth=1.0, zorder=4, **blue)
    time_axis(axes, time)
    low, high = np.nanmin(truth - 2 * scatter), np.nanmax(truth + 2 * scatter)
    # A model that runs away must not shrink the truth to a line.
    axes.set_ylim(low - 0.06 * (high - low), high + 0.24 * (high - low))
    end = rollout.attrs["training_duration"]
    axes.axvline(end, color="black", linewidth=0.8, zorder=5)
    top = {"va": "top", "fontsize": small(settings)}
    note(axes, "training", end, 0.995, AT_X, offset=(-4, 0), ha="right", **top)
    note(axes, "prediction", end, 0.995, AT_X, offset=(4, 0), ha="left", **top)
