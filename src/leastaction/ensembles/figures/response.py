"""Response: mean path and its scatter, truth beside the identified model."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.style import SMALL, StyledFigure, legend_on_top

ROW_HEIGHT = 44.0
LEGEND_HEIGHT = 10.0


def response(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Ensemble response E[q] ± 2 std over training and prediction windows.

    One row per coordinate of each panel. The paths are those of the first replicate;
    its relative error ‖E[q̂] − E[q]‖ / ‖E[q]‖ and the median over all replicates stand
    above each panel.

    Raises
    ------
    ValueError
        If a panel has no rollout of the recommended estimator.
    """
    rows = [(i, name) for i, p in enumerate(panels) for name in p.truth.coordinates]
    figure = StyledFigure(settings, ROW_HEIGHT * len(rows) + LEGEND_HEIGHT)
    grid = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
    for axes, (i, name) in zip(grid, rows, strict=True):
        panel = panels[i]
        first = name == panel.truth.coordinates[0]
        rollout = panel.rollout(MAIN)
        _draw(axes, rollout, name, settings)
        axes.set_ylabel(f"{panel.label(name)} ({panel.coordinate_unit(name)})")
        axes.set_xlabel("Time (s)")
        if first:
            axes.set_title(panel_title(panels, i))
            axes.set_title(
                errors_text(rollout),
                loc="right",
                fontsize=SMALL * settings["font_size"],
            )
    legend_on_top(figure, _handles(settings))
    return figure


def _draw(axes: Axes, rollout: xr.Dataset, name: str, settings: Mapping) -> None:
    shown = rollout.isel(replicate=0).sel(state=name)
    time = rollout["time"].values
    mean, std = shown["mean_estimate"].values, shown["std_estimate"].values
    axes.fill_between(
        time,
        mean - 2 * std,
        mean + 2 * std,
        color=settings["band_color"],
        linewidth=0,
        zorder=1,
    )
    truth, scatter = shown["mean_true"].values, shown["std_true"].values
    for edge in (truth - 2 * scatter, truth + 2 * scatter):
        axes.plot(time, edge, color=settings["truth_color"], linewidth=0.4, zorder=2)
    axes.plot(time, truth, color=settings["truth_color"], linewidth=1.4, zorder=3)
    axes.plot(
        time,
        mean,
        color=settings["estimate_color"],
        linestyle=(0, (4, 2.5)),
        linewidth=1.0,
        zorder=4,
    )
    axes.set_xlim(time[0], time[-1])
    low, high = np.nanmin(truth - 2 * scatter), np.nanmax(truth + 2 * scatter)
    # A model that runs away must not shrink the truth to a line.
    axes.set_ylim(low - 0.06 * (high - low), high + 0.24 * (high - low))
    end = rollout.attrs["training_duration"]
    axes.axvline(end, color="black", linewidth=0.8, zorder=5)
    small = SMALL * settings["font_size"]
    for text, side, offset in (("training", "right", -4), ("prediction", "left", 4)):
        axes.annotate(
            text,
            (end, 0.995),
            xycoords=("data", "axes fraction"),
            xytext=(offset, 0),
            textcoords="offset points",
            ha=side,
            va="top",
            fontsize=small,
        )


def errors_text(rollout: xr.Dataset) -> str:
    """Errors of the mean path of the first replicate, and their medians over all."""
    count = rollout.sizes["replicate"]
    parts = []
    for window in ("training", "prediction"):
        values = rollout[f"mean_error_{window}"].values
        of = f"median of {count}: " if window == "training" else ""
        median = f" ({of}{_percent(np.median(values))})" if count > 1 else ""
        parts.append(f"{window} {_percent(values[0])}{median}")
    text = "mean-path error: " + ", ".join(parts)
    diverged = int(rollout["diverged"].values[0])
    return text + (f"; {diverged} trajectories diverged" if diverged else "")


def _percent(value: float) -> str:
    if not np.isfinite(value):
        return "not finite"
    value = 100 * value
    shown = f"{value:.0f}" if value >= 10 else f"{value:#.2g}"
    return f"{shown} %"


def _handles(settings: Mapping) -> list:
    red, blue = settings["truth_color"], settings["estimate_color"]
    return [
        Line2D([], [], color=red, linewidth=1.4, label="truth, mean"),
        Line2D([], [], color=red, linewidth=0.4, label=r"truth, mean $\pm$ 2 std"),
        Line2D(
            [],
            [],
            color=blue,
            linestyle=(0, (4, 2.5)),
            linewidth=1.0,
            label="identified model, mean",
        ),
        Patch(
            facecolor=settings["band_color"],
            label=r"identified model, mean $\pm$ 2 std",
        ),
    ]
