"""How much sensor noise can an identification bear?"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from leastaction.report.panel import BASELINE, MAIN, Panel
from leastaction.report.study import (
    COLOURS,
    FAINTEST,
    by_title,
    estimator_handles,
    exact_share,
    percent_errors,
    range_bar,
)
from leastaction.report.style import StyledFigure, legend_on_top

ROW_HEIGHT = 50.0
LEGEND_HEIGHT = 13.0
BOTH, DISPLACEMENTS, COLOURED = (
    "displacements and velocities",
    "displacements alone",
    "correlated noise",
)
KINDS = {
    BOTH: {"marker": "o", "filled": True, "line": "-", "shift": 1.0},
    DISPLACEMENTS: {
        "marker": "s",
        "filled": False,
        "line": (0, (4, 2.5)),
        "shift": 1.2,
    },
    COLOURED: {"marker": "^", "filled": False, "line": "none", "shift": 1.44},
}


def sensor_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors and exact supports of examples that differ in their sensors.

    One row per system: error of the coefficients, error of the volatility, and share of
    replicates with exactly the true terms, against the standard deviation of the sensor
    noise over the rms of its channel. Data without noise stand at the left.

    Raises
    ------
    ValueError
        If no panel has a noisy sensor, or one lacks a model of the recommended
        estimator.
    """
    levels = sorted({level_of(panel) for panel in panels} - {0.0})
    if not levels:
        raise ValueError("sensor_study: no panel has a noisy sensor")
    groups = by_title(panels)
    figure = StyledFigure(settings, ROW_HEIGHT * len(groups) + LEGEND_HEIGHT)
    grid = figure.subplots(len(groups), 3, squeeze=False)
    for row, (title, members) in zip(grid, groups.items(), strict=True):
        for estimator in (MAIN, BASELINE):
            for kind in KINDS:
                of_kind = [
                    p
                    for p in sorted(members, key=level_of)
                    if kind_of(p) == kind
                    and (estimator == MAIN or estimator in p.models)
                ]
                _draw(row, of_kind, estimator, kind, levels, settings)
        _finish(row, title, levels)
    legend_on_top(figure, _handles(panels, settings), 3)
    return figure


def level_of(panel: Panel) -> float:
    """Largest noise of a channel over its rms; 0 for perfect sensors."""
    sensor = panel.config["simulate"].get("sensor") or {}
    return max((sensor.get("noise") or {}).values(), default=0.0)


def kind_of(panel: Panel) -> str:
    """What is recorded: a key of `KINDS`."""
    sensor = panel.config["simulate"].get("sensor") or {}
    if sensor.get("correlation", 1) > 1:
        return COLOURED
    return DISPLACEMENTS if sensor.get("channels") == ["q"] else BOTH


def _draw(row, panels: Sequence[Panel], estimator, kind, levels, settings) -> None:
    if not panels:
        return
    look = KINDS[kind]
    colour = settings[COLOURS[estimator]]
    face = colour if look["filled"] else "white"
    x = np.array([level_of(p) or _without_noise(levels) for p in panels])
    x = x * look["shift"] * (1.1 if estimator == BASELINE else 1.0)
    errors = [percent_errors(p, estimator) for p in panels]
    for axes, key in zip(row, ("coefficient", "volatility"), strict=False):
        for place, found in zip(x, errors, strict=True):
            style = {"fmt": look["marker"], "color": colour, "markerfacecolor": face}
            range_bar(axes, place, found[key], FAINTEST, zorder=3, **style)
        medians = [np.nanmedian(found[key]) for found in errors]
        axes.plot(x, medians, color=colour, linewidth=0.6, linestyle=look["line"])
    row[2].plot(
        x,
        [exact_share(p, estimator) for p in panels],
        look["marker"],
        color=colour,
        markerfacecolor=face,
        markersize=4.0,
        linewidth=0.6,
        linestyle=look["line"],
        clip_on=False,
    )


def _without_noise(levels: Sequence[float]) -> float:
    """Where data without noise stand on a logarithmic axis."""
    return levels[0] / 10


def _finish(row: Sequence[Axes], title: str, levels: Sequence[float]) -> None:
    start = _without_noise(levels)
    places = [start, *levels]
    for axes in row:
        axes.set_xscale("log")
        axes.set_xlim(start / 2, levels[-1] * 3)
        axes.xaxis.set_major_locator(FixedLocator(places))
        axes.xaxis.set_major_formatter(
            FixedFormatter(["none", *(_power(level) for level in levels)])
        )
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("Sensor noise / rms of channel (1)")
    for axes in row[:2]:
        axes.set_yscale("log")
    row[0].set_ylabel("Error of coefficients (%)")
    row[1].set_ylabel("Error of volatility (%)")
    row[2].set_ylabel("Exact supports (%)")
    row[2].set_ylim(-4, 104)
    row[0].set_title(title)


def _power(level: float) -> str:
    power = np.log10(level)
    whole = round(power)
    return f"$10^{{{whole}}}$" if abs(power - whole) < 1e-9 else f"{level:g}"


def _handles(panels: Sequence[Panel], settings: Mapping) -> list:
    present = {kind_of(panel) for panel in panels}
    handles = estimator_handles(panels, settings, {})
    for kind, look in KINDS.items():
        if kind in present:
            handles.append(
                Line2D(
                    [],
                    [],
                    color="0.3",
                    marker=look["marker"],
                    markersize=4.0,
                    markerfacecolor="0.3" if look["filled"] else "white",
                    linewidth=0.6,
                    linestyle=look["line"],
                    label=kind,
                )
            )
    return handles
