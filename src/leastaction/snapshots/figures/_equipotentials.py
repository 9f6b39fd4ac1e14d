"""Lines of equal potential in the plane of two coordinates."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from leastaction.report.panel import Panel
from leastaction.snapshots.shadow_panel import Learned

# Levels below and above the separatrix, in units of its own.
BELOW = (0.04, 0.16, 0.36, 0.64)
ABOVE = (1.4, 2.0)


def on_grid(first: xr.Dataset, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sides x and y of the grid of positions at rest, and values as a map (y, x)."""
    x, y = (np.unique(side) for side in first["q_rest"].values.T)
    return x, y, np.reshape(values, (x.size, y.size)).T


def separatrix(panel: Panel) -> float:
    """Level of the separatrix above the lowest energy at rest, J."""
    return float(panel.config["validate"]["shadow"]["potential"]["below"])


def levels(panel: Panel, below=BELOW, above=ABOVE) -> list[float]:
    """Levels to draw without that of the separatrix, J."""
    return [share * separatrix(panel) for share in (*below, *above)]


def equipotentials(axes: Axes, panel: Panel, one: Learned, color: str = "0.78") -> None:
    """Thin lines of equal true potential, and its separatrix in black."""
    first = one.first
    grid = on_grid(first, first["potential_true"].values)
    axes.contour(*grid, levels=levels(panel), colors=color, linewidths=0.5, zorder=1)
    axes.contour(
        *grid, levels=[separatrix(panel)], colors="black", linewidths=0.7, zorder=1
    )


def square(axes: Axes, panel: Panel) -> None:
    """Equal scales and labels of the two coordinates."""
    axes.set_aspect("equal")
    x, y = panel.truth.coordinates
    axes.set_xlabel(f"{panel.label(x)} ({panel.coordinate_unit(x)})")
    axes.set_ylabel(f"{panel.label(y)} ({panel.coordinate_unit(y)})")
