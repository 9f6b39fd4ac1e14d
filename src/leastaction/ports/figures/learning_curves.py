"""Learning curves of identified efforts: Zaspel and Günther, Figures 3, 6 and 9."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.ports.figures._looks import (
    COMPONENTS,
    LEAST,
    component,
    handle,
    learning_axes,
    learning_line,
    look,
    present,
)
from leastaction.ports.learning_curve import curves
from leastaction.report.panel import Panel, panel_title
from leastaction.report.style import StyledFigure, legend_on_top

ROW_HEIGHT = 58.0
REST_HEIGHT = 16.0
PUBLISHED = "published"
MARKERS = ("o", "s", "^", "D", "v")
SCORES = {"row": "transformed_rmse", "effort": "effort_rmse"}
# Of one paper figure: the derivatives that it compares.
DERIVATIVES = ("published_exact", "published", "published_subset")
DERIVATIVE_LABELS = {
    "published_exact": "exact derivative",
    "published": "Gaussian process on all samples",
    "published_subset": "Gaussian process on the training set",
}


def learning_curves(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left errors of (J − R) z, right of z, by component, of the published estimator.

    Root mean squares on the test samples against the size of the training set: mean
    over the replicates, each replicate as a thin line; errors below 1e-10 stand there.
    Dashed: error of the derivative data themselves, where that is not zero.

    Raises
    ------
    ValueError
        If a panel has no rollout of the published estimator.
    """
    figure = StyledFigure(settings, ROW_HEIGHT * len(panels) + REST_HEIGHT)
    grid = figure.subplots(len(panels), 2, squeeze=False, sharey="row")
    count = 0
    for i, (panel, pair) in enumerate(zip(panels, grid, strict=True)):
        rollout = panel.rollout(PUBLISHED)
        for axes, (kind, name) in zip(pair, SCORES.items(), strict=True):
            sizes, values = curves(rollout, name)
            learning_axes(axes, sizes)
            count = values.shape[2]
            for j in range(count):
                color, marker = COMPONENTS[j], MARKERS[j]
                learning_line(axes, sizes, values[:, :, j], color, marker)
            if kind == "row":
                _, data = curves(rollout, "target_rmse")
                for j, level in enumerate(data[:, -1].mean(axis=0)):
                    if level > LEAST:
                        axes.axhline(
                            level, color=COMPONENTS[j], linestyle="--", linewidth=0.6
                        )
        pair[0].set_ylabel("Root mean square error (SI units)")
        pair[0].set_title(f"{panel_title(panels, i)}: $(J-R)\\,z$")
        pair[1].set_title("$z$")
    handles = [
        handle(f"component {j + 1}", COMPONENTS[j], MARKERS[j]) for j in range(count)
    ]
    handles.append(handle("error of the derivative data", "0.4", linestyle="--"))
    legend_on_top(figure, handles, min(4, len(handles)))
    return figure


def derivative_influence(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """First components by the kind of derivative data, as :func:`learning_curves`."""
    figure = StyledFigure(settings, ROW_HEIGHT * len(panels) + REST_HEIGHT)
    grid = figure.subplots(len(panels), 2, squeeze=False, sharey="row")
    for i, (panel, pair) in enumerate(zip(panels, grid, strict=True)):
        for axes, (kind, name) in zip(pair, SCORES.items(), strict=True):
            for estimator in DERIVATIVES:
                sizes, values = curves(panel.rollout(estimator), name)
                _, color, marker = look(estimator)
                learning_line(axes, sizes, values[:, :, 0], color, marker)
            learning_axes(axes, sizes)
            axes.set_title(f"{panel_title(panels, i)}: {component(kind, 0)}")
        pair[0].set_ylabel("Root mean square error (SI units)")
    handles = [handle(DERIVATIVE_LABELS[name], *look(name)[1:]) for name in DERIVATIVES]
    legend_on_top(figure, handles, len(handles))
    return figure


def effort_errors(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors of every effort by estimator, medians over the replicates.

    Bands are the ranges over the replicates. Estimators see data of the scheme that
    their label names.
    """
    count = max(p.rollout(next(iter(p.rollouts))).sizes["effort"] for p in panels)
    figure = StyledFigure(settings, ROW_HEIGHT * len(panels) + REST_HEIGHT)
    grid = figure.subplots(len(panels), count, squeeze=False, sharey="row")
    shown: list[str] = []
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        names = present(panel, list(panel.rollouts))
        shown += [name for name in names if name not in shown]
        own = panel.rollout(names[0]).sizes["effort"]
        for j, axes in enumerate(row):
            if j >= own:
                axes.set_visible(False)
                continue
            for name in names:
                sizes, values = curves(panel.rollout(name), SCORES["effort"])
                _, color, marker = look(name)
                one = np.maximum(values[:, :, j], LEAST)
                axes.plot(
                    sizes,
                    np.median(one, axis=0),
                    color=color,
                    marker=marker,
                    markersize=3,
                )
                axes.fill_between(
                    sizes, one.min(axis=0), one.max(axis=0), color=color, alpha=0.12
                )
            learning_axes(axes, sizes)
            if j:
                axes.set_xlabel("")
            axes.set_title(component("effort", j))
        row[0].set_ylabel("Root mean square error (SI units)")
        if len(panels) > 1:
            row[0].set_title(f"{panel_title(panels, i)}: {component('effort', 0)}")
    handles = [handle(look(n)[0], *look(n)[1:]) for n in shown]
    legend_on_top(figure, handles, min(3, len(handles)))
    return figure
