"""Sequential thresholded least squares (Tripura et al., Algorithm 3)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.contracts import check
from leastaction.identify.estimate import LagrangianEstimate

CONTRACT = "regression"
MOST_ITERATIONS = 20


def stlsq(theta: np.ndarray, target: np.ndarray, threshold: float) -> np.ndarray:
    """Least squares, repeated on the coefficients that are not below `threshold`.

    Parameters
    ----------
    theta
        Library, shape (equation, term).
    target
        Shape (equation,).
    threshold
        λ: smaller coefficients are set to zero.

    Returns
    -------
    coefficients of shape (term,).
    """
    active = np.ones(theta.shape[1], dtype=bool)
    coefficients = np.zeros(theta.shape[1])
    for _ in range(MOST_ITERATIONS):
        coefficients[:] = 0.0
        coefficients[active] = np.linalg.lstsq(theta[:, active], target, rcond=None)[0]
        large = np.abs(coefficients) >= threshold
        if (large == active).all() or not large.any():
            coefficients[~large] = 0.0
            break
        active = large
    return coefficients


def identify(library: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Identify the Lagrangian of one replicate from its ensemble-mean library.

    Paper: the threshold acts on the raw coefficients relative to q̇² (not to ½ q̇²), so
    its meaning changes with the unit of every candidate.

    Parameters
    ----------
    library
        One replicate, contract ``regression``.
    settings
        `threshold`: λ, in units of the reference term with coefficient one.

    Returns
    -------
    LagrangianEstimate
        Without standard errors: the paper has none.
    """
    check(library, "regression")
    theta, target = library["theta"].values[0], library["target"].values[0]
    used = np.flatnonzero(library["used"].values)
    status = library["status"].values
    scale = library.attrs["reference_coefficient"]
    coefficients = np.zeros(theta.shape[1])
    coefficients[used] = scale * stlsq(theta[:, used], target, settings["threshold"])
    coefficients[int(np.flatnonzero(status == "reference")[0])] = scale
    return LagrangianEstimate(
        terms=[str(term) for term in library["term"].values],
        coefficients=coefficients,
        std=np.full(theta.shape[1], np.nan),
        status=list(status),
        equivalent=list(library["equivalent"].values),
        noise_covariance=np.zeros((0, 0)),
        noise_std=np.zeros((0, 0)),
    )
