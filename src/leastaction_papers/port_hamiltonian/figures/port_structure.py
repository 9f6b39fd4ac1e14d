"""J, R, B and H that were unknown: entries, free runs and energy, over the noise."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.core.expressions import parse, symbol
from leastaction.figures.readable import listed, number_text, plain_scientific
from leastaction.figures.style import (
    grid_of,
    key,
    legend_on_top,
    note,
    range_bar,
    time_axis,
)
from leastaction_papers.port_hamiltonian.figures.port_motion import motion_keys
from leastaction_papers.port_hamiltonian.scores import BLIND, gains
from leastaction_papers.scorecard.looks import COMPONENTS, MARKERS, Look, colored
from leastaction_papers.scorecard.panel import MAIN, Panel, panel_title

MATRICES = {"J": "structure", "R": "dissipation", "B": "port", "H": "coefficient"}
# Share of the distance of two levels that the marks of one take.
WIDTH = 0.8
# A matrix of more entries has no names of them.
MOST_NAMED = 5
MOTION, TRUE = ("time_forward", "x_true", "x_estimate"), {"alpha": 0.4}
LOOKS = {
    MAIN: Look("with structure", "estimate_color", "o"),
    BLIND: Look("same terms, no structure", "published_color", "D"),
}


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
        found[MAIN].isel(noise_mode=0) for found in (panel.rollouts, panel.models)
    )
    true = rollout[f"{name}_true"].isel(replicate=0, noise_level=0).values
    found = model[f"{name}_estimate"].values
    std = model[f"{name}_std"].values
    there = np.nan_to_num(true) != 0
    places = np.argwhere(np.triu(there) if letter in "JR" else there)
    _name_levels(axes, rollout)
    said = None
    if not places.size or not np.isfinite(found).any():
        said = "zero, and found to be" if np.isfinite(true).all() else "not told"
    elif (found[..., there] == true[there]).all():
        said = "known"
    if said:
        note(axes, said, 0.5, 0.55, ha="center")
        axes.set_yticks([])
        return
    width = WIDTH / max(3, len(places))
    spread = np.linspace(-0.3, 0.3, len(found))[:, None] * width
    levels = np.arange(rollout.sizes["noise_level"])
    for k, place in enumerate(map(tuple, places)):
        color, marker = COMPONENTS[k % len(COMPONENTS)], MARKERS[k % len(MARKERS)]
        at = levels + (k - (len(places) - 1) / 2) * width
        error = abs(found[(..., *place)] / true[place] - 1)
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
    said = []
    for panel in panels:
        rollout = panel.rollouts[MAIN].isel(noise_mode=0)
        right, refused = rollout["right"].values > 0, rollout["refused"].values > 0
        start = f"{panel.title}: " if panels[1:] else ""
        if refused.all():
            said.append(f"{start}J, R and H are refused in all {refused.size} fits")
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
        said.append(text)
    text = ". ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def _over_stated(panel: Panel) -> float:
    """Rms of errors over standard errors, of the true entries, at the largest noise.

    One if the estimate is efficient: those stated are the bound of Cramér and Rao.
    """
    model, rollout = (
        found[MAIN].isel(noise_mode=0, noise_level=-1)
        for found in (panel.models, panel.rollouts)
    )
    ratios = []
    for letter, name in MATRICES.items():
        true, std = rollout[f"{name}_true"].values, model[f"{name}_std"].values
        there = (true != 0) & (std > 0)
        there = np.triu(there) if letter in "JR" else there
        error = model[f"{name}_estimate"].values - true
        ratios.append(error[there] / std[there])
    return float(np.sqrt((np.concatenate(ratios) ** 2).mean()))


def structure_runs(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left and middle a free run under new and larger inputs, right errors by noise.

    First replicate and run at the largest noise: true states and those of the models.
    Right medians and 5–95 % ranges over the replicates; larger inputs hollow.
    """
    figure, grid = grid_of(settings, len(panels), 3, row=55, rest=20)
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        rollout = panel.rollouts[MAIN].isel(noise_mode=0, noise_level=-1, replicate=0)
        for axes, scenario in zip(row, rollout["scenario"].values, strict=False):
            one = rollout.sel(scenario=scenario)
            time, true, own = (one[name].values for name in MOTION)
            for color, k in colored(range(true.shape[1])):
                axes.plot(time, true[:, k], color=color, **TRUE)
                axes.plot(time, own[:, k], "--", color=color, linewidth=0.8)
            time_axis(axes, time)
            axes.set_title(f"{scenario} inputs")
        row[0].set_ylabel(f"{panel_title(panels, i)}\nStates (SI units)")
        _errors(row[2], panel, settings)
    legend_on_top(figure, [*motion_keys(panels, **TRUE), *_keys(settings)], 4)
    return figure


