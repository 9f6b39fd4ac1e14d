"""First snapshots and energy of learned motions: Figure 3 of Ober-Blöbaum and Offen."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import Panel, panel_title
from leastaction.report.style import grid_of, key, legend_on_top
from leastaction.snapshots.figures._shared import look_of, name_axes, true_energy
from leastaction.snapshots.shadow_panel import Learned, chosen

SHOWN = ("published_lgp", "published_lgp_exact", "published", "recommended")
SIZE = 5.5
# Marks that may lie on each other: the last one is an open circle around the others.
SIZES = {"recommended": 9.0}
LARGEST_IN_LEGEND = 6


def snapshots(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left the first snapshots in phase space, right the true energy along the rollout.

    One row per coordinate of each panel; the energy stands beside the first. All
    motions start at the same state (■). Line and dots are the truth; velocities of the
    models follow from their momenta.
    """
    rows = [(i, a) for i, p in enumerate(panels) for a in range(p.truth.dof)]
    figure, grid = grid_of(settings, len(rows), 2, row=66, rest=14)
    for (left, right), (i, a) in zip(grid, rows, strict=True):
        panel, found = panels[i], chosen(panels[i], SHOWN)
        _phase_plane(left, panel, found, a, settings)
        if a == 0:
            true_energy(right, found, settings)
            left.set_title(panel_title(panels, i))
        else:
            right.axis("off")
    line = {"color": "black", "linewidth": 0.8}
    handles = [
        key("start, truth", marker="s", markersize=5, **line),
        key("snapshots, truth", marker=".", markersize=4, **line),
    ]
    for name in SHOWN:
        style = _mark(name, settings)
        style["markersize"] = min(LARGEST_IN_LEGEND, style["markersize"])
        handles.append(key(look_of(name).label, **style))
    legend_on_top(figure, handles, 6)
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
        states = one.first["state_snapshot"].values[:, [a, n + a]].T
        axes.plot(*states, zorder=3, **_mark(one.estimator, settings))
    span = np.ptp(line, axis=1) * 0.12 + 1e-9
    axes.set_xlim(line[0].min() - span[0], line[0].max() + span[0])
    axes.set_ylim(line[1].min() - span[1], line[1].max() + span[1])
    name = panel.truth.coordinates[a]
    name_axes(axes, panel, name, f"{name}dot")


def _mark(estimator: str, settings: Mapping) -> dict:
    look = look_of(estimator)
    return {
        "color": look.color(settings),
        "marker": look.marker,
        "markersize": SIZES.get(estimator, SIZE),
        "markerfacecolor": "none",
        "markeredgewidth": 0.9,
        "linestyle": "none",
    }
