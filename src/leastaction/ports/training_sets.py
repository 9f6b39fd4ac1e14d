"""Training and test samples of one path, drawn once for all estimators."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

# Samples at each end that are in no set: they have no central difference.
MARGIN = 2
ALL, EARLY = "all", "early"


def draw_sets(
    time: np.ndarray,
    settings: Mapping,
    of_test: np.random.Generator,
    of_training: np.random.Generator,
) -> xr.Dataset:
    """Draw a test set, and nested training sets from one permutation of the rest.

    Parameters
    ----------
    time
        Times of the samples, s.
    settings
        `sizes` of the training sets, `test` samples, and `early`: `until` (s) and the
        `size` of a further set from the times before.
    of_test, of_training
        Random numbers; of the same `of_test`, every replicate has the same test set.

    Returns
    -------
    xr.Dataset
        `training_index` (fit, order), −1 beyond the size of a set, and `test_index`.
    """
    inner = np.arange(MARGIN, time.size - MARGIN)
    test = np.sort(of_test.choice(inner, settings["test"], replace=False))
    order = of_training.permutation(np.setdiff1d(inner, test))
    fits = [(size, ALL, order) for size in settings["sizes"]]
    early = settings.get("early")
    if early:
        before = order[time[order] <= early["until"]]
        fits.append((early["size"], EARLY, before))
    longest = max(size for size, _, _ in fits)
    index = np.full((len(fits), longest), -1)
    for row, (size, pool, candidates) in zip(index, fits, strict=True):
        if candidates.size < size:
            raise ValueError(
                f"training: {size} samples of {pool} times are asked for, but there "
                f"are {candidates.size}"
            )
        row[:size] = candidates[:size]
    about = {"units": "1"}
    return xr.Dataset(
        {
            "training_index": (
                ("fit", "order"),
                index,
                about | {"long_name": "sample of each training set, -1 beyond it"},
            ),
            "test_index": ("test", test, about | {"long_name": "sample of the test"}),
        },
        coords={
            "training_size": ("fit", [size for size, _, _ in fits]),
            "pool": ("fit", [pool for _, pool, _ in fits]),
        },
    )
