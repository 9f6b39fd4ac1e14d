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
    """
    levels = sorted({v for panel in panels for v in _levels(panel)})
    figure, grid = grid_of(settings, len(panels), 3, row=54, rest=16)
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        found = {name: _sweep(panel, name, levels) for name in _names([panel])}
        ours = found.get(MAIN, {})
        first, second, third = row
        posterior = any("hamiltonian_std" in one.rollout for one in ours.values())
        for name, sweep in found.items():
            style = (look_of(name).color(settings), look_of(name).marker)
            _misalignment(first, sweep, None, *style)
            if not posterior:
                _positions(third, sweep, *style)
        for order in next(iter(ours.values())).orders if ours else ():
            _misalignment(second, ours, order, GREYS[order], ORDER_MARKERS[order])
        if posterior:
            _posterior(third, ours, settings)
        else:
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


def _sweep(panel: Panel, name: str, levels: Sequence[float]) -> dict[int, Learned]:
    """What an estimator learned, by the place of the level among all."""
    model, rollout = panel.model(name), panel.rollout(name)
    found = (learned_at(name, model, rollout, level) for level in levels)
    return {place: one for place, one in enumerate(found) if one is not None}


def _line(axes: Axes, values: Mapping[int, np.ndarray], colour: str, marker) -> None:
    """Medians and ranges over replicates by level; NaN are left out."""
    finite = {place: v[np.isfinite(v)] for place, v in values.items()}
    shown = {place: v for place, v in finite.items() if v.size}
    middle = np.array([np.median(v) for v in shown.values()])
    low, high = ([end(v) for v in shown.values()] for end in (np.min, np.max))
    style = {"color": colour, "marker": marker, "elinewidth": 0.6} | STYLE
    axes.errorbar(list(shown), middle, [middle - low, high - middle], **style)


def _misalignment(axes: Axes, sweep, order: int | None, colour: str, marker) -> None:
    values = {
        place: one.rollout["misalignment"].sel(
            order=one.main if order is None else order
        )
        for place, one in sweep.items()
    }
    _line(axes, {k: v.values for k, v in values.items()}, colour, marker)


def _positions(axes: Axes, sweep, colour: str, marker) -> None:
    """Median over the starts; a cross where more than half of the motions failed."""
    values = {}
    for place, one in sweep.items():
        errors = one.rollout["horizon_error"].values
        with np.errstate(invalid="ignore"):
            errors = np.where(np.isnan(errors), np.inf, errors)
            values[place] = np.median(errors, axis=-1)
    _line(axes, values, colour, marker)
    at_edge = {"transform": axes.get_xaxis_transform(), "markersize": 4}
    for place, middle in values.items():
        if not np.isfinite(middle).any():
            axes.plot(place, 0.97, "x", color=colour, **at_edge)


def _posterior(axes: Axes, sweep: Mapping[int, Learned], settings: Mapping) -> None:
    """Rms error and rms standard deviation of H over the box, coverage above."""
    for name, colour, marker in (
        ("hamiltonian_error", settings["estimate_color"], "o"),
        ("hamiltonian_std", "0.45", "s"),
    ):
        squares = {
            k: (one.rollout[name] ** 2).mean("point") for k, one in sweep.items()
        }
        rms = {place: np.sqrt(square.values) for place, square in squares.items()}
        _line(axes, rms, colour, marker)
    style = {"ha": "center", "va": "bottom", "color": "0.35"}
    style["fontsize"] = 0.75 * settings["font_size"]
    for place, one in sweep.items():
        share = 100 * float(one.rollout["hamiltonian_coverage"].mean())
        if np.isfinite(share):
            note(axes, f"{share:.0f} %", place, 1.0, AT_X, **style)
    axes.set_ylabel("rms of H over the box (J)")


def _handles(panels: Sequence[Panel], settings: Mapping) -> list:
    orders = sorted(
        {int(k) for p in panels for r in p.rollouts.values() for k in r["order"].values}
    )
    std = "posterior standard deviation, coverage above"
    wide = {"linewidth": 1.1, "markersize": 3.4}
    looks = map(look_of, _names(panels))
    return [
        *(key(one.label, one.color(settings), one.marker, **wide) for one in looks),
        *(
            key(hamiltonian_label(k), GREYS[k], ORDER_MARKERS[k], **STYLE)
            for k in orders
        ),
        key("error of $H$", settings["estimate_color"], "o", **STYLE),
        key(std, "0.45", "s", **STYLE),
    ]
