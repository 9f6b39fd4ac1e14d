"""J, R, B and H that were unknown: entries, free runs and energy, over the noise."""

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.core.expressions import parse, symbol
from leastaction.figures.style import grid_of, note
from leastaction_papers.scorecard.looks import COMPONENTS, MARKERS
from leastaction_papers.scorecard.panel import MAIN, Panel, panel_title
from leastaction_papers.scorecard.readable import number_text, plain_scientific

MATRICES = {"J": "structure", "R": "dissipation", "B": "port", "H": "coefficient"}
# Share of the distance of two levels that the marks of one take.
WIDTH = 0.8
# A matrix of more entries has no names of them.
MOST_NAMED = 5


def port_structure(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Relative errors of the true entries of J, R, B and H, over the noise.

    Recommended estimator; a mark for each entry and replicate that is not refused, and
    lines at the median of the standard errors that are stated: two of three marks are
    below.
    """
    figure, grid = grid_of(settings, len(panels), 4, row=62, rest=8)
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        for axes, (letter, name) in zip(row, MATRICES.items(), strict=True):
            _entries(axes, panel, name, letter)
            axes.set_title(letter, loc="left", pad=26)
        row[0].set_ylabel(f"{panel_title(panels, i)}\nRelative error")
    return figure


def _name_levels(axes: Axes, rollout: xr.Dataset) -> None:
    """Levels of noise along x, evenly."""
    levels = rollout["noise_level"].values
    axes.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
    axes.set_xlim(-0.5, len(levels) - 0.5)
    axes.set_xlabel("Noise over rms")


def _entries(axes: Axes, panel: Panel, name: str, letter: str) -> None:
    """Marks of one matrix, named if they are few."""
    rollout, model = (
        datasets[MAIN].isel(noise_mode=0) for datasets in (panel.rollouts, panel.models)
    )
    true = rollout[f"{name}_true"].isel(replicate=0, noise_level=0).values
    estimate = model[f"{name}_estimate"].values
    std = model[f"{name}_std"].values
    nonzero = np.nan_to_num(true) != 0
    places = np.argwhere(np.triu(nonzero) if letter in "JR" else nonzero)
    _name_levels(axes, rollout)
    text = None
    if not places.size or not np.isfinite(estimate).any():
        text = "zero, and found to be" if np.isfinite(true).all() else "not identified"
    elif (estimate[..., nonzero] == true[nonzero]).all():
        text = "known"
    if text:
        note(axes, text, 0.5, 0.55, ha="center")
        axes.set_yticks([])
        return
    width = WIDTH / max(3, len(places))
    spread = np.linspace(-0.3, 0.3, len(estimate))[:, None] * width
    levels = np.arange(rollout.sizes["noise_level"])
    for k, place in enumerate(map(tuple, places)):
        color, marker = COMPONENTS[k % len(COMPONENTS)], MARKERS[k % len(MARKERS)]
        at = levels + (k - (len(places) - 1) / 2) * width
        error = abs(estimate[(..., *place)] / true[place] - 1)
        style = {"color": color, "marker": marker, "markersize": 1.6, "linestyle": ""}
        label = _label_of(letter, place, model, panel)
        axes.plot((at + spread).ravel(), error.ravel(), label=label, **style)
        stated = np.nanmedian(std[(..., *place)], axis=0) / abs(true[place])
        axes.hlines(stated, at - width / 2, at + width / 2, color="0.3", linewidth=0.8)
    axes.set_yscale("log")
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
    parts = []
    for panel in panels:
        rollout = panel.rollouts[MAIN].isel(noise_mode=0)
        right, refused = rollout["right"].values > 0, rollout["refused"].values > 0
        start = f"{panel.title}: " if panels[1:] else ""
        if refused.all():
            parts.append(f"{start}J, R and H are refused in all {refused.size} fits")
            continue
        level = rollout["noise_level"].values[-1]
        last = rollout["matrix_error"].sel(matrix=["J", "R", "H"]).values[:, -1]
        text = (
            f"{start}exactly the true entries of J, R, B and H in {right.sum()} of "
            f"{right.size} fits"
        )
        if right[:, -1].any():
            error = np.median(last[right[:, -1]].max(axis=1))
            text += (
                f", at noise {level:g} of the rms with a median error of "
                f"{plain_scientific(error)}, {number_text(_over_stated(panel), 2)} "
                "standard errors in the rms"
            )
        if refused.any():
            text += f"; {refused.sum()} are refused"
        parts.append(text)
    text = ". ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _over_stated(panel: Panel) -> float:
    """Rms of errors over standard errors, of the true entries, at the largest noise.

    One if the estimate is efficient: those stated are the bound of Cramér and Rao.
    """
    model, rollout = (
        datasets[MAIN].isel(noise_mode=0, noise_level=-1)
        for datasets in (panel.models, panel.rollouts)
    )
    ratios = []
    for letter, name in MATRICES.items():
        true, std = rollout[f"{name}_true"].values, model[f"{name}_std"].values
        compared = (true != 0) & (std > 0)
        compared = np.triu(compared) if letter in "JR" else compared
        error = model[f"{name}_estimate"].values - true
        ratios.append(error[compared] / std[compared])
    return float(np.sqrt((np.concatenate(ratios) ** 2).mean()))
