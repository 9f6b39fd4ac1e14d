"""Lightly smoothed states with the covariance of their errors."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from leastaction.core.contracts import time_step
from leastaction.core.noise_sweep import CHANNELS
from leastaction.trajectories.demmler_reinsch import demmler_reinsch
from leastaction.trajectories.gram import clear_of_switches
from leastaction.trajectories.library_equations import LibraryEquations
from leastaction.trajectories.motion import spline_bases, states

# The bias of the smoothing must be small against its noise, which is corrected for.
LIGHTER = 10.0


@dataclass(frozen=True)
class Smoothed:
    """Lightly smoothed states, and the covariance of their errors.

    Attributes
    ----------
    states
        q, q̇, q̈, each of shape (trajectory, time, dof).
    spread
        Cholesky factor of the covariance of the errors of (q, q̇, q̈), shape
        (derivative, derivative, trajectory, time, dof); None if nothing is known of
        them. Errors of different coordinates are taken for independent.
    used
        Samples that count, shape (trajectory, time).
    """

    states: tuple[np.ndarray, ...]
    spread: np.ndarray | None
    used: np.ndarray


def smoothed(
    observations: xr.Dataset,
    rates: xr.Dataset,
    equations: LibraryEquations,
    lighter: float = LIGHTER,
) -> Smoothed:
    """Spline with a smaller penalty, applied twice (twicing: Tukey 1977).

    With s = 1 / (1 + λμ/`lighter`) the filter s (2 − s) has the bias (1 − s)².
    """
    motion = states(observations, rates)
    used = clear_of_switches(equations, motion[0], motion[1], rates)
    if "spline" not in rates:
        return Smoothed(motion, None, used)
    recorded = [str(name) for name in rates["channel"].values]
    orders = tuple(CHANNELS.index(name) for name in recorded)
    samples, step = observations.sizes["time"], time_step(observations)
    bases = [csr_array(basis) for basis in spline_bases(rates)]
    values, spreads = [], []
    for a in range(observations.sizes["dof"]):
        basis = demmler_reinsch(
            samples,
            step,
            int(rates["knot_spacing"]),
            orders,
            tuple(map(int, rates["noise_ratio"].values[0, a])),
        )
        rough = rates["penalty"].values[0, :, a, None] * basis.penalty
        light = 1 / (1 + rough / lighter)
        light = light * (2 - light)
        spectrum = rates["spline"].values[0, :, a] @ basis.inverse.T * (1 + rough)
        modes = [b @ basis.vectors for b in bases]
        noise = rates["noise_std"].values[0, a]
        variance = light**2 * ((np.array(basis.weights) * noise**2) @ basis.share)
        values.append([(light * spectrum) @ mode.T for mode in modes])
        spreads.append(
            _cholesky(
                [
                    [variance @ (m * n).T for n in modes[: i + 1]]
                    for i, m in enumerate(modes)
                ]
            )
        )
    whole = np.moveaxis(np.array(values), 0, -1)
    return Smoothed(tuple(whole), np.moveaxis(np.array(spreads), 0, -1), used)


def _cholesky(lower: list[list[np.ndarray]]) -> np.ndarray:
    """Cholesky factors of many matrices; a variance of zero gives zeros."""
    size = len(lower)
    root = np.zeros((size, size, *lower[0][0].shape))
    for i in range(size):
        for j in range(i + 1):
            rest = lower[i][j] - (root[i, :j] * root[j, :j]).sum(0)
            if i == j:
                root[i, i] = np.sqrt(np.maximum(rest, 0.0))
            else:
                divisor = np.where(root[j, j] > 0, root[j, j], 1.0)
                root[i, j] = np.where(root[j, j] > 0, rest / divisor, 0.0)
    return root
