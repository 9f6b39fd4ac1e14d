"""Is the damping learned together with the Lagrangian?"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.level_axis import level_axis, levels_of, places
from leastaction.report.panel import MAIN, Panel
from leastaction.report.recovery import relative_coefficients
from leastaction.report.study import by_title
from leastaction.report.style import SMALL, StyledFigure, legend_on_top
from leastaction.report.sweep import shown_mode

ROW_HEIGHT = 52.0
LEGEND_HEIGHT = 12.0
MARKERS = "os^Dv"
APART = 0.16
LIMIT = 2.0


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
    figure = StyledFigure(settings, ROW_HEIGHT * len(groups) + LEGEND_HEIGHT)
    grid = figure.subplots(len(groups), columns, squeeze=False)
    for row, (title, members) in zip(grid, groups.items(), strict=True):
        for axes in row[len(members) :]:
            axes.set_axis_off()
        for axes, panel in zip(row, members, strict=False):
            _draw(axes, panel, settings)
            axes.set_title(f"{title}: {_kind(panel)}")
        row[0].set_ylabel("Damping, estimate / truth (1)")
    legend_on_top(figure, _handles(settings))
    return figure


def _kind(panel: Panel) -> str:
    """Name of the variant in words."""
    return (
        panel.example.rpartition("/")[2]
        .partition("-")[2]
        .replace("_", " ")
        .capitalize()
    )


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
        x = x + APART * (k - (len(true) - 1) / 2)
        values = of_term.transpose("replicate", "noise_level").values
        low, middle, high = np.nanpercentile(values, [5, 50, 95], axis=0)
        drawn = axes.errorbar(
            x,
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
    axes.axhline(1, color=settings["truth_color"], linewidth=1.2, zorder=1)
    axes.axhspan(1 - LIMIT / 100, 1 + LIMIT / 100, color="0.93", zorder=0)
    reach = max(1.5 * LIMIT / 100, 1.15 * np.nanmax(np.abs(np.array(spread) - 1)))
    axes.set_ylim(1 - 1.35 * reach, 1 + 1.5 * reach)
    level_axis(axes, levels)
    axes.legend(
        handles=handles, loc="upper left", fontsize=SMALL * settings["font_size"]
    )
    exact = panel.recoveries[MAIN]["exact"].sel(noise_mode=shown_mode(MAIN, model))
    for place, level in zip(places(levels, levels), levels, strict=True):
        hit = exact.sel(noise_level=level).values
        axes.annotate(
            f"{int(hit.sum())}/{hit.size}",
            (place, 0.02),
            xycoords=("data", "axes fraction"),
            ha="center",
            fontsize=SMALL * settings["font_size"],
        )


def _value(panel: Panel, j: int) -> str:
    name = panel.law.library.dissipation_names[j]
    unit = panel.coefficient_unit(name, panel.dissipation_unit)
    shown = "" if unit in ("", "1") else f" {unit}"
    return f"true value {panel.law.dissipation[j]:g}{shown}"


def _handles(settings: Mapping) -> list:
    return [
        Line2D([], [], color=settings["truth_color"], linewidth=1.2, label="truth"),
        Line2D(
            [],
            [],
            color=settings["estimate_color"],
            marker="o",
            markersize=3.8,
            linewidth=0.9,
            label="recommended (median, 5–95 %)",
        ),
        Line2D([], [], color="0.88", linewidth=5, label=f"±{LIMIT:g} %"),
        Line2D(
            [], [], linestyle="none", label="k/n: exactly the true terms of L and D"
        ),
    ]
