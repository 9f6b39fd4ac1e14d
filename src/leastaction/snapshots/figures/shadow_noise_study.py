"""Shadow integration from noisy positions: what is identified, and how well known."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import MAIN, Panel
from leastaction.report.study import level_axis
from leastaction.report.style import StyledFigure, legend_on_top
from leastaction.snapshots.figures._looks import (
    ORDER_MARKERS,
    hamiltonian_label,
    line_handles,
    shadow_look,
)
from leastaction.snapshots.shadow_panel import ESTIMATORS, Learned, learned_at

ROW_HEIGHT = 54.0
LEGEND_HEIGHT = 16.0
GREYS = {0: "0.72", 2: "0.45", 4: "0.1"}


def shadow_noise_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Against the noise: misalignment by estimator and by order, errors, uncertainty.

    One row per system: misalignment ν of every estimator at its main order; ν of the
    recommended one at all orders; then its posterior if there is one, else errors of
    positions. Medians and ranges over replicates.

    Raises
    ------
    ValueError
        If a panel has no rollout of a sweep over noise.
    """
    levels = sorted({v for panel in panels for v in _levels(panel)})
    figure = StyledFigure(settings, ROW_HEIGHT * len(panels) + LEGEND_HEIGHT)
    grid = figure.subplots(len(panels), 3, squeeze=False)
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        found = {name: _sweep(panel, name, levels) for name in _names(panel)}
        first, second, third = row
        for name, sweep in found.items():
            _misalignment(first, sweep, None, shadow_look(name).color(settings), name)
        if MAIN in found:
            orders = next(one for one in found[MAIN] if one).orders
            for order in orders:
                _misalignment(second, found[MAIN], order, GREYS[order], None)
        posterior = [one for one in found.get(MAIN, ()) if one]
        if any("hamiltonian_std" in one.rollout for one in posterior):
            _posterior(third, found[MAIN], settings)
        else:
            for name, sweep in found.items():
                _positions(third, sweep, shadow_look(name).color(settings), name)
            unit = panel.coordinate_unit(panel.truth.coordinates[0])
            third.set_ylabel(f"Median error of a position ({unit})")
        first.set_title(f"({chr(ord('a') + i)}) {panel.title}")
        second.set_title(f"{shadow_look(MAIN).label}, by order")
        for axes in (first, second):
            axes.set_ylabel(r"Misalignment $\nu$ (1)")
        for axes in row:
            axes.set_yscale("log")
            level_axis(axes, levels)
            axes.grid(axis="y", color="0.92", linewidth=0.5)
            axes.set_axisbelow(True)
    legend_on_top(figure, _handles(panels, settings), 5)
    return figure


def _names(panel: Panel) -> list[str]:
    return [name for name in ESTIMATORS if name in panel.rollouts]


def _levels(panel: Panel) -> list[float]:
    found = [
        float(v)
        for rollout in panel.rollouts.values()
        if "noise_level" in rollout.dims
        for v in rollout["noise_level"].values
    ]
    if not found:
        raise ValueError(
            f"example {panel.example!r}: no rollout of a sweep over noise; give it "
            "simulate.noise.levels"
        )
    return found


def _sweep(panel: Panel, name: str, levels: Sequence[float]) -> list[Learned | None]:
    return [
        learned_at(name, panel.model(name), panel.rollout(name), level)
        for level in levels
    ]


def _line(axes: Axes, values: Sequence[np.ndarray | None], colour: str, marker) -> None:
    """Medians and ranges over replicates by level; None and NaN are left out."""
    x, middle, low, high = [], [], [], []
    for place, found in enumerate(values):
        found = np.ravel([] if found is None else found)
        found = found[np.isfinite(found)]
        if not found.size:
            continue
        x.append(place)
        middle.append(np.median(found))
        low.append(found.min())
        high.append(found.max())
    middle = np.array(middle)
    axes.errorbar(
        x,
        middle,
        [middle - low, high - middle],
        color=colour,
        marker=marker,
        markersize=3.4,
        linewidth=0.9,
        elinewidth=0.6,
    )


def _misalignment(axes: Axes, sweep, order: int | None, colour: str, name) -> None:
    values = [
        one
        and one.rollout["misalignment"].sel(order=one.main if order is None else order)
        for one in sweep
    ]
    marker = ORDER_MARKERS[order] if name is None else shadow_look(name).marker
    _line(axes, [None if v is None else v.values for v in values], colour, marker)


def _positions(axes: Axes, sweep, colour: str, name: str) -> None:
    """Median over the starts; a cross where more than half of the motions failed."""
    values, failed = [], []
    for place, one in enumerate(sweep):
        if one is None:
            values.append(None)
            continue
        errors = one.rollout["horizon_error"].values
        lost = np.isnan(errors)
        with np.errstate(invalid="ignore"):
            middle = np.median(np.where(lost, np.inf, errors), axis=-1)
        values.append(middle)
        if not np.isfinite(middle).any():
            failed.append(place)
    _line(axes, values, colour, shadow_look(name).marker)
    for place in failed:
        axes.plot(
            place,
            0.97,
            "x",
            color=colour,
            markersize=4,
            transform=axes.get_xaxis_transform(),
        )


def _posterior(axes: Axes, sweep: Sequence[Learned | None], settings: Mapping) -> None:
    """Rms error and rms standard deviation of H over the box, coverage above."""

    def rms(name):
        return [
            None
            if one is None
            else np.sqrt((one.rollout[name] ** 2).mean("point").values)
            for one in sweep
        ]

    _line(axes, rms("hamiltonian_error"), settings["estimate_color"], "o")
    _line(axes, rms("hamiltonian_std"), "0.45", "s")
    for place, one in enumerate(sweep):
        if one is not None:
            share = 100 * float(one.rollout["hamiltonian_coverage"].mean())
            axes.annotate(
                f"{share:.0f} %",
                (place, 1.0),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="bottom",
                fontsize=0.75 * settings["font_size"],
                color="0.35",
            )
    axes.set_ylabel("rms of H over the box (J)")


def _handles(panels: Sequence[Panel], settings: Mapping) -> list:
    names = [n for n in ESTIMATORS if any(n in p.rollouts for p in panels)]
    lines = line_handles(names, settings, truth=False)
    for line, name in zip(lines, names, strict=True):
        line.set(linestyle="-", marker=shadow_look(name).marker, markersize=3.4)
    orders = sorted(
        {int(k) for p in panels for r in p.rollouts.values() for k in r["order"].values}
    )
    by_order = [
        Line2D(
            [],
            [],
            color=GREYS[k],
            marker=ORDER_MARKERS[k],
            markersize=3.4,
            linewidth=0.9,
            label=hamiltonian_label(k),
        )
        for k in orders
    ]
    style = {"markersize": 3.4, "linewidth": 0.9}
    return [
        *lines,
        *by_order,
        Line2D(
            [],
            [],
            color=settings["estimate_color"],
            marker="o",
            label="error of $H$",
            **style,
        ),
        Line2D(
            [],
            [],
            color="0.45",
            marker="s",
            label="posterior standard deviation, coverage above",
            **style,
        ),
    ]
