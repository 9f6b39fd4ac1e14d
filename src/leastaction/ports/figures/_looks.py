"""What the figures of port-Hamiltonian models share: colours, names, axes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

from leastaction.report.panel import Panel

COMPONENTS = ("#1b4f9c", "#e08a00", "#2f8f5b", "#7b3fa0", "#5c6b73")
LOOKS = {
    "published": ("as published", "#e08a00", "o"),
    "published_exact": ("exact derivative", "#2f8f5b", "s"),
    "published_subset": ("GP on the training set", "#7b3fa0", "^"),
    "published_forward": ("forward differences", "#7b3fa0", "^"),
    "published_central": ("central differences", "#5c6b73", "v"),
    "published_high_order": ("as published, high-order data", "#c4242b", "D"),
    "independent": ("independent processes, high-order data", "#5c6b73", "x"),
    "recommended": ("recommended, high-order data", "#1b4f9c", "P"),
}
# Smaller errors of learning curves stand at this level.
LEAST = 1e-10


def component(kind: str, i: int) -> str:
    """Mathtext of the component `i` (from 0) of z or of (J − R) z."""
    return f"$z_{{JR,{i + 1}}}$" if kind == "row" else f"$z_{{{i + 1}}}$"


def look(estimator: str) -> tuple[str, str, str]:
    """Label, colour and marker of an estimator."""
    return LOOKS.get(estimator, (estimator, "#5c6b73", "."))


def learning_axes(axes: Axes, sizes: np.ndarray) -> None:
    """Double logarithmic axes, ticks at the sizes of the training sets."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(numticks=12))
    axes.set_xlabel("Training samples")


def learning_line(axes: Axes, sizes, values: np.ndarray, color: str, marker: str):
    """Mean over the replicates, and every replicate as a thin line."""
    values = np.maximum(values, LEAST)
    for one in values:
        axes.plot(sizes, one, color=color, linewidth=0.4, alpha=0.4)
    axes.plot(sizes, values.mean(axis=0), color=color, marker=marker, markersize=3.5)


def handle(label: str, color: str, marker: str | None = None, **more) -> Line2D:
    """Entry of a legend."""
    return Line2D(
        [], [], label=label, color=color, marker=marker, markersize=3.5, **more
    )


def present(panel: Panel, names: Sequence[str]) -> list[str]:
    """Those of `names` that the panel has rollouts of, in that order."""
    return [name for name in names if name in panel.rollouts]
