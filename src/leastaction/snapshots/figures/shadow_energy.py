"""Energies along the motions of Lagrangians that were learned from snapshots."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.style import StyledFigure, legend_on_top
from leastaction.snapshots.figures._energy_lines import (
    LEAST,
    largest_by_window,
    true_energy,
)
from leastaction.snapshots.figures._looks import (
    ORDER_MARKERS,
    hamiltonian_label,
    line_handles,
    shadow_look,
)
from leastaction.snapshots.shadow_panel import Learned, learned

ROW_HEIGHT = 52.0
REST_HEIGHT = 18.0
# Lines of the largest value in each of so many windows of time.
WINDOWS = 40
GREYS = {0: "0.72", 2: "0.45", 4: "0.1"}


def shadow_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left the true energy along every model's motion; right what a model conserves.

    Left |H(t) − H(0)| of the true H. Right, of the recommended estimator (or the first
    that there is), |H^[k] − ⟨H^[k]⟩| along its own motion by the order k, divided by
    the scale of the learned Lagrangian. Largest values in each of 40 windows of time,
    first replicate, lowest noise.

    Raises
    ------
    ValueError
        If a panel has no rollout of a learned Lagrangian.
    """
    figure = StyledFigure(settings, ROW_HEIGHT * len(panels) + REST_HEIGHT)
    grid = figure.subplots(len(panels), 2, squeeze=False)
    found = [learned(panel) for panel in panels]
    for i, (each, (left, right)) in enumerate(zip(found, grid, strict=True)):
        true_energy(left, each.values(), settings, WINDOWS)
        left.set_title(panel_title(panels, i))
        one = each.get(MAIN) or next(iter(each.values()))
        _conserved(right, one)
        right.set_title(shadow_look(one.estimator).label)
    names = list(dict.fromkeys(name for each in found for name in each))
    handles = line_handles(names, settings, truth=False)
    orders = sorted({k for each in found for one in each.values() for k in one.orders})
    handles += [
        Line2D([], [], label=hamiltonian_label(k), markersize=3, **_style(k))
        for k in orders
    ]
    legend_on_top(figure, handles, min(5, len(handles)))
    return figure


def _conserved(axes: Axes, one: Learned) -> None:
    time = one.first["time_energy"].values
    for order in one.orders:
        values = one.first["hamiltonian_modified"].sel(order=order).values
        if not np.isfinite(values).any():
            continue
        change = np.abs(values - np.nanmean(values))
        middle, largest = largest_by_window(time, change, WINDOWS)
        axes.plot(middle, np.maximum(largest, LEAST), markersize=2, **_style(order))
    axes.set_yscale("log")
    axes.set_xlim(time[0], time[-1])
    axes.set_xlabel("Time (s)")
    axes.set_ylabel(
        r"$|H^{[\![k]\!]} - \langle H^{[\![k]\!]}\rangle|\,/\,\mathrm{scale}$ (J)"
    )


def _style(order: int) -> dict:
    return {
        "color": GREYS[order],
        "marker": ORDER_MARKERS[order],
        "markeredgewidth": 0,
        "linewidth": 0.8,
    }
