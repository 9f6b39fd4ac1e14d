"""Every effort as a Gaussian process of its own, on A⁻¹ (E ẋ − B u): a baseline.

For constant regular A = J − R the efforts are data themselves, and nothing has to be
learned behind A. What several efforts share is not used.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.ports.effort_model import (
    fitted_dataset,
    training_data,
    transform_of,
)
from leastaction.ports.multi_task_process import DIMS
from leastaction.ports.structured_gaussian_process import fit


def identify(equations: xr.Dataset, settings: Mapping) -> xr.Dataset:
    """Fit one process per effort to every training set.

    Parameters
    ----------
    equations
        Contract ``effort_data``.
    settings
        As :func:`leastaction.ports.multi_task_process.identify`.

    Returns
    -------
    xr.Dataset
        Contract ``effort_process``; the noise is that of the efforts.
    """
    inverse = np.linalg.inv(transform_of(equations))
    one = np.eye(1)

    def fitted(x, y) -> list:
        efforts = y @ inverse.T
        return [
            fit(
                x,
                efforts[:, [j]],
                one,
                random=np.random.default_rng(settings["seed"]),
                noise_floor=settings["noise_floor"],
                starts=settings["starts"],
                iterations=settings["iterations"],
            )
            for j in range(efforts.shape[1])
        ]

    fits = [
        {
            "length_scale": [p.length_scale for p in processes],
            "task_vector": [p.task_vector[0] for p in processes],
            "task_diagonal": [p.task_diagonal[0] for p in processes],
            "noise_variance": [p.noise[0] for p in processes],
            "log_likelihood": sum(p.log_likelihood for p in processes),
        }
        for processes in (fitted(x, y) for x, y in training_data(equations))
    ]
    found = fitted_dataset(equations, fits, DIMS)
    return found.assign_coords(process=equations["effort"].values)
