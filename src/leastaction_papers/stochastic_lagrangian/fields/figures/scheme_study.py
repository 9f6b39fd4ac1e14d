"""Do estimates depend on the time scheme that made the samples of a field?"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.fields.time_scheme import DISPERSION, SCHEME_OF, right_scheme
from leastaction.figures.style import (
    AT_X,
    AT_Y,
    DASHED,
    grid_of,
    key,
    legend_on_top,
    note,
    range_bar,
    small,
)
from leastaction_papers.scorecard.looks import look
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel
from leastaction_papers.scorecard.study import (
    LEAST_PERCENT,
    by_title,
    estimator_handles,
    percent_errors,
)

LIMIT_PERCENT = 0.3
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
    figure, grid = grid_of(settings, len(groups), 3, row=52, rest=9)
    for row, (title, members) in zip(grid, groups.items(), strict=True):
        for x, panel in enumerate(members):
            _errors(row, x, panel, settings)
            _dispersion(row[2], x, panel, settings)
        _finish(row, title, members, settings)
    truth = key("of the scheme", settings["truth_color"], linewidth=1.6)
    legend_on_top(figure, [*estimator_handles(panels, settings), truth])
    return figure


def _errors(row: Sequence[Axes], x: int, panel: Panel, settings: Mapping) -> None:
    for name in (MAIN, BASELINE):
        if name not in panel.models and name != MAIN:
            continue
        found = percent_errors(panel, name)
        style = {"fmt": look(name).marker, "color": look(name).color(settings)}
        for axes, of in zip(row, ("coefficient", "volatility"), strict=False):
            range_bar(axes, x + SHIFT[name], found[of], LEAST_PERCENT, **style)


def _dispersion(axes: Axes, x: int, panel: Panel, settings: Mapping) -> None:
    model = panel.model(MAIN)
    y = [DISPERSION[SCHEME_OF[panel.config["simulate"]["method"]]]] * 2
    red = {"color": settings["truth_color"], "linewidth": 1.6}
    axes.plot([x - 0.3, x + 0.3], y, solid_capstyle="butt", **red)
    centre = {"ha": "center", "fontsize": small(settings)}
    if "dispersion" in model:
        rho, error = model["dispersion"].values, model["dispersion_std"].values
        # Modes that are too slow leave the dispersion open.
        used = model["dispersion_used"].values.astype(bool)
        shown = rho[used & np.isfinite(error)]
        style = {"fmt": look(MAIN).marker, "color": look(MAIN).color(settings)}
        range_bar(axes, x, shown, zorder=4, **style)
        if not shown.size:
            text = "modes are\ntoo slow"
            note(axes, text, x, 0.97, AT_X, va="top", color="0.4", **centre)
    hit = right_scheme(model, panel.config)
    text = f"named right\n{int(hit.sum())} of {len(hit)}"
    note(axes, text, x, 0.02, AT_X, va="bottom", **centre)


def _finish(row: Sequence[Axes], title: str, members, settings: Mapping) -> None:
    schemes = [SCHEME_OF[p.config["simulate"]["method"]] for p in members]
    labels = [SHORT.get(name, name) for name in schemes]
    for axes in row:
        axes.set_xlim(-0.5, len(members) - 0.5)
        axes.set_xticks(range(len(members)), labels)
        axes.set_xlabel("Time scheme of the data")
    for axes in row[:2]:
        axes.set_yscale("log")
        axes.axhline(LIMIT_PERCENT, color="0.6", linewidth=0.6, linestyle=DASHED)
        style = {"ha": "right", "va": "bottom", "fontsize": small(settings)}
        text = f"{LIMIT_PERCENT} %"
        note(axes, text, 1.0, LIMIT_PERCENT, AT_Y, color="0.4", **style)
    row[0].set(title=title, ylabel="Error of the coefficient (%)")
    row[1].set_ylabel("Error of the volatility (%)")
    row[2].set(ylabel=r"Dispersion $\rho$ (1)", ylim=(-0.24, 0.34))
