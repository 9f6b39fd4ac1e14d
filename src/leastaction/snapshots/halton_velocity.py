"""Recorded accelerations at velocities of a Halton sequence (LGPExact)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.halton import halton_starts
from leastaction.snapshots.repeated_central_difference import sampled_motion

CONTRACT = "sampled_motion"


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Samples (q, q̇, q̈) with recorded q and q̈ and velocities spread over a box.

    Paper, section 3.1: the acceleration of the pendulum does not depend on its
    velocity, so any velocity goes with a recorded position and acceleration. For other
    systems that is wrong.

    Parameters
    ----------
    observations
        One case, contract ``motion``, with `qddot`.
    settings
        `low`, `high`: box of the velocities, one number per coordinate; `first_index`
        of the sequence, 3 in the authors' code.
    library
        Not used.

    Raises
    ------
    ValueError
        If no accelerations are recorded.
    """
    if "qddot" not in observations:
        raise ValueError(
            "halton_velocity needs recorded accelerations; add qddot to "
            "simulate.noise.channels"
        )
    q, qddot = (observations[name].values[0] for name in ("q", "qddot"))
    samples = q.shape[0] * q.shape[1]
    qdot = halton_starts(
        settings["first_index"], settings["low"], settings["high"], samples
    )
    return sampled_motion((q, np.reshape(qdot, q.shape), qddot), observations)
