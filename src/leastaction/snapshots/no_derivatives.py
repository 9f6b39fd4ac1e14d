"""Nothing is differentiated: for methods that take positions as they are."""

from collections.abc import Mapping

import xarray as xr

CONTRACT = "nothing"


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Dataset without variables, of the replicate of `observations`."""
    return xr.Dataset(coords={"replicate": observations["replicate"].values})
