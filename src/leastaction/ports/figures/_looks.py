"""Names, colours of components and axes that the figures of ports share."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

from leastaction.report.looks import Look, look
from leastaction.report.panel import BASELINE, MAIN
from leastaction.report.style import key

COMPONENTS = ("#1b4f9c", "#e08a00", "#2f8f5b", "#7b3fa0", "#5c6b73")
MARKERS = ("o", "s", "^", "D", "v")
NAMES = {BASELINE: "as published", MAIN: "recommended, high-order data"}
SIZE = 3.5
# Smaller errors of learning curves stand at this level.
LEAST_ERROR = 1e-10


def colored(entries: Iterable) -> Iterator[tuple]:
    """(colour, entry) of components, states or scenarios."""
    return zip(cycle(COMPONENTS), entries, strict=False)


def component(kind: str, i: int) -> str:
    """Mathtext of the component `i` (from 0) of z or of (J − R) z."""
    return f"$z_{{JR,{i + 1}}}$" if kind == "row" else f"$z_{{{i + 1}}}$"


def look_of(estimator: str) -> Look:
    """Look of an estimator."""
    return look(estimator, NAMES)


def handle(estimator: str, settings: Mapping, label: str | None = None) -> Line2D:
    """Entry of an estimator in a legend."""
    one = look_of(estimator)
    text = one.label if label is None else label
    return key(text, one.color(settings), one.marker, markersize=SIZE)


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
    values = np.maximum(values, LEAST_ERROR)
    for one in values:
        axes.plot(sizes, one, color=color, linewidth=0.4, alpha=0.4)
    axes.plot(sizes, values.mean(axis=0), color=color, marker=marker, markersize=SIZE)
