"""States and accelerations of a motion, however the stage `differentiate` made them."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.noise_sweep import CHANNELS
from leastaction.trajectories.contracts import CONTRACTS


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
    series = coefficients.reshape(-1, coefficients.shape[-1])
    values = (series @ basis.T for basis in spline_bases(derivatives))
    shape = (*coefficients.shape[:2], -1)
    return tuple(np.swapaxes(each.reshape(shape), 1, 2) for each in values)


def kept(observations: xr.Dataset, derivatives: xr.Dataset, name: str) -> np.ndarray:
    """Recorded channel `name` at the samples that are kept, (trajectory, time, dof)."""
    time = observations["time"].values
    first = int(np.searchsorted(time, derivatives["time_kept"].values[0] - 1e-9))
    count = derivatives.sizes["time_kept"]
    return observations[name].values[0][:, first : first + count]


def spline_bases(derivatives: xr.Dataset) -> tuple[np.ndarray, ...]:
    """Derivatives 0, 1, 2 of the B-splines at the kept samples, (time_kept, basis)."""
    return _bases(
        tuple(derivatives["knot"].values), tuple(derivatives["time_kept"].values)
    )


@lru_cache(maxsize=4)
def _bases(knots: tuple, times: tuple) -> tuple[np.ndarray, ...]:
    # SciPy's splines take most of a second to import, and few need them.
    from leastaction.trajectories.joint_spline import design

    return tuple(design(knots, times, range(3)))


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Keep every sample of `q`, `qdot` and `qddot` as recorded.

    Only the root mean square of the channels is stored; the recording holds the rest.

    Raises
    ------
    ValueError
        If a channel is not recorded.
    """
    check(observations, "motion")
    missing = [name for name in CHANNELS if name not in observations]
    if missing:
        raise ValueError(
            f"measured: the channel {', '.join(missing)} is not recorded; "
            "use joint_spline, or record it"
        )
    rms = [np.sqrt((observations[n].values[0] ** 2).mean((0, 1))) for n in CHANNELS]
    return CONTRACTS["rates"].dataset(
        {"channel_rms": np.stack(rms, axis=1)},
        {
            "replicate": observations["replicate"],
            "dof": observations["dof"],
            "channel": list(CHANNELS),
            "time_kept": observations["time"].values,
        },
    )
