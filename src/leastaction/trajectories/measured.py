"""The channels as they were recorded: nothing is differentiated, nothing smoothed."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.noise_sweep import CHANNELS

CONTRACT = "rates"


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Keep every sample of `q`, `qdot` and `qddot` as recorded.

    Parameters
    ----------
    observations
        Contract ``motion`` with all three channels.
    settings
        Nothing but the method's name.
    library
        Not used.

    Returns
    -------
    xr.Dataset
        Contract ``rates``; only the root mean square of the channels, since the
        recording itself holds the rest.

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
    return xr.Dataset(
        {
            "channel_rms": (
                ("replicate", "dof", "channel"),
                np.stack(rms, axis=1)[None],
                {"units": "mixed", "long_name": "root mean square of the channel"},
            )
        },
        coords={
            "replicate": observations["replicate"],
            "dof": observations["dof"],
            "channel": list(CHANNELS),
            "time_kept": (
                "time_kept",
                observations["time"].values,
                {"units": "s", "long_name": "times that are kept"},
            ),
        },
    )
