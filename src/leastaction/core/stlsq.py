"""Sequential thresholded least squares (Tripura et al., Algorithm 3)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate

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

    Every degree of freedom is a regression of its own ("for each particle"), and L is
    put together from them. A candidate that several equations contain, such as a
    coupling spring, gets the mean of its coefficients there.

    Paper: the threshold acts on the raw coefficients relative to q̇² (not to ½ q̇²), so
    its meaning changes with the unit of every candidate. Eq. (18) adds the Lagrangians
    of the particles, which would count a coupling twice.

    Parameters
    ----------
    library
        One replicate, contract ``regression``.
    settings
        `threshold`: λ, in units of the reference term with coefficient one.

    Returns
    -------
    LagrangianEstimate
        Without standard errors: the paper has none. With several degrees of freedom
        `by_equation` holds the coefficients that each equation gave.
    """
    check(library, "regression")
    theta, target = library["theta"].values[0], library["target"].values[0]
    used = np.flatnonzero(library["used"].values)
    given = library["given"].values
    scale = given[given != 0][0]
    by_equation = np.zeros((len(theta), theta.shape[2]))
    present = np.zeros(by_equation.shape, dtype=bool)
    for a, (columns, right) in enumerate(zip(theta, target, strict=True)):
        seen = [i for i in used if columns[:, i].any()]
        present[a, seen] = True
        by_equation[a, seen] = scale * stlsq(
            columns[:, seen], right, settings["threshold"]
        )
    coefficients = by_equation.sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    coefficients[given != 0] = given[given != 0]
    return LagrangianEstimate(
        terms=[str(term) for term in library["term"].values],
        coefficients=coefficients,
        std=np.full(coefficients.size, np.nan),
        status=list(library["status"].values),
        equivalent=list(library["equivalent"].values),
        noise_covariance=np.zeros((0, 0)),
        noise_std=np.zeros((0, 0)),
        by_equation=by_equation if len(theta) > 1 else None,
    )
