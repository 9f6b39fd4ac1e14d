"""States and accelerations of a motion, however the stage `differentiate` made them."""

import numpy as np
import xarray as xr

from leastaction.noise_sweep import CHANNELS


def states(
    observations: xr.Dataset, derivatives: xr.Dataset
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, q̇, q̈ at the samples that are kept.

    Parameters
    ----------
    observations
        One case, contract ``motion``.
    derivatives
        Its contract ``rates``. Where it holds a spline, the spline is evaluated;
        otherwise the channels are taken as recorded.

    Returns
    -------
    q, qdot, qddot
        Shape (trajectory, time_kept, dof), SI units.
    """
    if "spline" not in derivatives:
        return tuple(observations[name].values[0] for name in CHANNELS)
    coefficients = derivatives["spline"].values[0]
    bases = spline_bases(derivatives)
    return tuple(np.swapaxes(coefficients @ b.T, 1, 2) for b in bases)


def kept(observations: xr.Dataset, derivatives: xr.Dataset, name: str) -> np.ndarray:
    """Recorded channel `name` at the samples that are kept, (trajectory, time, dof)."""
    time = observations["time"].values
    first = int(np.searchsorted(time, derivatives["time_kept"].values[0] - 1e-9))
    count = derivatives.sizes["time_kept"]
    return observations[name].values[0][:, first : first + count]


def spline_bases(derivatives: xr.Dataset) -> list[np.ndarray]:
    """Derivatives 0, 1, 2 of the B-splines at the kept samples, (time_kept, basis)."""
    from scipy.interpolate import BSpline  # most of a second, and few need it

    from leastaction.differentiate.demmler_reinsch import DEGREE

    at = derivatives["knot"].values
    spline = BSpline(at, np.eye(len(at) - DEGREE - 1), DEGREE)
    return [spline(derivatives["time_kept"].values, nu=order) for order in range(3)]
