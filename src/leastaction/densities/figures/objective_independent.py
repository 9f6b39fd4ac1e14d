"""The objective over the parameters of a linear oscillator, and its level set."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.densities.figures import ORDER
from leastaction.densities.stationary_parameters import (
    equation_of,
    true_coefficients,
)
from leastaction.report.looks import look, marked
from leastaction.report.panel import BASELINE, Panel
from leastaction.report.style import StyledFigure, grid_of, legend_on_top, plain_numbers

POINTS = 61
# Ranges of the axes of Figures 3 and 4, in the true value.
RANGES = {"k": (0.6, 1.4), "a": (0.6, 1.4), "c": (0.4, 1.6)}
KINDS = {"k": "lagrangian", "c": "dissipation", "a": "volatility"}
NAMES = {"k": "$k$ (N/m)", "c": "$c$ (N s/m)", "a": "$a$ (N s$^{0.5}$)"}
VIEW = {"elev": 32, "azim": -125}


def objective_independent(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """√E over stiffness and damping, which the density tells apart (Fig. 3)."""
    return _surface(panels, settings, "k", "c")


def objective_dependent(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """√E over noise strength and damping: a ravine along the level set (Fig. 4)."""
    return _surface(panels, settings, "a", "c")


def _truth(panel: Panel) -> tuple[list[str], np.ndarray]:
    """Kind and true coefficient of each term of the stationary equation."""
    equation = equation_of(panel.config)
    kinds = [term.kind for term in equation.terms]
    return kinds, true_coefficients(equation, panel.truth)


def _surface(panels, settings: Mapping, first: str, second: str) -> Figure:
    (panel,) = panels
    kinds, truth = _truth(panel)
    form = panel.model(BASELINE)["objective_form"].values[0]
    place = {name: kinds.index(KINDS[name]) for name in (first, second)}
    exact = {n: np.sqrt(truth[i]) if n == "a" else truth[i] for n, i in place.items()}
    x, y = (exact[n] * np.linspace(*RANGES[n], POINTS) for n in (first, second))
    grid = np.meshgrid(x, y, indexing="ij")
    theta = np.broadcast_to(truth, (POINTS, POINTS, len(truth))).copy()
    for n, values in zip((first, second), grid, strict=True):
        theta[..., place[n]] = values**2 if n == "a" else values
    root = np.sqrt(np.einsum("xyi,ij,xyj->xy", theta, form, theta))
    figure = StyledFigure(settings, 85, layout="none")
    solid = figure.add_axes((0.0, 0.04, 0.5, 0.94), projection="3d")
    mesh = {"rcount": 30, "ccount": 30, "linewidth": 0.1, "edgecolor": "0.3"}
    solid.plot_surface(*grid, root, cmap="viridis", **mesh)
    contours = {"levels": 12, "cmap": "viridis"}
    solid.contour(*grid, root, offset=0.0, linewidths=0.7, **contours)
    solid.set_zlim(0, None)
    solid.view_init(**VIEW)
    flat = figure.add_axes((0.6, 0.14, 0.38, 0.8))
    lines = flat.contour(*grid, root, linewidths=0.8, **contours)
    flat.clabel(lines, fontsize=0.75 * settings["font_size"])
    red = {"color": settings["truth_color"]}
    mark = {"label": "exact", "markersize": 6, "linestyle": "none"}
    flat.plot(exact[first], exact[second], "x", **mark, **red)
    if first == "a":
        ratio = exact[second] / exact[first] ** 2
        flat.plot(x, ratio * x**2, lw=0.8, label="level set $c = a^2/2$", **red)
    flat.set_xlim(x[0], x[-1])
    flat.set_ylim(y[0], y[-1])
    flat.legend(loc="upper left", frameon=True, framealpha=0.9)
    for axes in (solid, flat):
        axes.set_xlabel(NAMES[first])
        axes.set_ylabel(NAMES[second])
    solid.set_zlabel(r"$\sqrt{E}$")
    return figure


def level_set(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Damping as a function of the noise strength, and its error (Fig. 5).

    First replicate; the curve is the exact level set c = a² c₀/a₀².
    """
    (panel,) = panels
    kinds, truth = _truth(panel)
    ratio = truth[kinds.index("dissipation")] / truth[kinds.index("volatility")]
    figure, ((left, right),) = grid_of(settings, 1, 2, row=75)
    estimators = [name for name in ORDER if name in panel.models]
    for name in estimators:
        model = panel.models[name]
        a = model["level_volatility"].values[0]
        c = model["level_dissipation_estimate"].values[0]
        style = {"color": look(name).color(settings), "marker": look(name).marker}
        style |= {"markersize": 3.6, "markerfacecolor": "none"}
        left.plot(a, c, linestyle="none", **style)
        right.plot(a, 100 * (c / (ratio * a**2) - 1), linewidth=0.7, **style)
    fine = np.linspace(0, a.max(), 200)
    red = {"color": settings["truth_color"]}
    left.plot(fine, ratio * fine**2, lw=1.0, zorder=0, **red)
    place = (0.6 * a.max(), ratio * (0.6 * a.max()) ** 2)
    offset = {"xytext": (6, -10), "textcoords": "offset points"}
    left.annotate("exact level set", place, **offset, **red)
    left.set_ylabel("Damping $c$ (N s/m)")
    right.set_ylabel("Relative error of $c$ (%)")
    right.set_yscale("symlog", linthresh=1.0)
    plain_numbers(right.yaxis)
    right.axhline(0, lw=0.8, zorder=0, **red)
    for axes in (left, right):
        axes.set_xlabel("Noise strength $a$ (N s$^{0.5}$)")
    legend_on_top(figure, marked(estimators, settings))
    return figure
