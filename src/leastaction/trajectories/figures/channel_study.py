"""What is lost if accelerations, or velocities too, are not recorded?"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.level_axis import level_axis, levels_of, places
from leastaction.report.panel import MAIN, Panel
from leastaction.report.recovery import coverage
from leastaction.report.recovery_axes import median_error, share_of_exact
from leastaction.report.study import by_title, share_bars
from leastaction.report.style import StyledFigure, legend_on_top
from leastaction.report.sweep import shown_mode

ROW_HEIGHT = 40.0
LEGEND_HEIGHT = 12.0
NOMINAL = 95.0
ACCEPTED = (90.0, 99.0)
# By the recorded channels: label, colour, marker, shift.
KINDS = {
    ("q", "qdot", "qddot"): (r"$q, \dot q, \ddot q$", "estimate_color", "o", -0.12),
    ("q", "qdot"): (r"$q, \dot q$", "published_color", "s", 0.0),
    ("q",): (r"$q$", "sindy_pi_color", "^", 0.12),
}


def channel_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Success, error and coverage of examples that differ in what is recorded.

    One column per system, recommended estimator, independent noise: share of replicates
    with the right structure (95 % Wilson intervals), median of the largest relative
    error of a true coefficient, and share of 95 % intervals that cover the truth, over
    all replicates and true terms.

    Raises
    ------
    ValueError
        If a panel has no model of the recommended estimator.
    """
    groups = by_title(panels)
    figure = StyledFigure(settings, 3 * ROW_HEIGHT + LEGEND_HEIGHT)
    grid = figure.subplots(3, len(groups), squeeze=False, sharey="row")
    levels = levels_of(panels)
    for column, (title, members) in zip(grid.T, groups.items(), strict=True):
        for panel in members:
            panel.model(MAIN)
            _draw(column, panel, levels, settings)
        column[0].set_title(title)
        column[2].axhspan(*ACCEPTED, color="0.93", zorder=0)
        column[2].axhline(NOMINAL, color="0.4", linewidth=0.6, zorder=1)
        for axes in column:
            level_axis(axes, levels, "" if axes is not column[2] else None)
    grid[0, 0].set_ylabel("Right structure (%)")
    grid[0, 0].set_ylim(-6, 106)
    grid[1, 0].set_ylabel("Worst coefficient error (%)")
    grid[1, 0].set_yscale("log")
    grid[2, 0].set_ylabel("Coverage of 95 % intervals (%)")
    grid[2, 0].set_ylim(-6, 106)
    figure.align_ylabels(grid)
    legend_on_top(figure, _handles(panels, settings))
    return figure


def channels_of(panel: Panel) -> tuple[str, ...]:
    """Recorded channels of an example."""
    noise = panel.config["simulate"].get("noise") or {}
    return tuple(noise.get("channels", ("q", "qdot", "qddot")))


def _draw(column: Sequence[Axes], panel: Panel, levels, settings: Mapping) -> None:
    _, colour, marker, shift = KINDS[channels_of(panel)]
    style = {"color": settings[colour], "marker": marker, "markersize": 3.4}
    style["linewidth"] = 0.9
    found = panel.recoveries[MAIN]
    mode = shown_mode(MAIN, found)
    case = found.sel(noise_mode=mode)
    x = np.array(places(case["noise_level"].values, levels)) + shift
    share_of_exact(column[0], x, case, style)
    median_error(column[1], x, case, style)
    covered = coverage(panel.model(MAIN), panel.config, panel.law)
    if covered is not None:
        hit = covered.sel(noise_mode=mode).transpose(..., "noise_level").values
        hit = hit.reshape(-1, hit.shape[-1])
        # Without noise an interval is as long as round-off: it says nothing.
        noisy = case["noise_level"].values > 0
        share_bars(column[2], x[noisy], hit.sum(axis=0)[noisy], len(hit), **style)


def _handles(panels: Sequence[Panel], settings: Mapping) -> list:
    present = {channels_of(panel) for panel in panels}
    return [
        Line2D(
            [],
            [],
            color=settings[colour],
            marker=marker,
            markersize=3.4,
            linewidth=0.9,
            label=f"recorded: {label}",
        )
        for channels, (label, colour, marker, _) in KINDS.items()
        if channels in present
    ]
