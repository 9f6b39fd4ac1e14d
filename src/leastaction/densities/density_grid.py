"""A histogram on cells of another size, and what it says of its own cells."""

import numpy as np
import xarray as xr

CELLS = ("q_bin", "qdot_bin")


def coarsened(observations: xr.Dataset, bins: int | None) -> xr.Dataset:
    """Histogram with `bins` cells along each side, each a square of the given ones.

    Parameters
    ----------
    observations
        Contract ``histogram``.
    bins
        None leaves the cells as they are.

    Raises
    ------
    ValueError
        If `bins` does not divide the number of cells along each side.
    """
    given = observations.sizes["q_bin"]
    if bins is None or bins == given:
        return observations
    if given % bins:
        raise ValueError(
            f"bins: {given} cells along each side cannot be put together to {bins}; "
            "choose a divisor, or simulate another histogram"
        )
    width = given // bins
    summed = observations["count"].coarsen(q_bin=width, qdot_bin=width).sum()
    kept = observations.drop_vars(["count", "q_bin", "qdot_bin"])
    summed.attrs = observations["count"].attrs
    for name in ("q_bin", "qdot_bin"):
        summed[name].attrs = observations[name].attrs
    return kept.assign(count=summed)


def spacing(observations: xr.Dataset) -> tuple[float, float]:
    """Lengths of a cell along q and along q̇."""
    found = [float(np.diff(observations.variables[d].values[:2])[0]) for d in CELLS]
    return found[0], found[1]


def shares(observations: xr.Dataset) -> np.ndarray:
    """Share of all samples in every cell, shape (replicate, batch, q_bin, qdot_bin)."""
    counts = observations.variables["count"].transpose("replicate", "batch", *CELLS)
    return counts.values / observations.variables["samples"].values[..., None, None]
