"""H^[k] along a learned motion: Figure 4 of Ober-Blöbaum and Offen."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import Panel, panel_title
from leastaction.report.readable import scientific
from leastaction.report.style import SMALL, StyledFigure
from leastaction.snapshots.figures._looks import (
    hamiltonian_label,
    shadow_look,
)
from leastaction.snapshots.shadow_panel import Learned, chosen

ROW_HEIGHT = 42.0
REST_HEIGHT = 6.0
SHOWN = ("published", "recommended")


def modified_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """H^[k](t) − H^[k](0) along the long rollout, one column for each order k.

    All energies are divided by the scale of the learned Lagrangian, the factor of ∂H
    that is closest to ∂H^[k]: a learned Lagrangian is known up to a factor, and only so
    have bands of two of them the same unit. The width of each band stands above it,
    beside the width before the division.

    Paper: its bands of 1e-4 and 1e-6 are those of a learned Lagrangian as it is.

    Raises
    ------
    ValueError
        If a panel has no rollout of a learned Lagrangian.
    """
    rows = [(i, one) for i, p in enumerate(panels) for one in chosen(p, SHOWN)]
    columns = max(len(one.orders) for _, one in rows)
    figure = StyledFigure(settings, ROW_HEIGHT * len(rows) + REST_HEIGHT)
    grid = figure.subplots(len(rows), columns, squeeze=False, sharex="row")
    for row, (i, one) in zip(grid, rows, strict=True):
        for axes, order in zip(row, one.orders, strict=False):
            _draw(axes, one, order, settings)
            axes.set_xlabel("Time (s)")
        name = shadow_look(one.estimator).label
        title = f"{panel_title(panels, i)}, {name}" if len(panels) > 1 else name
        row[0].set_ylabel(f"{title}\nchange over scale (J)")
    figure.align_ylabels(grid[:, 0])
    return figure


def _draw(axes: Axes, one: Learned, order: int, settings: Mapping) -> None:
    case = one.first.sel(order=order)
    values, time = case["hamiltonian_modified"].values, case["time_energy"].values
    axes.plot(
        time,
        values - values[0],
        color=shadow_look(one.estimator).color(settings),
        linewidth=0.5,
        marker=".",
        markersize=1.5,
        markeredgewidth=0,
    )
    band, scale = float(case["energy_band"]), abs(float(case["scale"]))
    axes.set_title(hamiltonian_label(order))
    if np.isfinite(band):
        axes.set_title(
            f"band {scientific(band)} J, unscaled {scientific(band * scale)}",
            loc="right",
            fontsize=SMALL * settings["font_size"],
        )
    axes.set_xlim(time[0], time[-1])
    axes.ticklabel_format(axis="y", scilimits=(-2, 3))
