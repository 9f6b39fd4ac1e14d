"""Energy of the truth along the path of a model: does the motion stay on its shell?"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.style import StyledFigure, legend_on_top
from leastaction.report.sweep import shown_case
from leastaction.trajectories.figures._methods import level_text, look_of
from leastaction.trajectories.figures.trajectories import (
    DASHES,
    METHODS,
    levels_shown,
)

ROW_HEIGHT = 48.0
REST_HEIGHT = 16.0
LEAST = 1e-12


def energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Relative change |H(t) − H(0)| / max |H| of the true energy, by noise level.

    The maximum is that of the truth over all trajectories and times; where it is zero,
    the change is shown as it is. Median over the trajectories of all replicates, with
    their range for the recommended estimator. The truth itself shows the error of the
    integration, or what damping and external forces do. Paths that do not stay finite
    are left out of the medians.

    Raises
    ------
    ValueError
        If a panel has no rollout of the recommended estimator.
    """
    columns = max(len(levels_shown(panel)) for panel in panels)
    figure = StyledFigure(settings, ROW_HEIGHT * len(panels) + REST_HEIGHT)
    grid = figure.subplots(len(panels), columns, squeeze=False, sharey="row")
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        for axes, level in zip(row, levels_shown(panel), strict=False):
            _draw(axes, panel, level, settings)
            axes.set_title(level_text(level), loc="center")
            axes.set_xlabel("Time (s)")
        row[0].set_ylabel(_label(panel))
        if len(panels) > 1:
            row[0].set_title(panel_title(panels, i))
    legend_on_top(figure, _handles(panels, settings), 3)
    return figure


def _draw(axes: Axes, panel: Panel, level: float, settings: Mapping) -> None:
    rollout = panel.rollout(MAIN)
    time = rollout["time"].values
    truth = rollout["hamiltonian_true"]
    scale = _scale(truth) or 1.0
    _line(axes, time, _drift(truth, scale), settings["truth_color"], "-", 1.6, 2)
    for order, method in enumerate(METHODS):
        found = panel.rollouts.get(method)
        case = None if found is None else shown_case(method, found, level)
        if case is None:
            continue
        drift = _drift(case["hamiltonian_estimate"], scale)
        colour = settings[look_of(method).colour]
        if method == MAIN and np.isfinite(drift).any():
            low, high = np.nanpercentile(drift, [5, 95], axis=0)
            axes.fill_between(time, low, high, color=colour, alpha=0.15, linewidth=0)
        _line(axes, time, drift, colour, DASHES[method], 1.1, 3 + order)
    axes.set_yscale("log")
    axes.set_xlim(time[0], time[-1])
    axes.axvline(rollout.attrs["training_duration"], color="black", linewidth=0.8)


def _scale(truth: xr.DataArray) -> float:
    return float(np.abs(truth).max())


def _label(panel: Panel) -> str:
    if _scale(panel.rollout(MAIN)["hamiltonian_true"]):
        return r"$|H(t) - H(0)|\,/\,\max|H|$ (1)"
    return r"$|H(t) - H(0)|$ (J)"


def _drift(energies: xr.DataArray, scale: float) -> np.ndarray:
    """Relative change of the energy, shape (path, time)."""
    values = energies.transpose(..., "time").values
    values = values.reshape(-1, values.shape[-1])
    return np.maximum(np.abs(values - values[:, :1]) / scale, LEAST)


def _line(axes: Axes, time, drift: np.ndarray, colour, dashes, width, order) -> None:
    kept = drift[np.isfinite(drift).all(axis=1)]
    if not len(kept):
        return
    middle = np.median(kept, axis=0)
    style = {"color": colour, "linestyle": dashes, "linewidth": width, "zorder": order}
    axes.plot(time[1:], middle[1:], **style)


def _handles(panels: Sequence[Panel], settings: Mapping) -> list:
    shown = [m for m in reversed(METHODS) if any(m in p.rollouts for p in panels)]
    lines = [("truth", settings["truth_color"], "-", 1.6)]
    lines += [
        (f"{look_of(m).label}, median", settings[look_of(m).colour], DASHES[m], 1.1)
        for m in shown
    ]
    return [
        *(
            Line2D([], [], color=c, linestyle=d, linewidth=w, label=text)
            for text, c, d, w in lines
        ),
        Patch(
            facecolor=settings["estimate_color"],
            alpha=0.15,
            label="recommended, 5–95 % of the paths",
        ),
        Line2D([], [], color="black", linewidth=0.8, label="end of training"),
    ]
