"""Axes of a sweep over noise: shares of right structures, and errors below them."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from leastaction.report.study import FAINTEST, share_bars

# Factor that parts the largest finite median from the upper edge.
ROOM = 30.0
INFINITE = "infinite"


def share_of_exact(axes: Axes, x: np.ndarray, case: xr.Dataset, style: Mapping) -> None:
    """Share of replicates with exactly the right structure, one mode of a recovery."""
    exact = case["exact"].transpose("replicate", "noise_level").values
    share_bars(axes, x, exact.sum(axis=0), len(exact), **style)


def median_error(axes: Axes, x: np.ndarray, case: xr.Dataset, style: Mapping) -> None:
    """Median of the largest error of a coefficient; infinite ones at the upper edge."""
    error = case["worst_error"].transpose("replicate", "noise_level").values
    if np.isnan(error).all():
        return
    middle = np.maximum(100 * np.median(error, axis=0), FAINTEST)
    axes.plot(x, np.where(np.isfinite(middle), middle, np.nan), **style)
    beyond = np.isinf(middle)
    if beyond.any():
        at_edge = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        edge = np.ones(beyond.sum())
        lone = {"linestyle": "none", "gid": INFINITE}
        axes.plot(x[beyond], edge, **dict(style) | at_edge | lone)


def mark_infinite(row: Sequence[Axes]) -> None:
    """Room below the upper edge, and its sign, where a median is infinite."""
    if any(line.get_gid() == INFINITE for axes in row for line in axes.lines):
        low, high = row[0].get_ylim()
        row[0].set_ylim(low, high * ROOM)
        place = {"xycoords": "axes fraction", "textcoords": "offset points"}
        row[0].annotate(
            r"$\infty$", (0, 1), xytext=(-4, 0), ha="right", va="center", **place
        )
