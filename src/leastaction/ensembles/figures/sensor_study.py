"""How much sensor noise can an identification bear?"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from leastaction.report.looks import look
from leastaction.report.panel import BASELINE, MAIN, Panel
from leastaction.report.scores import (
    coefficients,
    dissipation,
    errors_over_std,
    exact_support,
    volatilities,
)
from leastaction.report.study import (
    LEAST_PERCENT,
    by_title,
    estimator_handles,
    exact_share,
    label_of_level,
    percent_errors,
)
from leastaction.report.style import (
    DASHED,
    grid_of,
    key,
    legend_on_top,
    log_numbers,
    range_bar,
)

BOTH = "displacements and velocities"
DISPLACEMENTS = "displacements alone"
ACCELERATIONS = "accelerations alone"
COLOURED = "correlated noise"
ERRORS = {
    "coefficient": "coefficients",
    "damping": "damping",
    "volatility": "volatility",
}
# By what is recorded: marker, whether it is filled, line, and factor of the abscissa.
KINDS = {
    BOTH: ("o", True, "-", 1.0),
    DISPLACEMENTS: ("s", False, DASHED, 1.2),
    ACCELERATIONS: ("D", True, "-", 1.0),
    COLOURED: ("^", False, "none", 1.44),
}


def sensor_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors and exact supports of examples that differ in their sensors.

    One row per system: errors of the coefficients, of the damping where there is any,
    and of the volatility, and share of replicates with exactly the true terms, against
    the standard deviation of the sensor noise over the rms of its channel. Data without
    noise, if any, stand at the left.
    ValueError if no panel has a noisy sensor, or one lacks a recommended model.
    """
    every = sorted({level_of(panel) for panel in panels})
    levels = [level for level in every if level > 0]
    if not levels:
        raise ValueError("sensor_study: no panel has a noisy sensor")
    groups = by_title(panels)
    damped = any(panel.law.dissipation.any() for panel in panels)
    columns = [name for name in ERRORS if damped or name != "damping"]
    figure, grid = grid_of(settings, len(groups), len(columns) + 1, row=50, rest=13)
    for row, (title, members) in zip(grid, groups.items(), strict=True):
        members = sorted(members, key=level_of)
        for estimator in (MAIN, BASELINE):
            there = [p for p in members if estimator == MAIN or estimator in p.models]
            for kind in KINDS:
                of_kind = [p for p in there if kind_of(p) == kind]
                _draw(row, columns, of_kind, estimator, levels, settings)
        _finish(row, columns, title, every)
    handles = estimator_handles(panels, settings, marker="none")
    present = {kind_of(panel) for panel in panels}
    for kind, (marker, filled, dashes, _) in KINDS.items():
        if kind in present:
            style = {"markersize": 4.0, "linewidth": 0.6, "linestyle": dashes}
            style["markerfacecolor"] = "0.3" if filled else "white"
            handles.append(key(kind, "0.3", marker, **style))
    legend_on_top(figure, handles, 3)
    return figure


def level_of(panel: Panel) -> float:
    """Largest noise of a channel over its rms; 0 for perfect sensors."""
    sensor = panel.config["simulate"].get("sensor") or {}
    return max((sensor.get("noise") or {}).values(), default=0.0)


def kind_of(panel: Panel) -> str:
    """What is recorded: a key of `KINDS`."""
    sensor = panel.config["simulate"].get("sensor") or {}
    if sensor.get("correlation", 1) > 1:
        return COLOURED
    alone = {("q",): DISPLACEMENTS, ("qddot",): ACCELERATIONS}
    return alone.get(tuple(sensor.get("channels", ())), BOTH)


def finding(panels: Sequence[Panel]) -> str:
    """How often terms are right, and whether errors are as large as is stated."""
    noisy = [panel for panel in panels if level_of(panel) > 0]
    right = {
        title: np.concatenate([exact_support(p.model(MAIN), p.law) for p in members])
        for title, members in by_title(noisy).items()
    }
    found = [(panel.model(MAIN), panel.law) for panel in noisy]
    over = np.concatenate([errors_over_std(*one).ravel() for one in found])
    kinds = coefficients, dissipation, volatilities
    hits = np.concatenate([of(*one).covered.ravel() for one in found for of in kinds])
    each = (f"{title} {hit.sum()} of {hit.size}" for title, hit in right.items())
    every = np.concatenate(list(right.values()))
    return (
        f"Exactly the right terms in {every.sum()} of {every.size} data sets "
        f"({', '.join(each)}). Where terms are right, errors of coefficients and of "
        f"damping are {np.sqrt(np.mean(over**2)):.2f} times their standard errors. "
        f"95 % intervals cover {hits.sum()} of {hits.size} true numbers "
        f"({100 * hits.mean():.1f} %)."
    )


def _draw(row, columns, panels: Sequence[Panel], estimator, levels, settings) -> None:
    if not panels:
        return
    marker, filled, dashes, shift = KINDS[kind_of(panels[0])]
    colour = look(estimator).color(settings)
    style = {"color": colour, "markerfacecolor": colour if filled else "white"}
    x = np.array([level_of(p) or _without_noise(levels) for p in panels])
    x = x * shift * (1.1 if estimator == BASELINE else 1.0)
    errors = [percent_errors(p, estimator) for p in panels]
    for axes, name in zip(row, columns, strict=False):
        for place, found in zip(x, errors, strict=True):
            marks = {"fmt": marker, "zorder": 3, **style}
            range_bar(axes, place, found[name], LEAST_PERCENT, **marks)
        medians = [np.nanmedian(found[name]) for found in errors]
        axes.plot(x, medians, color=colour, linewidth=0.6, linestyle=dashes)
    shares = [exact_share(p, estimator) for p in panels]
    style |= {"markersize": 4.0, "linewidth": 0.6, "linestyle": dashes}
    row[-1].plot(x, shares, marker, clip_on=False, **style)


def _without_noise(levels: Sequence[float]) -> float:
    """Where data without noise stand on a logarithmic axis."""
    return levels[0] / 10


def _finish(row: Sequence[Axes], columns, title: str, levels: Sequence[float]) -> None:
    names = [label_of_level(level) if level else "none" for level in levels]
    places = [level or _without_noise(levels[1:]) for level in levels]
    for axes in row:
        axes.set_xscale("log")
        axes.set_xlim(places[0] / 2, places[-1] * 3)
        axes.xaxis.set_major_locator(FixedLocator(places))
        axes.xaxis.set_major_formatter(FixedFormatter(names))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("Noise / rms of channel (1)")
    for axes, name in zip(row, columns, strict=False):
        axes.set_ylabel(f"Error of {ERRORS[name]} (%)")
        log_numbers(axes.yaxis)
    row[0].set_title(title)
    row[-1].set(ylabel="Exact supports (%)", ylim=(-4, 104))
