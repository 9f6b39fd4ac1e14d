"""Monomials of the state as test functions, for data that are moments.

Their derivatives are monomials again, so every mean of a stationary equation with
polynomial terms is one of the recorded moments, without cells and without quadrature.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.multi_index import multi_indices


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Exponents of the test functions, and the scale of each coordinate of the state.

    Parameters
    ----------
    observations
        Contract ``state_moments``.
    settings
        Total `degree`.
    library
        Not used.

    Returns
    -------
    xr.Dataset
        Contract ``monomial_tests``.
    """
    powers = observations["exponent"].values
    mean = observations["moment"].mean("batch").values[0]
    second = [
        np.flatnonzero((powers == 2 * e).all(1))[0] for e in np.eye(powers.shape[1])
    ]
    return xr.Dataset(
        {
            "test_exponent": (
                ("test_function", "state"),
                _tests(powers.shape[1], settings["degree"]),
                {"units": "1", "long_name": "exponent of the test function"},
            ),
            "scale": (
                ("replicate", "state"),
                np.sqrt(mean[second])[None],
                {"units": "unit of the state", "long_name": "root mean square"},
            ),
        },
        coords={
            "replicate": observations["replicate"],
            "state": observations["state"],
        },
    )


def _tests(state: int, degree: int) -> np.ndarray:
    """Exponents of monomials with a velocity; the others know no coefficient."""
    powers = multi_indices(state, degree)
    return powers[powers[:, state // 2 :].any(axis=1)]
