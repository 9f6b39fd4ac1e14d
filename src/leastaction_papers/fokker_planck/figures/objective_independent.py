"""Stationary densities, and parameters estimated from them."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D

from leastaction.core.families import declared_units
from leastaction.core.units import unit
from leastaction.figures.style import (
    StyledFigure,
    grid_of,
    key,
    legend_on_top,
    note,
    small,
)
from leastaction_papers.fokker_planck.stationary_parameters import (
    level_set_error,
    samples,
    true_coefficients,
    true_level,
)
from leastaction_papers.scorecard.looks import look, marked, plain_numbers
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel
from leastaction_papers.scorecard.readable import (
    plain_scientific,
    scientific,
    unit_label,
)

POINTS = 121
# Ranges of the axes of Figures 3 and 4, in the true value.
RANGES = {"k": (0.6, 1.4), "a": (0.6, 1.4), "c": (0.4, 1.6)}
# Range of the enlarged part of Figure 3.
ENLARGED = (0.95, 1.05)
KIND_OF = {"k": "lagrangian", "c": "dissipation", "a": "volatility"}
NAMES = {"k": "$k$ (N/m)", "c": "$c$ (N s/m)", "a": "$a$ (N s$^{0.5}$)"}


def _mark(name: str, settings: Mapping) -> dict:
    """Colour and marker of an estimator."""
    return {"color": look(name).color(settings), "marker": look(name).marker}


def _error_axis(axes: Axes, settings: Mapping, linear: float = 1.0) -> None:
    """Per cent, linear up to some number and logarithmic beyond it, and the truth."""
    axes.set_yscale("symlog", linthresh=linear)
    plain_numbers(axes.yaxis)
    axes.axhline(0, color=settings["truth_color"], linewidth=0.8, zorder=0)


def objective_independent(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """√E over stiffness and damping, which the density tells apart (Fig. 3).

    Of the first panel; enlarged, the minimum of every panel.
    """
    figure, flat = _surface(panels[0], settings, "k", "c")
    truth, handles = _Objective(panels[0]).truth, [_exact(settings)]
    near = flat.inset_axes((0.03, 0.04, 0.36, 0.36))
    near.plot(truth["k"], truth["c"], "x", color=settings["truth_color"])
    shown = zip(panels, cycle(("estimate_color", "published_color")), cycle("os"))
    for panel, colour, marker in shown:
        mark = {"color": settings[colour], "marker": marker, "linestyle": "none"}
        near.plot(*_Objective(panel).minimum("k", "c"), **mark)
        text = f"minimum, {samples_text(samples(panel.config))} samples"
        handles.append(key(text, **mark))
    near.set(
        xlim=truth["k"] * np.array(ENLARGED),
        ylim=truth["c"] * np.array(ENLARGED),
        xticks=[],
        yticks=[],
    )
    note(near, "exact ± 5 %", 0.04, 0.9, fontsize=small(settings))
    flat.indicate_inset_zoom(near, edgecolor="0.2", alpha=1.0)
    legend_on_top(figure, handles)
    return figure


def finding(panels: Sequence[Panel]) -> str:
    """Where the minimum of Figure 3 lies, by number of samples."""
    minima = []
    for panel in panels:
        objective = _Objective(panel)
        errors = [
            f"{value:.4g} ({100 * (value / objective.truth[n] - 1):+.2f} %)"
            for n, value in zip("kc", objective.minimum("k", "c"), strict=True)
        ]
        k, c = (text.replace("-", "−") for text in errors)
        least = np.sqrt(panel.model(BASELINE)["objective"].values[0])
        minima.append(
            f"with {_count(panel)} samples at k = {k} and c = {c}, where √E is "
            f"{least:.2g}"
        )
    return f"There is one minimum: {'; '.join(minima)}."


def objective_dependent(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """√E over noise strength and damping: a ravine along the level set (Fig. 4)."""
    (panel,) = panels
    figure, flat = _surface(panel, settings, "a", "c")
    a, red = _Objective(panel).range("a"), settings["truth_color"]
    flat.plot(a, true_level(panel.config) * a**2, color=red)
    legend_on_top(figure, [_exact(settings), key("level set $c = a^2/2$", red)])
    return figure


def objective_dependent_finding(panels: Sequence[Panel]) -> str:
    """How closely the bottom of the ravine of Figure 4 follows the level set."""
    (panel,) = panels
    objective = _Objective(panel)
    a = objective.range("a")
    theta, damping = objective.at(a=a, c=0.0), objective.place["c"]
    row = objective.form[damping]
    theta[:, damping] = c = -(theta @ row) / row[damping]
    lowest = objective.root(theta)
    errors = 100 * (c / (true_level(panel.config) * a**2) - 1)
    off = f"{errors.min():+.1f} to {errors.max():+.1f}".replace("-", "−")
    return (
        f"The bottom of the valley is {off} % off "
        f"c = a²/2 ({_count(panel)} samples). Along it √E rises from "
        f"{lowest.min():.2g} to {lowest.max():.2g} with a, little compared with "
        "the walls: damping and noise strength cannot be estimated together."
    )


class _Objective:
    """E = θᵀ G θ of the published residual, for k, c and a of a linear oscillator.

    `truth` are their true values, and `place` their places in `theta`, the true θ.
    """

    def __init__(self, panel: Panel):
        equation, self.theta = true_coefficients(panel.config)
        kinds = [term.kind for term in equation.terms]
        self.form = panel.model(BASELINE)["objective_form"].values[0]
        self.place = {name: kinds.index(kind) for name, kind in KIND_OF.items()}
        self.truth = {name: self.theta[i] for name, i in self.place.items()}
        self.truth["a"] **= 0.5

    def range(self, name: str) -> np.ndarray:
        """Values of a parameter on an axis."""
        return self.truth[name] * np.linspace(*RANGES[name], POINTS)

    def at(self, a=None, **values) -> np.ndarray:
        """θ, shape (..., term), with other values of some parameters."""
        if a is not None:
            values["a"] = a**2
        shape = np.broadcast(*values.values()).shape
        theta = np.tile(self.theta, (*shape, 1))
        for name, value in values.items():
            theta[..., self.place[name]] = value
        return theta

    def root(self, theta: np.ndarray) -> np.ndarray:
        """√E, shape (...)."""
        return np.sqrt(np.einsum("...i,ij,...j->...", theta, self.form, theta))

    def minimum(self, *free: str) -> np.ndarray:
        """Values of the `free` parameters at the least E, the others being true."""
        places = [self.place[name] for name in free]
        rest = np.delete(np.arange(len(self.theta)), places)
        right = self.form[np.ix_(places, rest)] @ self.theta[rest]
        return -np.linalg.solve(self.form[np.ix_(places, places)], right)


def _count(panel: Panel) -> str:
    """Number of samples, for a finding."""
    return samples_text(samples(panel.config), plain=True)


def _exact(settings: Mapping) -> Line2D:
    """Entry of the true parameters in a legend."""
    return key("exact", settings["truth_color"], "x", linestyle="none")


def _surface(panel: Panel, settings: Mapping, first: str, second: str):
    """Surface and map of √E over two parameters, with a cross at the true ones."""
    objective = _Objective(panel)
    x, y = objective.range(first), objective.range(second)
    grid = np.meshgrid(x, y, indexing="ij")
    root = objective.root(objective.at(**{first: grid[0], second: grid[1]}))
    figure, solid, flat = surface_and_map(settings)
    levels = MaxNLocator(12).tick_values(0.0, root.max())
    colours = {"cmap": "viridis", "vmin": 0.0, "vmax": levels[-1]}
    solid.contour(*grid, root, levels, offset=0.0, linewidths=0.7, zorder=0, **colours)
    mesh = {"rcount": 30, "ccount": 30, "linewidth": 0.1, "edgecolor": "0.3"}
    solid.plot_surface(*grid, root, zorder=1, **mesh, **colours)
    solid.set_zlim(0, levels[-1])
    filled = flat.contourf(*grid, root, levels, **colours)
    flat.contour(*grid, root, levels, colors="white", linewidths=0.4)
    label = r"$\sqrt{E}$ (SI units)"
    figure.colorbar(filled, ax=flat, pad=0.02).set_label(label)
    solid.set_zlabel(label)
    cross = {"marker": "x", "linestyle": "none", "color": settings["truth_color"]}
    place = [objective.truth[first]], [objective.truth[second]]
    solid.plot(*place, [0.0], zorder=2, **cross)
    flat.plot(*place, **cross)
    flat.set_title(f"{samples_text(samples(panel.config))} samples", loc="center")
    flat.set_ylim(y[0], y[-1])
    for axes in (solid, flat):
        axes.set_xlabel(NAMES[first])
        axes.set_ylabel(NAMES[second])
    return figure, flat


def level_set(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Damping as a function of the noise strength, and its error (Fig. 5).

    First replicate; the curve is the exact level set c = a² c₀/a₀². The errors have a
    scale that is linear within one per cent (grey) and logarithmic beyond it.
    """
    (panel,) = panels
    ratio = true_level(panel.config)
    figure, ((left, right),) = grid_of(settings, 1, 2, row=75)
    # Ours, then the paper's over it, with larger open marks: they lie on one another.
    estimators = [name for name in ORDER if name in panel.models][::-1]
    for size, name in zip((2.4, 4.2, 6.0), estimators, strict=False):
        model = panel.models[name]
        a = model["level_volatility"].values[0]
        c = model["level_dissipation_estimate"].values[0]
        style = {"markersize": size, "markerfacecolor": "none"} | _mark(name, settings)
        left.plot(a, c, linestyle="none", **style)
        error = 100 * level_set_error(panel.config, model)[0]
        right.plot(a, error, linewidth=0.7, **style)
    fine = np.linspace(0, a.max(), 200)
    red = {"color": settings["truth_color"]}
    left.plot(fine, ratio * fine**2, lw=1.0, zorder=0, **red)
    x = 0.6 * a.max()
    note(left, "exact level set", x, ratio * x**2, "data", offset=(6, -10), **red)
    left.set_ylabel("Damping $c$ (N s/m)")
    right.set_ylabel("Relative error of $c$ (%), logarithmic beyond 1 %")
    _error_axis(right, settings)
    right.axhspan(-1, 1, color="0.93", zorder=-1)
    note(right, "linear", a.max(), 0.7, "data", ha="right", va="center")
    for axes in (left, right):
        axes.set_xlabel("Noise strength $a$ (N s$^{0.5}$)")
    legend_on_top(figure, marked(estimators[::-1], settings))
    return figure


