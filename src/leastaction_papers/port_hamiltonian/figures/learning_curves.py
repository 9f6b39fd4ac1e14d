"""Identified efforts: learning curves, and what their bands are worth.

Zaspel and Günther, Figures 3, 6 and 9.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from leastaction.figures.readable import listed
from leastaction.figures.style import grid_of, key, legend_on_top
from leastaction_papers.port_hamiltonian.scores import curves
from leastaction_papers.scorecard.looks import (
    COMPONENTS,
    MARKERS,
    SIZE,
    colored,
    double_logarithmic,
    look,
)
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel, panel_title
from leastaction_papers.scorecard.readable import plain_scientific

SAMPLES = "Training samples"
# Errors from the exact efforts; and from the derivative data of the test samples, which
# are those of the paper's learning curves (section 4.3).
SCORES = {"row": "transformed_rmse", "effort": "effort_rmse"}
ON_TEST_DATA = {"row": "transformed_residual", "effort": "effort_residual"}
# Of Figure 9: the derivatives that it compares, in its legend and in its finding.
DERIVATIVES = {
    "published_exact": ("exact derivative", "exact derivatives"),
    "published": (
        "Gaussian process on all samples",
        "derivatives of a Gaussian process on all samples",
    ),
    "published_subset": (
        "Gaussian process on the training set",
        "those of one on the training set alone",
    ),
}
NAMES = {BASELINE: "as published", MAIN: "recommended, high-order data"}
# Smaller errors are round-off, and no reason for a longer axis; what is below it has a
# hollow mark at its lower edge.
NEGLIGIBLE = 1e-10
# Factor between the marks of neighbouring components, which would hide one another.
DISTANCE_OF_MARKS = 1.05
# A curve has reached its last value within, or rises by, these factors.
REACHED, RISES = 1.5, 2.0


def learning_curves(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left errors of (J − R) z, right of z, by component, of the published estimator.

    Root mean squares of the differences from the test data, E ẋ − B u at samples that
    are in no training set, against the size of the training set: mean over the
    replicates, each replicate as a thin line; errors below the axis are hollow
    marks at the lower edge. Marks of the components stand side by side. Dashed: error
    of the derivative data themselves, where that is not zero.
    """
    figure, grid = _grid(panels, settings, 2)
    count = 0
    for i, (panel, pair) in enumerate(zip(panels, grid, strict=True)):
        rollout = panel.rollout(BASELINE)
        scores = [curves(rollout, name)[1] for name in ON_TEST_DATA.values()]
        edge = _edge(scores)
        for axes, values in zip(pair, scores, strict=True):
            sizes, _ = curves(rollout, ON_TEST_DATA["row"])
            count = values.shape[2]
            for j in range(count):
                beside = sizes * DISTANCE_OF_MARKS ** (j - (count - 1) / 2)
                _curve(axes, beside, values[:, :, j], edge, COMPONENTS[j], MARKERS[j])
            _name_sizes(axes, sizes)
            axes.set_ylim(bottom=edge)
        _, data = curves(rollout, "target_rmse")
        for color, level in colored(data[:, -1].mean(axis=0)):
            if level > NEGLIGIBLE:
                pair[0].axhline(level, color=color, linestyle="--", linewidth=0.6)
        pair[0].set_title(f"{panel_title(panels, i)}: $(J-R)\\,z$")
        pair[1].set_title("$z$")
    handles = [
        key(f"component {j + 1}", COMPONENTS[j], MARKERS[j], markersize=SIZE)
        for j in range(count)
    ]
    data = key("error of the derivative data", "0.4", linestyle="--")
    handles += [data, _below_edge()]
    legend_on_top(figure, handles, min(3, len(handles)))
    return figure


def finding(panels: Sequence[Panel]) -> str:
    """How the error of every component of (J − R) z goes with the training set."""
    (panel,) = panels
    sizes, values = curves(panel.rollout(BASELINE), ON_TEST_DATA["row"])
    courses = [
        f"component {j + 1} {_course(sizes, mean)}"
        for j, mean in enumerate(values.mean(axis=0).T)
    ]
    _, data = curves(panel.rollout(BASELINE), "target_rmse")
    levels = [
        f"{plain_scientific(level)} in component {j + 1}"
        for j, level in enumerate(data[:, -1].mean(axis=0))
        if level > NEGLIGIBLE
    ]
    text = f"Of (J − R) z, {'; '.join(courses)}."
    if levels:
        _, exact = curves(panel.rollout(BASELINE), SCORES["row"])
        nearest = plain_scientific(exact[:, -1, 0].mean())
        text += (
            f" The derivative data themselves are off by {listed(levels)}; component 1 "
            f"is {nearest} from the exact one with {sizes[-1]} samples."
        )
    return text


def derivative_influence_finding(panels: Sequence[Panel]) -> str:
    """How the error of the first component of (J − R) z goes, by derivative data."""
    (panel,) = panels
    courses = []
    for estimator, (_, data) in DERIVATIVES.items():
        sizes, values = curves(panel.rollout(estimator), ON_TEST_DATA["row"])
        mean = values[:, :, 0].mean(axis=0)
        courses.append(f"with {data} it {_course(sizes, mean)}")
    return f"The error of component 1 of (J − R) z: {'; '.join(courses)}."


