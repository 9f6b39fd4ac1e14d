"""Recordings of sensors: trajectories of unequal length, one after the other."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from leastaction.core.contracts import Contract, Variable

ROWS = "replicate sample dof"
GRID = "replicate grid dof"
PATHS = "replicate path_sample dof"
SCORES = "replicate trajectory dof"
EACH = "replicate dof"
COORDINATE = "see coordinate_unit"

CONTRACTS = {
    "measurements": Contract(
        "import",
        {
            "q": Variable(ROWS, COORDINATE, "generalised coordinate", finite=True),
            "qdot": Variable(ROWS, COORDINATE, "generalised velocity", optional=True),
            "qddot": Variable(
                ROWS, COORDINATE, "generalised acceleration", optional=True
            ),
            "input": Variable(
                ROWS, COORDINATE, "generalised external force", optional=True
            ),
            "first_sample": Variable("trajectory", "1", "first row"),
            "sample_count": Variable("trajectory", "1", "number of rows"),
            "start_time": Variable("trajectory", "s", "recorded time of the first row"),
            "held_out": Variable("trajectory", "1", "whether only validation sees it"),
        },
        swept=False,
    ),
    "smoothed_motion": Contract(
        "differentiate with method bandwidth_spline",
        {
            **{
                name: Variable(GRID, COORDINATE, f"{name}, smoothed", finite=True)
                for name in ("q", "qdot", "qddot")
            },
            "row": Variable("grid", "1", "row of the recording"),
            "trajectory_number": Variable("grid", "1", "trajectory, by its position"),
            "inner": Variable("grid", "1", "whether far from both ends"),
            "noise_std": Variable(
                EACH, COORDINATE, "noise, from differences", finite=True
            ),
            "bandwidth": Variable(EACH, "Hz", "where motion drowns in noise"),
            "frequency": Variable(EACH, "Hz", "main frequency", finite=True),
        },
        swept=False,
    ),
    "measured_rollout": Contract(
        "validate",
        {
            "q_measured": Variable(PATHS, COORDINATE, "measured", finite=True),
            "q_estimate": Variable(PATHS, COORDINATE, "predicted"),
            "q_band": Variable(PATHS, COORDINATE, "half the width of the 95 % band"),
            "residual": Variable(
                PATHS, COORDINATE, "measured less fitted, over three main periods"
            ),
            "path_trajectory": Variable(
                "path_sample", "1", "trajectory, by its position"
            ),
            "path_time": Variable(
                "path_sample",
                "s",
                "time since the begin of the trajectory",
                optional=True,
            ),
            "rms_error": Variable(SCORES, "1", "rms error over half the range"),
            "maximum_error": Variable(SCORES, "1", "largest error over half the range"),
            "force_error": Variable(
                EACH,
                "1",
                "rms force that the law misses over short windows, over that recorded",
                optional=True,
            ),
        },
        swept=False,
    ),
}


def pieces(observations: xr.Dataset) -> list[slice]:
    """Rows of each trajectory of a ``measurements`` dataset."""
    first = observations["first_sample"].values
    count = observations["sample_count"].values
    return [slice(int(a), int(a + n)) for a, n in zip(first, count, strict=True)]


def select(observations: xr.Dataset, chosen: Sequence[int]) -> xr.Dataset:
    """The dataset with some of its trajectories."""
    parts = [pieces(observations)[i] for i in chosen]
    rows = np.concatenate([np.arange(p.start, p.stop) for p in parts])
    found = observations.isel(sample=rows, trajectory=list(chosen))
    count = found["sample_count"].values
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    return found.assign(
        first_sample=found["first_sample"].copy(data=first.astype(count.dtype))
    )


def training(observations: xr.Dataset) -> xr.Dataset:
    """The trajectories that a model may see."""
    return select(observations, np.flatnonzero(observations["held_out"].values == 0))


def held_out(observations: xr.Dataset) -> xr.Dataset:
    """The trajectories that only validation may see."""
    return select(observations, np.flatnonzero(observations["held_out"].values))
