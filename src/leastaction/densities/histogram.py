"""Histograms in the plane (q_a, q̇_a) of each coordinate, filled from a stream."""

from collections.abc import Mapping

import numpy as np

from leastaction.core.compiled import kernel

KERNEL = """
@njit(cache=True, nogil=True)
def count(path, low, per_width, counts):
    dof, bins = counts.shape[0], counts.shape[1]
    for n in range(path.shape[0]):
        for a in range(dof):
            i = (path[n, a] - low[a]) * per_width[a]
            j = (path[n, dof + a] - low[dof + a]) * per_width[dof + a]
            if i >= 0.0 and j >= 0.0 and i < bins and j < bins:
                counts[a, int(i), int(j)] += 1
"""


class PlaneHistogram:
    """Counts in `bins` by `bins` cells of each plane (q_a, q̇_a).

    Samples outside the cells are left out of the counts.

    Attributes
    ----------
    counts
        Shape (dof, q_bin, qdot_bin).
    """

    def __init__(self, low, high, bins: int):
        self.low = np.asarray(low, dtype=float)
        self.high = np.asarray(high, dtype=float)
        self._per_width = bins / (self.high - self.low)
        self.counts = np.zeros((self.low.size // 2, bins, bins), dtype=np.int64)
        self._count = kernel(KERNEL, {}).count

    def add(self, path: np.ndarray) -> None:
        """Count samples of shape (steps, state)."""
        self._count(path, self.low, self._per_width, self.counts)

    def centres(self, state: int) -> np.ndarray:
        """Centres of the cells along one coordinate of the state, shape (bin,)."""
        return cell_centres(self.low[state], self.high[state], self.counts.shape[1])


def cell_centres(low: float, high: float, bins: int) -> np.ndarray:
    """Centres of equal cells (Yoshida and Yamanaka 2020, eq. 15)."""
    return low + (np.arange(bins) + 0.5) * (high - low) / bins


def check_domain(settings: Mapping, state: int) -> None:
    """Check `low` and `high` of a histogram of that many dimensions.

    Raises
    ------
    ValueError
    """
    low, high = settings["low"], settings["high"]
    if len(low) != state or len(high) != state:
        raise ValueError(
            f"histogram: low has {len(low)} numbers and high {len(high)}; the state "
            f"(q, qdot) has {state}"
        )
    for i, (a, b) in enumerate(zip(low, high, strict=True)):
        if not a < b:
            raise ValueError(f"histogram: low[{i}] = {a:g} is not below high {b:g}")
