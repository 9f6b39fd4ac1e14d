"""Identified efforts along time: Zaspel and Günther, Figures 4, 5, 7 and 8."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.ports.figures._looks import SIZE, component
from leastaction.report.panel import BASELINE, Panel, panel_title
from leastaction.report.style import StyledFigure, key, legend_on_top

# Training samples from all times, or from early ones alone.
ALL, EARLY = "all", "early"
HEIGHT_OF_PANEL = 74.0
NORMAL_95 = 1.96
# An effort below is zero but for round-off.
ROUND_OFF_OF_EFFORT = 1e-12


def effort_reconstruction(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Efforts of a fit to samples of all times, and their errors.

    Above true and identified efforts of the first replicate with its training samples,
    below the error with the 95 % posterior band. The truth is that of the recorded
    states.
    """
    return _along_time(panels, settings, ALL)


def effort_extrapolation(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """As :func:`effort_reconstruction`, with training samples of early times alone.

    The shaded times have none.
    """
    return _along_time(panels, settings, EARLY)


def _along_time(panels: Sequence[Panel], settings: Mapping, pool: str) -> Figure:
    figure = StyledFigure(settings, HEIGHT_OF_PANEL * len(panels))
    count = max(panel.rollout(BASELINE).sizes["effort"] for panel in panels)
    grid = figure.subplots(2 * len(panels), count, squeeze=False, sharex=True)
    truth, own = settings["truth_color"], settings["estimate_color"]
    band_color = settings["band_color"]
    for i, panel in enumerate(panels):
        rollout = panel.rollout(BASELINE).isel(replicate=0)
        time = rollout["time"].values
        place = list(rollout["pool_shown"].values).index(pool)
        estimate = rollout["effort_estimate"].values[place]
        true = rollout["effort_true"].values
        band = NORMAL_95 * rollout["effort_std"].values[place]
        chosen = rollout["training_sample"].values[place]
        for j, (above, below) in enumerate(grid[2 * i : 2 * i + 2, : true.shape[1]].T):
            above.plot(time, true[:, j], color=truth, linewidth=1.4)
            above.plot(time, estimate[:, j], "--", color=own, linewidth=0.9)
            marks = {"color": "0.1", "markersize": 3}
            above.plot(time[chosen], estimate[chosen, j], "x", **marks)
            ends = -band[:, j], band[:, j]
            below.fill_between(time, *ends, color=band_color, linewidth=0)
            below.plot(time, estimate[:, j] - true[:, j], color=own, linewidth=0.7)
            below.set_xlabel("Time (s)")
            below.ticklabel_format(axis="y", scilimits=(-2, 2))
            above.set_title(component("effort", j))
            for axes in (above, below):
                axes.set_xlim(time[0], time[-1])
                if pool == EARLY:
                    axes.axvspan(_until(panel, time), time[-1], color="0.9", zorder=0)
            if np.abs(true[:, j]).max() < ROUND_OFF_OF_EFFORT:
                above.set_ylim(-1.0, 1.0)
        above, below = grid[2 * i : 2 * i + 2, 0]
        name = f"{panel_title(panels, i)}: " if len(panels) > 1 else ""
        above.set_title(f"{name}{component('effort', 0)}")
        above.set_ylabel("Effort (SI units)")
        below.set_ylabel("Error (SI units)")
    handles = [
        key("true", truth),
        key("identified", own, linestyle="--"),
        key("training samples", "0.1", "x", linestyle="none", markersize=SIZE),
        key("95 % posterior band", band_color, linewidth=5),
    ]
    legend_on_top(figure, handles)
    return figure


def _until(panel: Panel, time: np.ndarray) -> float:
    early = panel.config["simulate"]["training"].get("early")
    return float(early["until"]) if early else float(time[-1])
