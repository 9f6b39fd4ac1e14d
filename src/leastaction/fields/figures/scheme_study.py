"""Do estimates depend on the time scheme that made the samples of a field?"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.fields.time_scheme import DISPERSION
from leastaction.fields.time_scheme_rows import SCHEME_OF, right_scheme
from leastaction.report.panel import BASELINE, MAIN, Panel
from leastaction.report.study import (
    COLOURS,
    FAINTEST,
    MARKERS,
    by_title,
    estimator_handles,
    percent_errors,
    range_bar,
)
from leastaction.report.style import SMALL, StyledFigure, legend_on_top

ROW_HEIGHT = 52.0
LEGEND_HEIGHT = 9.0
LIMIT = 0.3
SHIFT = {MAIN: -0.1, BASELINE: 0.1}
SHORT = {"Newmark average acceleration": "Newmark"}


def scheme_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors of coefficient and volatility, and the dispersion, scheme by scheme.

    One row per system. The dispersion ρ of the recommended estimator stands beside what
    the scheme has: 0, −1/12 or 1/6; below it, how often the right scheme is named.

    Raises
    ------
    ValueError
        If a panel is no field, or has no model of the recommended estimator.
    """
    for panel in panels:
        if not panel.is_field:
            raise ValueError(f"scheme_study: example {panel.example!r} has no field")
    groups = by_title(panels)
    figure = StyledFigure(settings, ROW_HEIGHT * len(groups) + LEGEND_HEIGHT)
    grid = figure.subplots(len(groups), 3, squeeze=False)
    for row, (title, members) in zip(grid, groups.items(), strict=True):
        for x, panel in enumerate(members):
            _errors(row, x, panel, settings)
            _dispersion(row[2], x, panel, settings)
        _finish(row, title, members, settings)
    handles = [
        *estimator_handles(panels, settings),
        Line2D(
            [], [], color=settings["truth_color"], linewidth=1.6, label="of the scheme"
        ),
    ]
    legend_on_top(figure, handles)
    return figure


def _errors(row: Sequence[Axes], x: int, panel: Panel, settings: Mapping) -> None:
    for name in (MAIN, BASELINE):
        if name not in panel.models and name != MAIN:
            continue
        found = percent_errors(panel, name)
        for axes, key in zip(row, ("coefficient", "volatility"), strict=False):
            style = {"fmt": MARKERS[name], "color": settings[COLOURS[name]]}
            range_bar(axes, x + SHIFT[name], found[key], FAINTEST, **style)


def _dispersion(axes: Axes, x: int, panel: Panel, settings: Mapping) -> None:
    model = panel.model(MAIN)
    axes.plot(
        [x - 0.3, x + 0.3],
        [DISPERSION[SCHEME_OF[panel.config["simulate"]["method"]]]] * 2,
        color=settings["truth_color"],
        linewidth=1.6,
        solid_capstyle="butt",
    )
    if "dispersion" in model:
        rho, error = model["dispersion"].values, model["dispersion_std"].values
        style = {"fmt": MARKERS[MAIN], "color": settings["estimate_color"]}
        # Modes that are too slow leave the dispersion open.
        used = model["dispersion_used"].values.astype(bool)
        shown = rho[used & np.isfinite(error)]
        range_bar(axes, x, shown, zorder=4, **style)
        if not shown.size:
            axes.annotate(
                "modes are\ntoo slow",
                (x, 0.97),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="top",
                fontsize=SMALL * settings["font_size"],
                color="0.4",
            )
    hit = right_scheme(model, panel.config)
    axes.annotate(
        f"named right\n{int(hit.sum())} of {len(hit)}",
        (x, 0.02),
        xycoords=("data", "axes fraction"),
        ha="center",
        va="bottom",
        fontsize=SMALL * settings["font_size"],
    )


def _finish(row: Sequence[Axes], title: str, members, settings: Mapping) -> None:
    schemes = [SCHEME_OF[p.config["simulate"]["method"]] for p in members]
    labels = [SHORT.get(name, name) for name in schemes]
    for axes in row:
        axes.set_xlim(-0.5, len(members) - 0.5)
        axes.set_xticks(range(len(members)), labels)
        axes.set_xlabel("Time scheme of the data")
    for axes in row[:2]:
        axes.set_yscale("log")
        axes.axhline(LIMIT, color="0.6", linewidth=0.6, linestyle=(0, (4, 2.5)))
        axes.annotate(
            f"{LIMIT} %",
            (1.0, LIMIT),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=SMALL * settings["font_size"],
            color="0.4",
        )
    row[0].set_ylabel("Error of the coefficient (%)")
    row[1].set_ylabel("Error of the volatility (%)")
    row[2].set_ylabel(r"Dispersion $\rho$ (1)")
    row[2].set_ylim(-0.24, 0.34)
    row[0].set_title(title)
