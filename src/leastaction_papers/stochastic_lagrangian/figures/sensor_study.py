"""How much noise of its sensors can an identification bear?"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from leastaction.figures.style import DASHED, RANGE, grid_of, key, legend_on_top
from leastaction_papers.scorecard.looks import (
    label_of_level,
    log_numbers,
    look,
    marked,
    range_bar,
)
from leastaction_papers.scorecard.panel import MAIN, Panel
from leastaction_papers.scorecard.scores import (
    coefficients,
    dissipation,
    errors_over_std,
    exact_support,
    volatilities,
)

ERRORS = {
    "coefficient": "coefficients",
    "damping": "damping",
    "volatility": "volatility",
}
# By the channels that are recorded: name, marker, whether it is filled, and line.
KINDS = {
    ("q",): ("displacements alone", "s", False, DASHED),
    ("qddot",): ("accelerations alone", "D", True, "-"),
}
# Less than any honest error: the floor of logarithmic axes.
LEAST_PERCENT = 1e-6


def sensor_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors and exact supports of examples that differ in their sensors.

    One row per system: errors of the coefficients, of the damping where there is any,
    and of the volatility, and share of replicates with exactly the true terms, against
    the standard deviation of the sensor noise over the rms of its channel.

    Raises
    ------
    ValueError
        If no panel has a noisy sensor, or one lacks a recommended model.
    """
    panels = [panel for panel in panels if level_of(panel) > 0]
    if not panels:
        raise ValueError("sensor_study: no panel has a noisy sensor")
    levels = sorted({level_of(panel) for panel in panels})
    groups = by_title(panels)
    damped = any(panel.law.dissipation.any() for panel in panels)
    columns = [name for name in ERRORS if damped or name != "damping"]
    figure, grid = grid_of(settings, len(groups), len(columns) + 1, row=50, rest=13)
    for row, (title, members) in zip(grid, groups.items(), strict=True):
        for channels, kind in KINDS.items():
            alike = [panel for panel in members if _channels(panel) == channels]
            if alike:
                _draw(row, columns, sorted(alike, key=level_of), kind, settings)
        _finish(row, columns, title, levels)
    present = {_channels(panel) for panel in panels}
    handles = [
        key(
            kind,
            "0.3",
            marker,
            linestyle=dashes,
            markersize=4.0,
            linewidth=0.6,
            markerfacecolor="0.3" if filled else "white",
        )
        for channels, (kind, marker, filled, dashes) in KINDS.items()
        if channels in present
    ]
    marks = marked([MAIN], settings, RANGE, marker="none")
    legend_on_top(figure, [*marks, *handles], 3)
    return figure


def level_of(panel: Panel) -> float:
    """Largest noise of a channel over its rms; 0 for perfect sensors."""
    sensor = panel.config["simulate"].get("sensor") or {}
    return max((sensor.get("noise") or {}).values(), default=0.0)


def _channels(panel: Panel) -> tuple[str, ...]:
    return tuple(panel.config["simulate"]["sensor"].get("channels", ()))


def by_title(panels: Sequence[Panel]) -> dict[str, list[Panel]]:
    """Panels of the same system, in the order in which they are given."""
    groups: dict[str, list[Panel]] = {}
    for panel in panels:
        groups.setdefault(panel.title, []).append(panel)
    return groups


def percent_errors(panel: Panel) -> dict[str, np.ndarray]:
    """Errors in per cent of `coefficient` and `volatility`, one per replicate.

    Those of several degrees of freedom are their largest. Of a damped system there is
    `damping`, too.
    """
    model, law = panel.model(MAIN), panel.law
    errors = {"coefficient": coefficients(model, law).error}
    if law.dissipation.any():
        errors["damping"] = dissipation(model, law).error
    errors["volatility"] = volatilities(model, law).errors.max(axis=1)
    return {name: 100 * error for name, error in errors.items()}


def finding(panels: Sequence[Panel]) -> str:
    """How often terms are right, and whether errors are as large as is stated."""
    noisy = [panel for panel in panels if level_of(panel) > 0]
    right = {
        title: np.concatenate([exact_support(p.model(MAIN), p.law) for p in members])
        for title, members in by_title(noisy).items()
    }
    pairs = [(panel.model(MAIN), panel.law) for panel in noisy]
    over = np.concatenate([errors_over_std(*one).ravel() for one in pairs])
    kinds = coefficients, dissipation, volatilities
    hits = np.concatenate([of(*one).covered.ravel() for one in pairs for of in kinds])
    each = (f"{title} {hit.sum()} of {hit.size}" for title, hit in right.items())
    every = np.concatenate(list(right.values()))
    return (
        f"Exactly the right terms in {every.sum()} of {every.size} data sets "
        f"({', '.join(each)}). Where terms are right, errors of coefficients and of "
        f"damping are {np.sqrt(np.mean(over**2)):.2f} times their standard errors. "
        f"95 % intervals cover {hits.sum()} of {hits.size} true numbers "
        f"({100 * hits.mean():.1f} %)."
    )


def _draw(row, columns, panels: Sequence[Panel], kind, settings) -> None:
    _, marker, filled, dashes = kind
    colour = look(MAIN).color(settings)
    style = {"color": colour, "markerfacecolor": colour if filled else "white"}
    x = [level_of(panel) for panel in panels]
    errors = [percent_errors(panel) for panel in panels]
    for axes, name in zip(row, columns, strict=False):
        for place, error in zip(x, errors, strict=True):
            marks = {"fmt": marker, "zorder": 3, **style}
            range_bar(axes, place, error[name], LEAST_PERCENT, **marks)
        medians = [np.nanmedian(error[name]) for error in errors]
        axes.plot(x, medians, color=colour, linewidth=0.6, linestyle=dashes)
    shares = [100 * exact_support(p.model(MAIN), p.law).mean() for p in panels]
    style |= {"markersize": 4.0, "linewidth": 0.6, "linestyle": dashes}
    row[-1].plot(x, shares, marker, clip_on=False, **style)


def _finish(row: Sequence[Axes], columns, title: str, levels: Sequence[float]) -> None:
    names = [label_of_level(level) for level in levels]
    for axes in row:
        axes.set_xscale("log")
        axes.set_xlim(levels[0] / 2, levels[-1] * 3)
        axes.xaxis.set_major_locator(FixedLocator(levels))
        axes.xaxis.set_major_formatter(FixedFormatter(names))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("Noise / rms of channel (1)")
    for axes, name in zip(row, columns, strict=False):
        axes.set_ylabel(f"Error of {ERRORS[name]} (%)")
        log_numbers(axes.yaxis)
    row[0].set_title(title)
    row[-1].set(ylabel="Exact supports (%)", ylim=(-4, 104))
