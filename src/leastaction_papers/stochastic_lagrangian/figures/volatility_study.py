"""Does the estimated volatility follow the true one?"""

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.figures.style import grid_of, key, legend_on_top, range_bar
from leastaction_papers.scorecard.looks import look
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel
from leastaction_papers.scorecard.scores import exact_support

LIMIT_PERCENT = 0.3
# Of systems, in their order.
MARKERS = "os^Dv<>"


def volatility_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Estimated against true volatility of examples that differ in it alone.

    Left, on logarithmic axes, medians over the replicates with exactly the true terms:
    the recommended estimate, the published recipe as written and the number that
    reproduces the printed values. Right: relative error of the recommended estimate,
    median and 5–95 % range over replicates. Systems with the same Lagrangian share a
    marker.

    Paper: the printed 1.03 and 0.11 come from the square of the Lagrangian's value;
    that number hardly depends on the volatility. ValueError if no panel has a constant
    one.
    """
    figure, ((left, right),) = grid_of(settings, 1, 2, row=74)
    groups = list(dict.fromkeys(panel.title for panel in panels))
    excited = [
        (panel, a)
        for panel in panels
        for a in range(panel.truth.dof)
        if panel.law.volatility[a] > 0
    ]
    if not excited:
        raise ValueError("volatility study: no panel has a constant volatility")
    for panel, a in excited:
        number = groups.index(panel.title) % len(MARKERS)
        _draw(left, right, panel, a, number, settings)
    truths = [panel.law.volatility[a] for panel, a in excited]
    limits = np.array([min(truths) / 1.6, max(truths) * 1.6])
    for axes in (left, right):
        axes.set(xscale="log", xlim=limits)
        axes.set_xlabel(r"true volatility $\sigma$ (m or rad s$^{-3/2}$)")
    left.plot(limits, limits, color="black", linewidth=0.6, zorder=1)
    left.set_yscale("log")
    left.set_ylabel(r"estimate $\hat\sigma$ (m or rad s$^{-3/2}$)")
    left.set_title("(a) Three estimates, replicates with exactly the true terms")
    right.axhspan(-LIMIT_PERCENT, LIMIT_PERCENT, color="0.93", zorder=0)
    right.axhline(0.0, color="black", linewidth=0.6, zorder=1)
    right.set_ylim(-1.5 * LIMIT_PERCENT, 1.5 * LIMIT_PERCENT)
    right.set_ylabel(r"$\hat\sigma/\sigma - 1$ of the recommended estimate (%)")
    right.set_title(f"(b) Limit ±{LIMIT_PERCENT} % shaded")
    legend_on_top(figure, _handles(groups, settings, panels), 3)
    return figure


def _draw(left: Axes, right: Axes, panel: Panel, dof: int, number: int, settings):
    truth, marker = panel.law.volatility[dof], MARKERS[number]
    own = look(MAIN).color(settings)
    series = [(MAIN, "volatility_estimate", own, True)]
    if BASELINE in panel.models:
        published = look(BASELINE).color(settings)
        series += [
            (BASELINE, "volatility_estimate", published, True),
            (BASELINE, "volatility_of_lagrangian", settings["truth_color"], False),
        ]
    for estimator, name, color, filled in series:
        model = panel.model(estimator)
        if name not in model:
            continue
        # With other terms the noise means nothing.
        values = model[name].values[exact_support(model, panel.law), dof]
        if values.size:
            style = {"color": color, "markerfacecolor": color if filled else "none"}
            middle = np.median(values)
            left.plot(truth, middle, marker, markersize=4, zorder=3, **style)
    errors = 100 * (panel.model(MAIN)["volatility_estimate"].values[:, dof] / truth - 1)
    x = truth * (1 + 0.08 * (number - 1))
    range_bar(right, x, errors, fmt=marker, color=own, linewidth=0.9, zorder=3)


def _handles(groups: Sequence[str], settings: Mapping, panels) -> list:
    def dot(label, color, marker="o", face=None):
        style = {"linestyle": "none", "markersize": 4, "markerfacecolor": face or color}
        return key(label, color, marker, **style)

    methods = [dot("recommended", settings["estimate_color"])]
    if any(BASELINE in panel.models for panel in panels):
        methods += [
            dot("published, as written (eq. 20)", settings["published_color"]),
            dot("what gives the printed numbers", settings["truth_color"], face="none"),
        ]
    systems = [
        dot(group, "0.3", MARKERS[i % len(MARKERS)]) for i, group in enumerate(groups)
    ]
    # Matplotlib fills a legend by columns: one method above one system each.
    return list(chain(*zip_longest(methods, systems, fillvalue=dot("", "none"))))
