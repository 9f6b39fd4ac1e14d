"""Does the estimated volatility follow the true one?"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import BASELINE, MAIN, Panel
from leastaction.report.style import StyledFigure, legend_on_top

HEIGHT = 74.0
LIMIT = 0.3
MARKERS = "os^Dv<>"


def volatility_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Estimated against true volatility of examples that differ in it alone.

    Left, on logarithmic axes, medians over the replicates with exactly the true terms:
    the recommended estimate, the published recipe as written and the number that
    reproduces the printed values. Right: relative error of the
    recommended estimate, median and 5–95 % range over replicates.

    Paper: the printed 1.03 and 0.11 come from the square of the Lagrangian's value;
    that number hardly depends on the volatility.

    Parameters
    ----------
    panels
        Systems with constant volatility; those with the same Lagrangian share a marker.
    settings
        Complete style settings.

    Raises
    ------
    ValueError
        If no panel has a constant volatility.
    """
    figure = StyledFigure(settings, HEIGHT)
    left, right = figure.subplots(1, 2)
    groups = list(dict.fromkeys(panel.title for panel in panels))
    excited = [
        (panel, a)
        for panel in panels
        for a in range(panel.truth.dof)
        if panel.volatility_true(a)
    ]
    if not excited:
        raise ValueError("volatility study: no panel has a constant volatility")
    for panel, a in excited:
        marker = MARKERS[groups.index(panel.title) % len(MARKERS)]
        _draw(left, right, panel, a, marker, settings)
    truths = [panel.volatility_true(a) for panel, a in excited]
    limits = np.array([min(truths) / 1.6, max(truths) * 1.6])
    left.plot(limits, limits, color="black", linewidth=0.6, zorder=1)
    left.set(xscale="log", yscale="log", xlim=limits)
    left.set_xlabel(r"true volatility $\sigma$ (m or rad s$^{-3/2}$)")
    left.set_ylabel(r"estimate $\hat\sigma$ (m or rad s$^{-3/2}$)")
    left.set_title("(a) Three estimates, replicates with exactly the true terms")
    right.axhspan(-LIMIT, LIMIT, color="0.93", zorder=0)
    right.axhline(0.0, color="black", linewidth=0.6, zorder=1)
    right.set(xscale="log", xlim=limits, ylim=(-1.5 * LIMIT, 1.5 * LIMIT))
    right.set_xlabel(r"true volatility $\sigma$ (m or rad s$^{-3/2}$)")
    right.set_ylabel(r"$\hat\sigma/\sigma - 1$ of the recommended estimate (%)")
    right.set_title(f"(b) Limit ±{LIMIT} % shaded")
    legend_on_top(figure, _handles(groups, settings, panels), 3)
    return figure


def _draw(left: Axes, right: Axes, panel: Panel, dof: int, marker: str, settings):
    truth = panel.volatility_true(dof)
    series = [(MAIN, "volatility_estimate", settings["estimate_color"], True)]
    if BASELINE in panel.models:
        published = settings["published_color"]
        series += [
            (BASELINE, "volatility_estimate", published, True),
            (BASELINE, "volatility_of_lagrangian", settings["truth_color"], False),
        ]
    for estimator, name, color, filled in series:
        model = panel.model(estimator)
        if name not in model:
            continue
        values = model[name].values[_exact(panel, model), dof]
        if not values.size:
            continue
        left.plot(
            truth,
            np.median(values),
            marker,
            color=color,
            markersize=4,
            markerfacecolor=color if filled else "none",
            zorder=3,
        )
    errors = 100 * (panel.model(MAIN)["volatility_estimate"].values[:, dof] / truth - 1)
    low, middle, high = np.percentile(errors, [5, 50, 95])
    shift = 1 + 0.08 * (MARKERS.index(marker) - 1)
    right.errorbar(
        truth * shift,
        middle,
        yerr=[[middle - low], [high - middle]],
        fmt=marker,
        color=settings["estimate_color"],
        markersize=4,
        linewidth=0.9,
        zorder=3,
    )


def _exact(panel: Panel, model: xr.Dataset) -> np.ndarray:
    """Replicates with exactly the true terms: with others the noise means nothing."""
    if panel.coefficients_true is None:
        return np.ones(model.sizes["replicate"], dtype=bool)
    true = np.array([panel.coefficients_true[str(t)] for t in model["term"].values])
    return ((model["support"].values != 0) == (true != 0)).all(axis=1)


def _handles(groups: Sequence[str], settings: Mapping, panels) -> list:
    def dot(color, label, marker="o", face=None):
        return Line2D(
            [],
            [],
            linestyle="none",
            marker=marker,
            markersize=4,
            color=color,
            markerfacecolor=face or color,
            label=label,
        )

    methods = [dot(settings["estimate_color"], "recommended")]
    if any(BASELINE in panel.models for panel in panels):
        methods += [
            dot(settings["published_color"], "published, as written (eq. 20)"),
            dot(settings["truth_color"], "what gives the printed numbers", face="none"),
        ]
    systems = [
        dot("0.3", group, marker=MARKERS[i % len(MARKERS)])
        for i, group in enumerate(groups)
    ]
    # Matplotlib fills a legend by columns: one method above one system each.
    longest = max(len(methods), len(systems))
    empty = dot("none", "")
    methods += [empty] * (longest - len(methods))
    systems += [empty] * (longest - len(systems))
    return [handle for pair in zip(methods, systems, strict=True) for handle in pair]
