"""Gaussian process of the flow map (q, q̇) ↦ (q, q̇) one step on (GPFlow)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.core.gaussian_process import Posterior, square_distances
from leastaction.snapshots.contracts import CONTRACTS
from leastaction.snapshots.discrete_lagrangian import positions_of


def flow_pairs(
    positions: np.ndarray, time_step: float
) -> tuple[np.ndarray, np.ndarray]:
    """States (pair, 2 dof) a step apart, velocities by central differences."""
    if positions.shape[1] < 4:
        raise ValueError(
            f"pairs of states need four snapshots, got {positions.shape[1]}"
        )
    velocity = (positions[:, 2:] - positions[:, :-2]) / (2 * time_step)
    states = np.concatenate([positions[:, 1:-1], velocity], axis=2)
    size = states.shape[2]
    return states[:, :-1].reshape(-1, size), states[:, 1:].reshape(-1, size)


def identify(
    equations: xr.Dataset | None,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> xr.Dataset:
    """Flow map of one case (:class:`~leastaction.snapshots.learned_model.LearnedFlow`).

    Settings: `variance` and `length_scale`, c and ℓ of the kernel, in units of the
    state; `jitter`, added to the diagonal of the kernel matrix, 1e-10 in scikit-learn.

    Paper: scikit-learn is asked to fit c and ℓ, but leaves the values that the authors
    start from.

    Raises
    ------
    ValueError
        If there are fewer than four snapshots, or the kernel matrix is singular in
        floating point.
    """
    h = time_step(observations)
    first, second = flow_pairs(positions_of(observations), h)
    variance, length_scale = settings["variance"], settings["length_scale"]
    square = square_distances(first, first)
    matrix = variance * np.exp(-0.5 * square / length_scale**2)
    matrix[np.diag_indices_from(matrix)] += settings["jitter"]
    try:
        weights = Posterior(matrix, second).weights
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"the kernel matrix of {len(first)} states is singular at length scale "
            f"{length_scale:g}; raise jitter, now {settings['jitter']:g}, or shorten "
            "length_scale"
        ) from error
    return CONTRACTS["learned_flow"].dataset(
        {"state_sample": first, "weight": weights},
        coords={"replicate": observations["replicate"].values},
        attrs={
            "variance": variance,
            "length_scale": length_scale,
            "time_step": h,
            "dof": [str(name) for name in observations["dof"].values],
        },
    )