def level_set_finding(panels: Sequence[Panel]) -> str:
    """Errors of the level set, the largest and the median, by estimator."""
    (panel,) = panels
    errors = []
    for name in (BASELINE, MAIN):
        model = panel.model(name)
        a = model["level_volatility"].values[0]
        error = 100 * np.abs(level_set_error(panel.config, model)[0])
        errors.append(
            f"{name} is off by {np.median(error):.2g} % in the median and "
            f"{error.max():.2g} % at worst, at a = {a[error.argmax()]:g}"
        )
    return (
        f"To the eye all estimates lie on the level set ({_count(panel)} samples). "
        f"In numbers {'; '.join(errors)}; the paper says less than 2.81 %."
    )


# Estimators in the order of every legend.
ORDER = ("published", "recommended")


def axes_names(panel: Panel, a: int) -> tuple[str, str]:
    """Labels of the plane (q_a, q̇_a)."""
    name = list(panel.config["system"]["coordinates"])[a]
    length = _unit(panel, a)
    units = [unit_label(u, keep_radian=True) for u in (length, length / unit("s"))]
    return f"${name}$ ({units[0]})", rf"$\dot {name}$ ({units[1]})"


def _unit(panel: Panel, a: int):
    """Unit of the coordinate q_a."""
    system = panel.config["system"]
    return unit(declared_units(system)[list(system["coordinates"])[a]])


