"""Learning curves of identified efforts, from a rollout."""

import numpy as np
import xarray as xr


def curves(rollout: xr.Dataset, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Sizes, and a score by (replicate, size, component), of sets from all times."""
    fits = np.flatnonzero(rollout["pool"].values == "all")
    sizes = rollout["training_size"].values[fits]
    return sizes, rollout[name].values[:, fits]
