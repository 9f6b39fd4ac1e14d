"""Identified efforts: learning curves, along time, and what their bands are worth.

Zaspel and Günther, Figures 3 to 9.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

from leastaction.ports.scores import curves
from leastaction.report.looks import look
from leastaction.report.panel import BASELINE, MAIN, Panel, panel_title
from leastaction.report.style import (
    StyledFigure,
    grid_of,
    key,
    legend_on_top,
    time_axis,
)

SAMPLES = "Training samples"
SCORES = {"row": "transformed_rmse", "effort": "effort_rmse"}
# Of one paper figure: the derivatives that it compares.
DERIVATIVES = {
    "published_exact": "exact derivative",
    "published": "Gaussian process on all samples",
    "published_subset": "Gaussian process on the training set",
}
# Training samples from all times, or from early ones alone.
ALL, EARLY = "all", "early"
HEIGHT_OF_PANEL = 74.0
NORMAL_95 = 1.96
# An effort below is zero but for round-off.
ROUND_OFF_OF_EFFORT = 1e-12
TRAINING_SAMPLES = 64
NOISY = ("random noise of the derivative", "estimate_color")
SMOOTH = ("error of the time discretisation", "published_color")
COMPONENTS = ("#1b4f9c", "#e08a00", "#2f8f5b", "#7b3fa0", "#5c6b73")
MARKERS = ("o", "s", "^", "D", "v")
NAMES = {BASELINE: "as published", MAIN: "recommended, high-order data"}
SIZE = 3.5
# Smaller errors of learning curves stand at this level.
LEAST_ERROR = 1e-10


def learning_curves(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left errors of (J − R) z, right of z, by component, of the published estimator.

    Root mean squares on the test samples against the size of the training set: mean
    over the replicates, each replicate as a thin line; errors below 1e-10 stand there.
    Dashed: error of the derivative data themselves, where that is not zero.
    """
    figure, grid = _grid(panels, settings, 2)
    count = 0
    for i, (panel, pair) in enumerate(zip(panels, grid, strict=True)):
        rollout = panel.rollout(BASELINE)
        for axes, name in zip(pair, SCORES.values(), strict=True):
            sizes, values = curves(rollout, name)
            count = values.shape[2]
            for j in range(count):
                _curve(axes, sizes, values[:, :, j], COMPONENTS[j], MARKERS[j])
        _, data = curves(rollout, "target_rmse")
        for color, level in colored(data[:, -1].mean(axis=0)):
            if level > LEAST_ERROR:
                pair[0].axhline(level, color=color, linestyle="--", linewidth=0.6)
        pair[0].set_title(f"{panel_title(panels, i)}: $(J-R)\\,z$")
        pair[1].set_title("$z$")
    handles = [
        key(f"component {j + 1}", COMPONENTS[j], MARKERS[j], markersize=SIZE)
        for j in range(count)
    ]
    handles.append(key("error of the derivative data", "0.4", linestyle="--"))
    legend_on_top(figure, handles, min(4, len(handles)))
    return figure


