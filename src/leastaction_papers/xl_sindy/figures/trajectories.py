"""Trajectories of truth and models from the same start: Figure 3 of xL-SINDy."""

from collections.abc import Mapping, Sequence
from itertools import repeat

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.core.settings import CHANNELS
from leastaction.figures.readable import listed
from leastaction.figures.style import AT_X, grid_of, key, legend_on_top, note, small
from leastaction_papers.scorecard.looks import label_of_level
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel, panel_title
from leastaction_papers.scorecard.readable import plain_scientific
from leastaction_papers.scorecard.recovery import shown_case
from leastaction_papers.xl_sindy.figures.noise_limits import look_of

MOST_LEVELS = 3
# In mm; a page has room for the highest figure and its caption.
HEIGHT_OF_ROW, HEIGHT_OF_REST, HIGHEST = 30.0, 18.0, 240.0
# Share of its value that a constant coordinate has as a margin.
MARGIN_OF_CONSTANT = 0.1
# From below to above; each has a third of the length where paths coincide.
THIRDS = {"sindy_pi": (0, (3, 6)), BASELINE: (6, (3, 6)), MAIN: (3, (3, 6))}
TRUTH = {"linewidth": 3.2, "alpha": 0.35}


def trajectories(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Motion of one start of the training data, continued beyond the training window.

    Rows are accelerations, velocities and positions of every coordinate, as far as the
    rollouts hold them, one column per noise level, first replicate, first trajectory:
    truth, recommended, xL-SINDy as published (with the shared noise of the paper) and
    SINDy-PI. Where paths coincide, their dashes take turns. A model without equations
    of motion, or one that does not stay finite, has no line, which is written.
    """
    rows = [
        (i, channel, name)
        for i, panel in enumerate(panels)
        for channel in CHANNELS[::-1]
        if f"{channel}_true" in panel.rollout(MAIN)
        for name in panel.truth.coordinates
    ]
    columns = max(len(levels_shown(panel)) for panel in panels)
    shared = {"sharex": True, "sharey": "row"}
    height = min(HEIGHT_OF_ROW, (HIGHEST - HEIGHT_OF_REST) / len(rows))
    size = len(rows), columns
    figure, grid = grid_of(settings, *size, row=height, rest=HEIGHT_OF_REST, **shared)
    begun = set()
    for line, (row, (i, channel, name)) in enumerate(zip(grid, rows, strict=True)):
        panel = panels[i]
        for axes, level in zip(row, levels_shown(panel), strict=False):
            _draw(axes, panel, channel, name, level, settings)
            if line == 0:
                noise = rf"$\sigma = {label_of_level(level).strip('$')}$"
                note(axes, noise, 0.5, 1, offset=(0, 14), ha="center")
        row[0].set_ylabel(_label(panel, channel, name), fontsize=small(settings))
        if i not in begun:
            row[0].set_title(panel_title(panels, i))
            begun.add(i)
    for axes in grid[-1]:
        axes.set_xlabel("Time (s)")
    figure.align_ylabels(grid[:, 0])
    shown = [m for m in reversed(THIRDS) if any(m in p.rollouts for p in panels)]
    handles = [key("truth", settings["truth_color"], **TRUTH)]
    for one in map(look_of, shown):
        handles.append(key(one.label, one.color(settings), linewidth=1.3))
    legend_on_top(figure, handles)
    return figure


def _label(panel: Panel, channel: str, name: str) -> str:
    """Symbol of a channel of a coordinate, and below it its unit."""
    symbol, unit = panel.label(name), panel.coordinate_unit(name)
    accent = {"q": "", "qdot": "dot", "qddot": "ddot"}[channel]
    if accent:
        base, *index = symbol.strip("$").split("_", 1)
        symbol = "_".join([rf"\{accent}{{{base}}}", *index])
        symbol = f"${symbol}$"
        unit += "/s" if channel == "qdot" else "/s²"
    return f"{symbol}\n({unit})"


def finding(panels: Sequence[Panel]) -> str:
    """How far the drawn motions leave the truth at the middle level."""
    middle = [levels_shown(p)[len(levels_shown(p)) // 2] for p in panels]
    far = {
        method: list(map(_farthest, panels, repeat(method), middle))
        for method in reversed(THIRDS)
        if all(method in panel.rollouts for panel in panels)
    }
    names = {MAIN: "the recommended estimator"}
    unit = panels[0].config["system"]["coordinates"][panels[0].truth.coordinates[0]]
    errors = [
        f"{listed([plain_scientific(value) for value in values])} {unit['unit']} with "
        f"{names.get(method, look_of(method).label)}"
        for method, values in far.items()
    ]
    text = (
        f"With noise of σ = {middle[0]:g} the first coordinate of the drawn motions "
        f"({listed([panel.title.lower() for panel in panels])}) leaves the truth by up "
        f"to {'; '.join(errors)}."
    )
    if {BASELINE, "sindy_pi"} <= far.keys():
        pairs = zip(far["sindy_pi"], far[BASELINE], strict=True)
        worse = sum(rival > ours for rival, ours in pairs)
        text += (
            f" On the same data SINDy-PI is further off than xL-SINDy in {worse} of "
            f"{len(panels)} systems."
        )
    return text


def _farthest(panel: Panel, method: str, level: float) -> float:
    """Largest deviation of the first coordinate's path; infinite without a path."""
    one = {"replicate": 0, "trajectory": 0, "dof": 0}
    case = _case(panel, method, level)
    if case is None:
        return np.inf
    truth = panel.rollout(MAIN)["q_true"].isel(one)
    away = np.abs(case["q_estimate"].isel(one) - truth).values
    return float(away.max()) if np.isfinite(away).all() else np.inf


def levels_shown(panel: Panel) -> list[float]:
    """Noise levels of the rollout, without zero if there are others."""
    rollout = panel.rollout(MAIN)
    levels = [float(v) for v in np.atleast_1d(rollout["noise_level"].values)]
    return [v for v in levels if v > 0][:MOST_LEVELS] or levels[:1]


def _draw(
    axes: Axes, panel: Panel, channel: str, name: str, level: float, settings
) -> None:
    rollout = panel.rollout(MAIN)
    time, end = rollout["time"].values, rollout.attrs["training_duration"]
    one = {"replicate": 0, "trajectory": 0}
    truth = rollout[f"{channel}_true"].isel(one).sel(dof=name).values
    axes.plot(time, truth, color=settings["truth_color"], zorder=2, **TRUTH)
    missing = []
    for order, method in enumerate(THIRDS):
        case = _case(panel, method, level)
        path = case and case[f"{channel}_estimate"].isel(one).sel(dof=name).values
        if path is not None and np.isfinite(path).all():
            color = look_of(method).color(settings)
            axes.plot(time, path, color=color, linewidth=0.5, zorder=3)
            dashes = {"linestyle": THIRDS[method], "linewidth": 1.4}
            axes.plot(time, path, color=color, zorder=4 + order, **dashes)
        elif method in panel.rollouts:
            missing.append(look_of(method).label)
    if missing:
        text = f"no motion of {listed(missing)}"
        note(axes, text, 0.02, 0.03, fontsize=small(settings))
    low, high = truth.min(), truth.max()
    # A model that runs away must not shrink the truth to a line.
    margin = 0.25 * (high - low) or MARGIN_OF_CONSTANT * max(1.0, abs(high))
    axes.set_ylim(low - margin, high + 1.6 * margin)
    axes.set_xlim(time[0], time[-1])
    axes.axvline(end, color="black", linewidth=0.8, zorder=8)
    if channel != CHANNELS[0]:
        return
    top = {"va": "top", "fontsize": small(settings)}
    note(axes, "training", end, 0.99, AT_X, offset=(-3, 0), ha="right", **top)
    note(axes, "validation", end, 0.99, AT_X, offset=(3, 0), ha="left", **top)


def _case(panel: Panel, method: str, level: float) -> xr.Dataset | None:
    """Rollout that stands for a method at one level; None if there is none."""
    rollout = panel.rollouts.get(method)
    return None if rollout is None else shown_case(method, rollout, level)