def _course(sizes: np.ndarray, errors: np.ndarray) -> str:
    """How errors go with the size of the training set, in words."""
    if errors.max() < NEGLIGIBLE:
        return f"is at most {plain_scientific(errors.max())} with every training set"
    first, last = plain_scientific(errors[0]), plain_scientific(errors[-1])
    reached = sizes[np.flatnonzero(errors > REACHED * errors[-1]).max(initial=-1) + 1]
    end = f"{last}, reached with {reached} samples"
    peak = int(errors.argmax())
    if errors[peak] > RISES * errors[0]:
        top = f"{plain_scientific(errors[peak])} with {sizes[peak]} samples"
        return f"rises, unlike the paper's, from {first} to {top} and falls to {end}"
    return f"falls from {first} to {end}"


def derivative_influence(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """First components by the kind of derivative data, as :func:`learning_curves`."""
    figure, grid = _grid(panels, settings, 2)
    for i, (panel, pair) in enumerate(zip(panels, grid, strict=True)):
        for axes, (kind, name) in zip(pair, ON_TEST_DATA.items(), strict=True):
            for estimator in DERIVATIVES:
                sizes, values = curves(panel.rollout(estimator), name)
                one, edge = look(estimator, NAMES), _edge([values])
                first = values[:, :, 0]
                _curve(axes, sizes, first, edge, one.color(settings), one.marker)
            _name_sizes(axes, sizes)
            axes.set_title(f"{panel_title(panels, i)}: {component(kind, 0)}")
    handles = [
        _handle(name, settings, label) for name, (label, _) in DERIVATIVES.items()
    ]
    legend_on_top(figure, handles)
    return figure


def effort_errors(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors of every effort by estimator, medians over the replicates.

    Bands are the ranges over the replicates. Estimators see data of the scheme that
    their label names.
    """
    counts = [p.rollout(next(iter(p.rollouts))).sizes["effort"] for p in panels]
    figure, grid = _grid(panels, settings, max(counts))
    for i, (panel, row, efforts) in enumerate(zip(panels, grid, counts, strict=True)):
        for axes in row[efforts:]:
            axes.set_visible(False)
        scores = [curves(r, SCORES["effort"])[1] for r in panel.rollouts.values()]
        edge = _edge(scores)
        for j, axes in enumerate(row[:efforts]):
            for name, rollout in panel.rollouts.items():
                sizes, values = curves(rollout, SCORES["effort"])
                errors, one = values[:, :, j], look(name)
                middle, color = np.median(errors, axis=0), one.color(settings)
                style = {"color": color, "marker": one.marker, "markersize": 3}
                _line(axes, sizes, middle, edge, **style)
                ends = (f(np.maximum(errors, edge), axis=0) for f in (np.min, np.max))
                axes.fill_between(sizes, *ends, color=color, alpha=0.12)
            axes.set_ylim(bottom=edge)
            _name_sizes(axes, sizes, "" if j else SAMPLES)
            axes.set_title(component("effort", j))
        if len(panels) > 1:
            row[0].set_title(f"{panel_title(panels, i)}: {component('effort', 0)}")
    names = dict.fromkeys(name for panel in panels for name in panel.rollouts)
    handles = [*(_handle(name, settings) for name in names), _below_edge()]
    legend_on_top(figure, handles, min(3, len(handles)))
    return figure


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


def _name_sizes(axes: Axes, sizes, label: str = SAMPLES) -> None:
    double_logarithmic(axes, sizes, label, base=2)
    axes.yaxis.set_major_locator(LogLocator(numticks=12))


def _edge(scores: Sequence[np.ndarray]) -> float:
    """Lower end of an axis of errors: the decade of the least mean that matters."""
    errors = np.concatenate([values.mean(axis=0).ravel() for values in scores])
    least = errors[errors >= NEGLIGIBLE].min(initial=1.0)
    return 10.0 ** np.floor(np.log10(least))


def _below_edge() -> Line2D:
    """Entry of the hollow marks in a legend."""
    label = "below the axis, drawn at its lower edge"
    hollow = {"markerfacecolor": "white", "clip_on": False}
    return key(label, "0.4", "v", linestyle="none", markersize=SIZE, **hollow)


def _line(axes: Axes, x, values: np.ndarray, edge: float, **style) -> None:
    """A curve of errors; those below the edge are hollow marks at it."""
    low = values < edge
    axes.plot(x, np.where(low, edge, values), **style, markevery=~low)
    if not low.any():
        return
    hollow = {"marker": "v", "markerfacecolor": "white", "linestyle": "none"}
    hollow |= {"markersize": SIZE, "clip_on": False, "zorder": 3}
    axes.plot(x[low], np.full(low.sum(), edge), color=style["color"], **hollow)


def _curve(axes: Axes, x, values: np.ndarray, edge: float, color, marker) -> None:
    """Mean over the replicates, and every replicate as a thin line."""
    for one in values:
        _line(axes, x, one, edge, color=color, linewidth=0.4, alpha=0.4)
    _line(axes, x, values.mean(axis=0), edge, color=color, marker=marker, ms=SIZE)
