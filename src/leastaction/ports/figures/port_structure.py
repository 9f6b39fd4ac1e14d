"""Entries of J, R, B and H that were unknown, with intervals, over the noise."""

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.expressions import parse, symbol
from leastaction.ports.figures import COMPONENTS, MARKERS
from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.readable import listed, plain_scientific
from leastaction.report.style import grid_of, note

MATRICES = {"J": "structure", "R": "dissipation", "B": "port", "H": "coefficient"}
# Share of the distance of two levels that the marks of one take.
WIDTH = 0.8
# Deviations below are drawn on a linear scale; the ticks above it.
LINEAR, SHOWN = 1e-8, np.array([1e-6, 1e-4, 1e-2])
# A matrix of more entries has no names of them.
MOST_NAMED = 5


def port_structure(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """True entries of J, R, B and H: how far off they are found, with 95 % intervals.

    Recommended estimator; a mark for each entry and replicate that is not refused, over
    the noise of the sensors, by found over true less one. The line at zero is the
    truth; the scale is logarithmic on both sides of it.
    """
    figure, grid = grid_of(settings, len(panels), 4, row=62, rest=8)
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        for axes, (letter, name) in zip(row, MATRICES.items(), strict=True):
            _entries(axes, panel, name, letter)
            axes.set_title(letter, loc="left", pad=26)
        row[0].set_ylabel(f"{panel_title(panels, i)}\nFound over true − 1")
    return figure


def levels_of(rollout: xr.Dataset) -> np.ndarray:
    """Levels of noise of a rollout."""
    return np.atleast_1d(rollout["noise_level"].values)


def name_levels(axes: Axes, levels: np.ndarray) -> None:
    """Levels of noise along x, evenly."""
    axes.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
    axes.set_xlim(-0.5, len(levels) - 0.5)
    axes.set_xlabel("Noise over rms")


def _entries(axes: Axes, panel: Panel, name: str, letter: str) -> None:
    """Marks of one matrix, named if they are few."""
    rollout, model = (
        found[MAIN].isel(noise_mode=0) for found in (panel.rollouts, panel.models)
    )
    true = rollout[f"{name}_true"].isel(replicate=0, noise_level=0).values
    found = model[f"{name}_estimate"].values
    error = NORMAL_QUANTILE * model[f"{name}_std"].values
    there = np.nan_to_num(true) != 0
    places = np.argwhere(np.triu(there) if letter in "JR" else there)
    levels = levels_of(rollout)
    name_levels(axes, levels)
    axes.axhline(0.0, color="0.3", linewidth=0.6)
    if not places.size or not np.isfinite(found).any():
        text = "zero, and found to be" if np.isfinite(true).all() else "not told"
        note(axes, text, 0.5, 0.55, ha="center")
        axes.set_yticks([])
        return
    for k, place in enumerate(map(tuple, places)):
        color, marker = COMPONENTS[k % 5], MARKERS[k % 5]
        at = (k - (len(places) - 1) / 2) / max(3, len(places)) * WIDTH
        spread = np.linspace(-0.3, 0.3, len(found)) * WIDTH / max(3, len(places))
        x = np.arange(len(levels)) + at + spread[:, None]
        entry = found[(..., *place)] / true[place] - 1
        bar = error[(..., *place)] / abs(true[place])
        style = {"color": color, "marker": marker, "markersize": 1.6, "linestyle": ""}
        label = _label_of(letter, place, model, panel)
        drawn = {"elinewidth": 0.5, "label": label}
        axes.errorbar(x.ravel(), entry.ravel(), bar.ravel(), **style, **drawn)
    axes.set_yscale("symlog", linthresh=LINEAR, linscale=0.5)
    axes.set_yticks([*-SHOWN[::-1], 0, *SHOWN])
    axes.yaxis.set_minor_locator(NullLocator())
    if len(places) <= MOST_NAMED:
        axes.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=0.5
        )


def _label_of(letter: str, place: tuple, model: xr.Dataset, panel: Panel) -> str:
    if letter != "H":
        return f"${letter}_{{{place[0] + 1}{place[1] + 1}}}$"
    names = {
        symbol(name): entry.get("label") or name
        for name, entry in panel.config["system"]["states"].items()
    }
    term = parse(str(model["term"].values[place[0]]), map(str, names))
    return f"${sp.latex(term, symbol_names=names)}$"


def finding(panels: Sequence[Panel]) -> str:
    """How often exactly the true entries are found, and how far off they are."""
    said = []
    for panel in panels:
        rollout = panel.rollouts[MAIN].isel(noise_mode=0)
        right, refused = rollout["right"].values > 0, rollout["refused"].values > 0
        start = f"{panel.title}: " if panels[1:] else ""
        if refused.all():
            said.append(f"{start}J, R and H are refused in all {refused.size} fits")
            continue
        level = levels_of(rollout)[-1]
        last = rollout["matrix_error"].sel(matrix=["J", "R", "H"]).values[:, -1]
        text = (
            f"{start}exactly the true entries of J, R, B and H in {right.sum()} of "
            f"{right.size} fits"
        )
        if right[:, -1].any():
            error = np.median(last[right[:, -1]].max(axis=1))
            text += (
                f", at noise {level:g} of the rms with a median error of "
                f"{plain_scientific(error)}"
            )
        if refused.any():
            text += f"; {refused.sum()} are refused"
        said.append(text)
    return f"We find {listed(said)}."
