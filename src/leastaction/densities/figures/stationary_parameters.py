"""Errors of the parameters that were estimated from a stationary density."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from leastaction.densities.figures import ORDER
from leastaction.densities.stationary_parameters import parameters
from leastaction.report.looks import look, marked
from leastaction.report.panel import Panel, panel_title
from leastaction.report.study import RANGE, range_bar
from leastaction.report.style import AT_X, grid_of, legend_on_top, note, small

DISTANCE_OF_ESTIMATORS = 0.22
# Errors beyond it, in per cent, stand at the edge: a parameter that collapsed to zero.
LARGEST_ERROR = 200.0
KINDS = {"lagrangian": "$L$", "dissipation": "damping"}


def stationary_parameters(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Relative errors in per cent: medians and 5–95 % ranges over the replicates.

    The scale is linear within one per cent and logarithmic beyond it. What the density
    does not determine has no mark, and the figure says so.
    """
    figure, grid = grid_of(settings, len(panels), 1, row=62, rest=10)
    for i, (axes, panel) in enumerate(zip(grid[:, 0], panels, strict=True)):
        _draw(axes, panel, settings)
        axes.set_title(panel_title(panels, i))
    names = {name for panel in panels for name in panel.models}
    legend_on_top(figure, estimator_handles(names, settings, RANGE))
    return figure


def _draw(axes: Axes, panel: Panel, settings: Mapping) -> None:
    estimators = [name for name in ORDER if name in panel.models]
    labels: list[str] = []
    for k, name in enumerate(estimators):
        found = parameters(panel.config, panel.models[name])
        labels = [parameter.label for parameter in found]
        style = {"color": look(name).color(settings), "marker": look(name).marker}
        for i, parameter in enumerate(found):
            x = i + DISTANCE_OF_ESTIMATORS * (k - (len(estimators) - 1) / 2)
            error = np.clip(100 * parameter.error, -LARGEST_ERROR, LARGEST_ERROR)
            if not range_bar(axes, x, error, **style) and not k:
                centre = {"ha": "center", "fontsize": small(settings)}
                note(axes, "not identifiable", i, 0.5, AT_X, **centre)
    axes.axhline(0, color=settings["truth_color"], linewidth=0.8, zorder=0)
    axes.set_xticks(range(len(labels)), [parameter_label(panel, n) for n in labels])
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_yscale("symlog", linthresh=1.0)
    plain_numbers(axes.yaxis)
    axes.set_ylabel("Relative error (%)")


def estimator_handles(
    estimators: Iterable[str], settings: Mapping, note: str = ""
) -> list[Line2D]:
    """Legend of estimators, each with a `note`."""
    there = set(estimators)
    return marked([name for name in ORDER if name in there], settings, note)


def parameter_label(panel: Panel, label: str, separator: str = "\n") -> str:
    """Label of a parameter for an axis: what it belongs to, and the candidate."""
    kind, _, term = label.partition(": ")
    shown = panel.label(term)
    if kind.startswith("noise strength"):
        several = len(panel.config["system"]["coordinates"]) > 1
        of = f" of {kind.rpartition(' ')[2]}" if several else ""
        return f"noise{of},{separator}{shown}"
    return f"{KINDS[kind]},{separator}{shown}"


def plain_numbers(axis) -> None:
    """Ticks of a logarithmic axis as plain numbers."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
