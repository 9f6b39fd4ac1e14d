"""Coefficients against the noise of the sensors, term by term."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from leastaction.report.panel import BASELINE, MAIN, Panel
from leastaction.report.recovery import relative_coefficients
from leastaction.report.study import RANGE, level_axis, levels_of, places, range_bar
from leastaction.report.style import grid_of, key, legend_on_top
from leastaction.report.sweep import shown_mode
from leastaction.trajectories.figures.noise_limits import look_of

COLUMNS = 3
# Linear below this deviation, in per cent.
LINEAR_BELOW = 0.01
SHIFT = {MAIN: -0.12, BASELINE: 0.12}


def noise_coefficients(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Deviation of every true coefficient from the truth, and wrong terms, by level.

    Median and 5–95 % range over replicates, in independent candidates and in the scale
    of the reference term. The last axes count the terms that are missing or extra. The
    recommended estimator has independent noise, the published one that of the paper.
    """
    found = [(panel, *_deviations(panel)) for panel in panels]
    counts = [len(names) + 1 for _, names, _ in found]
    lines = [-(-count // COLUMNS) for count in counts]
    figure, grid = grid_of(settings, sum(lines), COLUMNS, row=44, rest=12)
    start = 0
    for (panel, names, deviations), count, rows in zip(
        found, counts, lines, strict=True
    ):
        cells = list(grid[start : start + rows].flat)
        levels = levels_of([panel])
        for axes, name in zip(cells, names, strict=False):
            _coefficient(axes, panel, name, deviations, levels, settings)
        _wrong(cells[count - 1], panel, levels, settings)
        for axes in cells[:count]:
            level_axis(axes, levels)
        for axes in cells[count:]:
            axes.set_axis_off()
        start += rows
    handles = [key("truth", settings["truth_color"], linewidth=1.2)]
    for name in (MAIN, BASELINE):
        if any(name in panel.models for panel in panels):
            style = look_of(name).series(settings)
            handles.append(key(look_of(name).label + RANGE, **style))
    legend_on_top(figure, handles)
    return figure


def _deviations(panel: Panel) -> tuple[list[str], dict]:
    """Names of the true terms that are estimated, and the deviations, in per cent."""
    panel.model(MAIN)
    deviations = {}
    for estimator in (MAIN, BASELINE):
        model = panel.models.get(estimator)
        if model is not None:
            ratio = relative_coefficients(model, panel.config, panel.law)
            mode = shown_mode(estimator, model)
            deviations[estimator] = 100 * (ratio.sel(noise_mode=mode) - 1)
    names = [str(name) for name in deviations[MAIN]["candidate"].values]
    given = {panel.law.library.names[i] for i, _ in panel.law.library.references}
    is_given = not panel.config["simulate"].get("input")
    return [n for n in names if not (is_given and n in given)], deviations


def _coefficient(axes: Axes, panel: Panel, name: str, deviations, levels, settings):
    extremes = [0.0]
    for estimator, of_all in deviations.items():
        of_term = of_all.sel(candidate=name)
        shift = SHIFT[estimator]
        style = look_of(estimator).series(settings) | {"linestyle": "none"}
        x = places(of_term["noise_level"].values, levels)
        for place, level in zip(x, of_term["noise_level"].values, strict=True):
            values = of_term.sel(noise_level=level).values
            extremes += range_bar(axes, place + shift, values, **style)
    axes.axhline(0, color=settings["truth_color"], linewidth=1.2, zorder=1)
    _symmetric_scale(axes, np.abs(extremes).max())
    axes.set_title(_title(panel, name))
    axes.set_ylabel("Deviation (%)")


def _title(panel: Panel, name: str) -> str:
    """The term, and its true coefficient with its unit."""
    law, term = panel.law, name.removesuffix(" [D]")
    label = panel.label(term)
    if name == term:
        value = law.coefficients[law.library.names.index(term)]
        unit = panel.coefficient_unit(term, panel.lagrangian_unit)
    else:
        label += " of $D$"
        value = law.dissipation[law.library.dissipation_names.index(term)]
        unit = panel.coefficient_unit(term, panel.dissipation_unit)
    return f"{label}: true value {value:g}" + ("" if unit in ("", "1") else f" {unit}")


def _symmetric_scale(axes: Axes, reach: float) -> None:
    """Symmetric logarithm with ticks at every or every second power of ten."""
    axes.set_yscale("symlog", linthresh=LINEAR_BELOW, linscale=0.6)
    top = max(1, int(np.ceil(np.log10(max(reach, LINEAR_BELOW) / LINEAR_BELOW))))
    powers = LINEAR_BELOW * 10.0 ** np.arange(0, top + 1, 1 if top <= 3 else 2)
    ticks = np.concatenate([-powers[::-1], [0.0], powers])
    limit = 1.5 * LINEAR_BELOW * 10.0**top
    axes.set_ylim(-limit, limit)
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))


def _wrong(axes: Axes, panel: Panel, levels, settings: Mapping) -> None:
    """Mean number of wrong terms over the replicates."""
    for estimator in (MAIN, BASELINE):
        found = panel.recoveries.get(estimator)
        if found is None:
            continue
        wrong = found["wrong_terms"].sel(noise_mode=shown_mode(estimator, found))
        x = np.array(places(wrong["noise_level"].values, levels)) + SHIFT[estimator]
        style = look_of(estimator).series(settings)
        axes.plot(x, wrong.mean("replicate"), clip_on=False, **style)
    axes.set_ylim(bottom=0)
    if axes.get_ylim()[1] < 1:
        axes.set_ylim(0, 1)
    axes.set_title("Missing and extra terms")
    axes.set_ylabel("Mean over replicates (1)")
