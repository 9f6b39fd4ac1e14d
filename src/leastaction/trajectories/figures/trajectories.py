"""Trajectories of truth and models from the same start: Figure 3 of xL-SINDy."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import BASELINE, MAIN, Panel, panel_title
from leastaction.report.style import SMALL, StyledFigure, legend_on_top
from leastaction.report.sweep import shown_mode
from leastaction.trajectories.figures._methods import level_text, look_of

ROW_HEIGHT = 30.0
REST_HEIGHT = 18.0
MOST_LEVELS = 3
# Share of its value that a constant coordinate has as a margin.
FLAT = 0.1
# From below to above.
METHODS = ("sindy_pi", BASELINE, MAIN)
DASHES = {
    "sindy_pi": (0, (1, 1.2)),
    BASELINE: (0, (5, 1.5, 1, 1.5)),
    MAIN: (0, (4, 2.5)),
}


def trajectories(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Path of one start of the training data, continued beyond the training window.

    One row per coordinate, one column per noise level, first replicate, first
    trajectory: truth, recommended, xL-SINDy as published (with the shared noise of the
    paper) and SINDy-PI. A model without equations of motion, or one that does not stay
    finite, has no line.

    Raises
    ------
    ValueError
        If a panel has no rollout of the recommended estimator.
    """
    rows = [(i, name) for i, p in enumerate(panels) for name in p.truth.coordinates]
    columns = max(len(levels_shown(panel)) for panel in panels)
    figure = StyledFigure(settings, ROW_HEIGHT * len(rows) + REST_HEIGHT)
    grid = figure.subplots(len(rows), columns, squeeze=False, sharex=True)
    for line, (row, (i, name)) in enumerate(zip(grid, rows, strict=True)):
        panel = panels[i]
        first = name == panel.truth.coordinates[0]
        for axes, level in zip(row, levels_shown(panel), strict=False):
            _draw(axes, panel, name, level, settings)
            if line == 0:
                axes.annotate(
                    level_text(level),
                    (0.5, 1),
                    xycoords="axes fraction",
                    xytext=(0, 14),
                    textcoords="offset points",
                    ha="center",
                )
        for axes in row[1:]:
            axes.sharey(row[0])
            axes.tick_params(labelleft=False)
        row[0].set_ylabel(f"{panel.label(name)} ({panel.coordinate_unit(name)})")
        if first:
            row[0].set_title(panel_title(panels, i))
    for axes in grid[-1]:
        axes.set_xlabel("Time (s)")
    figure.align_ylabels(grid[:, 0])
    legend_on_top(figure, _handles(panels, settings))
    return figure


def levels_shown(panel: Panel) -> list[float]:
    """Noise levels of the rollout, without zero if there are others."""
    found = panel.rollout(MAIN)
    levels = [float(v) for v in np.atleast_1d(found["noise_level"].values)]
    return [v for v in levels if v > 0][:MOST_LEVELS] or levels[:1]


def _draw(axes: Axes, panel: Panel, name: str, level: float, settings) -> None:
    rollout = panel.rollout(MAIN)
    time, end = rollout["time"].values, rollout.attrs["training_duration"]
    one = {"replicate": 0, "trajectory": 0}
    truth = rollout["q_true"].isel(one).sel(dof=name).values
    axes.plot(time, truth, color=settings["truth_color"], linewidth=1.6, zorder=2)
    for order, method in enumerate(METHODS):
        path = _path(panel, method, name, level)
        if path is not None:
            axes.plot(
                time,
                path,
                color=settings[look_of(method).colour],
                linestyle=DASHES[method],
                linewidth=1.1,
                zorder=3 + order,
            )
    low, high = truth.min(), truth.max()
    # A model that runs away must not shrink the truth to a line.
    margin = 0.25 * (high - low) or FLAT * max(1.0, abs(high))
    axes.set_ylim(low - margin, high + 1.6 * margin)
    axes.set_xlim(time[0], time[-1])
    axes.axvline(end, color="black", linewidth=0.8, zorder=7)
    for text, side, offset in (("training", "right", -3), ("validation", "left", 3)):
        axes.annotate(
            text,
            (end, 0.99),
            xycoords=("data", "axes fraction"),
            xytext=(offset, 0),
            textcoords="offset points",
            ha=side,
            va="top",
            fontsize=SMALL * settings["font_size"],
        )


def _path(panel: Panel, method: str, name: str, level: float) -> np.ndarray | None:
    """Path of a method at one level; None if it was not rolled out there."""
    rollout: xr.Dataset | None = panel.rollouts.get(method)
    if rollout is None or level not in rollout["noise_level"].values:
        return None
    case = rollout.sel(noise_mode=shown_mode(method, rollout), noise_level=level)
    return case["q_estimate"].isel(replicate=0, trajectory=0).sel(dof=name).values


def _handles(panels: Sequence[Panel], settings: Mapping) -> list:
    shown = [m for m in reversed(METHODS) if any(m in p.rollouts for p in panels)]
    return [
        Line2D([], [], color=settings["truth_color"], linewidth=1.6, label="truth"),
        *(
            Line2D(
                [],
                [],
                color=settings[look_of(method).colour],
                linestyle=DASHES[method],
                linewidth=1.1,
                label=look_of(method).label,
            )
            for method in shown
        ),
    ]
