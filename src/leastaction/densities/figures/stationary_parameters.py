"""Parameters estimated from a stationary density: errors, objective, level set."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from leastaction.densities.figures.density import ORDER, samples_text, surface_and_map
from leastaction.densities.stationary_parameters import (
    parameters,
    true_coefficients,
    true_level,
)
from leastaction.report.looks import look, marked
from leastaction.report.panel import BASELINE, MAIN, Panel, panel_title
from leastaction.report.style import (
    AT_X,
    RANGE,
    grid_of,
    key,
    legend_on_top,
    note,
    plain_numbers,
    range_bar,
    small,
)

DISTANCE_OF_ESTIMATORS = 0.22
# Errors beyond it, in per cent, stand at the edge: a parameter that collapsed to zero.
LARGEST_ERROR = 200.0
KINDS = {"lagrangian": "$L$", "dissipation": "damping"}
# Of the marks of two estimators, over the number of cells.
RELATIVE_DISTANCE = 0.04

POINTS = 121
# Ranges of the axes of Figures 3 and 4, in the true value.
RANGES = {"k": (0.6, 1.4), "a": (0.6, 1.4), "c": (0.4, 1.6)}
# Range of the enlarged part of Figure 3.
ENLARGED = (0.95, 1.05)
KIND_OF = {"k": "lagrangian", "c": "dissipation", "a": "volatility"}
NAMES = {"k": "$k$ (N/m)", "c": "$c$ (N s/m)", "a": "$a$ (N s$^{0.5}$)"}


def stationary_parameters(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Relative errors in per cent: medians and 5–95 % ranges over the replicates.

    The scale is linear within one per cent and logarithmic beyond it. What the density
    does not determine has no mark, and the figure says so.
    """
    figure, grid = grid_of(settings, len(panels), 1, row=62, rest=10)
    for i, (axes, panel) in enumerate(zip(grid[:, 0], panels, strict=True)):
        _errors(axes, panel, settings)
        axes.set_title(panel_title(panels, i))
    _legend(figure, panels, settings, RANGE)
    return figure


def _errors(axes: Axes, panel: Panel, settings: Mapping) -> None:
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
    axes.set_xticks(range(len(labels)), [_label(panel, n) for n in labels])
    axes.set_xlim(-0.6, len(labels) - 0.4)
    _error_axis(axes, settings)
    axes.margins(y=0.1)
    axes.set_ylabel("Relative error (%)")


def _legend(figure: Figure, panels: Sequence[Panel], settings, note: str = "") -> None:
    """Legend of the estimators that some panel has, each with a `note`."""
    shown = [name for name in ORDER if any(name in p.models for p in panels)]
    legend_on_top(figure, marked(shown, settings, note))


def _error_axis(axes: Axes, settings: Mapping, linear: float = 1.0) -> None:
    """Per cent, linear up to some number and logarithmic beyond it, and the truth."""
    axes.set_yscale("symlog", linthresh=linear)
    plain_numbers(axes.yaxis)
    axes.axhline(0, color=settings["truth_color"], linewidth=0.8, zorder=0)


def _label(panel: Panel, label: str, separator: str = "\n") -> str:
    """Label of a parameter for an axis: what it belongs to, and the candidate."""
    kind, _, term = label.partition(": ")
    shown = panel.label(term)
    if kind.startswith("noise strength"):
        several = len(panel.config["system"]["coordinates"]) > 1
        of = f" of {kind.rpartition(' ')[2]}" if several else ""
        return f"noise{of},{separator}{shown}"
    return f"{KINDS[kind]},{separator}{shown}"


