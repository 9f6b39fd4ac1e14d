"""Data of the effort function: inputs x and targets y = E ẋ − B u = (J − R) z(x).

Zaspel and Günther (2024), section 3.3.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.ports.contracts import MATRICES

CONTRACT = "effort_data"


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Put the training sets together.

    Parameters
    ----------
    observations
        Contract ``port_recordings``.
    derivatives
        Contract ``flow_data``.
    settings, library
        Not used.

    Returns
    -------
    xr.Dataset
        Contract ``effort_data``; what is known of the system (E, J, R, B, constraint)
        stands in it.
    """
    scheme = str(derivatives["scheme"].values)
    index = observations["training_index"].values[0]
    x = observations["x"].sel(scheme=scheme).values[0]
    given = observations["u"].values[0] @ observations["port_matrix"].values.T
    beyond = (index < 0)[..., None]
    y = derivatives["flow"].values[0] - given[index]
    ordered = ("replicate", "fit", "order")
    mixed = "SI units of each entry"
    known = observations[[*MATRICES, "training_index"]]
    known = known.drop_vars(["time", "scheme"], errors="ignore")
    return known.assign(
        x=(
            (*ordered, "state"),
            np.where(beyond, np.nan, x[index])[None],
            {"units": mixed, "long_name": "state"},
        ),
        y=(
            (*ordered, "row"),
            np.where(beyond, np.nan, y)[None],
            {"units": mixed, "long_name": "E dx/dt - B u"},
        ),
        scheme=((), scheme, {"units": "1", "long_name": "scheme of the path"}),
    ).assign_coords(state_unit=observations["state_unit"])
