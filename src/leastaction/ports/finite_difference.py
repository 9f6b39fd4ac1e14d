"""E ẋ of a port-Hamiltonian system by finite differences of its recorded states.

Zaspel and Günther (2024), section 4.5.

Paper: does not say which differences. Central ones of second order give its errors; a
forward difference of an explicit Euler path *is* the right-hand side (docs/errata.md).
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.ports.exact_flow import flow_data, taken

CONTRACT = "flow_data"

# Weights by shift, times the step.
STENCILS = {
    "forward": {0: -1.0, 1: 1.0},
    "central_2": {-1: -1 / 2, 1: 1 / 2},
    "central_4": {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12},
}


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Return E ẋ at the training samples.

    Parameters
    ----------
    observations
        Contract ``port_recordings``.
    settings
        `scheme` whose path is used, and `stencil`: forward (first order), central_2 or
        central_4.
    library
        Not used.

    Returns
    -------
    xr.Dataset
        Contract ``flow_data``.
    """
    x = observations["x"].sel(scheme=settings["scheme"]).values[0]
    rates = difference(x, time_step(observations), settings["stencil"])
    flow = rates @ observations["flow_matrix"].values.T
    return flow_data(observations, settings["scheme"], taken(observations, flow))


def difference(values: np.ndarray, step: float, stencil: str) -> np.ndarray:
    """Time derivative of `values` (time, ...); NaN where the stencil has no samples."""
    weights = STENCILS[stencil]
    first, last = max(0, -min(weights)), values.shape[0] - max(weights)
    rates = np.full(values.shape, np.nan)
    rates[first:last] = sum(
        weight * values[first + shift : last + shift]
        for shift, weight in weights.items()
    )
    return rates / step
