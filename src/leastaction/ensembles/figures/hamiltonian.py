"""Hamiltonian along time, of the truth and of the identified model."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.style import StyledFigure, legend_on_top
from leastaction.report.unit_label import unit_label

ROW_HEIGHT = 46.0
LEGEND_HEIGHT = 14.0
FAINT = "0.55"
RANGE_COLOR = "0.88"


def hamiltonian(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Mean energy E[H(t)], which grows as H(0) + ½ tr(Sᵀ M⁻¹ S) t, in units of L.

    Left the ensemble mean on its own scale, right the same beside the Hamiltonian of
    the mean path. Lines are means over replicates, whose finite ensembles scatter by
    more than the energy grows.

    Paper: Figure 4 shows the Hamiltonian of the mean path. It falls because the
    trajectories lose their common phase, not because energy is lost.

    Raises
    ------
    ValueError
        If a panel has no rollout of the recommended estimator.
    """
    height = ROW_HEIGHT * len(panels) + LEGEND_HEIGHT
    figure = StyledFigure(settings, height)
    grid = figure.subplots(len(panels), 2, squeeze=False)
    for i, (panel, (left, right)) in enumerate(zip(panels, grid, strict=True)):
        rollout = panel.rollout(MAIN)
        unit = unit_label(panel.hamiltonian_unit)
        _range(left, rollout)
        _means(left, rollout, settings, _has_growth(rollout))
        left.set_ylabel(f"$\\mathrm{{E}}[H]$ ({unit})")
        left.set_title(panel_title(panels, i))
        _of_mean_path(right, rollout)
        _means(right, rollout, settings, False)
        right.set_ylabel(f"$H$ ({unit})")
        for axes in (left, right):
            axes.set_xlabel("Time (s)")
            axes.set_xlim(rollout["time"].values[0], rollout["time"].values[-1])
            axes.ticklabel_format(axis="y", useOffset=False)
            axes.margins(y=0.12)
            axes.axvline(
                rollout.attrs["training_duration"], color="black", linewidth=0.8
            )
    legend_on_top(figure, _handles(settings), 4)
    return figure


def _has_growth(rollout: xr.Dataset) -> bool:
    """Whether the growth of energy is the same for every motion."""
    return bool(np.isfinite(rollout["hamiltonian_growth"].values).all())


def _range(axes: Axes, rollout: xr.Dataset) -> None:
    values = rollout["hamiltonian_true"].values
    if len(values) > 1:
        low, high = np.percentile(values, [5, 95], axis=0)
        axes.fill_between(
            rollout["time"].values, low, high, color=RANGE_COLOR, linewidth=0, zorder=1
        )


def _means(axes: Axes, rollout: xr.Dataset, settings: Mapping, growth: bool) -> None:
    time = rollout["time"].values
    if growth:
        axes.plot(
            time,
            rollout["hamiltonian_growth"].mean("replicate"),
            color="black",
            linestyle=(0, (1, 1.5)),
            linewidth=1.2,
            zorder=5,
        )
    axes.plot(
        time,
        rollout["hamiltonian_true"].mean("replicate"),
        color=settings["truth_color"],
        linewidth=1.4,
        zorder=3,
    )
    axes.plot(
        time,
        rollout["hamiltonian_estimate"].mean("replicate"),
        color=settings["estimate_color"],
        linestyle=(0, (4, 2.5)),
        linewidth=1.0,
        zorder=4,
    )


def _of_mean_path(axes: Axes, rollout: xr.Dataset) -> None:
    for end, line in (("true", "-"), ("estimate", (0, (4, 2.5)))):
        axes.plot(
            rollout["time"].values,
            rollout[f"hamiltonian_of_mean_{end}"].mean("replicate"),
            color=FAINT if end == "true" else "0.2",
            linestyle=line,
            linewidth=1.4 if end == "true" else 0.8,
            zorder=2,
        )


def _handles(settings: Mapping) -> list:
    dashes = (0, (4, 2.5))
    red, blue = settings["truth_color"], settings["estimate_color"]
    return [
        Line2D([], [], color=red, linewidth=1.4, label=r"truth, $\mathrm{E}[H]$"),
        Line2D(
            [],
            [],
            color=blue,
            linestyle=dashes,
            linewidth=1.0,
            label=r"model, $\mathrm{E}[H]$",
        ),
        Line2D(
            [],
            [],
            color="black",
            linestyle=(0, (1, 1.5)),
            linewidth=1.2,
            label=r"$\mathrm{E}[H]$ by Itô's formula",
        ),
        Line2D([], [], color=FAINT, linewidth=1.4, label="truth, $H$ of the mean path"),
        Line2D(
            [],
            [],
            color="0.2",
            linestyle=dashes,
            linewidth=0.8,
            label="model, $H$ of the mean path",
        ),
        Patch(
            facecolor=RANGE_COLOR,
            label=r"truth, $\mathrm{E}[H]$, 5–95 % over replicates",
        ),
        Line2D([], [], color="black", linewidth=0.8, label="end of training"),
    ]
