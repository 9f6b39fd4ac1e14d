"""Nothing is assembled: for methods that make their equations themselves."""

from collections.abc import Mapping

import xarray as xr

CONTRACT = "nothing"


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Dataset without variables, of the replicate of `observations`."""
    return xr.Dataset(coords={"replicate": observations["replicate"].values})
