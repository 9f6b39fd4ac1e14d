"""Which case of a sweep over noise stands for an estimator."""

import numpy as np
import xarray as xr

from leastaction.publish.panel import BASELINE

# Paper: its code adds one random number to all channels of a sample.
PAPER_MODE, HONEST_MODE = "shared", "independent"


def shown_mode(estimator: str, dataset: xr.Dataset) -> str:
    """Mode of the noise: the paper's for its own method, independent for all others.

    If a dataset does not have that mode, the first that it has.
    """
    there = [str(mode) for mode in dataset["noise_mode"].values]
    wanted = PAPER_MODE if estimator == BASELINE else HONEST_MODE
    return wanted if wanted in there else there[0]


def shown_case(estimator: str, dataset: xr.Dataset, level: float) -> xr.Dataset | None:
    """Case of an estimator at a level, all replicates; None if it was not done."""
    levels = dataset["noise_level"].values
    near = np.flatnonzero(np.isclose(levels, level, rtol=1e-9, atol=0))
    if not near.size:
        return None
    case = dataset.sel(noise_mode=shown_mode(estimator, dataset))
    return case.isel(noise_level=int(near[0]))
