"""Fields learned from snapshots: motion, errors over time, V' and dispersion."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.figures.readable import number_text
from leastaction.figures.style import (
    StyledFigure,
    grid_of,
    key,
    legend_on_top,
    small,
    time_axis,
)
from leastaction_papers.scorecard.looks import look
from leastaction_papers.scorecard.panel import MAIN, Panel, panel_title
from leastaction_papers.shadow_integration.scores import (
    errors_at,
    slope_error,
    speed_error,
)
from leastaction_papers.shadow_integration.shadow_panel import learned_at

ESTIMATORS = (MAIN, "second_order", "spectral", "finite_differences")
HEIGHT, REST = 48.0, 14.0
COLOURS = "RdBu_r"
# Errors of V' and of frequencies below it are round-off.
LEAST_SHOWN = 1e-10
DIGITS = 2


def levels_of(rollout: xr.Dataset) -> list[float | None]:
    """Levels of noise of a rollout; None alone if it has no sweep."""
    swept = "noise_level" in rollout.dims
    return list(map(float, rollout["noise_level"].values)) if swept else [None]


def rollouts(panel: Panel, level: float | None) -> dict[str, xr.Dataset]:
    """Rollouts of the estimators of an example at a level of noise, all replicates."""
    others = sorted(panel.rollouts.keys() - set(ESTIMATORS))
    found = {
        name: learned_at(name, panel.model(name), panel.rollout(name), level)
        for name in (*ESTIMATORS, *others)
        if name in panel.rollouts
    }
    return {name: one.rollout for name, one in found.items() if one}


def median_text(values: np.ndarray) -> str:
    """Median over the replicates."""
    return number_text(float(np.median(values)), DIGITS)


def noise_text(panel: Panel, level: float | None) -> str:
    """Words about a level of noise."""
    return f"noise {level:g} {unit_of(panel)}" if level else "no noise"


def unit_of(panel: Panel) -> str:
    """Unit of the field."""
    return str(panel.config["system"]["field"]["unit"])


def field_motion(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Space–time maps of the end of the first unseen motion: truth and predictions.

    A row per example: the truth, the recommended model without noise and at the largest
    noise, on one scale of colours, and the error of the former, magnified. White where
    a model was refused or its motion failed.
    """
    figure, grid = grid_of(settings, len(panels), 4, HEIGHT, REST, sharey="row")
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        levels = levels_of(panel.rollout(MAIN))
        clean, noisy = (
            rollouts(panel, level)[MAIN].isel(replicate=0)
            for level in (levels[0], levels[-1])
        )
        truth = clean["u_true"].values
        top = float(np.abs(truth).max())
        error = clean["u_estimate"].values - truth
        largest = float(np.nanmax(np.abs(error), initial=0.0)) or 1.0
        shown = clean["u_estimate"].values, noisy["u_estimate"].values
        learned = ["Learned" if r["stable"] else "Refused" for r in (clean, noisy)]
        maps = [
            ("Truth", truth),
            (f"{learned[0]}, {noise_text(panel, levels[0])}", shown[0]),
            (f"{learned[1]}, {noise_text(panel, levels[-1])}", shown[1]),
            (f"Error × {number_text(top / largest, DIGITS)}", error * top / largest),
        ]
        for axes, (title, values) in zip(row, maps, strict=True):
            image = _map(axes, clean, values, top)
            axes.set_title(title, fontsize=small(settings))
        row[0].set_ylabel(f"{panel_title(panels, i)}\nPosition (m)")
        bar = figure.colorbar(image, ax=list(row), pad=0.01)
        bar.set_label(f"{panel.label(panel.truth.field)} ({unit_of(panel)})")
        bar.outline.set_linewidth(0.5)
    return figure


def _map(axes: Axes, rollout: xr.Dataset, values: np.ndarray, scale: float):
    time, node = rollout["time"].values, rollout["node"].values
    half = (node[1] - node[0]) / 2
    image = axes.imshow(
        values.T,
        origin="lower",
        aspect="auto",
        extent=(time[0], time[-1], node[0] - half, node[-1] + half),
        vmin=-scale,
        vmax=scale,
        cmap=COLOURS,
        interpolation="nearest",
        rasterized=True,
    )
    time_axis(axes, time)
    return image


def finding(panels: Sequence[Panel]) -> str:
    """How far the prediction is off at its end, by example."""
    parts = []
    for panel in panels:
        rollout = rollouts(panel, levels_of(panel.rollout(MAIN))[0])[MAIN]
        steps, whole = rollout.sizes["step"] - 1, rollout.sizes["replicate"]
        if refused := int((rollout["stable"] == 0).sum()):
            said = (
                f"{refused} of {whole} fits are refused before their rollout, for no "
            )
            said += "stable density is compatible with the data."
        else:
            said = (
                f"after {steps} steps the prediction from snapshots without noise is "
            )
            said += f"off by {median_text(errors_at(rollout, -1))} of the field."
        parts.append(f"{panel.title}: {said}")
    return " ".join(parts)