def samples_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Root mean square of the relative errors against the number of samples.

    One row per system, one column per parameter. A single replicate, at the largest
    number, has a hollow mark.
    """
    groups: dict[tuple, list[Panel]] = {}
    for panel in panels:
        labels = [p.label for p in parameters(panel.config, panel.model(MAIN))]
        groups.setdefault(tuple(labels), []).append(panel)
    columns = max(map(len, groups))
    figure, grid = grid_of(settings, len(groups), columns, row=58, rest=10)
    for row, (labels, members) in zip(grid, groups.items(), strict=True):
        for axes in row[len(labels) :]:
            axes.set_axis_off()
        for j, (axes, label) in enumerate(zip(row, labels, strict=False)):
            for name in ORDER:
                _rms_errors(axes, members, name, j, settings)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("Samples")
            plain_numbers(axes.yaxis)
            text = _label(members[0], label, " ")
            axes.set_ylabel(f"Relative error of {text} (%)")
        row[0].set_title(members[0].title)
    _legend(figure, panels, settings, " (rms)")
    return figure


def _samples(panel: Panel) -> float:
    """Number of samples of one replicate."""
    given = panel.config["simulate"]
    return given["duration"] / given["time_step"] * given["trajectories"]


def _rms_errors(
    axes, members: Sequence[Panel], name: str, j: int, settings: Mapping
) -> None:
    points = []
    for panel in members:
        if name in panel.models:
            error = parameters(panel.config, panel.models[name])[j].error
            rms = 100 * np.sqrt(np.mean(error**2))
            points.append((_samples(panel), rms, len(error)))
    points.sort()
    if not points:
        return
    colour, marker = look(name).color(settings), look(name).marker
    x, y, _ = zip(*points, strict=True)
    axes.plot(x, y, color=colour, linewidth=0.9)
    for samples, error, count in points:
        face = colour if count > 1 else "white"
        style = {"color": colour, "markersize": 4.0, "markerfacecolor": face}
        axes.plot(samples, error, marker=marker, **style)


def bins_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Errors against the number of cells: exact density (lines), samples (marks)."""
    labels = [p.label for p in parameters(panels[0].config, panels[0].model(MAIN))]
    figure, (grid,) = grid_of(settings, 1, len(labels), row=75)
    for k, name in enumerate(ORDER):
        there = [panel for panel in panels if name in panel.models]
        style = {"color": look(name).color(settings)}
        bias = {}
        for panel in there:
            bins = panel.config["simulate"]["histogram"]["bins"]
            found = parameters(panel.config, panel.models[name])
            if panel.config["simulate"].get("exact"):
                bias[bins] = [100 * parameter.error[0] for parameter in found]
                continue
            x = bins * (1 + RELATIVE_DISTANCE * (k - 1))
            marks = {"marker": look(name).marker, **style}
            for axes, parameter in zip(grid, found, strict=True):
                range_bar(axes, x, 100 * parameter.error, **marks)
        if bias:
            x, y = zip(*sorted(bias.items()), strict=True)
            for axes, errors in zip(grid, np.transpose(y), strict=True):
                axes.plot(x, errors, linewidth=0.9, **style)
    for axes, label in zip(grid, labels, strict=True):
        axes.set_xscale("log")
        _error_axis(axes, settings, 0.1)
        axes.set_xticks([25, 50, 100, 200], ["25", "50", "100", "200"])
        axes.minorticks_off()
        axes.set_xlabel("Cells along each side")
        name = _label(panels[0], label, " ")
        axes.set_ylabel(f"Relative error of {name} (%)")
    _legend(figure, panels, settings)
    return figure


