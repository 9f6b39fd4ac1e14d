"""How well a learned Lagrangian is identified: misalignment of H, errors of positions.

It stands where other examples show coefficients, which a Lagrangian that is learned
from snapshots does not have.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import Panel, panel_title
from leastaction.report.style import StyledFigure, legend_on_top
from leastaction.snapshots.figures._looks import (
    ORDER_MARKERS,
    hamiltonian_label,
    shadow_look,
)
from leastaction.snapshots.shadow_panel import Learned, learned

LINE_HEIGHT = 6.5
REST_HEIGHT = 30.0
MARK = 4.5
# Vertical distance of marks of one estimator.
SHIFT = 0.2
# Values at or below it are round-off.
LEAST = 1e-13


def alignment(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Misalignment ν of H^[k] by estimator and order; beside it errors of positions.

    ν is the mean sine of the angle between ∂H^[k] and ∂H over a box of states
    (Ober-Blöbaum and Offen, section 3.1): zero if the level sets are the same. Vertical
    lines: what the true Lagrangian has if it is integrated by the same rule, without a
    shadow. The errors are the largest of the long rollout, in its first steps and in
    all, and those of many short ones; a cross stands for a motion that failed. Medians
    over replicates with their 5–95 % range.

    Raises
    ------
    ValueError
        If a panel has no rollout of a learned Lagrangian.
    """
    found = [learned(panel) for panel in panels]
    height = sum(LINE_HEIGHT * len(each) + REST_HEIGHT for each in found)
    figure = StyledFigure(settings, height)
    ratios = [len(each) + REST_HEIGHT / LINE_HEIGHT for each in found]
    grid = figure.subplots(
        len(panels), 2, squeeze=False, sharey="row", height_ratios=ratios
    )
    for i, (each, (left, right)) in enumerate(zip(found, grid, strict=True)):
        for y, one in enumerate(each.values()):
            colour = shadow_look(one.estimator).color(settings)
            _misalignment(left, y, one, colour)
            _errors(right, y, one, colour)
        _integrated(left, each, settings)
        left.set_yticks(range(len(each)), [shadow_look(name).label for name in each])
        left.set_ylim(len(each) - 0.4, -0.6)
        left.set_xlabel(r"Misalignment $\nu$ of $\partial H^{[\![k]\!]}$ (1)")
        right.set_xlabel(f"Largest error of a position ({_unit(panels[i])})")
        left.set_title(panel_title(panels, i))
        for axes in (left, right):
            axes.set_xscale("log")
            axes.grid(axis="y", color="0.92", linewidth=0.6)
            axes.set_axisbelow(True)
    legend_on_top(figure, _handles(found, settings), 4)
    return figure


def _misalignment(axes: Axes, y: int, one: Learned, colour: str) -> None:
    for order in one.orders:
        values = one.rollout["misalignment"].sel(order=order).values
        shift = SHIFT * (order / 2 - 1)
        _mark(axes, y + shift, values, ORDER_MARKERS[order], colour)
    if not one.has_energy:
        axes.annotate(
            "a flow map has no energy",
            (0.5, y),
            xycoords=("axes fraction", "data"),
            ha="center",
            va="center",
            color="0.35",
        )


def _errors(axes: Axes, y: int, one: Learned, colour: str) -> None:
    failed = np.atleast_1d(one.at_main("failure")) != ""
    _mark(axes, y - SHIFT, one.at_main("position_error_short"), "o", colour, "white")
    marker = "X" if failed.any() else "o"
    _mark(axes, y, one.at_main("position_error"), marker, colour)
    if "horizon_error" not in one.rollout:
        return
    short = one.rollout["horizon_error"].values
    _mark(axes, y + SHIFT, short, "|", colour)
    if np.isnan(short).any():
        axes.annotate(
            f"{np.isnan(short).sum()} of {short.size} starts failed",
            (0.01, y + SHIFT),
            xycoords=("axes fraction", "data"),
            va="center",
            color=colour,
            fontsize="small",
        )


def _mark(axes: Axes, y, values, marker: str, colour: str, face=None) -> None:
    """Median and 5–95 % range; nothing where no value is finite."""
    values = np.ravel(values)
    values = values[np.isfinite(values)]
    if not values.size:
        return
    values = np.maximum(values, LEAST)
    middle, low, high = np.quantile(values, [0.5, 0.05, 0.95])
    if high > low:
        axes.plot([low, high], [y, y], color=colour, linewidth=0.9)
    axes.plot(
        middle,
        y,
        marker=marker,
        color=colour,
        markerfacecolor=face or colour,
        markersize=MARK if marker != "|" else 6,
        linestyle="none",
    )


def _integrated(axes: Axes, found: Mapping[str, Learned], settings: Mapping) -> None:
    """Lines for the true Lagrangian; that of order 0 has no error to show."""
    for one in found.values():
        if "misalignment_integrated" not in one.rollout:
            continue
        highest = one.first["misalignment_integrated"].isel(order=-1)
        if int(highest["order"]):
            axes.axvline(
                float(highest), color=settings["truth_color"], linewidth=0.8, zorder=1
            )
        return


def _unit(panel: Panel) -> str:
    units = {panel.coordinate_unit(name) for name in panel.truth.coordinates}
    return units.pop() if len(units) == 1 else "own unit of each coordinate"


def _handles(found: Sequence[Mapping[str, Learned]], settings: Mapping) -> list:
    every = [one for each in found for one in each.values()]
    orders = sorted({k for one in every for k in one.orders})
    dark = {"color": "0.25", "linestyle": "none", "markersize": MARK}
    handles = [
        Line2D([], [], marker=ORDER_MARKERS[k], label=hamiltonian_label(k), **dark)
        for k in orders
    ]
    if any("misalignment_integrated" in one.rollout for one in every):
        red = {"color": settings["truth_color"], "linewidth": 0.8}
        handles.append(Line2D([], [], label="true $L$, integrated", **red))
    handles += [
        Line2D(
            [], [], marker="o", markerfacecolor="white", label="first steps", **dark
        ),
        Line2D([], [], marker="o", label="all steps", **dark),
    ]
    if any((np.atleast_1d(one.at_main("failure")) != "").any() for one in every):
        handles.append(Line2D([], [], marker="X", label="until it failed", **dark))
    if any("horizon_error" in one.rollout for one in every):
        handles.append(
            Line2D([], [], marker="|", label="many starts, fixed time", **dark)
        )
    return handles
