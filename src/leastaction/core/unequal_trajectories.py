"""Trajectories of an ensemble, and recorded ones of unequal length.

The latter lie one after the other along `sample`.
"""

from collections.abc import Iterator, Sequence

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


def pieces(observations: xr.Dataset) -> list[slice]:
    """Rows of each trajectory of a ``measurements`` dataset."""
    first = observations["first_sample"].values
    count = observations["sample_count"].values
    return [slice(int(a), int(a + n)) for a, n in zip(first, count, strict=True)]


def select(observations: xr.Dataset, chosen: Sequence[int]) -> xr.Dataset:
    """The dataset with some of its trajectories."""
    parts = [pieces(observations)[i] for i in chosen]
    rows = np.concatenate([np.arange(p.start, p.stop) for p in parts])
    found = observations.isel(sample=rows, trajectory=list(chosen))
    count = found["sample_count"].values
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    return found.assign(
        first_sample=found["first_sample"].copy(data=first.astype(count.dtype))
    )


def training(observations: xr.Dataset) -> xr.Dataset:
    """The trajectories that a model may see."""
    return select(observations, np.flatnonzero(observations["held_out"].values == 0))


def held_out(observations: xr.Dataset) -> xr.Dataset:
    """The trajectories that only validation may see."""
    return select(observations, np.flatnonzero(observations["held_out"].values))