def objective_independent(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """√E over stiffness and damping, which the density tells apart (Fig. 3).

    Of the first panel; enlarged, the minimum of every panel.
    """
    figure, _, flat = _surface(panels[0], settings, "k", "c")
    truth, handles = _truth(panels[0]), [_exact(settings)]
    near = flat.inset_axes((0.03, 0.04, 0.36, 0.36))
    near.plot(truth["k"], truth["c"], "x", color=settings["truth_color"])
    shown = zip(panels, cycle(("estimate_color", "published_color")), cycle("os"))
    for panel, colour, marker in shown:
        mark = {"color": settings[colour], "marker": marker, "linestyle": "none"}
        near.plot(*_minimum(panel, "k", "c"), **mark)
        handles.append(key(f"minimum, {samples_text(_samples(panel))} samples", **mark))
    near.set_xlim(*(truth["k"] * np.array(ENLARGED)))
    near.set_ylim(*(truth["c"] * np.array(ENLARGED)))
    near.set_xticks([])
    near.set_yticks([])
    note(near, "exact ± 5 %", 0.04, 0.9, fontsize=small(settings))
    flat.indicate_inset_zoom(near, edgecolor="0.2", alpha=1.0)
    legend_on_top(figure, handles)
    return figure


def objective_independent_finding(panels: Sequence[Panel]) -> str:
    """Where the minimum of Figure 3 lies, by number of samples."""
    found = []
    for panel in panels:
        truth = _truth(panel)
        errors = [
            f"{value:.4g} ({100 * (value / truth[n] - 1):+.2f} %)".replace("-", "−")
            for n, value in zip("kc", _minimum(panel, "k", "c"), strict=True)
        ]
        least = np.sqrt(panel.model(BASELINE)["objective"].values[0])
        found.append(
            f"with {_count(panel)} samples at k = {errors[0]} and "
            f"c = {errors[1]}, where √E is {least:.2g}"
        )
    return f"There is one minimum: {'; '.join(found)}."


def objective_dependent(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """√E over noise strength and damping: a ravine along the level set (Fig. 4)."""
    (panel,) = panels
    figure, _, flat = _surface(panel, settings, "a", "c")
    truth, red = _truth(panel), settings["truth_color"]
    a = truth["a"] * np.linspace(*RANGES["a"], POINTS)
    flat.plot(a, true_level(panel.config) * a**2, color=red)
    legend_on_top(figure, [_exact(settings), key("level set $c = a^2/2$", red)])
    return figure


def objective_dependent_finding(panels: Sequence[Panel]) -> str:
    """How closely the bottom of the ravine of Figure 4 follows the level set."""
    (panel,) = panels
    form, place, truth = _form(panel)
    a = truth[place["a"]] ** 0.5 * np.linspace(*RANGES["a"], POINTS)
    theta = np.tile(truth, (POINTS, 1))
    theta[:, place["a"]], theta[:, place["c"]] = a**2, 0.0
    row = form[place["c"]]
    theta[:, place["c"]] = c = -(theta @ row) / row[place["c"]]
    lowest = np.sqrt(np.einsum("xi,ij,xj->x", theta, form, theta))
    errors = 100 * (c / (true_level(panel.config) * a**2) - 1)
    off = f"{errors.min():+.1f} to {errors.max():+.1f}".replace("-", "−")
    return (
        f"The bottom of the valley is {off} % off "
        f"c = a²/2 ({_count(panel)} samples). Along it √E rises from "
        f"{lowest.min():.2g} to {lowest.max():.2g} with a, nearly nothing beside the "
        "walls: damping and noise strength cannot be told apart."
    )


def _truth(panel: Panel) -> dict[str, float]:
    """True k, c and a of a linear oscillator."""
    _, place, truth = _form(panel)
    return {n: np.sqrt(truth[i]) if n == "a" else truth[i] for n, i in place.items()}


def _form(panel: Panel) -> tuple[np.ndarray, dict[str, int], np.ndarray]:
    """Matrix of E = θᵀ G θ, places of k, c and a² in θ, and its true value."""
    equation, truth = true_coefficients(panel.config)
    kinds = [term.kind for term in equation.terms]
    form = panel.model(BASELINE)["objective_form"].values[0]
    return form, {name: kinds.index(kind) for name, kind in KIND_OF.items()}, truth


def _minimum(panel: Panel, *free: str) -> np.ndarray:
    """Values of the `free` parameters at the least E, the others being true."""
    form, place, truth = _form(panel)
    found = [place[name] for name in free]
    rest = np.delete(np.arange(len(truth)), found)
    return -np.linalg.solve(
        form[np.ix_(found, found)], form[np.ix_(found, rest)] @ truth[rest]
    )


def _count(panel: Panel) -> str:
    """Number of samples, for a finding."""
    return samples_text(_samples(panel), plain=True)


def _exact(settings: Mapping) -> Line2D:
    """Entry of the true parameters in a legend."""
    return key("exact", settings["truth_color"], "x", linestyle="none")


def _surface(panel: Panel, settings: Mapping, first: str, second: str):
    """Surface and map of √E over two parameters, with a cross at the true ones."""
    form, place, truth = _form(panel)
    exact = _truth(panel)
    x, y = (exact[n] * np.linspace(*RANGES[n], POINTS) for n in (first, second))
    grid = np.meshgrid(x, y, indexing="ij")
    theta = np.broadcast_to(truth, (POINTS, POINTS, len(truth))).copy()
    for n, values in zip((first, second), grid, strict=True):
        theta[..., place[n]] = values**2 if n == "a" else values
    root = np.sqrt(np.einsum("xyi,ij,xyj->xy", theta, form, theta))
    figure, solid, flat = surface_and_map(settings)
    levels = MaxNLocator(12).tick_values(0.0, root.max())
    colours = {"cmap": "viridis", "vmin": 0.0, "vmax": levels[-1]}
    solid.contour(*grid, root, levels, offset=0.0, linewidths=0.7, zorder=0, **colours)
    mesh = {"rcount": 30, "ccount": 30, "linewidth": 0.1, "edgecolor": "0.3"}
    solid.plot_surface(*grid, root, zorder=1, **mesh, **colours)
    solid.set_zlim(0, levels[-1])
    filled = flat.contourf(*grid, root, levels, **colours)
    flat.contour(*grid, root, levels, colors="white", linewidths=0.4)
    bar = figure.colorbar(filled, ax=flat, pad=0.02)
    bar.set_label(r"$\sqrt{E}$ (SI units)")
    solid.set_zlabel(r"$\sqrt{E}$ (SI units)")
    cross = {"marker": "x", "linestyle": "none", "color": settings["truth_color"]}
    place = [exact[first]], [exact[second]]
    solid.plot(*place, [0.0], zorder=2, **cross)
    flat.plot(*place, **cross)
    flat.set_title(f"{samples_text(_samples(panel))} samples", loc="center")
    flat.set_ylim(y[0], y[-1])
    for axes in (solid, flat):
        axes.set_xlabel(NAMES[first])
        axes.set_ylabel(NAMES[second])
    return figure, solid, flat


def level_set(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Damping as a function of the noise strength, and its error (Fig. 5).

    First replicate; the curve is the exact level set c = a² c₀/a₀².
    """
    (panel,) = panels
    ratio = true_level(panel.config)
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
    _error_axis(right, settings)
    for axes in (left, right):
        axes.set_xlabel("Noise strength $a$ (N s$^{0.5}$)")
    legend_on_top(figure, marked(estimators, settings))
    return figure


def level_set_finding(panels: Sequence[Panel]) -> str:
    """Errors of the level set, the largest and the median, by estimator."""
    (panel,) = panels
    ratio, said = true_level(panel.config), []
    for name in (BASELINE, MAIN):
        model = panel.model(name)
        a = model["level_volatility"].values[0]
        c = model["level_dissipation_estimate"].values[0]
        error = 100 * np.abs(c / (ratio * a**2) - 1)
        said.append(
            f"{name} is off by {np.median(error):.2g} % in the median and "
            f"{error.max():.2g} % at worst, at a = {a[error.argmax()]:g}"
        )
    return (
        f"To the eye all estimates lie on the level set ({_count(panel)} samples). "
        f"In numbers {'; '.join(said)}; the paper says less than 2.81 %."
    )
