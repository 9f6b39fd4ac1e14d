"""Gaussian process of the flow map (q, q̇) ↦ (q, q̇) one step on (GPFlow)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.core.gaussian_process import Posterior, square_distances
from leastaction.snapshots.contracts import CONTRACTS
from leastaction.snapshots.discrete_lagrangian import positions_of


def flow_weights(
    first: np.ndarray,
    second: np.ndarray,
    variance: float,
    length_scale: float,
    jitter: float,
) -> np.ndarray:
    """Weights α of the posterior mean, from pairs of states.

    Parameters
    ----------
    first, second
        States a step apart, shape (pair, 2 dof).
    variance, length_scale
        c and ℓ of the kernel, in units of the state. Paper: scikit-learn is asked to
        fit them, but leaves the values that the authors start from.
    jitter
        Added to the diagonal of the kernel matrix, 1e-10 in scikit-learn.

    Raises
    ------
    ValueError
        If the kernel matrix is singular in floating point.
    """
    square = square_distances(first, first)
    matrix = variance * np.exp(-0.5 * square / length_scale**2)
    matrix[np.diag_indices_from(matrix)] += jitter
    try:
        return Posterior(matrix, second).weights
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"the kernel matrix of {len(first)} states is singular at length scale "
            f"{length_scale:g}; raise jitter, now {jitter:g}, or shorten length_scale"
        ) from error


def flow_pairs(
    positions: np.ndarray, time_step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of states a step apart, velocities by central differences.

    Parameters
    ----------
    positions
        Shape (trajectory, time, dof), with at least four snapshots.
    """
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

    Settings: `variance`, `length_scale`, `jitter`, see :func:`flow_weights`.
    """
    h = time_step(observations)
    first, second = flow_pairs(positions_of(observations), h)
    variance, length_scale = settings["variance"], settings["length_scale"]
    weights = flow_weights(first, second, variance, length_scale, settings["jitter"])
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
