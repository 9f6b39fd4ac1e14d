"""Quintic spline of recordings whose knots and penalty come from the data alone.

Knots stand five times as dense as the bandwidth asks; where data are coarse, the
penalty on the fourth derivative, by generalised cross-validation, does the rest.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from scipy.interpolate import BSpline

from leastaction.core.contracts import check
from leastaction.core.noise_sweep import CHANNELS
from leastaction.core.unequal_trajectories import pieces, training
from leastaction.recordings.recording_spectrum import difference_noise, spectrum
from leastaction.trajectories.demmler_reinsch import DEGREE, knots
from leastaction.trajectories.joint_spline import joint_spline

CONTRACT = "smoothed_motion"
KNOTS_PER_BANDWIDTH = 5
# Samples per knot at least: with fewer, the spline has more freedom than the data.
DENSEST = 2
# A longer trajectory is smoothed piece by piece: a decomposition is cubic in them.
MOST_KNOTS = 400


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Smooth recordings; nothing is set per system.

    Parameters
    ----------
    observations
        Contract ``measurements``: `q` and, if recorded, `qdot`, `qddot`.
    settings
        `inflation` of the degrees of freedom; `points` per inverse bandwidth at which
        the spline is evaluated; `trim`, inverse bandwidths left out at each end.
    library
        Not used: the smoother knows no model.

    Returns
    -------
    xr.Dataset
        Contract ``smoothed_motion``.
    """
    check(observations, "measurements")
    observations = training(observations)
    dt = float(observations.attrs["time_step"])
    trajectories = pieces(observations)
    names = [str(name) for name in observations["dof"].values]
    recorded = [name for name in CHANNELS if name in observations]
    values = {name: observations[name].values[0] for name in recorded}
    series = [
        [values["q"][part, a] for part in trajectories] for a in range(len(names))
    ]
    spectra = [spectrum(each, dt) for each in series]
    bandwidth = np.array([s.bandwidth for s in spectra])
    widest = float(bandwidth.max())
    spacing = max(round(1 / (KNOTS_PER_BANDWIDTH * widest) / dt), DENSEST)
    stride = max(round(1 / (settings["points"] * widest) / dt), 1)
    trim = settings["trim"] / widest
    rows = []
    for number, part in enumerate(trajectories):
        for start, stop, inner in _stretches(part, MOST_KNOTS * spacing):
            time = np.arange(start, stop)
            at = np.arange(inner.start, inner.stop, stride) - start
            states = np.stack(
                [
                    _smooth(
                        [values[name][time, a] for name in recorded],
                        [CHANNELS.index(name) for name in recorded],
                        dt,
                        spacing,
                        settings["inflation"],
                        at,
                    )
                    for a in range(len(names))
                ],
                axis=-1,
            )
            when = (at + start - part.start) * dt
            end = (part.stop - 1 - part.start) * dt
            rows.append(
                (states, at + start, number, (when >= trim) & (when <= end - trim))
            )
    states = np.concatenate([row[0] for row in rows], axis=1)
    inside = np.concatenate([row[3] for row in rows])
    if inside.sum() < len(inside) / 4:
        inside = np.ones_like(inside)
    noise = np.array([difference_noise(each) for each in series])
    dims, each = ("replicate", "grid", "dof"), ("replicate", "dof")
    unit = {"units": "see coordinate_unit"}
    data = {
        name: (dims, states[None, i], unit | {"long_name": f"{name}, smoothed"})
        for i, name in enumerate(CHANNELS)
    }
    for key, kept, about in (
        ("row", np.concatenate([row[1] for row in rows]), "row of the recording"),
        (
            "trajectory_number",
            np.concatenate([np.full(len(row[1]), row[2]) for row in rows]),
            "trajectory, by its position",
        ),
        ("inner", inside.astype("int8"), "whether far from both ends"),
    ):
        data[key] = (("grid",), kept, {"units": "1", "long_name": about})
    for key, found, units, about in (
        ("noise_std", noise, "see coordinate_unit", "noise, from differences"),
        ("bandwidth", bandwidth, "Hz", "where motion drowns in noise"),
        ("frequency", [s.main for s in spectra], "Hz", "main frequency"),
    ):
        data[key] = (each, np.array(found)[None], {"units": units, "long_name": about})
    return xr.Dataset(
        data,
        coords={"replicate": observations["replicate"], "dof": observations["dof"]},
    )


def _stretches(part: slice, longest: int):
    """Parts of a trajectory that are smoothed at once, and what is kept of each."""
    length = part.stop - part.start
    count = max(-(-length // longest), 1)
    edges = np.linspace(part.start, part.stop, count + 1).round().astype(int)
    margin = longest // 20
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        start = max(part.start, low - margin)
        stop = min(part.stop, high + margin)
        yield start, stop, slice(low, high)


def _smooth(channels, orders, dt, spacing, inflation, at) -> np.ndarray:
    """Value, rate and acceleration at some samples, shape (3, at)."""
    samples = len(channels[0])
    coefficients = joint_spline(
        [y[None] for y in channels], orders, dt, min(spacing, samples // 8), inflation
    )[0][0]
    spline = BSpline(knots(samples, min(spacing, samples // 8)), coefficients, DEGREE)
    return np.stack([spline(at, nu=k) / dt**k for k in range(3)])
