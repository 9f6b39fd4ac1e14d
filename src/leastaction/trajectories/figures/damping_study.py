"""Is the damping learned together with the Lagrangian?"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import MAIN, Panel
from leastaction.report.recovery import relative_coefficients
from leastaction.report.study import RANGE, by_title, level_axis, levels_of, places
from leastaction.report.style import AT_X, grid_of, key, legend_on_top, note, small
from leastaction.report.sweep import shown_mode

MARKERS = "os^Dv"
DISTANCE_OF_TERMS = 0.16
LIMIT_PERCENT = 2.0


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
            _draw(axes, panel, settings)
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


def _draw(axes: Axes, panel: Panel, settings: Mapping) -> None:
    model = panel.model(MAIN)
    ratio = relative_coefficients(model, panel.config, panel.law)
    ratio = ratio.sel(noise_mode=shown_mode(MAIN, model))
    levels = levels_of([panel])
    names = panel.law.library.dissipation_names
    true = np.flatnonzero(panel.law.dissipation)
    spread = [1.0]
    handles = []
    for k, j in enumerate(true):
        of_term = ratio.sel(candidate=f"{names[j]} [D]")
        x = np.array(places(of_term["noise_level"].values, levels))
        values = of_term.transpose("replicate", "noise_level").values
        low, middle, high = np.nanpercentile(values, [5, 50, 95], axis=0)
        drawn = axes.errorbar(
            x + DISTANCE_OF_TERMS * (k - (len(true) - 1) / 2),
            middle,
            yerr=[middle - low, high - middle],
            fmt=MARKERS[k % len(MARKERS)],
            color=settings["estimate_color"],
            markersize=3.8,
            markerfacecolor=settings["estimate_color"] if k == 0 else "white",
            elinewidth=0.9,
            label=f"{panel.label(names[j])}: {_value(panel, j)}",
        )
        handles.append(drawn)
        spread += [*low, *high]
    limit = LIMIT_PERCENT / 100
    axes.axhline(1, color=settings["truth_color"], linewidth=1.2, zorder=1)
    axes.axhspan(1 - limit, 1 + limit, color="0.93", zorder=0)
    reach = max(1.5 * limit, 1.15 * np.nanmax(np.abs(np.array(spread) - 1)))
    axes.set_ylim(1 - 1.35 * reach, 1 + 1.5 * reach)
    level_axis(axes, levels)
    axes.legend(handles=handles, loc="upper left", fontsize=small(settings))
    exact = panel.recoveries[MAIN]["exact"].sel(noise_mode=shown_mode(MAIN, model))
    for place, level in enumerate(levels):
        hit = exact.sel(noise_level=level).values
        text, style = f"{int(hit.sum())}/{hit.size}", {"fontsize": small(settings)}
        note(axes, text, place, 0.02, AT_X, ha="center", **style)


def _value(panel: Panel, j: int) -> str:
    name = panel.law.library.dissipation_names[j]
    unit = panel.coefficient_unit(name, panel.dissipation_unit)
    shown = "" if unit in ("", "1") else f" {unit}"
    return f"true value {panel.law.dissipation[j]:g}{shown}"
