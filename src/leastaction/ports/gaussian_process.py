"""E ẋ of a port-Hamiltonian system by derivatives of Gaussian processes in time.

Zaspel and Günther (2024), sections 2.3, 4.3 and 4.6: one process per state, with a
Gaussian kernel, on all samples, or on those of a training set alone.
"""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.ports.exact_flow import flow_data, taken
from leastaction.ports.gaussian_process_derivative import (
    derivative_on_grid,
    derivative_on_subset,
)

CONTRACT = "flow_data"


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Return E ẋ at the training samples.

    Parameters
    ----------
    observations
        Contract ``port_recordings``.
    settings
        `scheme` whose path is used, and `samples`: all, or training, each set alone.
    library
        Not used.

    Returns
    -------
    xr.Dataset
        Contract ``flow_data``.
    """
    x = observations["x"].sel(scheme=settings["scheme"]).values[0]
    flow_matrix = observations["flow_matrix"].values
    states = np.flatnonzero(flow_matrix.any(axis=0))
    index = observations["training_index"].values[0]
    if settings["samples"] == "all":
        rates = np.zeros_like(x)
        for i in states:
            rates[:, i] = _on_grid(x[:, i].tobytes(), time_step(observations))
        found = taken(observations, rates)
    else:
        time = observations["time"].values
        found = np.where(index[..., None] < 0, np.nan, np.zeros(x.shape[1]))
        for fit, chosen in enumerate(index):
            own = chosen[chosen >= 0]
            for i in states:
                found[fit, : own.size, i] = derivative_on_subset(time[own], x[own, i])
    return flow_data(observations, settings["scheme"], found @ flow_matrix.T)


@lru_cache(maxsize=16)
def _on_grid(values: bytes, step: float) -> np.ndarray:
    """Derivative of a path, once for all replicates, which share it."""
    return derivative_on_grid(np.frombuffer(values), step)
