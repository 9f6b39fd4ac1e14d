"""Learning curves of identified efforts: Zaspel and Günther, Figures 3, 6 and 9."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.ports.figures._looks import (
    COMPONENTS,
    LEAST_ERROR,
    MARKERS,
    SIZE,
    colored,
    component,
    handle,
    learning_axes,
    learning_line,
    look_of,
)
from leastaction.ports.learning_curve import curves
from leastaction.report.panel import BASELINE, Panel, panel_title
from leastaction.report.style import grid_of, key, legend_on_top

HEIGHTS = {"row": 58, "rest": 16}
SCORES = {"row": "transformed_rmse", "effort": "effort_rmse"}
# Of one paper figure: the derivatives that it compares.
DERIVATIVES = {
    "published_exact": "exact derivative",
    "published": "Gaussian process on all samples",
    "published_subset": "Gaussian process on the training set",
}


def learning_curves(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left errors of (J − R) z, right of z, by component, of the published estimator.

    Root mean squares on the test samples against the size of the training set: mean
    over the replicates, each replicate as a thin line; errors below 1e-10 stand there.
    Dashed: error of the derivative data themselves, where that is not zero.
    """
    figure, grid = grid_of(settings, len(panels), 2, sharey="row", **HEIGHTS)
    count = 0
    for i, (panel, pair) in enumerate(zip(panels, grid, strict=True)):
        rollout = panel.rollout(BASELINE)
        for axes, (kind, name) in zip(pair, SCORES.items(), strict=True):
            sizes, values = curves(rollout, name)
            learning_axes(axes, sizes)
            count = values.shape[2]
            for j in range(count):
                learning_line(axes, sizes, values[:, :, j], COMPONENTS[j], MARKERS[j])
            if kind == "row":
                _, data = curves(rollout, "target_rmse")
                for color, level in colored(data[:, -1].mean(axis=0)):
                    if level > LEAST_ERROR:
                        style = {"linestyle": "--", "linewidth": 0.6}
                        axes.axhline(level, color=color, **style)
        pair[0].set_ylabel("Root mean square error (SI units)")
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
    figure, grid = grid_of(settings, len(panels), 2, sharey="row", **HEIGHTS)
    for i, (panel, pair) in enumerate(zip(panels, grid, strict=True)):
        for axes, (kind, name) in zip(pair, SCORES.items(), strict=True):
            for estimator in DERIVATIVES:
                sizes, values = curves(panel.rollout(estimator), name)
                one = look_of(estimator)
                style = (one.color(settings), one.marker)
                learning_line(axes, sizes, values[:, :, 0], *style)
            learning_axes(axes, sizes)
            axes.set_title(f"{panel_title(panels, i)}: {component(kind, 0)}")
        pair[0].set_ylabel("Root mean square error (SI units)")
    handles = [handle(name, settings, label) for name, label in DERIVATIVES.items()]
    legend_on_top(figure, handles)
    return figure


def effort_errors(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors of every effort by estimator, medians over the replicates.

    Bands are the ranges over the replicates. Estimators see data of the scheme that
    their label names.
    """
    count = max(p.rollout(next(iter(p.rollouts))).sizes["effort"] for p in panels)
    figure, grid = grid_of(settings, len(panels), count, sharey="row", **HEIGHTS)
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        own = panel.rollout(next(iter(panel.rollouts))).sizes["effort"]
        for axes in row[own:]:
            axes.set_visible(False)
        for j, axes in enumerate(row[:own]):
            for name, rollout in panel.rollouts.items():
                sizes, values = curves(rollout, SCORES["effort"])
                errors = np.maximum(values[:, :, j], LEAST_ERROR)
                color, marker = look_of(name).color(settings), look_of(name).marker
                style = {"color": color, "marker": marker, "markersize": 3}
                axes.plot(sizes, np.median(errors, axis=0), **style)
                ends = errors.min(axis=0), errors.max(axis=0)
                axes.fill_between(sizes, *ends, color=color, alpha=0.12)
            learning_axes(axes, sizes)
            if j:
                axes.set_xlabel("")
            axes.set_title(component("effort", j))
        row[0].set_ylabel("Root mean square error (SI units)")
        if len(panels) > 1:
            row[0].set_title(f"{panel_title(panels, i)}: {component('effort', 0)}")
    names = dict.fromkeys(name for panel in panels for name in panel.rollouts)
    handles = [handle(name, settings) for name in names]
    legend_on_top(figure, handles, min(3, len(handles)))
    return figure
