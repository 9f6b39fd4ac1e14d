"""Recordings of random motions as an ensemble of equal trajectories."""

import logging

import numpy as np
import xarray as xr

from leastaction.core.unequal_trajectories import pieces
from leastaction.recordings.recording_spectrum import spectrum

# Trajectories that a recording is cut into at least: error bars need so many.
TRAJECTORIES = 40
LEAST_SAMPLES = 32
# Without recorded velocities: samples per step, and the angle that a step may turn.
STRIDES = (3, 8)
TURN = 0.2

log = logging.getLogger(__name__)


def ensemble(recorded: xr.Dataset) -> xr.Dataset:
    """Cut trajectories into equal ones; velocities from differences, if need be.

    Where velocities were not recorded, q and q̇ are mean and difference of neighbouring
    samples, every m-th pair being taken: over a step of m samples the mean of a Wiener
    path has σ²(m − ⅓) dt of variance for σ² m dt, so the volatility comes out low by a
    fraction of 1 / 6m.

    Parameters
    ----------
    recorded
        Contract ``measurements``.

    Returns
    -------
    xr.Dataset
        Contract ``observations``.
    """
    dt = float(recorded.attrs["time_step"])
    parts = pieces(recorded)
    q = [recorded["q"].values[0][p] for p in parts]
    if "qdot" in recorded:
        v = [recorded["qdot"].values[0][p] for p in parts]
    else:
        main = max(
            spectrum([x[:, a] for x in q], dt).main for a in range(q[0].shape[1])
        )
        stride = int(np.clip(TURN / (2 * np.pi * main * dt), *STRIDES))
        log.warning(
            "velocities are differences of neighbouring samples, one in %d; the "
            "volatility comes out low by about %.2g %%; record velocities if you can",
            stride,
            100 / (6 * stride),
        )
        v = [np.diff(x, axis=0)[::stride] / dt for x in q]
        q = [((x[1:] + x[:-1]) / 2)[::stride] for x in q]
        dt *= stride
    total = sum(map(len, q))
    length = max(min(max(map(len, q)), total // TRAJECTORIES), LEAST_SAMPLES)
    cut = [
        [x[k : k + length] for x in each for k in range(0, len(x) - length + 1, length)]
        for each in (q, v)
    ]
    names = [str(n) for n in recorded["dof"].values]
    dims = ("replicate", "trajectory", "time", "dof")
    about = {"units": "see coordinate_unit"}
    return xr.Dataset(
        {
            "q": (dims, np.array(cut[0])[None], about | {"long_name": "coordinate"}),
            "qdot": (dims, np.array(cut[1])[None], about | {"long_name": "velocity"}),
        },
        coords={
            "replicate": [0],
            "time": (
                "time",
                np.arange(length) * dt,
                {"units": "s", "long_name": "time"},
            ),
            "dof": names,
            "coordinate_unit": ("dof", recorded["coordinate_unit"].values),
        },
        attrs={"warnings": recorded.attrs["warnings"], "contract": "observations"},
    )
