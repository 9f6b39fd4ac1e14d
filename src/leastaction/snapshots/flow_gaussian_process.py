"""Gaussian process of the flow map (q, q̇) ↦ (q, q̇) one step on (GPFlow)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numba import njit
from scipy.linalg import cho_factor, cho_solve

from leastaction.core.contracts import time_step
from leastaction.snapshots.shadow_rows import positions_of


@dataclass(frozen=True, eq=False)
class FlowProcess:
    """Posterior mean of a Gaussian process with a squared exponential kernel.

    .. math::  z_{k+1} = \\sum_j c\\, e^{-|z_k - z_j|^2/2ℓ^2} α_j

    Attributes
    ----------
    samples
        z_j = (q, q̇), shape (sample, 2 dof).
    weights
        α, shape (sample, 2 dof).
    variance, length_scale
        c and ℓ.
    """

    samples: np.ndarray
    weights: np.ndarray
    variance: float
    length_scale: float

    def rollout(self, state: np.ndarray, steps: int, every: int = 1) -> np.ndarray:
        """States (sample, 2 dof), one every `every` steps; NaN once not finite."""
        path = np.empty((steps // every + 1, len(state)))
        _iterate(
            np.array(state, dtype=float),
            self.samples,
            self.variance * self.weights,
            0.5 / self.length_scale**2,
            every,
            path,
        )
        return path


@njit(cache=True, nogil=True)
def _iterate(state, samples, weights, a, every, path):
    size = state.size
    following = np.empty(size)
    for i in range(size):
        path[0, i] = state[i]
    for step in range(1, (path.shape[0] - 1) * every + 1):
        for i in range(size):
            following[i] = 0.0
        for j in range(samples.shape[0]):
            square = 0.0
            for i in range(size):
                square += (state[i] - samples[j, i]) ** 2
            kernel = np.exp(-a * square)
            for i in range(size):
                following[i] += kernel * weights[j, i]
        for i in range(size):
            state[i] = following[i]
            if step % every == 0:
                path[step // every, i] = state[i]


def flow_process(
    first: np.ndarray,
    second: np.ndarray,
    variance: float,
    length_scale: float,
    jitter: float,
) -> FlowProcess:
    """Fit the flow map to pairs of states.

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
    square = ((first[:, None, :] - first[None, :, :]) ** 2).sum(axis=2)
    matrix = variance * np.exp(-0.5 * square / length_scale**2)
    matrix[np.diag_indices_from(matrix)] += jitter
    try:
        factor = cho_factor(matrix, lower=True)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"the kernel matrix of {len(first)} states is singular at length scale "
            f"{length_scale:g}; raise jitter, now {jitter:g}, or shorten length_scale"
        ) from error
    weights = cho_solve(factor, second)
    return FlowProcess(first, weights, variance, length_scale)


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
    """Flow map of one case, contract ``learned_flow``.

    Parameters
    ----------
    equations, library
        Not used: the samples are the equations.
    settings
        `variance`, `length_scale`, `jitter`: see :func:`flow_process`.
    observations
        The case, contract ``motion``.
    """
    h = time_step(observations)
    found = flow_process(
        *flow_pairs(positions_of(observations), h),
        settings["variance"],
        settings["length_scale"],
        settings["jitter"],
    )
    dims = ("replicate", "sample", "state")

    def variable(values, meaning):
        return dims, values[None], {"units": "mixed", "long_name": meaning}

    return xr.Dataset(
        {
            "state_sample": variable(found.samples, "states of the kernel"),
            "weight": variable(found.weights, "weights of the kernel"),
        },
        coords={"replicate": observations["replicate"].values},
        attrs={
            "variance": found.variance,
            "length_scale": found.length_scale,
            "time_step": h,
            "dof": [str(name) for name in observations["dof"].values],
        },
    )


def flow_of(dataset: xr.Dataset) -> FlowProcess:
    """Flow map of one replicate and case, contract ``learned_flow``."""
    return FlowProcess(
        dataset["state_sample"].values[0],
        dataset["weight"].values[0],
        float(dataset.attrs["variance"]),
        float(dataset.attrs["length_scale"]),
    )
