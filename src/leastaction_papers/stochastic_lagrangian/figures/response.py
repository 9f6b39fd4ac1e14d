"""Response, truth beside the identified models."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from leastaction.core.euler_lagrange import velocity_names
from leastaction.figures.style import AT_X, grid_of, key, legend_on_top, note, small
from leastaction_papers.scorecard.looks import look, time_axis
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel, panel_title
from leastaction_papers.scorecard.readable import divergence, extremes, mean_path_errors

ROW_HEIGHT = 40.0
# Dashes that alternate, so that lines on top of each other are both seen.
ALTERNATING = {MAIN: (0, (4, 5)), BASELINE: (4.5, (4, 5))}
# In mm: a band that is narrower hides behind the lines.
VISIBLE = 1.6


def response(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Ensemble response E[q], E[q̇] ± 2 std over training and prediction windows.

    One row per coordinate of each panel, displacement and velocity, with the
    recommended and the published model. The paths are those of the first replicate;
    relative errors of the displacement ‖E[q̂] − E[q]‖ / ‖E[q]‖ and their medians over
    all replicates stand above each panel.
    """
    rows = [(i, name) for i, p in enumerate(panels) for name in p.truth.coordinates]
    figure, grid = grid_of(settings, len(rows), 2, row=ROW_HEIGHT, rest=18)
    for row, (i, name) in zip(grid, rows, strict=True):
        panel = panels[i]
        for axes, state in zip(row, (name, *velocity_names([name])), strict=True):
            _draw(axes, panel, state, settings)
            axes.set_ylabel(f"{panel.label(state)} ({panel.coordinate_unit(state)})")
        if name == panel.truth.coordinates[0]:
            row[0].set_title(panel_title(panels, i))
            errors = [f"{e}, {mean_path_errors(panel.rollout(e))}" for e in _of(panel)]
            row[1].set_title("\n".join(errors), loc="right", fontsize=small(settings))
    red, band = settings["truth_color"], settings["band_color"]
    handles = [
        key("truth, mean", red, linewidth=1.6),
        key(r"truth, mean $\pm$ 2 std", red, linewidth=0.4),
    ]
    for name in dict.fromkeys(name for panel in panels for name in _of(panel)):
        style = {"linestyle": ALTERNATING[name], "linewidth": 1.0}
        handles.append(key(f"{name}, mean", look(name).color(settings), **style))
    handles.append(Patch(facecolor=band, label=rf"{MAIN}, mean $\pm$ 2 std"))
    legend_on_top(figure, handles, 3)
    return figure


def finding(panels: Sequence[Panel]) -> str:
    """How far mean and spread are off, by estimator, over the systems."""
    parts = []
    for name in (MAIN, BASELINE):
        shown = {p.title: p.rollouts[name] for p in panels if name in p.rollouts}
        if shown:
            mean, spread = (
                {title: float(np.median(r[of])) for title, r in shown.items()}
                for of in ("mean_error_prediction", "std_error")
            )
            parts.append(
                f"Beyond training the mean of the {name} model is off by "
                f"{extremes(mean)}; over the whole time its standard deviation is off "
                f"by {extremes(spread)}.{divergence(mean)}"
            )
    errors = "Errors are medians over the replicates, those of means over the rms"
    return " ".join([*parts, f"{errors} of the path."])


def _of(panel: Panel) -> list[str]:
    return [MAIN, BASELINE] if BASELINE in panel.rollouts else [MAIN]


def _draw(axes: Axes, panel: Panel, name: str, settings: Mapping) -> None:
    rollouts = [(e, panel.rollout(e)) for e in _of(panel)]
    main = rollouts[0][1]
    shown = main.isel(replicate=0).sel(state=name)
    time = main["time"].values
    mean, std = shown["mean_estimate"].values, shown["std_estimate"].values
    band = {"color": settings["band_color"], "linewidth": 0, "zorder": 1}
    axes.fill_between(time, mean - 2 * std, mean + 2 * std, **band)
    truth, scatter = shown["mean_true"].values, shown["std_true"].values
    red = {"color": settings["truth_color"]}
    for edge in (truth - 2 * scatter, truth + 2 * scatter):
        axes.plot(time, edge, linewidth=0.4, zorder=2, **red)
    axes.plot(time, truth, linewidth=1.6, zorder=3, **red)
    for estimator, rollout in rollouts:
        path = rollout["mean_estimate"].isel(replicate=0).sel(state=name).values
        style = {"linestyle": ALTERNATING[estimator], "linewidth": 1.0, "zorder": 4}
        axes.plot(time, path, color=look(estimator).color(settings), **style)
    time_axis(axes, time)
    low, high = np.nanmin(truth - 2 * scatter), np.nanmax(truth + 2 * scatter)
    # A model that runs away must not shrink the truth to a line.
    axes.set_ylim(low - 0.06 * (high - low), high + 0.24 * (high - low))
    end = main.attrs["training_duration"]
    axes.axvline(end, color="black", linewidth=0.8, zorder=5)
    top = {"va": "top", "fontsize": small(settings)}
    for text, away, side in (("training", -4, "right"), ("prediction", 4, "left")):
        note(axes, text, end, 0.995, AT_X, offset=(away, 0), ha=side, **top)
    widest = 4 * float(np.nanmax(scatter))
    if widest < VISIBLE / ROW_HEIGHT * (high - low):
        unit = panel.coordinate_unit(name)
        text = rf"2 std $\leq$ {widest / 2:.1g} {unit}: hidden"
        note(axes, text, 0.995, 0.995, ha="right", **top)