def _keys(settings: Mapping) -> list:
    return [
        key(one.label, one.color(settings), one.marker, markersize=3.5)
        for one in LOOKS.values()
    ]


def _errors(axes: Axes, panel: Panel, settings: Mapping) -> None:
    """Errors of free runs over the noise."""
    for estimator, rollout in _present(panel):
        for k, scenario in enumerate(rollout["scenario"].values):
            values = rollout["run_error"].sel(scenario=scenario).values
            _ranges(axes, values, estimator, settings, shift=0.4 * k - 0.2)
    _name_levels(axes, panel.rollouts[MAIN])
    axes.set_yscale("log")
    axes.set_title("error of free runs")


def _present(panel: Panel) -> Iterator[tuple[str, xr.Dataset]]:
    """Rollouts of our estimator and of that without structure."""
    for name in LOOKS:
        if name in panel.rollouts:
            yield name, panel.rollouts[name].isel(noise_mode=0)


def _ranges(axes: Axes, values, estimator: str, settings, shift: float = 0) -> None:
    """Median and 5–95 % range by level of (replicate, level); hollow right of it."""
    color, marker = LOOKS[estimator].color(settings), LOOKS[estimator].marker
    inside = "white" if shift > 0 else color
    style = {"color": color, "marker": marker, "markersize": 3.0}
    shift += 0.08 if estimator == BLIND else -0.08
    for k, of_level in enumerate(values.T):
        range_bar(axes, k + shift, of_level, markerfacecolor=inside, **style)


def structure_runs_finding(panels: Sequence[Panel]) -> str:
    """How much more accurate free runs are with structure than without."""
    said = []
    for panel in panels:
        if BLIND not in panel.rollouts:
            continue
        ours, blind = (one.isel(noise_level=-1) for _, one in _present(panel))
        told = ours["refused"].values == 0
        if not told.any():
            said.append(f"{panel.title} is refused")
            continue
        ratios = {k: np.median(v[told]) for k, v in gains(ours, blind).items()}
        new, larger, _ = ratios.values()
        text = f"{number_text(new, 2)} times smaller under new inputs and "
        text += f"{number_text(larger, 2)} times under larger ones"
        said.append(f"{panel.title}: {text}" if panels[1:] else text)
    if not said:
        return ""
    level = panels[0].rollouts[MAIN]["noise_level"].values[-1]
    return (
        f"At noise {level:g} of the rms, errors of free runs are, beside "
        f"those of the same terms without structure, {listed(said)}."
    )


def structure_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Balance of the true energy at states outside the data, over the noise.

    Left the rms of zᵀf + zᵀRz over that of zᵀRz, f the drift of a model, at states
    drawn from a box wider than the data; right the share of states at which f creates
    energy. Medians and 5–95 % ranges over the replicates.
    """
    figure, grid = grid_of(settings, len(panels), 2, row=55, rest=16)
    for i, (panel, (left, right)) in enumerate(zip(panels, grid, strict=True)):
        for estimator, rollout in _present(panel):
            _ranges(left, rollout["energy_error"].values, estimator, settings)
            share = 100 * rollout["energy_created"].values
            _ranges(right, share, estimator, settings)
        left.set_yscale("log")
        left.set_ylabel("Imbalance of the energy")
        right.set_ylabel("States that create true energy (%)")
        right.set_ylim(-1, max(5, right.get_ylim()[1]))
        for axes in (left, right):
            _name_levels(axes, panel.rollouts[MAIN])
        left.set_title(panel_title(panels, i))
    legend_on_top(figure, _keys(settings))
    return figure


def structure_energy_finding(panels: Sequence[Panel]) -> str:
    """How far the energy is out of balance, and whether any is created."""
    said = []
    for panel in panels:
        for estimator, rollout in _present(panel):
            last = rollout.isel(noise_level=-1)
            error = np.nanmedian(last["energy_error"].values)
            created = 100 * np.nanmax(last["energy_created"].values)
            said.append(
                f"{LOOKS[estimator].label} {plain_scientific(error)}, with energy "
                f"created at up to {number_text(created, 2)} % of the states"
            )
    return f"At the largest noise the imbalance is {listed(said)}."
