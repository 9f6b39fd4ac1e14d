"""Coefficients against the noise of the sensors, term by term; those of the damping."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from leastaction.figures.style import (
    AT_X,
    RANGE,
    grid_of,
    key,
    legend_on_top,
    note,
    range_bar,
    small,
)
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel
from leastaction_papers.scorecard.recovery import relative_coefficients, shown_mode
from leastaction_papers.scorecard.study import by_title, level_axis, levels_of, places
from leastaction_papers.xl_sindy.figures.noise_limits import look_of

MOST_COLUMNS = 3
# Linear below this deviation, in per cent.
LINEAR_BELOW = 0.01
SHIFT = {MAIN: -0.12, BASELINE: 0.12}
MARKERS = "os^Dv"
DISTANCE_OF_TERMS = 0.16
LIMIT_PERCENT = 2.0


def noise_coefficients(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Deviation of every true coefficient from the truth, and wrong terms, by level.

    Median and 5–95 % range over replicates, in independent candidates and in the scale
    of the reference term. The last axes count the terms that are missing or extra. The
    recommended estimator has independent noise, the published one that of the paper.
    """
    found = [(panel, *_deviations(panel)) for panel in panels]
    counts = [len(names) + 1 for _, names, _ in found]
    # As few axes as can be stay empty.
    columns = min(
        range(2, MOST_COLUMNS + 1), key=lambda n: (sum(-c % n for c in counts), -n)
    )
    lines = [-(-count // columns) for count in counts]
    figure, grid = grid_of(settings, sum(lines), columns, row=44, rest=12)
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
    shown = [n for n in (MAIN, BASELINE) if any(n in p.models for p in panels)]
    looks = map(look_of, shown)
    handles = [key(one.label + RANGE, **one.series(settings)) for one in looks]
    truth = key("truth", settings["truth_color"], linewidth=1.2)
    legend_on_top(figure, [truth, *handles])
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
        style = look_of(estimator).series(settings) | {"linestyle": "none"}
        for level in of_term["noise_level"].values:
            x = levels.index(level) + SHIFT[estimator]
            values = of_term.sel(noise_level=level).values
            extremes += range_bar(axes, x, values, **style)
    axes.axhline(0, color=settings["truth_color"], linewidth=1.2, zorder=1)
    _symmetric_scale(axes, np.abs(extremes).max())
    axes.set_title(_title(panel, name))
    axes.set_ylabel("Deviation (%)")


def _title(panel: Panel, name: str) -> str:
    """The term, and its true coefficient with its unit."""
    law, term = panel.law, name.removesuffix(" [D]")
    if name != term:
        return f"{panel.label(term)} of $D$: {_of_damping(panel, term)}"
    value = law.coefficients[law.library.names.index(term)]
    unit = panel.coefficient_unit(term, panel.lagrangian_unit)
    return f"{panel.label(term)}: {_true(value, unit)}"


def _of_damping(panel: Panel, term: str) -> str:
    value = panel.law.dissipation[panel.law.library.dissipation_names.index(term)]
    return _true(value, panel.coefficient_unit(term, panel.dissipation_unit))


def _true(value: float, unit: str) -> str:
    return f"true value {value:g}" + ("" if unit in ("", "1") else f" {unit}")


def _symmetric_scale(axes: Axes, reach: float) -> None:
    """Symmetric logarithm with ticks at every or every second power of ten."""
    axes.set_yscale("symlog", linthresh=LINEAR_BELOW, linscale=0.6)
    top = max(1, int(np.ceil(np.log10(max(reach, LINEAR_BELOW) / LINEAR_BELOW))))
    powers = LINEAR_BELOW * 10.0 ** np.arange(0, top + 1, 1 if top <= 3 else 2)
    ticks = np.concatenate([-powers[::-1], [0.0], powers])
    limit = 1.5 * LINEAR_BELOW * 10.0**top
    axes.set_ylim(-limit, limit)
    axes.set_yticks(ticks, [f"{tick:g}".replace("-", "\u2212") for tick in ticks])
    axes.yaxis.set_minor_locator(NullLocator())


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
    axes.set_ylim(0, max(1, axes.get_ylim()[1]))
    axes.set_title("Missing and extra terms")
    axes.set_ylabel("Mean over replicates (1)")


def damping_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Estimated over true coefficients of the Rayleigh function, by noise level.

    One row per system, one column per example. Medians with the 5–95 % range over
    replicates, independent noise; the true value stands beside each term, and below
    each level in how many replicates L and D have exactly the true terms. The limit of
    2 % is shaded.

    Raises
    ------
    ValueError
        If no panel has damping, or one has no model of the recommended estimator.
    """
    damped = [panel for panel in panels if panel.law.dissipation.any()]
    if not damped:
        raise ValueError("damping_study: no panel has a true damping")
    groups = by_title(damped)
    columns = max(len(members) for members in groups.values())
    figure, grid = grid_of(settings, len(groups), columns, row=52, rest=12)
    for row, (title, members) in zip(grid, groups.items(), strict=True):
        for axes in row[len(members) :]:
            axes.set_axis_off()
        for axes, panel in zip(row, members, strict=False):
            _damping(axes, panel, settings)
            variant = panel.example.rpartition("/")[2].partition("-")[2]
            axes.set_title(f"{title}: {variant.replace('_', ' ').capitalize()}")
        row[0].set_ylabel("Damping, estimate / truth (1)")
    style = {"markersize": 3.8, "linewidth": 0.9}
    handles = [
        key("truth", settings["truth_color"], linewidth=1.2),
        key("recommended" + RANGE, settings["estimate_color"], "o", **style),
        key(f"±{LIMIT_PERCENT:g} %", "0.88", linewidth=5),
        key("k/n: exactly the true terms of L and D", "black", linestyle="none"),
    ]
    legend_on_top(figure, handles)
    return figure


def _damping(axes: Axes, panel: Panel, settings: Mapping) -> None:
    model = panel.model(MAIN)
    ratio = relative_coefficients(model, panel.config, panel.law)
    ratio = ratio.sel(noise_mode=shown_mode(MAIN, model))
    levels = levels_of([panel])
    names = panel.law.library.dissipation_names
    true = np.flatnonzero(panel.law.dissipation)
    spread, colour = [1.0], settings["estimate_color"]
    x = np.array(places(ratio["noise_level"].values, levels))
    for k, j in enumerate(true):
        of_term = ratio.sel(candidate=f"{names[j]} [D]")
        values = of_term.transpose("replicate", "noise_level").values
        low, middle, high = np.nanpercentile(values, [5, 50, 95], axis=0)
        axes.errorbar(
            x + DISTANCE_OF_TERMS * (k - (len(true) - 1) / 2),
            middle,
            yerr=[middle - low, high - middle],
            fmt=MARKERS[k % len(MARKERS)],
            color=colour,
            markersize=3.8,
            markerfacecolor=colour if k == 0 else "white",
            elinewidth=0.9,
            label=f"{panel.label(names[j])}: {_of_damping(panel, names[j])}",
        )
        spread += [*low, *high]
    limit = LIMIT_PERCENT / 100
    axes.axhline(1, color=settings["truth_color"], linewidth=1.2, zorder=1)
    axes.axhspan(1 - limit, 1 + limit, color="0.93", zorder=0)
    reach = max(1.5 * limit, 1.15 * np.nanmax(np.abs(np.array(spread) - 1)))
    axes.set_ylim(1 - 1.35 * reach, 1 + 1.5 * reach)
    level_axis(axes, levels)
    axes.legend(loc="upper left", fontsize=small(settings))
    exact = panel.recoveries[MAIN]["exact"].sel(noise_mode=shown_mode(MAIN, model))
    for place, level in enumerate(levels):
        hit = exact.sel(noise_level=level).values
        text, style = f"{int(hit.sum())}/{hit.size}", {"fontsize": small(settings)}
        note(axes, text, place, 0.02, AT_X, ha="center", **style)
