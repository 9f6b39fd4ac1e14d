"""The true energy along the motion of learned Lagrangians, for several figures."""

from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib.axes import Axes

from leastaction.snapshots.figures._looks import shadow_look
from leastaction.snapshots.shadow_panel import Learned

# Smaller deviations are round-off.
LEAST = 1e-10


def true_energy(
    axes: Axes, found: Iterable[Learned], settings: Mapping, windows: int = 0
) -> None:
    """|H − H(0)| of the true H along each motion of the first replicate, J.

    Dots at the stored times, or lines of the largest in each of so many windows.
    """
    for one in found:
        look, case = shadow_look(one.estimator), one.first.sel(order=one.main)
        time = case["time_energy"].values
        # The model's own energy of the start would hide an error of its velocity.
        change = np.abs(
            case["hamiltonian_estimate"] - case["hamiltonian_start_true"]
        ).values
        if windows:
            style = {"linestyle": look.dashes, "linewidth": 1.0}
            middle, change = largest_by_window(time, change, windows)
        else:
            style = {"linestyle": "none", "marker": ".", "markersize": 2.2}
            middle = time
        axes.plot(
            middle,
            np.maximum(change, LEAST),
            color=look.color(settings),
            markeredgewidth=0,
            **style,
        )
        axes.set_xlim(time[0], time[-1])
    axes.set_yscale("log")
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("$|H(t) - H(0)|$ (J)")


def largest_by_window(time, values, windows: int) -> tuple[np.ndarray, np.ndarray]:
    """Middle of each of so many windows of time, and the largest value in it.

    NaN where no value of a window is finite.
    """
    parts = np.array_split(np.arange(len(time)), min(windows, len(time)))
    held = np.where(np.isfinite(values), values, -np.inf)
    largest = np.array([held[part].max() for part in parts])
    middle = np.array([time[part].mean() for part in parts])
    return middle, np.where(np.isfinite(largest), largest, np.nan)