def field_errors(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Error of unseen motions over time, a column per level of noise.

    Root mean square over positions and motions over that of the motions; lines are
    medians over the replicates, bands their 5–95 % range.
    """
    levels = [levels_of(panel.rollout(MAIN)) for panel in panels]
    columns = max(map(len, levels))
    shared = {"sharey": "row", "sharex": "row"}
    figure, grid = grid_of(settings, len(panels), columns, HEIGHT, REST, **shared)
    drawn: dict[str, None] = {}
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        for axes, level in zip(row, levels[i], strict=False):
            for name, rollout in rollouts(panel, level).items():
                drawn[name] = None
                _error_lines(axes, name, rollout, settings)
            axes.set_title(noise_text(panel, level), fontsize=small(settings))
            axes.set_yscale("log")
        row[0].set_ylabel(f"{panel_title(panels, i)}\nError over rms (1)")
    looks = map(look, drawn)
    lines = [key(o.label, o.color(settings), linestyle=o.dashes) for o in looks]
    legend_on_top(figure, lines)
    return figure


def _error_lines(axes: Axes, name: str, rollout: xr.Dataset, settings: Mapping) -> None:
    error = rollout["error"].values
    time = rollout.attrs["time_step"] * np.arange(error.shape[1])
    with np.errstate(all="ignore"):
        low, middle, high = np.nanpercentile(error[:, 2:], [5, 50, 95], axis=0)
    style = {"color": look(name).color(settings)}
    axes.plot(time[2:], middle, linestyle=look(name).dashes, **style)
    axes.fill_between(time[2:], low, high, alpha=0.15, linewidth=0, **style)
    time_axis(axes, time)


def field_errors_finding(panels: Sequence[Panel]) -> str:
    """Errors at the end without and with noise, beside the baselines."""
    parts = []
    for panel in panels:
        levels = levels_of(panel.rollout(MAIN))
        for level in dict.fromkeys((levels[0], levels[-1])):
            told = []
            for name, rollout in rollouts(panel, level).items():
                errors = errors_at(rollout, -1)
                finite = np.isfinite(np.median(errors))
                error = median_text(errors) if finite else "no motion"
                told.append(f"{error} ({look(name).label})")
            noise = noise_text(panel, level)
            parts.append(f"{panel.title}, {noise}: {', '.join(told)} at the end.")
    return " ".join(parts)


def field_law(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left V'(u), middle its error, right the error of the dispersion ω(k).

    V' by backward error analysis of the discrete Lagrangian density, or the terms of a
    regression; first replicate without noise. A wave without a mark grows.
    """
    figure = StyledFigure(settings, HEIGHT * len(panels) + REST)
    grid = figure.subplots(len(panels), 3, squeeze=False)
    drawn: dict[str, None] = {}
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        clean = rollouts(panel, levels_of(panel.rollout(MAIN))[0])
        for name, rollout in clean.items():
            drawn[name] = None
            _law_lines(row, name, rollout.isel(replicate=0), settings)
        first = rollout.isel(replicate=0)
        true = {"color": settings["truth_color"], "linewidth": 2.4, "zorder": 0}
        row[0].plot(first["value"], first["slope_true"], **true)
        unit = unit_of(panel)
        label = f"{panel.label(panel.truth.field)} ({unit})"
        row[0].set_ylabel(f"{panel_title(panels, i)}\n$V'(u)$ ({unit}/s²)")
        row[1].set_ylabel(f"Error of $V'$ ({unit}/s²)")
        row[2].set_ylabel(r"Error of $\omega(k)$ (rad/s)")
        for axes in row[:2]:
            axes.set_xlabel(label)
        row[2].set_xlabel("Waves along the line (1)")
        for axes in row[1:]:
            axes.set_yscale("log")
    truth = key("truth", settings["truth_color"], linewidth=2.4)
    looks = map(look, drawn)
    marks = [key(o.label, o.color(settings), o.marker, markersize=3) for o in looks]
    legend_on_top(figure, [truth, *marks])
    return figure


def _law_lines(row, name: str, one: xr.Dataset, settings: Mapping) -> None:
    style, line = (
        {"color": look(name).color(settings)},
        {"linestyle": look(name).dashes},
    )
    value, slope = one["value"].values, one["slope_estimate"].values
    row[0].plot(value, slope, **line, **style)
    error = np.maximum(np.abs(slope - one["slope_true"].values), LEAST_SHOWN)
    row[1].plot(value, error, **line, **style)
    error = np.abs(one["frequency"] - one["frequency_true"]).values
    shown = np.maximum(error, LEAST_SHOWN)
    row[2].plot(one["wave"], shown, look(name).marker, markersize=3, **style)


def field_law_finding(panels: Sequence[Panel]) -> str:
    """Errors of c² and V' of the recommended model without noise."""
    parts = []
    for panel in panels:
        rollout = rollouts(panel, levels_of(panel.rollout(MAIN))[0])[MAIN]
        said = f"{panel.title}: c² is off by {median_text(speed_error(rollout))}"
        slope = slope_error(rollout)
        if slope is not None:
            said += f" and V′ by {median_text(slope)} of its largest value"
        parts.append(f"{said}.")
    return " ".join(parts)