def derivative_influence(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """First components by the kind of derivative data, as :func:`learning_curves`."""
    figure, grid = _grid(panels, settings, 2)
    for i, (panel, pair) in enumerate(zip(panels, grid, strict=True)):
        for axes, (kind, name) in zip(pair, SCORES.items(), strict=True):
            for estimator in DERIVATIVES:
                sizes, values = curves(panel.rollout(estimator), name)
                one = look(estimator, NAMES)
                color, marker = one.color(settings), one.marker
                _curve(axes, sizes, values[:, :, 0], color, marker)
            axes.set_title(f"{panel_title(panels, i)}: {component(kind, 0)}")
    handles = [_handle(name, settings, label) for name, label in DERIVATIVES.items()]
    legend_on_top(figure, handles)
    return figure


def effort_errors(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors of every effort by estimator, medians over the replicates.

    Bands are the ranges over the replicates. Estimators see data of the scheme that
    their label names.
    """
    counts = [p.rollout(next(iter(p.rollouts))).sizes["effort"] for p in panels]
    figure, grid = _grid(panels, settings, max(counts))
    for i, (panel, row, own) in enumerate(zip(panels, grid, counts, strict=True)):
        for axes in row[own:]:
            axes.set_visible(False)
        for j, axes in enumerate(row[:own]):
            for name, rollout in panel.rollouts.items():
                sizes, values = curves(rollout, SCORES["effort"])
                errors, one = np.maximum(values[:, :, j], LEAST_ERROR), look(name)
                color = one.color(settings)
                style = {"color": color, "marker": one.marker, "markersize": 3}
                axes.plot(sizes, np.median(errors, axis=0), **style)
                ends = errors.min(axis=0), errors.max(axis=0)
                axes.fill_between(sizes, *ends, color=color, alpha=0.12)
            logarithmic(axes, sizes, "" if j else SAMPLES, base=2)
            axes.yaxis.set_major_locator(LogLocator(numticks=12))
            axes.set_title(component("effort", j))
        if len(panels) > 1:
            row[0].set_title(f"{panel_title(panels, i)}: {component('effort', 0)}")
    names = dict.fromkeys(name for panel in panels for name in panel.rollouts)
    handles = [_handle(name, settings) for name in names]
    legend_on_top(figure, handles, min(3, len(handles)))
    return figure


def effort_reconstruction(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Efforts of a fit to samples of all times, and their errors.

    Above true and identified efforts of the first replicate with its training samples,
    below the error with the 95 % posterior band. The truth is that of the recorded
    states.
    """
    return _along_time(panels, settings, ALL)


def effort_extrapolation(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """As :func:`effort_reconstruction`, with training samples of early times alone.

    The shaded times have none.
    """
    return _along_time(panels, settings, EARLY)


def _along_time(panels: Sequence[Panel], settings: Mapping, pool: str) -> Figure:
    figure = StyledFigure(settings, HEIGHT_OF_PANEL * len(panels))
    count = max(panel.rollout(BASELINE).sizes["effort"] for panel in panels)
    grid = figure.subplots(2 * len(panels), count, squeeze=False, sharex=True)
    truth, own = settings["truth_color"], settings["estimate_color"]
    band_color = settings["band_color"]
    for i, panel in enumerate(panels):
        rollout = panel.rollout(BASELINE).isel(replicate=0)
        time = rollout["time"].values
        place = list(rollout["pool_shown"].values).index(pool)
        estimate = rollout["effort_estimate"].values[place]
        true = rollout["effort_true"].values
        band = NORMAL_95 * rollout["effort_std"].values[place]
        chosen = rollout["training_sample"].values[place]
        for j, (above, below) in enumerate(grid[2 * i : 2 * i + 2, : true.shape[1]].T):
            above.plot(time, true[:, j], color=truth, linewidth=1.4)
            above.plot(time, estimate[:, j], "--", color=own, linewidth=0.9)
            marks = {"color": "0.1", "markersize": 3}
            above.plot(time[chosen], estimate[chosen, j], "x", **marks)
            ends = -band[:, j], band[:, j]
            below.fill_between(time, *ends, color=band_color, linewidth=0)
            below.plot(time, estimate[:, j] - true[:, j], color=own, linewidth=0.7)
            time_axis(below, time)
            below.ticklabel_format(axis="y", scilimits=(-2, 2))
            above.set_title(component("effort", j))
            if pool == EARLY:
                for axes in (above, below):
                    axes.axvspan(_until(panel, time), time[-1], color="0.9", zorder=0)
            if np.abs(true[:, j]).max() < ROUND_OFF_OF_EFFORT:
                above.set_ylim(-1.0, 1.0)
        above, below = grid[2 * i : 2 * i + 2, 0]
        name = f"{panel_title(panels, i)}: " if len(panels) > 1 else ""
        above.set_title(f"{name}{component('effort', 0)}")
        above.set_ylabel("Effort (SI units)")
        below.set_ylabel("Error (SI units)")
    handles = [
        key("true", truth),
        key("identified", own, linestyle="--"),
        key("training samples", "0.1", "x", linestyle="none", markersize=SIZE),
        key("95 % posterior band", band_color, linewidth=5),
    ]
    legend_on_top(figure, handles)
    return figure


def _until(panel: Panel, time: np.ndarray) -> float:
    early = panel.config["simulate"]["training"].get("early")
    return float(early["until"]) if early else float(time[-1])


def coverage_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Share of test samples inside the 95 % bands, by component of (J − R) z.

    Dots are replicates, bars their means. Examples that are variants of one another
    share an axis.

    Raises
    ------
    ValueError
        If a panel has no rollout of the published estimator with 64 samples.
    """
    systems: dict[str, list[Panel]] = {}
    for panel in panels:
        systems.setdefault(panel.example.partition("-")[0], []).append(panel)
    rows = [group[0].rollout(BASELINE).sizes["row"] for group in systems.values()]
    shape = {"sharey": True, "width_ratios": rows}
    figure, (grid,) = grid_of(settings, 1, len(systems), row=62, **shape)
    for axes, group in zip(grid, systems.values(), strict=True):
        for k, panel in enumerate(group):
            sizes, shares = curves(panel.rollout(BASELINE), "coverage")
            if TRAINING_SAMPLES not in sizes:
                raise ValueError(
                    f"example {panel.example!r}: no fit to {TRAINING_SAMPLES} samples; "
                    f"there are {sizes.tolist()}"
                )
            values = shares[:, list(sizes).index(TRAINING_SAMPLES)]
            place = np.arange(values.shape[1]) + 0.36 * (k - (len(group) - 1) / 2)
            color = settings[_kind(panel)[1]]
            axes.bar(place, values.mean(axis=0), 0.34, color=color, alpha=0.45)
            for one in values:
                axes.plot(place, one, ".", color=color, markersize=3)
        axes.axhline(0.95, color="0.3", linewidth=0.7, linestyle="--")
        names = [component("row", i) for i in range(values.shape[1])]
        axes.set_xticks(range(values.shape[1]), names)
        axes.set_title(group[0].title)
        axes.set_ylim(0, 1.03)
    grid[0].set_ylabel("Share inside the 95 % band")
    kinds, bar = dict.fromkeys(map(_kind, panels)), {"linewidth": 5, "alpha": 0.45}
    handles = [key(label, settings[colour], **bar) for label, colour in kinds]
    handles.append(key("95 %", "0.3", linestyle="--"))
    legend_on_top(figure, handles)
    return figure


def _kind(panel: Panel) -> tuple[str, str]:
    noisy = panel.config["simulate"].get("flow_noise", 0) > 0
    return NOISY if noisy else SMOOTH


def colored(entries: Iterable) -> Iterator[tuple]:
    """(colour, entry) of components, states or scenarios."""
    return zip(cycle(COMPONENTS), entries, strict=False)


def component(kind: str, i: int) -> str:
    """Mathtext of the component `i` (from 0) of z or of (J − R) z."""
    return f"$z_{{JR,{i + 1}}}$" if kind == "row" else f"$z_{{{i + 1}}}$"


def _handle(estimator: str, settings: Mapping, label: str | None = None) -> Line2D:
    """Entry of an estimator in a legend."""
    one = look(estimator, NAMES)
    text = one.label if label is None else label
    return key(text, one.color(settings), one.marker, markersize=SIZE)


def _grid(panels: Sequence[Panel], settings: Mapping, columns: int):
    """Figure and axes of errors, a row for each panel."""
    figure, grid = grid_of(settings, len(panels), columns, 58, 16, sharey="row")
    for axes in grid[:, 0]:
        axes.set_ylabel("Root mean square error (SI units)")
    return figure, grid


def logarithmic(axes: Axes, ticks, label: str, base: int = 10) -> None:
    """Double logarithmic axes with plain ticks along x."""
    axes.set_xscale("log", base=base)
    axes.set_yscale("log")
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def _curve(axes: Axes, sizes, values: np.ndarray, color: str, marker: str) -> None:
    """Mean over the replicates, and every replicate as a thin line."""
    values = np.maximum(values, LEAST_ERROR)
    for one in values:
        axes.plot(sizes, one, color=color, linewidth=0.4, alpha=0.4)
    axes.plot(sizes, values.mean(axis=0), color=color, marker=marker, markersize=SIZE)
    logarithmic(axes, sizes, SAMPLES, base=2)
    axes.yaxis.set_major_locator(LogLocator(numticks=12))
