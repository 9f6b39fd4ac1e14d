"""Stationary density of the simulated states: a surface, and a map."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from leastaction.core.families import declared_units
from leastaction.core.units import unit
from leastaction.figures.style import (
    StyledFigure,
)
from leastaction_papers.scorecard.panel import MAIN, Panel
from leastaction_papers.scorecard.readable import (
    plain_scientific,
    scientific,
    unit_label,
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


def finding(panels: Sequence[Panel]) -> str:
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
