"""Energy along motions close to the separatrix: Figure 8 of shadow integration."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import Panel
from leastaction.report.readable import scientific
from leastaction.report.style import SMALL, StyledFigure, legend_on_top
from leastaction.snapshots.figures._looks import shadow_look
from leastaction.snapshots.figures.escape_paths import SHOWN, fate, passing
from leastaction.snapshots.shadow_panel import Learned

ROW_HEIGHT = 46.0
LEGEND_HEIGHT = 8.0
DASHES = (0, (4, 2.5))


def escape_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """True energy along the motions of :mod:`escape_paths` minus that of their start.

    Each on its own scale, in coarse samples of time, with the slope of a line through
    them. Dashed: how much energy the start lacks to pass a saddle. First replicate,
    lowest noise.

    Raises
    ------
    ValueError
        If a panel lacks rollouts with `survival`.
    """
    found = [(panel, one) for panel in panels for one in passing(panel, SHOWN)]
    rows = -(-len(found) // 2)
    figure = StyledFigure(settings, ROW_HEIGHT * rows + LEGEND_HEIGHT)
    grid = figure.subplots(rows, 2, squeeze=False).ravel()
    for axes, (_, one) in zip(grid, found, strict=False):
        _energy(axes, one, settings)
    for axes in grid[len(found) :]:
        axes.set_axis_off()
    lacking = [
        float(one.first["saddle_margin_true"].min())
        for _, one in found
        if "saddle_margin_true" in one.first
    ]
    if lacking:
        text = (
            f"energy that the start lacks to pass a saddle, {scientific(lacking[0])} J"
        )
        style = {"color": "black", "linewidth": 0.7, "linestyle": DASHES}
        legend_on_top(figure, [Line2D([], [], label=text, **style)])
    return figure


def _energy(axes: Axes, one: Learned, settings: Mapping) -> None:
    first, look = one.first, shadow_look(one.estimator)
    time = first["passage_time"].values
    axes.plot(
        time,
        first["passage_energy"].values,
        ".",
        color=look.color(settings),
        markersize=1.8,
        markeredgewidth=0,
    )
    drift = float(first["passage_drift"])
    axes.set_title(f"{look.label}: {fate(one)}")
    axes.set_title(
        f"drift {scientific(drift)} W",
        loc="right",
        fontsize=SMALL * settings["font_size"],
    )
    if "saddle_margin_true" in first:
        lacking = float(first["saddle_margin_true"].min())
        axes.axhline(lacking, color="black", linewidth=0.7, linestyle=DASHES)
    axes.axhline(0.0, color="0.6", linewidth=0.5, zorder=0)
    # Until the escape, which may be long before the last sample.
    axes.set_xlim(time[0], min(time[-1], float(first["survival_time"][0])))
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("$H(t) - H(0)$ (J)")
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
