"""Legends, energies along motions and maps that the figures of snapshots share."""

from collections.abc import Iterable, Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leastaction.report.looks import Look, look
from leastaction.report.panel import BASELINE, Panel
from leastaction.report.style import key, time_axis
from leastaction.snapshots.shadow_panel import Learned

NAMES = {BASELINE: "LSI, published"}
# Marker and grey of H^[k] by k.
ORDER_MARKERS = {0: "o", 2: "s", 4: "^"}
GREYS = {0: "0.72", 2: "0.45", 4: "0.1"}
# Smaller deviations of the energy, in J, are round-off.
LEAST_ENERGY = 1e-10
# Levels of equal potential below and above the separatrix, in units of its own.
BELOW = (0.04, 0.16, 0.36, 0.64)
ABOVE = (1.4, 2.0)
TRUTH_DASHES = (0, (3, 2))


def look_of(estimator: str) -> Look:
    """Look of an estimator."""
    return look(estimator, NAMES)


def hamiltonian_label(order: int) -> str:
    """Mathtext of H^[k]."""
    return rf"$H^{{[\![{order}]\!]}}$"


def line_handles(
    estimators: Iterable[str], settings: Mapping, truth: bool = True
) -> list[Line2D]:
    """Legend of lines, one per estimator."""
    red = key("truth", settings["truth_color"], linewidth=1.6)
    handles = [red] if truth else []
    for one in map(look_of, estimators):
        style = {"linestyle": one.dashes, "linewidth": 1.1}
        handles.append(key(one.label, one.color(settings), **style))
    return handles


def names_of(found: Iterable[Mapping[str, Learned]]) -> list[str]:
    """Estimators that some panel has."""
    return list(dict.fromkeys(name for each in found for name in each))


def true_energy(
    axes: Axes, found: Iterable[Learned], settings: Mapping, windows: int = 0
) -> None:
    """|H − H(0)| of the true H along each motion of the first replicate, J.

    Dots at the stored times, or lines of the largest in each of so many windows.
    """
    for one in found:
        look, case = look_of(one.estimator), one.first.sel(order=one.main)
        time = case["time_energy"].values
        # The model's own energy of the start would hide an error of its velocity.
        start = case["hamiltonian_start_true"]
        change = np.abs(case["hamiltonian_estimate"] - start).values
        style = {"linestyle": "none", "marker": ".", "markersize": 2.2}
        middle = time
        if windows:
            style = {"linestyle": look.dashes, "linewidth": 1.0}
            middle, change = largest_by_window(time, change, windows)
        style |= {"color": look.color(settings), "markeredgewidth": 0}
        axes.plot(middle, np.maximum(change, LEAST_ENERGY), **style)
        time_axis(axes, time)
    axes.set_yscale("log")
    axes.set_ylabel("$|H(t) - H(0)|$ (J)")


def largest_by_window(time, values, windows: int) -> tuple[np.ndarray, np.ndarray]:
    """Middle of each of so many windows of time, and the largest value in it.

    NaN where no value of a window is finite.
    """
    parts = np.array_split(np.arange(len(time)), min(windows, len(time)))
    finite = np.where(np.isfinite(values), values, -np.inf)
    largest = np.array([finite[part].max() for part in parts])
    middle = np.array([time[part].mean() for part in parts])
    return middle, np.where(np.isfinite(largest), largest, np.nan)


def on_grid(first: xr.Dataset, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sides x and y of the grid of positions at rest, and values as a map (y, x)."""
    x, y = (np.unique(side) for side in first["q_rest"].values.T)
    return x, y, np.reshape(values, (x.size, y.size)).T


def separatrix(panel: Panel) -> float:
    """Level of the separatrix above the lowest energy at rest, J."""
    return float(panel.config["validate"]["shadow"]["potential"]["below"])


def levels(panel: Panel) -> list[float]:
    """Levels to draw without that of the separatrix, J."""
    return [share * separatrix(panel) for share in (*BELOW, *ABOVE)]


def square(axes: Axes, panel: Panel) -> None:
    """Equal scales and labels of the two coordinates."""
    axes.set_aspect("equal")
    name_axes(axes, panel, *panel.truth.coordinates)


def name_axes(axes: Axes, panel: Panel, x: str, y: str) -> None:
    """Label the axes with two coordinates or velocities and their units."""
    axes.set_xlabel(f"{panel.label(x)} ({panel.coordinate_unit(x)})")
    axes.set_ylabel(f"{panel.label(y)} ({panel.coordinate_unit(y)})")


def grid_lines(axes: Axes, axis: str = "both", width: float = 0.5) -> None:
    """Grey lines behind everything."""
    axes.grid(axis=axis, color="0.92", linewidth=width)
    axes.set_axisbelow(True)
