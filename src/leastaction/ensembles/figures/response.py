"""Response and Hamiltonian, truth beside the identified model."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.readable import mean_path_errors, unit_label
from leastaction.report.style import (
    AT_X,
    DASHED,
    grid_of,
    key,
    legend_on_top,
    note,
    small,
    time_axis,
)

MEAN = r"$\mathrm{E}[H]$"
RANGE_COLOR = "0.88"


def response(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Ensemble response E[q] ± 2 std over training and prediction windows.

    One row per coordinate of each panel. The paths are those of the first replicate;
    its relative error ‖E[q̂] − E[q]‖ / ‖E[q]‖ and the median over all replicates stand
    above each panel.
    """
    rows = [(i, name) for i, p in enumerate(panels) for name in p.truth.coordinates]
    figure, grid = grid_of(settings, len(rows), 1, row=44, rest=10)
    for axes, (i, name) in zip(grid[:, 0], rows, strict=True):
        panel = panels[i]
        rollout = panel.rollout(MAIN)
        _draw(axes, rollout, name, settings)
        axes.set_ylabel(f"{panel.label(name)} ({panel.coordinate_unit(name)})")
        if name == panel.truth.coordinates[0]:
            axes.set_title(panel_title(panels, i))
            errors = mean_path_errors(rollout)
            axes.set_title(errors, loc="right", fontsize=small(settings))
    red, blue = settings["truth_color"], settings["estimate_color"]
    model = "identified model, mean"
    handles = [
        key("truth, mean", red, linewidth=1.4),
        key(r"truth, mean $\pm$ 2 std", red, linewidth=0.4),
        key(model, blue, linestyle=DASHED, linewidth=1.0),
        Patch(facecolor=settings["band_color"], label=rf"{model} $\pm$ 2 std"),
    ]
    legend_on_top(figure, handles)
    return figure


def _draw(axes: Axes, rollout: xr.Dataset, name: str, settings: Mapping) -> None:
    shown = rollout.isel(replicate=0).sel(state=name)
    time = rollout["time"].values
    mean, std = shown["mean_estimate"].values, shown["std_estimate"].values
    band = {"color": settings["band_color"], "linewidth": 0, "zorder": 1}
    axes.fill_between(time, mean - 2 * std, mean + 2 * std, **band)
    truth, scatter = shown["mean_true"].values, shown["std_true"].values
    red = {"color": settings["truth_color"]}
    for edge in (truth - 2 * scatter, truth + 2 * scatter):
        axes.plot(time, edge, linewidth=0.4, zorder=2, **red)
    axes.plot(time, truth, linewidth=1.4, zorder=3, **red)
    blue = {"color": settings["estimate_color"], "linestyle": DASHED}
    axes.plot(time, mean, linewidth=1.0, zorder=4, **blue)
    time_axis(axes, time)
    low, high = np.nanmin(truth - 2 * scatter), np.nanmax(truth + 2 * scatter)
    # A model that runs away must not shrink the truth to a line.
    axes.set_ylim(low - 0.06 * (high - low), high + 0.24 * (high - low))
    end = rollout.attrs["training_duration"]
    axes.axvline(end, color="black", linewidth=0.8, zorder=5)
    top = {"va": "top", "fontsize": small(settings)}
    for text, away, side in (("training", -4, "right"), ("prediction", 4, "left")):
        note(axes, text, end, 0.995, AT_X, offset=(away, 0), ha=side, **top)


def hamiltonian(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Mean energy E[H(t)], which grows as H(0) + ½ tr(Sᵀ M⁻¹ S) t, in units of L.

    Left the ensemble mean on its own scale, right the same beside the Hamiltonian of
    the mean path. Lines are means over replicates, whose finite ensembles scatter by
    more than the energy grows.

    Paper: Figure 4 shows the Hamiltonian of the mean path. It falls because the
    trajectories lose their common phase, not because energy is lost.
    """
    # Label, colour, width and dashes of each variable.
    red, blue = settings["truth_color"], settings["estimate_color"]
    lines = {
        "true": (f"truth, {MEAN}", red, 1.4, "-"),
        "estimate": (f"model, {MEAN}", blue, 1.0, DASHED),
        "growth": (f"{MEAN} by Itô's formula", "black", 1.2, (0, (1, 1.5))),
        "of_mean_true": ("truth, $H$ of the mean path", "0.55", 1.4, "-"),
        "of_mean_estimate": ("model, $H$ of the mean path", "0.2", 0.8, DASHED),
    }
    styles = {
        name: {"label": label, "color": color, "linewidth": width, "linestyle": dashes}
        for name, (label, color, width, dashes) in lines.items()
    }
    figure, grid = grid_of(settings, len(panels), 2, row=46, rest=14)
    for i, (panel, (left, right)) in enumerate(zip(panels, grid, strict=True)):
        rollout = panel.rollout(MAIN)
        unit = unit_label(panel.hamiltonian_unit)
        _range(left, rollout)
        if np.isfinite(rollout["hamiltonian_growth"].values).all():
            # It is the same for every motion.
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
    handles = [
        *(key(**style) for style in styles.values()),
        Patch(facecolor=RANGE_COLOR, label=f"truth, {MEAN}, 5–95 % over replicates"),
        key("end of training", "black", linewidth=0.8),
    ]
    legend_on_top(figure, handles, 4)
    return figure


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
