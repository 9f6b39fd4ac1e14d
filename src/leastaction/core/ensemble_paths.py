"""Trajectories of an ensemble, one by one: memory holds no more."""

from collections.abc import Iterator

import numpy as np
import xarray as xr


def one_by_one(ensemble: xr.DataArray) -> Iterator[np.ndarray]:
    """Trajectories of the one replicate of an `ensemble`.

    Of an ensemble that is still in its file, memory holds one trajectory at a time.
    """
    for i in range(ensemble.sizes["trajectory"]):
        yield ensemble[0, i].values


def mean_of_paths(ensemble: xr.DataArray) -> np.ndarray:
    """Mean over the trajectories of the one replicate of an `ensemble`."""
    total = np.zeros(ensemble.shape[2:])
    for path in one_by_one(ensemble):
        total += path
    return total / ensemble.sizes["trajectory"]
