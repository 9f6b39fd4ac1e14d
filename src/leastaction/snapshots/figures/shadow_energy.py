"""Energies along the motions of Lagrangians that were learned from snapshots."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.readable import scientific
from leastaction.report.style import grid_of, key, legend_on_top, small, time_axis
from leastaction.snapshots.figures._shared import (
    GREYS,
    LEAST_ENERGY,
    ORDER_MARKERS,
    hamiltonian_label,
    largest_by_window,
    line_handles,
    look_of,
    names_of,
    true_energy,
)
from leastaction.snapshots.shadow_panel import Learned, chosen, learned

# Lines of the largest value in each of so many windows of time.
WINDOWS = 40
SHOWN = ("published", "recommended")


def shadow_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left the true energy along every model's motion; right what a model conserves.

    Left |H(t) − H(0)| of the true H. Right, of the recommended estimator (or the first
    that there is), |H^[k] − ⟨H^[k]⟩| along its own motion by the order k, divided by
    the scale of the learned Lagrangian. Largest values in each of 40 windows of time,
    first replicate, lowest noise.
    """
    figure, grid = grid_of(settings, len(panels), 2, row=52, rest=18)
    found = [learned(panel) for panel in panels]
    for i, (each, (left, right)) in enumerate(zip(found, grid, strict=True)):
        true_energy(left, each.values(), settings, WINDOWS)
        left.set_title(panel_title(panels, i))
        one = each.get(MAIN) or next(iter(each.values()))
        _conserved(right, one)
        right.set_title(look_of(one.estimator).label)
    handles = line_handles(names_of(found), settings, truth=False)
    orders = sorted({k for each in found for one in each.values() for k in one.orders})
    handles += [key(hamiltonian_label(k), markersize=3, **_style(k)) for k in orders]
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
        largest = np.maximum(largest, LEAST_ENERGY)
        axes.plot(middle, largest, markersize=2, **_style(order))
    axes.set_yscale("log")
    time_axis(axes, time)
    of_order = r"H^{[\![k]\!]}"
    axes.set_ylabel(
        rf"$|{of_order} - \langle {of_order}\rangle|\,/\,\mathrm{{scale}}$ (J)"
    )


def _style(order: int) -> dict:
    style = {"color": GREYS[order], "marker": ORDER_MARKERS[order]}
    return style | {"markeredgewidth": 0, "linewidth": 0.8}


def modified_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """H^[k](t) − H^[k](0) along the long rollout, one column for each order k (Fig. 4).

    All energies are divided by the scale of the learned Lagrangian, the factor of ∂H
    that is closest to ∂H^[k]: a learned Lagrangian is known up to a factor, and only so
    have bands of two of them the same unit. The width of each band stands above it,
    beside the width before the division.

    Paper: its bands of 1e-4 and 1e-6 are those of a learned Lagrangian as it is.
    """
    rows = [(i, one) for i, p in enumerate(panels) for one in chosen(p, SHOWN)]
    columns = max(len(one.orders) for _, one in rows)
    figure, grid = grid_of(settings, len(rows), columns, row=42, rest=6, sharex="row")
    for row, (i, one) in zip(grid, rows, strict=True):
        for axes, order in zip(row, one.orders, strict=False):
            _modified(axes, one, order, settings)
        name = look_of(one.estimator).label
        title = f"{panel_title(panels, i)}, {name}" if len(panels) > 1 else name
        row[0].set_ylabel(f"{title}\nchange over scale (J)")
    figure.align_ylabels(grid[:, 0])
    return figure


def _modified(axes: Axes, one: Learned, order: int, settings: Mapping) -> None:
    case = one.first.sel(order=order)
    values, time = case["hamiltonian_modified"].values, case["time_energy"].values
    style = {"color": look_of(one.estimator).color(settings), "linewidth": 0.5}
    style |= {"marker": ".", "markersize": 1.5, "markeredgewidth": 0}
    axes.plot(time, values - values[0], **style)
    band, scale = float(case["energy_band"]), abs(float(case["scale"]))
    axes.set_title(hamiltonian_label(order))
    if np.isfinite(band):
        text = f"band {scientific(band)} J, unscaled {scientific(band * scale)}"
        axes.set_title(text, loc="right", fontsize=small(settings))
    time_axis(axes, time)
    axes.ticklabel_format(axis="y", scilimits=(-2, 3))
