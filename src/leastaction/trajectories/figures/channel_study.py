"""What is lost if accelerations, or velocities too, are not recorded?"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import MAIN, Panel
from leastaction.report.recovery import coverage
from leastaction.report.study import (
    by_title,
    level_axis,
    levels_of,
    median_error,
    places,
    share_bars,
    share_of_exact,
)
from leastaction.report.style import grid_of, key, legend_on_top
from leastaction.report.sweep import shown_mode

NOMINAL_COVERAGE = 95.0
ACCEPTED_COVERAGE = (90.0, 99.0)
# By the recorded channels: label, colour, marker, shift.
KINDS = {
    ("q", "qdot", "qddot"): (r"$q, \dot q, \ddot q$", "estimate_color", "o", -0.12),
    ("q", "qdot"): (r"$q, \dot q$", "published_color", "s", 0.0),
    ("q",): (r"$q$", "sindy_pi_color", "^", 0.12),
}
STYLE = {"markersize": 3.4, "linewidth": 0.9}


def channel_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Success, error and coverage of examples that differ in what is recorded.

    One column per system, recommended estimator, independent noise: share of replicates
    with the right structure (95 % Wilson intervals), median of the largest relative
    error of a true coefficient, and share of 95 % intervals that cover the truth, over
    all replicates and true terms.
    """
    groups, levels = by_title(panels), levels_of(panels)
    figure, grid = grid_of(settings, 3, len(groups), row=40, rest=12, sharey="row")
    for column, (title, members) in zip(grid.T, groups.items(), strict=True):
        for panel in members:
            panel.model(MAIN)
            _draw(column, panel, levels, settings)
        column[0].set_title(title)
        column[2].axhspan(*ACCEPTED_COVERAGE, color="0.93", zorder=0)
        column[2].axhline(NOMINAL_COVERAGE, color="0.4", linewidth=0.6, zorder=1)
        for axes in column:
            level_axis(axes, levels, "" if axes is not column[2] else None)
    grid[0, 0].set(ylabel="Right structure (%)", ylim=(-6, 106))
    grid[1, 0].set(ylabel="Worst coefficient error (%)", yscale="log")
    grid[2, 0].set(ylabel="Coverage of 95 % intervals (%)", ylim=(-6, 106))
    figure.align_ylabels(grid)
    present = {channels_of(panel) for panel in panels}
    handles = [
        key(f"recorded: {label}", settings[colour], marker, **STYLE)
        for channels, (label, colour, marker, _) in KINDS.items()
        if channels in present
    ]
    legend_on_top(figure, handles)
    return figure


def channels_of(panel: Panel) -> tuple[str, ...]:
    """Recorded channels of an example."""
    noise = panel.config["simulate"].get("noise") or {}
    return tuple(noise.get("channels", ("q", "qdot", "qddot")))


def _draw(column: Sequence[Axes], panel: Panel, levels, settings: Mapping) -> None:
    _, colour, marker, shift = KINDS[channels_of(panel)]
    style = {"color": settings[colour], "marker": marker} | STYLE
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
