"""Learned potential and its channels at the saddles: Figure 9 of shadow integration."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from leastaction.report.panel import Panel
from leastaction.report.readable import scientific
from leastaction.report.style import grid_of, key, legend_on_top, small
from leastaction.snapshots.figures._shared import (
    TRUTH_DASHES,
    levels,
    look_of,
    on_grid,
    separatrix,
    square,
)
from leastaction.snapshots.shadow_panel import Learned, chosen

SHOWN = ("published", "recommended")
SHOWN_ORDER = 2
FORBIDDEN = "0.88"
TRUE_CONTOURS = {"colors": "black", "linewidths": 0.6, "linestyles": [TRUTH_DASHES]}


def saddle_channels(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Energy at rest V^[2](q) = H^[2](q, 0) of LSI beside the true potential.

    Left: its contour lines over those of the truth (dashed), shifted to the same mean
    inside the separatrix. Then a close-up of each saddle: grey is where the motion of
    the start has not enough energy to be, V^[2] > H^[2](start). A white channel from
    one side to the other is open. Dashed: the border of the true region. Printed: the
    margin, V^[2] at the saddle minus H^[2] of the start over the scale, for the true
    saddle's position and for the true potential. First replicate, lowest noise.

    Raises
    ------
    ValueError
        If a panel lacks rollouts with a `potential` of two coordinates and saddles.
    """
    found = [(panel, one) for panel in panels for one in chosen(panel, SHOWN)]
    for panel, one in found:
        if "near_estimate" not in one.rollout:
            raise ValueError(
                f"example {panel.example!r}: the rollout of {one.estimator!r} has no "
                "close-ups of saddles; give it validate.shadow.potential with saddles "
                "in two coordinates"
            )
    columns = 1 + max(one.rollout.sizes["saddle"] for _, one in found)
    figure, grid = grid_of(settings, len(found), columns, row=52, rest=12)
    handles = []
    for row, (panel, one) in zip(grid, found, strict=True):
        _whole(row[0], panel, one, settings)
        for i, axes in enumerate(row[1:]):
            _close_up(axes, panel, one, i, settings)
        look, potential = look_of(one.estimator), rf"$V^{{[\![{_order(one)}]\!]}}$"
        text, colour = f"{potential}, {look.label}", look.color(settings)
        handles.append(key(text, colour, linewidth=0.9))
    margin = float(found[0][1].first["saddle_margin_true"].min())
    style = {"linewidth": 0.6, "linestyle": TRUTH_DASHES}
    handles += [
        key(f"truth, margin {scientific(margin)} J", "black", **style),
        Patch(facecolor=FORBIDDEN, label="not enough energy"),
    ]
    legend_on_top(figure, handles)
    return figure


def _order(one: Learned) -> int:
    return SHOWN_ORDER if SHOWN_ORDER in one.orders else one.main


def _whole(axes: Axes, panel: Panel, one: Learned, settings: Mapping) -> None:
    first, look = one.first, look_of(one.estimator)
    drawn = sorted([*levels(panel), separatrix(panel)])
    values = first["potential_estimate"].sel(order=_order(one)).values
    own = {"colors": look.color(settings), "linewidths": 0.9}
    axes.contour(*on_grid(first, values), levels=drawn, **own)
    true = on_grid(first, first["potential_true"].values)
    axes.contour(*true, levels=drawn, **TRUE_CONTOURS)
    error = scientific(float(first["potential_error"].sel(order=_order(one))))
    axes.set_title(f"{look.label}\nerror inside ≤ {error} J")
    square(axes, panel)


def _close_up(axes: Axes, panel: Panel, one: Learned, i: int, settings) -> None:
    first = one.first
    offsets = first["near_offset"].values
    x, y = (np.unique(side) for side in offsets.T)
    near = first["near_estimate"].sel(order=_order(one)).values[i]
    near, true = (
        np.reshape(values, (x.size, y.size)).T
        for values in (near, first["near_true"].values[i])
    )
    if near.max() > 0:
        axes.contourf(x, y, near, levels=[0, near.max()], colors=[FORBIDDEN])
    own = {"colors": look_of(one.estimator).color(settings), "linewidths": 0.9}
    axes.contour(x, y, near, levels=[0], **own)
    axes.contour(x, y, true, levels=[0], **TRUE_CONTOURS)
    margins = first["saddle_margin"].isel(saddle=i)
    margin = float(margins.sel(order=_order(one)))
    lines = [f"{'closed' if margin > 0 else 'open'}, margin {scientific(margin)} J"]
    others = [k for k in one.orders if k > _order(one)]
    lines += [
        f"with $h^{k}$: {scientific(float(margins.sel(order=k)))} J" for k in others
    ]
    axes.set_title("\n".join(lines), fontsize=small(settings))
    axes.set_aspect("equal")
    at = panel.config["validate"]["shadow"]["potential"]["saddles"][i]
    for name, value, put in zip(
        panel.truth.coordinates, at, (axes.set_xlabel, axes.set_ylabel), strict=True
    ):
        sign = "-" if value >= 0 else "+"
        put(f"{panel.label(name)} ${sign}\\,{abs(value):.4g}$", labelpad=1)
    axes.ticklabel_format(style="sci", scilimits=(-2, 3))
    axes.locator_params(nbins=3)
