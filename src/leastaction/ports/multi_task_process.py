"""Efforts as one multi-task Gaussian process behind J − R, as published.

Zaspel and Günther (2024), section 3.3. The likelihood, its gradient and the posterior
are in :mod:`leastaction.ports.structured_gaussian_process`.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.ports.effort_model import (
    fitted_dataset,
    training_data,
    transform_of,
)
from leastaction.ports.structured_gaussian_process import StructuredProcess, fit

DIMS = {
    "length_scale": (("process",), "length scale of the Gaussian kernel"),
    "task_vector": (("effort",), "v of the covariance between efforts"),
    "task_diagonal": (("effort",), "d of the covariance between efforts"),
    "noise_variance": (("row",), "variance of the noise of the targets"),
    "log_likelihood": ((), "marginal log likelihood"),
}


def identify(equations: xr.Dataset, settings: Mapping) -> xr.Dataset:
    """Fit the process to every training set.

    Parameters
    ----------
    equations
        Contract ``effort_data``.
    settings
        Of :func:`~leastaction.ports.structured_gaussian_process.fit`: `starts` and
        the `seed` of those that are random, `noise_floor`, `iterations`.

    Returns
    -------
    xr.Dataset
        Contract ``effort_process``.
    """
    transform = transform_of(equations)

    def fitted(x, y) -> StructuredProcess:
        return fit(
            x,
            y,
            transform,
            random=np.random.default_rng(settings["seed"]),
            noise_floor=settings["noise_floor"],
            starts=settings["starts"],
            iterations=settings["iterations"],
        )

    fits = [
        {
            "length_scale": [process.length_scale],
            "task_vector": process.task_vector,
            "task_diagonal": process.task_diagonal,
            "noise_variance": process.noise,
            "log_likelihood": process.log_likelihood,
        }
        for process in (fitted(x, y) for x, y in training_data(equations))
    ]
    return fitted_dataset(equations, fits, DIMS).assign_coords(process=["all efforts"])
