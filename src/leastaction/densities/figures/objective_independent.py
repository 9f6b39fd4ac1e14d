"""The density of a linear oscillator and the objective over its parameters."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.densities.figures.density import axes_names, cells
from leastaction.densities.stationary_parameters import (
    equation_of,
    true_coefficients,
)
from leastaction.report.panel import BASELINE, MAIN, Panel
from leastaction.report.style import StyledFigure

HEIGHT = 85.0
POINTS = 61
# Ranges of the axes of Figures 3 and 4, in the true value.
RANGES = {"k": (0.6, 1.4), "a": (0.6, 1.4), "c": (0.4, 1.6)}
KINDS = {"k": "lagrangian", "c": "dissipation", "a": "volatility"}
NAMES = {"k": "$k$ (N/m)", "c": "$c$ (N s/m)", "a": "$a$ (N s$^{0.5}$)"}
VIEW = {"elev": 32, "azim": -125}


def density_surface(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Density of the simulated states as a surface (Fig. 2 of Yoshida and Yamanaka)."""
    (panel,) = panels
    rollout = panel.rollout(MAIN)
    q, qdot = cells(rollout, 0)
    figure = StyledFigure(settings, HEIGHT, layout="none")
    axes = figure.add_axes((0.12, 0.02, 0.76, 0.96), projection="3d")
    grid = np.meshgrid(q, qdot, indexing="ij")
    axes.plot_surface(
        *grid,
        rollout["density_true"].values[0, 0],
        cmap="viridis",
        rcount=50,
        ccount=50,
        linewidth=0.1,
        edgecolor="0.3",
    )
    axes.view_init(**VIEW)
    for set_label, text in zip(
        (axes.set_xlabel, axes.set_ylabel), axes_names(panel, 0), strict=True
    ):
        set_label(text)
    axes.set_zlabel("Density (SI units)")
    axes.set_box_aspect(None, zoom=0.85)
    return figure


def objective_independent(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """√E over stiffness and damping, which the density tells apart (Fig. 3)."""
    return _surface(panels, settings, "k", "c")


def objective_dependent(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """√E over noise strength and damping: a ravine along the level set (Fig. 4)."""
    return _surface(panels, settings, "a", "c")


def _surface(panels, settings: Mapping, first: str, second: str) -> Figure:
    (panel,) = panels
    equation = equation_of(panel.config)
    kinds = [term.kind for term in equation.terms]
    truth = true_coefficients(equation, panel.truth)
    form = panel.model(BASELINE)["objective_form"].values[0]
    place = {name: kinds.index(KINDS[name]) for name in (first, second)}
    exact = {n: np.sqrt(truth[i]) if n == "a" else truth[i] for n, i in place.items()}
    x, y = (exact[n] * np.linspace(*RANGES[n], POINTS) for n in (first, second))
    grid = np.meshgrid(x, y, indexing="ij")
    theta = np.broadcast_to(truth, (POINTS, POINTS, len(truth))).copy()
    for n, values in zip((first, second), grid, strict=True):
        theta[..., place[n]] = values**2 if n == "a" else values
    root = np.sqrt(np.einsum("xyi,ij,xyj->xy", theta, form, theta))
    figure = StyledFigure(settings, HEIGHT, layout="none")
    solid = figure.add_axes((0.0, 0.04, 0.5, 0.94), projection="3d")
    solid.plot_surface(
        *grid,
        root,
        cmap="viridis",
        rcount=30,
        ccount=30,
        linewidth=0.1,
        edgecolor="0.3",
    )
    solid.contour(*grid, root, levels=12, offset=0.0, cmap="viridis", linewidths=0.7)
    solid.set_zlim(0, None)
    solid.view_init(**VIEW)
    flat = figure.add_axes((0.6, 0.14, 0.38, 0.8))
    lines = flat.contour(*grid, root, levels=12, cmap="viridis", linewidths=0.8)
    flat.clabel(lines, fontsize=0.75 * settings["font_size"])
    mark = {"color": settings["truth_color"], "linestyle": "none"}
    flat.plot(exact[first], exact[second], "x", label="exact", markersize=6, **mark)
    if first == "a":
        ratio = exact[second] / exact[first] ** 2
        flat.plot(
            x,
            ratio * x**2,
            color=settings["truth_color"],
            lw=0.8,
            label="level set $c = a^2/2$",
        )
    flat.set_xlim(x[0], x[-1])
    flat.set_ylim(y[0], y[-1])
    flat.legend(loc="upper left", frameon=True, framealpha=0.9)
    for axes in (solid, flat):
        axes.set_xlabel(NAMES[first])
        axes.set_ylabel(NAMES[second])
    solid.set_zlabel(r"$\sqrt{E}$")
    return figure
