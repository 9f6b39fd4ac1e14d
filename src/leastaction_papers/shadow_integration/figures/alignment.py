"""How well a learned Lagrangian is identified: misalignment of H, errors of positions.

It stands where other examples show coefficients, which a Lagrangian that is learned
from snapshots does not have.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.figures.style import (
    AT_X,
    AT_Y,
    StyledFigure,
    grid_of,
    key,
    legend_on_top,
    note,
)
from leastaction_papers.scorecard.panel import MAIN, Panel, lettered, panel_title
from leastaction_papers.scorecard.study import level_axis
from leastaction_papers.shadow_integration.figures._shared import (
    GREYS,
    ORDER_MARKERS,
    grid_lines,
    hamiltonian_label,
    look_of,
)
from leastaction_papers.shadow_integration.shadow_panel import (
    ESTIMATORS,
    Learned,
    learned,
    learned_at,
)

# In mm.
HEIGHT_OF_ESTIMATOR, HEIGHT_OF_REST = 6.5, 30.0
SIZE = 4.5
# Vertical distance of marks of one estimator.
SHIFT = 0.2
# Values at or below it are round-off.
LEAST_SHOWN = 1e-13
# Of marks with ranges in the study of noise.
THIN = {"markersize": 3.4, "linewidth": 0.9}


def alignment(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Misalignment ν of H^[k] by estimator and order; beside it errors of positions.

    ν is the mean sine of the angle between ∂H^[k] and ∂H over a box of states
    (Ober-Blöbaum and Offen, section 3.1): zero if the level sets are the same. Vertical
    lines: what the true Lagrangian has if it is integrated by the same rule, without a
    shadow. The errors are the largest of the long rollout, in its first steps and in
    all, and those of many short ones; a cross stands for a motion that failed. Medians
    over replicates with their 5–95 % range.
    """
    found = [learned(panel) for panel in panels]
    rows = [HEIGHT_OF_ESTIMATOR * len(each) + HEIGHT_OF_REST for each in found]
    figure = StyledFigure(settings, sum(rows))
    ratios = [len(each) + HEIGHT_OF_REST / HEIGHT_OF_ESTIMATOR for each in found]
    shape = {"squeeze": False, "sharey": "row", "height_ratios": ratios}
    grid = figure.subplots(len(panels), 2, **shape)
    for i, (each, (left, right)) in enumerate(zip(found, grid, strict=True)):
        for y, one in enumerate(each.values()):
            colour = look_of(one.estimator).color(settings)
            _misalignment(left, y, one, colour)
            _errors(right, y, one, colour)
        _integrated(left, each, settings)
        left.set_yticks(range(len(each)), [look_of(name).label for name in each])
        left.set_ylim(len(each) - 0.4, -0.6)
        left.set_xlabel(r"Misalignment $\nu$ of $\partial H^{[\![k]\!]}$ (1)")
        right.set_xlabel(f"Largest error of a position ({_unit(panels[i])})")
        left.set_title(panel_title(panels, i))
        for axes in (left, right):
            axes.set_xscale("log")
            grid_lines(axes, "y", 0.6)
    left, right = _handles(found, settings)
    # A legend is filled column by column, two entries each.
    left += [key("", "none")] * (len(left) % 2)
    legend_on_top(figure, left + right, -(-len(left + right) // 2))
    return figure


def _misalignment(axes: Axes, y: int, one: Learned, colour: str) -> None:
    for order in one.orders:
        values = one.rollout["misalignment"].sel(order=order).values
        shift = SHIFT * (order / 2 - 1)
        _mark(axes, y + shift, values, ORDER_MARKERS[order], colour)
    if not one.has_energy:
        centre = {"ha": "center", "va": "center", "color": "0.35"}
        note(axes, "a flow map has no energy", 0.5, y, AT_Y, **centre)


def _has_failed(one: Learned) -> bool:
    return bool((np.atleast_1d(one.at_main("failure")) != "").any())


def _errors(axes: Axes, y: int, one: Learned, colour: str) -> None:
    _mark(axes, y - SHIFT, one.at_main("position_error_short"), "o", colour, "white")
    marker = "X" if _has_failed(one) else "o"
    _mark(axes, y, one.at_main("position_error"), marker, colour)
    if "horizon_error" not in one.rollout:
        return
    short = one.rollout["horizon_error"].values
    _mark(axes, y + SHIFT, short, "|", colour)
    if np.isnan(short).any():
        text = f"{np.isnan(short).sum()} of {short.size} starts failed"
        style = {"va": "center", "color": colour, "fontsize": "small"}
        note(axes, text, 0.01, y + SHIFT, AT_Y, **style)


def _mark(axes: Axes, y, values, marker: str, colour: str, face=None) -> None:
    """Median and 5–95 % range; nothing where no value is finite."""
    values = np.ravel(values)
    values = values[np.isfinite(values)]
    if not values.size:
        return
    values = np.maximum(values, LEAST_SHOWN)
    middle, low, high = np.quantile(values, [0.5, 0.05, 0.95])
    if high > low:
        axes.plot([low, high], [y, y], color=colour, linewidth=0.9)
    style = {"color": colour, "markerfacecolor": face or colour, "linestyle": "none"}
    size = SIZE if marker != "|" else 6
    axes.plot(middle, y, marker=marker, markersize=size, **style)


def _integrated(axes: Axes, found: Mapping[str, Learned], settings: Mapping) -> None:
    """Lines for the true Lagrangian; that of order 0 has no error to show."""
    for one in found.values():
        if "misalignment_integrated" not in one.rollout:
            continue
        highest = one.first["misalignment_integrated"].isel(order=-1)
        if int(highest["order"]):
            red = {"color": settings["truth_color"], "linewidth": 0.8}
            axes.axvline(float(highest), zorder=1, **red)
        return


def _unit(panel: Panel) -> str:
    units = {panel.coordinate_unit(name) for name in panel.truth.coordinates}
    return units.pop() if len(units) == 1 else "own unit of each coordinate"


def _handles(
    found: Sequence[Mapping[str, Learned]], settings: Mapping
) -> tuple[list, list]:
    """Entries of the legend for the axes on the left, and on the right."""
    every = [one for each in found for one in each.values()]
    orders = sorted({k for one in every for k in one.orders})
    dark = {"color": "0.25", "linestyle": "none", "markersize": SIZE}
    left = [key(hamiltonian_label(k), marker=ORDER_MARKERS[k], **dark) for k in orders]
    if any("misalignment_integrated" in one.rollout for one in every):
        red = settings["truth_color"]
        left.append(key("true $L$, integrated", red, linewidth=0.8))
    right = [
        key("first steps", marker="o", markerfacecolor="white", **dark),
        key("all steps", marker="o", **dark),
    ]
    if any(map(_has_failed, every)):
        right.append(key("until it failed", marker="X", **dark))
    if any("horizon_error" in one.rollout for one in every):
        right.append(key("many starts, fixed time", marker="|", **dark))
    return left, right


def shadow_noise_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Against the noise: misalignment by estimator and by order, errors, uncertainty.

    One row per system: misalignment ν of every estimator at its main order; ν of the
    recommended one at all orders; then its posterior if there is one, else errors of
    positions. Medians and ranges over replicates.
    """
    levels = sorted({v for panel in panels for v in _levels_of(panel)})
    figure, grid = grid_of(settings, len(panels), 3, row=54, rest=16)
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        found = {name: _sweep(panel, name, levels) for name in _estimators([panel])}
        ours = found.get(MAIN, {})
        first, second, third = row
        posterior = any("hamiltonian_std" in one.rollout for one in ours.values())
        for name, sweep in found.items():
            style = (look_of(name).color(settings), look_of(name).marker)
            nus = {k: one.at_main("misalignment") for k, one in sweep.items()}
            _line(first, nus, *style)
            if not posterior:
                _positions(third, sweep, *style)
        for order in next(iter(ours.values())).orders if ours else ():
            given = {k: one.rollout["misalignment"] for k, one in ours.items()}
            nus = {k: values.sel(order=order).values for k, values in given.items()}
            _line(second, nus, GREYS[order], ORDER_MARKERS[order])
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
    legend_on_top(figure, _noise_handles(panels, settings), 5)
    return figure


def _estimators(panels: Sequence[Panel]) -> list[str]:
    return [name for name in ESTIMATORS if any(name in p.rollouts for p in panels)]


def _levels_of(panel: Panel) -> list[float]:
    swept = [one for one in panel.rollouts.values() if "noise_level" in one.dims]
    found = [float(level) for one in swept for level in one["noise_level"].values]
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
    style = {"color": colour, "marker": marker, "elinewidth": 0.6} | THIN
    axes.errorbar(list(shown), middle, [middle - low, high - middle], **style)


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
        given = {k: one.rollout[name] for k, one in sweep.items()}
        rms = {k: np.sqrt((v**2).mean("point").values) for k, v in given.items()}
        _line(axes, rms, colour, marker)
    style = {"ha": "center", "va": "bottom", "color": "0.35"}
    style["fontsize"] = 0.75 * settings["font_size"]
    for place, one in sweep.items():
        share = 100 * float(one.rollout["hamiltonian_coverage"].mean())
        if np.isfinite(share):
            note(axes, f"{share:.0f} %", place, 1.0, AT_X, **style)
    axes.set_ylabel("rms of H over the box (J)")


def _noise_handles(panels: Sequence[Panel], settings: Mapping) -> list:
    every = [rollout for panel in panels for rollout in panel.rollouts.values()]
    orders = sorted({int(k) for rollout in every for k in rollout["order"].values})
    std = "posterior standard deviation, coverage above"
    wide = {"linewidth": 1.1, "markersize": 3.4}
    looks = map(look_of, _estimators(panels))
    return [
        *(key(one.label, one.color(settings), one.marker, **wide) for one in looks),
        *(
            key(hamiltonian_label(k), GREYS[k], ORDER_MARKERS[k], **THIN)
            for k in orders
        ),
        key("error of $H$", settings["estimate_color"], "o", **THIN),
        key(std, "0.45", "s", **THIN),
    ]
