"""What the size of the cells does to the estimates."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from leastaction.core.method import assemble, differentiate, identify
from leastaction.densities.figures._stationary import (
    ORDER,
    estimator_handles,
    parameter_label,
    plain_numbers,
)
from leastaction.densities.gill_histogram import histogram_dataset
from leastaction.densities.stationary_parameters import (
    Parameter,
    equation_of,
    parameters,
    stationary_library,
    true_coefficients,
)
from leastaction.report.looks import look
from leastaction.report.panel import BASELINE, MAIN, Panel
from leastaction.report.study import range_bar
from leastaction.report.style import grid_of, legend_on_top

FINEST = (20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200)
APART = 0.04
RECIPES = {
    BASELINE: (
        {"method": "central_stencil", "bins": None},
        {"method": "stationary_residual"},
        {
            "method": "residual_least_squares",
            "minimiser": "closed_form",
            "level_set": None,
        },
    ),
    MAIN: (
        {"method": "bump_functions", "bins": None, "centres": 5, "half_width": 0.6},
        {"method": "weak_fokker_planck"},
        {"method": "ito_gmm", "reweightings": 2, "ridge": 1e-4, "level_set": None},
    ),
}


def bins_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors against the number of cells: exact density (lines), samples (marks).

    The truth must be a linear oscillator with additive noise, whose density is known.
    """
    labels = [p.label for p in parameters(panels[0].config, panels[0].model(MAIN))]
    figure, (grid,) = grid_of(settings, 1, len(labels), row=75)
    for k, name in enumerate(ORDER):
        style = {"color": look(name).color(settings)}
        if name in RECIPES:
            bias = np.array(
                [
                    [p.error[0] for p in without_noise(panels[0], name, b)]
                    for b in FINEST
                ]
            )
            for axes, column in zip(grid, bias.T, strict=True):
                axes.plot(FINEST, 100 * column, linewidth=0.9, **style)
        for panel in panels:
            if name not in panel.models:
                continue
            bins = panel.config["simulate"]["histogram"]["bins"]
            found = parameters(panel.config, panel.models[name])
            for axes, parameter in zip(grid, found, strict=True):
                x = bins * (1 + APART * (k - 1))
                range_bar(
                    axes, x, 100 * parameter.error, marker=look(name).marker, **style
                )
    for axes, label in zip(grid, labels, strict=True):
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=0.1)
        plain_numbers(axes.yaxis)
        axes.set_xticks([25, 50, 100, 200], ["25", "50", "100", "200"])
        axes.minorticks_off()
        axes.axhline(0, color=settings["truth_color"], linewidth=0.8, zorder=0)
        axes.set_xlabel("Cells along each side")
        name = parameter_label(panels[0], label, " ")
        axes.set_ylabel(f"Relative error of {name} (%)")
    names = {name for panel in panels for name in panel.models}
    legend_on_top(figure, estimator_handles(names, settings))
    return figure


def without_noise(panel: Panel, estimator: str, bins: int) -> list[Parameter]:
    """Estimates from the exact density of the system of a panel."""
    observations = exact_histogram(panel, bins)
    library = stationary_library(panel.config)
    first, second, third = RECIPES[estimator]
    derivatives = differentiate(observations, first, library)
    equations = assemble(observations, derivatives, second, library)
    model = identify(observations, equations, third, library)
    return parameters(panel.config, model)


def exact_histogram(panel: Panel, bins: int) -> xr.Dataset:
    """Probabilities of the cells: variances c₀ = a²/(2ck) of q and a²/(2c) of q̇."""
    from scipy.special import ndtr  # half a second to import, and few need it

    equation = equation_of(panel.config)
    kinds = [term.kind for term in equation.terms]
    theta = true_coefficients(equation, panel.truth)
    k, c, noise = (
        theta[kinds.index(kind)] for kind in ("lagrangian", "dissipation", "volatility")
    )
    grid = panel.config["simulate"]["histogram"]
    edges = np.linspace(grid["low"], grid["high"], bins + 1)
    std = np.sqrt([noise / (2 * c * k), noise / (2 * c)])
    shares = np.diff(ndtr(edges / std), axis=0)
    counts = np.broadcast_to(np.outer(*shares.T), (1, 3, bins, bins))
    centres = (edges[1:] + edges[:-1]).T / 2
    (name,) = panel.config["system"]["coordinates"]
    units = {name: panel.config["system"]["coordinates"][name]["unit"]}
    return histogram_dataset(
        counts, np.ones((1, 3)), 1.0, list(centres), (name,), units
    )
