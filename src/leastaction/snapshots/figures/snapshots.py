"""First snapshots and energy of learned motions: Figure 3 of Ober-Blöbaum and Offen."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import Panel, panel_title
from leastaction.report.style import StyledFigure, legend_on_top
from leastaction.snapshots.figures._energy_lines import true_energy
from leastaction.snapshots.figures._looks import line_handles, shadow_look
from leastaction.snapshots.shadow_panel import Learned, chosen

ROW_HEIGHT = 66.0
REST_HEIGHT = 14.0
SHOWN = ("published_lgp", "published_lgp_exact", "published", "recommended")
# Marks that may lie on each other: the last one is an open circle around the others.
SIZES = {"recommended": 9.0}


def snapshots(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left the first snapshots in phase space, right the true energy along the rollout.

    One row per coordinate of each panel; the energy stands beside the first. All
    motions start at the same state (■). Line and dots are the truth; velocities of the
    models follow from their momenta.

    Raises
    ------
    ValueError
        If a panel has no rollout of a learned Lagrangian.
    """
    rows = [(i, a) for i, p in enumerate(panels) for a in range(p.truth.dof)]
    figure = StyledFigure(settings, ROW_HEIGHT * len(rows) + REST_HEIGHT)
    grid = figure.subplots(len(rows), 2, squeeze=False)
    for (left, right), (i, a) in zip(grid, rows, strict=True):
        panel, found = panels[i], chosen(panels[i], SHOWN)
        _phase_plane(left, panel, found, a, settings)
        if a == 0:
            true_energy(right, found, settings)
            left.set_title(panel_title(panels, i))
        else:
            right.axis("off")
    legend_on_top(figure, _handles(settings), 6)
    return figure


def _phase_plane(axes: Axes, panel: Panel, found: Sequence[Learned], a: int, settings):
    n = panel.truth.dof
    line, true = (
        found[0].first[name].values[:, [a, n + a]].T
        for name in ("state_line_true", "state_snapshot_true")
    )
    black = {"color": "black", "zorder": 2}
    axes.plot(*line, linewidth=0.8, **black)
    axes.plot(*true, marker=".", markersize=4, linestyle="none", **black)
    axes.plot(*true[:, 0], marker="s", markersize=6, linestyle="none", **black)
    for one in found:
        look = shadow_look(one.estimator)
        axes.plot(
            *one.first["state_snapshot"].values[:, [a, n + a]].T,
            linestyle="none",
            zorder=3,
            color=look.color(settings),
            **_mark(one.estimator),
        )
    span = np.ptp(line, axis=1) * 0.12 + 1e-9
    axes.set_xlim(line[0].min() - span[0], line[0].max() + span[0])
    axes.set_ylim(line[1].min() - span[1], line[1].max() + span[1])
    name = panel.truth.coordinates[a]
    axes.set_xlabel(f"{panel.label(name)} ({panel.coordinate_unit(name)})")
    name = f"{name}dot"
    axes.set_ylabel(f"{panel.label(name)} ({panel.coordinate_unit(name)})")


def _mark(estimator: str) -> dict:
    return {
        "marker": shadow_look(estimator).marker,
        "markersize": SIZES.get(estimator, 5.5),
        "markerfacecolor": "none",
        "markeredgewidth": 0.9,
    }


def _handles(settings: Mapping) -> list:
    black = {"color": "black", "linewidth": 0.8}
    handles = [
        Line2D([], [], marker="s", markersize=5, label="start, truth", **black),
        Line2D([], [], marker=".", markersize=4, label="snapshots, truth", **black),
    ]
    models = line_handles(SHOWN, settings, truth=False, marks=True)
    for handle, name in zip(models, SHOWN, strict=True):
        handle.set(**_mark(name) | {"markersize": min(6, _mark(name)["markersize"])})
    return handles + models
