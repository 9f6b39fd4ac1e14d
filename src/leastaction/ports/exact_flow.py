"""E ẋ of a port-Hamiltonian system as recorded: exact, or with the noise of a sensor.

Zaspel and Günther (2024), section 4.2: "if needed, the derivative data can be obtained"
from the right-hand side at the recorded states.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

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
        `scheme` whose path is used.
    library
        Not used.

    Returns
    -------
    xr.Dataset
        Contract ``flow_data``.
    """
    flow = observations["flow"].sel(scheme=settings["scheme"]).values[0]
    return flow_data(observations, settings["scheme"], taken(observations, flow))


def taken(observations: xr.Dataset, values: np.ndarray) -> np.ndarray:
    """Rows of `values` (time, column) at the training samples, NaN beyond a set."""
    index = observations["training_index"].values[0]
    return np.where(index[..., None] < 0, np.nan, values[index])


def flow_data(observations: xr.Dataset, scheme: str, flow: np.ndarray) -> xr.Dataset:
    """Dataset of `flow` (fit, order, row), with the scheme whose path it belongs to."""
    return xr.Dataset(
        {
            "flow": (
                ("replicate", "fit", "order", "row"),
                flow[None],
                {"units": "SI units of each row", "long_name": "E dx/dt"},
            ),
            "scheme": ((), scheme, {"units": "1", "long_name": "scheme of the path"}),
        },
        coords={
            "replicate": observations["replicate"].values,
            "row": observations["row"].values,
        },
    )
