"""Stationary densities of truth and model, and where they disagree."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import BASELINE, MAIN, Panel, panel_title
from leastaction.report.style import StyledFigure, legend_on_top

ROW_HEIGHT = 66.0
LEGEND_HEIGHT = 9.0
# Contours, as parts of the highest density.
PARTS = (0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
HIGHEST_SCORE = 4.0


def density(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Contours of the densities of truth and model, and the residual map.

    One row per example, one column per degree of freedom; of one degree of freedom, the
    residual of the model's stationary equation on the truth's density, in standard
    errors, stands beside. First replicate.
    """
    counts = [panel.rollout(_shown(panel)).sizes["dof"] for panel in panels]
    figure = StyledFigure(settings, ROW_HEIGHT * len(panels) + LEGEND_HEIGHT)
    grid = figure.subplots(len(panels), 2, squeeze=False)
    for i, (row, panel, count) in enumerate(zip(grid, panels, counts, strict=True)):
        for a in range(min(count, 2)):
            _contours(row[a], panel, a, settings)
        if count == 1:
            _scores(figure, row[1], panel, settings)
        row[0].set_title(panel_title(panels, i))
    handles = [
        Line2D([], [], color=settings["truth_color"], label="truth"),
        Line2D([], [], color=settings["estimate_color"], linestyle="--", label="model"),
    ]
    legend_on_top(figure, handles)
    return figure


def _shown(panel: Panel) -> str:
    return next(n for n in (MAIN, BASELINE, *panel.rollouts) if n in panel.rollouts)


def axes_names(panel: Panel, a: int) -> tuple[str, str]:
    """Labels of the plane (q_a, q̇_a)."""
    name = list(panel.config["system"]["coordinates"])[a]
    return f"${name}$", rf"$\dot {name}$"


def cells(rollout, a: int) -> tuple[np.ndarray, np.ndarray]:
    """Centres of the cells along q_a and q̇_a."""
    centres = rollout["cell_centre"].values
    return centres[a], centres[rollout.sizes["dof"] + a]


def _contours(axes: Axes, panel: Panel, a: int, settings: Mapping) -> None:
    rollout = panel.rollout(_shown(panel))
    q, qdot = cells(rollout, a)
    truth = rollout["density_true"].values[0, a]
    levels = np.array(PARTS) * np.quantile(truth, 0.999)
    for end, colour, style in (
        ("true", "truth_color", "solid"),
        ("estimate", "estimate_color", "dashed"),
    ):
        values = rollout[f"density_{end}"].values[0, a]
        if np.isfinite(values).all():
            axes.contour(
                q,
                qdot,
                values.T,
                levels=levels,
                colors=settings[colour],
                linewidths=0.8,
                linestyles=style,
            )
    for set_label, text in zip(
        (axes.set_xlabel, axes.set_ylabel), axes_names(panel, a), strict=True
    ):
        set_label(text)
    distance = rollout["total_variation"].values[0, a]
    if np.isfinite(distance):
        axes.annotate(
            f"total variation {100 * distance:.2g} %",
            (0.02, 0.97),
            xycoords="axes fraction",
            va="top",
        )
    else:
        axes.annotate(
            "not identifiable: no density of the model",
            (0.02, 0.97),
            xycoords="axes fraction",
            va="top",
        )


def _scores(figure: Figure, axes: Axes, panel: Panel, settings: Mapping) -> None:
    rollout = panel.rollout(_shown(panel))
    score = rollout["residual_score"].values[0]
    if not np.isfinite(score).any():
        axes.set_axis_off()
        return
    q, qdot = cells(rollout, 0)
    half = [(x[-1] - x[0] + x[1] - x[0]) / 2 for x in (q, qdot)]
    drawn = axes.imshow(
        score.T,
        origin="lower",
        extent=(-half[0], half[0], -half[1], half[1]),
        cmap="RdBu_r",
        vmin=-HIGHEST_SCORE,
        vmax=HIGHEST_SCORE,
        aspect="auto",
    )
    bar = figure.colorbar(drawn, ax=axes, pad=0.02)
    bar.set_label("Residual over its standard error (1)")
    for set_label, text in zip(
        (axes.set_xlabel, axes.set_ylabel), axes_names(panel, 0), strict=True
    ):
        set_label(text)
