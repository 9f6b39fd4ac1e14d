"""Every estimator on every system: structure, coefficients, rollout, cost."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from leastaction.report.looks import OTHER, Look, look
from leastaction.report.style import StyledFigure, key, legend_on_top, style
from leastaction.report.sweep import BASELINE, MAIN

# In mm.
HEIGHT_OF_SYSTEM, HEIGHT_OF_REST = 5.2, 26.0
DISTANCE_OF_MARKS = 0.11
# Estimators with a mark of their own.
NAMED = (MAIN, BASELINE, "sindy_pi", "lagrangian_sindy")
UNNAMED = Look("another recipe of the paper, or a baseline", OTHER.colour, "x")
PARTS = (
    ("structure", "Right structure (%)", 100.0, False),
    ("coefficient_error", "Coefficient error (%)", 100.0, True),
    ("rollout_error", "Rollout error (own units)", 1.0, True),
    ("seconds", "Time of a fit (s)", 1.0, True),
)


def method_matrix(frame: pd.DataFrame, settings: Mapping) -> Figure:
    """Dot plot: one line per system, one mark per estimator, one column per measure.

    Parameters
    ----------
    frame
        Result of :func:`leastaction.report.matrix.matrix`.
    settings
        See :func:`leastaction.report.style.complete`.
    """
    with style(settings) as complete:
        return _drawn(frame, complete)


def _drawn(frame: pd.DataFrame, settings: Mapping) -> Figure:
    systems = list(dict.fromkeys(zip(frame["system"], frame["example"], strict=True)))
    figure = StyledFigure(settings, HEIGHT_OF_SYSTEM * len(systems) + HEIGHT_OF_REST)
    grid = figure.subplots(1, len(PARTS), sharey=True)
    for axes, (name, label, factor, logarithmic) in zip(grid, PARTS, strict=True):
        if logarithmic:
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter(NullFormatter())
        for y, (_, example) in enumerate(systems):
            rows = frame[frame["example"] == example]
            _marks(axes, y, rows, factor * rows[name], settings)
        axes.set_xlabel(label)
        axes.grid(axis="both", color="0.92", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0)
    for axes in grid[1:]:
        _whole_decades(axes)
    grid[0].set_xlim(-6, 106)
    grid[0].set_yticks(range(len(systems)), [title for title, _ in systems])
    grid[0].set_ylim(len(systems) - 0.4, -0.6)
    legend_on_top(figure, _handles(frame, settings))
    return figure


def _whole_decades(axes: Axes) -> None:
    low, high = np.log10(axes.get_xlim())
    axes.set_xlim(10 ** np.floor(low), 10 ** np.ceil(high))


def _look(estimator: str) -> Look:
    return look(estimator) if estimator in NAMED else UNNAMED


def _marks(axes: Axes, y: int, rows: pd.DataFrame, values, settings) -> None:
    count = len(rows)
    for i, (estimator, value) in enumerate(zip(rows["estimator"], values, strict=True)):
        if np.isfinite(value):
            one, shift = _look(estimator), DISTANCE_OF_MARKS * (i - (count - 1) / 2)
            style = {"color": one.color(settings), "markersize": 3}
            axes.plot(value, y + shift, one.marker, **style)


def _handles(frame: pd.DataFrame, settings: Mapping) -> list:
    there = [_look(estimator) for estimator in dict.fromkeys(frame["estimator"])]
    order = [one for one in (*map(look, NAMED), UNNAMED) if one in there]
    return [
        key(one.label, one.color(settings), one.marker, linewidth=0, markersize=3)
        for one in order
    ]
