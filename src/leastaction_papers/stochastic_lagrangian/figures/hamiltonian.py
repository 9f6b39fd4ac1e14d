"""Hamiltonian along time, truth beside the identified models."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from leastaction.figures.style import DASHED, grid_of, key, legend_on_top, note, small
from leastaction_papers.scorecard.looks import look, time_axis
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel, panel_title
from leastaction_papers.scorecard.readable import divergence, extremes, unit_label

MEAN = r"$\mathrm{E}[H]$"
RANGE_COLOR = "0.88"
# Share of the Hamiltonian; the mean path of a linear system falls only by chance.
CLEAR_FALL = 0.05


def hamiltonian(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Mean energy E[H(t)] beside its balance by Itô's formula, in units of L.

    Noise puts in ½ tr(Sᵀ M⁻¹ S), damping takes out E[q̇·∂D/∂q̇]: without damping the
    energy grows evenly, with it both become equal.

    Left the ensemble mean on its own scale, right the same beside the Hamiltonian of
    the mean path. Lines are means over replicates, whose finite ensembles scatter by
    more than the energy grows. The published model is drawn where it is in the frame
    of the truth; where it is not, the panel says so.

    Paper: Figure 4 shows the Hamiltonian of the mean path. It falls because the
    trajectories lose their common phase, not because energy is lost.
    """
    # Label, colour, width and dashes of each variable.
    red, blue = settings["truth_color"], settings["estimate_color"]
    orange = look(BASELINE).color(settings)
    lines = {
        "true": (f"truth, {MEAN}", red, 1.4, "-"),
        "estimate": (f"{MAIN}, {MEAN}", blue, 1.0, DASHED),
        "published": (f"{BASELINE}, {MEAN}", orange, 1.2, look(BASELINE).dashes),
        "growth": (f"{MEAN} by Itô's formula", "black", 1.2, (0, (1, 1.5))),
        "of_mean_true": ("truth, $H$ of the mean path", "0.55", 1.4, "-"),
        "of_mean_estimate": (f"{MAIN}, $H$ of the mean path", "0.2", 0.8, DASHED),
    }
    styles = {
        name: {"label": label, "color": color, "linewidth": width, "linestyle": dashes}
        for name, (label, color, width, dashes) in lines.items()
    }
    figure, grid = grid_of(settings, len(panels), 2, row=42, rest=18)
    for i, (panel, (left, right)) in enumerate(zip(panels, grid, strict=True)):
        rollout = panel.rollout(MAIN)
        unit = unit_label(panel.hamiltonian_unit)
        _range(left, rollout)
        if np.isfinite(rollout["hamiltonian_growth"].values).all():
            _means(left, rollout, styles, {"growth": 5})
        _means(left, rollout, styles, {"true": 3, "estimate": 4})
        left.set_ylabel(f"$\\mathrm{{E}}[H]$ ({unit})")
        left.set_title(panel_title(panels, i))
        _means(right, rollout, styles, {"of_mean_true": 2, "of_mean_estimate": 2})
        _means(right, rollout, styles, {"true": 3, "estimate": 4})
        right.set_ylabel(f"$H$ ({unit})")
        for axes in (left, right):
            time_axis(axes, rollout["time"].values)
            axes.ticklabel_format(axis="y", useOffset=False)
            axes.margins(y=0.12)
            end = rollout.attrs["training_duration"]
            axes.axvline(end, color="black", linewidth=0.8)
        if BASELINE in panel.rollouts:
            _published(left, panel.rollouts[BASELINE], styles["published"], settings)
    if not any(BASELINE in panel.rollouts for panel in panels):
        del styles["published"]
    handles = [
        *(key(**style) for style in styles.values()),
        Patch(facecolor=RANGE_COLOR, label=f"truth, {MEAN}, 5–95 % over replicates"),
        key("end of training", "black", linewidth=0.8),
    ]
    legend_on_top(figure, handles, 3)
    return figure


def finding(panels: Sequence[Panel]) -> str:
    """How far E[H] is off, by estimator; in which systems H of the mean path falls."""
    parts = []
    for name in (MAIN, BASELINE):
        off = {p.title: _off(p.rollouts[name]) for p in panels if name in p.rollouts}
        if off:
            parts.append(
                f"The largest error of E[H] of the {name} model, relative to its size, "
                f"is {extremes(off)}, median over the replicates.{divergence(off)}"
            )
    falls = [
        panel.title
        for panel in panels
        if panel.truth.dissipation == 0 and _falls(panel.rollout(MAIN))
    ]
    if falls:
        parts.append(
            "The Hamiltonian of the mean path, which the paper plots, falls "
            f"({', '.join(falls)}): the trajectories lose their common phase, not "
            "their energy."
        )
    return " ".join(parts)


def _off(rollout: xr.Dataset) -> float:
    """Largest difference of E[H] along time over the largest true value."""
    true, model = (rollout[f"hamiltonian_{of}"].values for of in ("true", "estimate"))
    largest = np.abs(model - true).max(axis=1) / np.abs(true).max(axis=1)
    return float(np.median(largest))


def _falls(rollout: xr.Dataset) -> bool:
    """Whether the true Hamiltonian of the mean path falls by more than chance."""
    mean = rollout["hamiltonian_of_mean_true"].mean("replicate").values
    return mean[0] - mean[-1] > CLEAR_FALL * np.abs(mean).max()


def _published(axes: Axes, rollout: xr.Dataset, style, settings: Mapping) -> None:
    """The published E[H] in the frame that is there, or a word that it is outside."""
    mean = rollout["hamiltonian_estimate"].mean("replicate", skipna=False).values
    low, high = axes.get_ylim()
    axes.plot(rollout["time"].values, mean, zorder=3.5, **style)
    axes.set_ylim(low, high)
    inside = (mean >= low) & (mean <= high)
    if inside.all():
        return
    text = (
        f"{BASELINE}: partly outside the frame"
        if inside.any()
        else (f"{BASELINE}: {np.median(mean):.3g}, outside the frame")
    )
    if not np.isfinite(mean).all():
        text = f"{BASELINE}: diverges"
    size = {"fontsize": small(settings), "color": style["color"]}
    note(axes, text, 0.99, 0.02, ha="right", va="bottom", **size)


def _range(axes: Axes, rollout: xr.Dataset) -> None:
    values, time = rollout["hamiltonian_true"].values, rollout["time"].values
    if len(values) > 1:
        low, high = np.percentile(values, [5, 95], axis=0)
        axes.fill_between(time, low, high, color=RANGE_COLOR, linewidth=0, zorder=1)


def _means(axes: Axes, rollout: xr.Dataset, styles, orders: Mapping[str, int]) -> None:
    time = rollout["time"].values
    for name, order in orders.items():
        mean = rollout[f"hamiltonian_{name}"].mean("replicate")
        axes.plot(time, mean, zorder=order, **styles[name])
