"""Shadow integration from noisy positions: what is identified, and how well known."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import MAIN, Panel, lettered
from leastaction.report.study import level_axis
from leastaction.report.style import AT_X, grid_of, key, legend_on_top, note
from leastaction.snapshots.figures._shared import (
    GREYS,
    ORDER_MARKERS,
    grid_lines,
    hamiltonian_label,
    look_of,
)
from leastaction.snapshots.shadow_panel import ESTIMATORS, Learned, learned_at

STYLE = {"markersize": 3.4, "linewidth": 0.9}


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
    figure, grid = grid_of(settings, len(panels), 3, row=54, rest=16)
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        found = {name: _sweep(panel, name, levels) for name in _names([panel])}
        first, second, third = row
        for name, sweep in found.items():
            look = look_of(name)
            _misalignment(first, sweep, None, look.color(settings), look.marker)
        posterior = [one for one in found.get(MAIN, ()) if one]
        for order in posterior[0].orders if MAIN in found else ():
            style = (GREYS[order], ORDER_MARKERS[order])
            _misalignment(second, found[MAIN], order, *style)
        if any("hamiltonian_std" in one.rollout for one in posterior):
            _posterior(third, found[MAIN], settings)
        else:
            for name, sweep in found.items():
                look = look_of(name)
                _positions(third, sweep, look.color(settings), look.marker)
            unit = panel.coordinate_unit(panel.truth.coordinates[0])
            third.set_ylabel(f"Median error of a position ({unit})")
        first.set_title(lettered(panel.title, i))
        second.set_title(f"{look_of(MAIN).label}, by order")
        for axes in (first, second):
            axes.set_ylabel(r"Misalignment $\nu$ (1)")
        for axes in row:
            axes.set_yscale("log")
            level_axis(axes, levels)
            grid_lines(axes, "y")
    legend_on_top(figure, _handles(panels, settings), 5)
    return figure


def _names(panels: Sequence[Panel]) -> list[str]:
    return [name for name in ESTIMATORS if any(name in p.rollouts for p in panels)]


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
    model, rollout = panel.model(name), panel.rollout(name)
    return [learned_at(name, model, rollout, level) for level in levels]


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
    style = {"color": colour, "marker": marker, "elinewidth": 0.6} | STYLE
    axes.errorbar(x, middle, [middle - low, high - middle], **style)


def _misalignment(axes: Axes, sweep, order: int | None, colour: str, marker) -> None:
    values = [
        None
        if one is None
        else one.rollout["misalignment"]
        .sel(order=one.main if order is None else order)
        .values
        for one in sweep
    ]
    _line(axes, values, colour, marker)


def _positions(axes: Axes, sweep, colour: str, marker) -> None:
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
    _line(axes, values, colour, marker)
    at_edge = {"transform": axes.get_xaxis_transform(), "markersize": 4}
    for place in failed:
        axes.plot(place, 0.97, "x", color=colour, **at_edge)


def _posterior(axes: Axes, sweep: Sequence[Learned | None], settings: Mapping) -> None:
    """Rms error and rms standard deviation of H over the box, coverage above."""
    for name, colour, marker in (
        ("hamiltonian_error", settings["estimate_color"], "o"),
        ("hamiltonian_std", "0.45", "s"),
    ):
        rms = [
            None
            if one is None
            else np.sqrt((one.rollout[name] ** 2).mean("point").values)
            for one in sweep
        ]
        _line(axes, rms, colour, marker)
    above = {"ha": "center", "va": "bottom", "color": "0.35"}
    for place, one in enumerate(sweep):
        if one is not None:
            share = 100 * float(one.rollout["hamiltonian_coverage"].mean())
            size = 0.75 * settings["font_size"]
            note(axes, f"{share:.0f} %", place, 1.0, AT_X, fontsize=size, **above)
    axes.set_ylabel("rms of H over the box (J)")


def _handles(panels: Sequence[Panel], settings: Mapping) -> list:
    lines = [
        key(
            look.label, look.color(settings), look.marker, linewidth=1.1, markersize=3.4
        )
        for look in map(look_of, _names(panels))
    ]
    orders = sorted(
        {int(k) for p in panels for r in p.rollouts.values() for k in r["order"].values}
    )
    of_orders = [
        key(hamiltonian_label(k), GREYS[k], ORDER_MARKERS[k], **STYLE) for k in orders
    ]
    std = "posterior standard deviation, coverage above"
    return [
        *lines,
        *of_orders,
        key("error of $H$", settings["estimate_color"], "o", **STYLE),
        key(std, "0.45", "s", **STYLE),
    ]
