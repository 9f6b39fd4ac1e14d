"""Efforts as one multi-task Gaussian process behind J − R, as published.

Zaspel and Günther (2024), section 3.3. The likelihood, its gradient and the posterior
are in :mod:`leastaction.identify.structured_gaussian_process`.
"""

from collections.abc import Mapping

import xarray as xr

from leastaction.identify.effort_model import (
    fitted_dataset,
    for_each_fit,
    transform_of,
)
from leastaction.identify.structured_gaussian_process import (
    MultiTaskProcess,
    structured_process,
)

RESULT = "effort_process"

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
        `length_scales` of the starts over the spread of the inputs, `noise_floor` over
        the mean square of the largest target, and `iterations` of each start.

    Returns
    -------
    xr.Dataset
        Contract ``effort_process``.
    """
    transform = transform_of(equations)

    def fit(x, y, before: MultiTaskProcess | None) -> MultiTaskProcess:
        return structured_process(
            x,
            y,
            transform,
            length_scales=settings["length_scales"],
            noise_floor=settings["noise_floor"],
            iterations=settings["iterations"],
            first=before if settings["warm_start"] else None,
        )

    fits = [
        {
            "length_scale": [process.length_scale],
            "task_vector": process.task_vector,
            "task_diagonal": process.task_diagonal,
            "noise_variance": process.noise_variance,
            "log_likelihood": process.log_likelihood,
        }
        for process in for_each_fit(equations, fit)
    ]
    return fitted_dataset(equations, fits, DIMS).assign_coords(process=["all efforts"])
