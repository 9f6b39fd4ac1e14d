"""Which case of a sweep over noise stands for an estimator."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

MAIN, BASELINE = "recommended", "published"
# Paper: its code adds one random number to all channels of a sample.
PAPER_MODE, HONEST_MODE = "shared", "independent"


def is_replica(estimator: str) -> bool:
    """Whether an estimator is a paper's own recipe: ``published``, ``published_…``."""
    return estimator == BASELINE or estimator.startswith(f"{BASELINE}_")


def shown_mode(estimator: str, dataset: "xr.Dataset") -> str:
    """Mode of the noise: the paper's for its own method, independent for all others.

    If a dataset does not have that mode, the first that it has.
    """
    there = [str(mode) for mode in dataset["noise_mode"].values]
    wanted = PAPER_MODE if estimator == BASELINE else HONEST_MODE
    return wanted if wanted in there else there[0]


def shown_case(
    estimator: str, dataset: "xr.Dataset", level: float
) -> "xr.Dataset | None":
    """Case that stands for an estimator at a level; None if it was not done."""
    return at_level(dataset, shown_mode(estimator, dataset), level)


def at_level(dataset, mode: str, level: float):
    """One case of a dataset or an array, all replicates; None if it was not done."""
    levels = dataset["noise_level"].values
    near = np.flatnonzero(np.isclose(levels, level, rtol=1e-9, atol=0))
    if mode not in dataset["noise_mode"].values or not near.size:
        return None
    return dataset.sel(noise_mode=mode).isel(noise_level=int(near[0]))


def case_text(level: float, mode: str) -> str:
    """A case in words."""
    return f"sigma = {level:g}, {mode} noise"
