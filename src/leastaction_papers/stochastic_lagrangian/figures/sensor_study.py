"""How much sensor noise can an identification bear, and how few realisations?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from leastaction.figures.style import DASHED, grid_of, key, legend_on_top
from leastaction_papers.scorecard.looks import log_numbers, look, range_bar
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel
from leastaction_papers.scorecard.scores import (
    coefficients,
    dissipation,
    errors_over_std,
    exact_support,
    volatilities,
)
from leastaction_papers.scorecard.study import (
    LEAST_PERCENT,
    by_title,
    estimator_handles,
    exact_share,
    label_of_level,
    percent_errors,
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


@dataclass(frozen=True)
class Abscissa:
    """What the examples of a study differ in: a number of each, and its axis."""

    number: Callable[[Panel], float]
    label: str
    name: Callable[[float], str]


def sensor_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors and exact supports of examples that differ in their sensors.

    One row per system: errors of the coefficients, of the damping where there is any,
    and of the volatility, and share of replicates with exactly the true terms, against
    the standard deviation of the sensor noise over the rms of its channel. Data without
    noise, if any, stand at the left.
    ValueError if no panel has a noisy sensor, or one lacks a recommended model.
    """
    if not any(level_of(panel) > 0 for panel in panels):
        raise ValueError("sensor_study: no panel has a noisy sensor")
    about = Abscissa(level_of, "Noise / rms of channel (1)", label_of_level)
    handles = []
    present = {kind_of(panel) for panel in panels}
    for kind, (marker, filled, dashes, _) in KINDS.items():
        if kind in present:
            style = {"markersize": 4.0, "linewidth": 0.6, "linestyle": dashes}
            style["markerfacecolor"] = "0.3" if filled else "white"
            handles.append(key(kind, "0.3", marker, **style))
    marks = estimator_handles(panels, settings, marker="none")
    return _study(panels, settings, about, [*marks, *handles])


def realisation_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors and exact supports of examples that differ in the size of the ensemble.

    As :func:`sensor_study`, against the number of realisations.
    """
    about = Abscissa(realisations, "Realisations (1)", "{:g}".format)
    marks = estimator_handles(panels, settings, marker="o")
    return _study(panels, settings, about, marks)


def _study(panels, settings: Mapping, about: Abscissa, handles: list) -> Figure:
    """One row per system, one column per error, and one of the shares."""
    every = sorted({about.number(panel) for panel in panels})
    levels = [level for level in every if level > 0]
    groups = by_title(panels)
    damped = any(panel.law.dissipation.any() for panel in panels)
    columns = [name for name in ERRORS if damped or name != "damping"]
    figure, grid = grid_of(settings, len(groups), len(columns) + 1, row=50, rest=13)
    for row, (title, members) in zip(grid, groups.items(), strict=True):
        members = sorted(members, key=about.number)
        for estimator in (MAIN, BASELINE):
            there = [p for p in members if estimator == MAIN or estimator in p.models]
            for kind in KINDS:
                if of_kind := [p for p in there if kind_of(p) == kind]:
                    x = [about.number(p) or _without_noise(levels) for p in of_kind]
                    _draw(row, columns, of_kind, np.array(x), estimator, settings)
        _finish(row, columns, title, every, about)
    legend_on_top(figure, handles, 3)
    return figure


def realisations(panel: Panel) -> float:
    """Number of realisations in one data set."""
    return panel.config["simulate"]["trajectories"]


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


def realisation_study_finding(panels: Sequence[Panel]) -> str:
    """How often terms are right with few realisations, and how the error falls."""
    parts = []
    for estimator in (MAIN, BASELINE):
        shown = [panel for panel in panels if estimator in panel.models]
        counts: dict[float, list[np.ndarray]] = {}
        for panel in shown:
            right = exact_support(panel.model(estimator), panel.law)
            counts.setdefault(realisations(panel), []).append(right)
        each = (
            f"{sum(map(np.sum, hits))} of {sum(map(np.size, hits))} with {number:g}"
            for number, hits in sorted(counts.items())
        )
        if counts:
            parts.append(
                f"The {estimator} estimator finds exactly the right terms in "
                f"{', '.join(each)} realisations."
            )
    error, size = (
        np.log([of(panel) for panel in panels])
        for of in (
            lambda p: np.sqrt(np.mean(percent_errors(p, MAIN)["coefficient"] ** 2)),
            realisations,
        )
    )
    titles = [panel.title for panel in panels]
    # One straight line per system, of a common slope.
    table = np.column_stack([size, *(np.equal(titles, t) for t in by_title(panels))])
    slope = np.linalg.lstsq(table.astype(float), error)[0][0]
    parts.append(
        f"The rms error of the {MAIN} coefficients goes as the number of realisations "
        f"to the power {slope:.2f}."
    )
    return " ".join(parts)


def _draw(row, columns, panels: Sequence[Panel], x, estimator, settings) -> None:
    marker, filled, dashes, shift = KINDS[kind_of(panels[0])]
    colour = look(estimator).color(settings)
    style = {"color": colour, "markerfacecolor": colour if filled else "white"}
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


def _finish(
    row: Sequence[Axes], columns, title: str, levels: Sequence[float], about: Abscissa
) -> None:
    names = [about.name(level) if level else "none" for level in levels]
    places = [level or _without_noise(levels[1:]) for level in levels]
    for axes in row:
        axes.set_xscale("log")
        axes.set_xlim(places[0] / 2, places[-1] * 3)
        axes.xaxis.set_major_locator(FixedLocator(places))
        axes.xaxis.set_major_formatter(FixedFormatter(names))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(about.label)
    for axes, name in zip(row, columns, strict=False):
        axes.set_ylabel(f"Error of {ERRORS[name]} (%)")
        log_numbers(axes.yaxis)
    row[0].set_title(title)
    row[-1].set(ylabel="Exact supports (%)", ylim=(-4, 104))
