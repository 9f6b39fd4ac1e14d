"""Stationary densities of truth and model: planes, marginals, and a surface."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from leastaction.core.families import declared_units
from leastaction.core.units import unit
from leastaction.figures.readable import plain_scientific, scientific, unit_label
from leastaction.figures.style import (
    StyledFigure,
    grid_of,
    key,
    legend_on_top,
    note,
)
from leastaction_papers.scorecard.looks import look
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel, panel_title

# Contours, as parts of the highest density.
CONTOURS = (0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
# Standard errors at which the colours of the residual end.
HIGHEST_SCORE = 4.0
# Faintest marginal density shown, over the highest one.
FAINTEST_MARGINAL = 1e-5
# Estimators in the order of every legend.
ORDER = ("published", "split_sample", "recommended")


def density(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Contours of the densities of truth and model, and the residual map.

    One row per example, one column per degree of freedom; of one degree of freedom, the
    residual of the model's stationary equation on the truth's density, in standard
    errors, stands beside. First replicate.
    """
    figure, grid = grid_of(settings, len(panels), 2, row=66, rest=9)
    for i, (row, panel) in enumerate(zip(grid, panels, strict=True)):
        shown = (MAIN, BASELINE, *panel.rollouts)
        name = next((n for n in shown if n in panel.rollouts), MAIN)
        rollout = panel.rollout(name)
        count = rollout.sizes["dof"]
        for a in range(min(count, 2)):
            _contours(row[a], panel, rollout, a, settings)
        if count == 1:
            _scores(figure, row[1], panel, rollout)
        row[0].set_title(panel_title(panels, i))
    handles = [
        key("truth", settings["truth_color"]),
        key("model", settings["estimate_color"], linestyle="--"),
    ]
    legend_on_top(figure, handles)
    return figure


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


def _contours(axes: Axes, panel: Panel, rollout, a: int, settings: Mapping) -> None:
    q, qdot = cells(rollout, a)
    truth = rollout["density_true"].values[0, a]
    levels = np.array(CONTOURS) * np.quantile(truth, 0.999)
    for end, colour, dashes in (
        ("true", "truth_color", "solid"),
        ("estimate", "estimate_color", "dashed"),
    ):
        values = rollout[f"density_{end}"].values[0, a]
        if np.isfinite(values).all():
            style = {"linewidths": 0.8, "linestyles": dashes}
            style |= {"levels": levels, "colors": settings[colour]}
            axes.contour(q, qdot, values.T, **style)
    _name_axes(axes, panel, a)
    # Room for the note above the contours.
    axes.set_ylim(qdot[0], qdot[-1] + 0.12 * np.ptp(qdot))
    distance = rollout["total_variation"].values[0, a]
    text = "not identifiable: no density of the model"
    if np.isfinite(distance):
        text = f"total variation {100 * distance:.2g} %"
    note(axes, text, 0.02, 0.97, va="top")


def _scores(figure: Figure, axes: Axes, panel: Panel, rollout) -> None:
    score = rollout["residual_score"].values[0]
    if not np.isfinite(score).any():
        axes.set_axis_off()
        return
    half = [(x[-1] - x[0] + x[1] - x[0]) / 2 for x in cells(rollout, 0)]
    drawn = axes.imshow(
        score.T,
        origin="lower",
        extent=(-half[0], half[0], -half[1], half[1]),
        cmap="RdBu_r",
        vmin=-HIGHEST_SCORE,
        vmax=HIGHEST_SCORE,
        aspect="auto",
    )
    bar = figure.colorbar(drawn, ax=axes, pad=0.02)
    bar.set_label("Residual over its standard error (1)")
    _name_axes(axes, panel, 0)


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


def marginals(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Marginal densities of every coordinate and velocity, logarithmic.

    One row per degree of freedom; every estimator that was rolled out. First replicate.
    """
    rows = [
        (i, panel, a)
        for i, panel in enumerate(panels)
        for a in range(len(panel.config["system"]["coordinates"]))
    ]
    figure, grid = grid_of(settings, len(rows), 2, row=55, rest=9)
    shown = set()
    for row, (i, panel, a) in zip(grid, rows, strict=True):
        for axis, axes in enumerate(row):
            shown |= _marginal(axes, panel, a, axis, settings)
        if a == 0:
            row[0].set_title(panel_title(panels, i))
    handles = [key("truth", settings["truth_color"], linewidth=2.0)]
    handles += [
        key(n.replace("_", " "), look(n).color(settings), linestyle="--")
        for n in ORDER
        if n in shown
    ]
    legend_on_top(figure, handles)
    return figure


def _marginal(axes, panel: Panel, a: int, axis: int, settings: Mapping) -> set[str]:
    """Draw one marginal of truth and estimators; the names of those drawn."""
    shown = set()
    highest = 0.0
    for name, rollout in panel.rollouts.items():
        x = cells(rollout, a)
        step = np.diff(x[1 - axis][:2])[0]
        for end in ("true", "estimate"):
            values = rollout[f"density_{end}"].values[0, a]
            if not np.isfinite(values).all() or (end == "true" and highest):
                continue
            marginal = values.sum(axis=1 - axis) * step
            highest = max(highest, marginal.max())
            style = {"color": look(name).color(settings), "ls": "--", "lw": 1.0}
            if end == "true":
                style = {"color": settings["truth_color"], "lw": 2.0, "alpha": 0.6}
            else:
                shown.add(name)
            axes.plot(x[axis], np.where(marginal > 0, marginal, np.nan), **style)
    axes.set_yscale("log")
    axes.set_ylim(FAINTEST_MARGINAL * highest, 2 * highest)
    axes.set_xlabel(axes_names(panel, a)[axis])
    axes.set_ylabel("Marginal density (SI units)")
    return shown


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