def cells(rollout, a: int) -> tuple:
    """Centres of the cells along q_a and q̇_a."""
    centres = rollout["cell_centre"].values
    return centres[a], centres[rollout.sizes["dof"] + a]


def _name_axes(axes: Axes, panel: Panel, a: int) -> None:
    x, y = axes_names(panel, a)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def density_surface(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Density of the simulated states as a surface (Fig. 2 of Yoshida and Yamanaka).

    Right the same cells from above.
    """
    (panel,) = panels
    rollout = panel.rollout(MAIN)
    q, qdot = cells(rollout, 0)
    true = rollout["density_true"].values[0, 0]
    figure, solid, flat = surface_and_map(settings)
    colours = {"cmap": "viridis", "vmin": 0.0, "vmax": true.max()}
    fine = {"rcount": 50, "ccount": 50, "linewidth": 0.1, "edgecolor": "0.3"}
    solid.plot_surface(*np.meshgrid(q, qdot, indexing="ij"), true, **fine, **colours)
    drawn = flat.pcolormesh(q, qdot, true.T, rasterized=True, **colours)
    height = f"Density ({unit_label(unit('s') / _unit(panel, 0) ** 2)})"
    figure.colorbar(drawn, ax=flat, pad=0.02).set_label(height)
    count = samples_text(_samples(panel))
    flat.set_title(f"{count} samples, {len(q)} × {len(qdot)} cells", loc="center")
    for axes in (solid, flat):
        _name_axes(axes, panel, 0)
    solid.set_zlabel(height)
    return figure


def density_surface_finding(panels: Sequence[Panel]) -> str:
    """How far the histogram is from a Gaussian of the same variances."""
    (panel,) = panels
    rollout = panel.rollout(MAIN)
    true = rollout["density_true"].values[0, 0]
    q, qdot = cells(rollout, 0)
    weight = true / true.sum()
    variances = np.square(q) @ weight.sum(1), np.square(qdot) @ weight.sum(0)
    shape = np.add.outer(q**2 / variances[0], qdot**2 / variances[1])
    gaussian = np.exp(-shape / 2) / (2 * np.pi * np.sqrt(np.prod(variances)))
    off = 100 * np.abs(true - gaussian).max() / true.max()
    count = samples_text(_samples(panel), plain=True)
    return (
        f"The histogram of {count} samples in {len(q)} × {len(qdot)} cells: no cell "
        f"is further than {off:.1g} % of the peak of {true.max():.3f} from a Gaussian "
        "density of the same variances."
    )


def _samples(panel: Panel) -> float:
    """Number of samples in the density of the truth."""
    simulated, shown = panel.config["simulate"], panel.config["validate"]
    length = shown["lengths"] * simulated["duration"]
    return shown["trajectories"] * length / simulated["time_step"]


def surface_and_map(settings: Mapping) -> tuple[StyledFigure, Axes3D, Axes]:
    """An empty figure, axes for a surface on the left and for its map on the right."""
    figure = StyledFigure(settings, 84)
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 0.92))
    solid = left.add_axes((0.02, 0.0, 0.96, 1.0), projection="3d")
    solid.view_init(elev=32, azim=-125)
    solid.set_box_aspect(None, zoom=0.88)
    # What lies on the floor may show through a surface.
    solid.computed_zorder = False
    return figure, solid, right.subplots()


def samples_text(samples: float, plain: bool = False) -> str:
    """A number of samples to one digit: mathtext, or plain text.

    >>> samples_text(1e7), samples_text(1e7, plain=True)
    ('$10^{7}$', '10⁷')
    """
    if plain:
        return plain_scientific(samples, 1).removeprefix("1·")
    return scientific(samples, 1).replace(r"$1\times", "$")
