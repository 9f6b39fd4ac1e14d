"""Recordings of sensors: trajectories of unequal length, one after the other."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from leastaction.core.contracts import Contract, variables

# A spike is off by so many standard deviations of its surroundings, and by this part of
# half the range.
DEVIATIONS, LEAST_SHARE_OF_RANGE = 10.0, 1e-3
OF_COORDINATES = {"q": "see coordinate_unit", "force": "see force_unit"}
CONTRACTS = {
    "measurements": Contract(
        "import",
        variables(
            """
            replicate sample dof:
                q [q] generalised coordinate
                qdot [q] generalised velocity
                qddot [q] generalised acceleration
                input [q] generalised external force
            trajectory:
                first_sample [1] first row
                sample_count [1] number of rows
                start_time [s] recorded time of the first row
                held_out [1] whether only validation sees it
            """,
            OF_COORDINATES,
            finite="q",
            optional=("qdot", "qddot", "input"),
        ),
        swept=False,
    ),
    "smoothed_motion": Contract(
        "differentiate with method bandwidth_spline",
        variables(
            """
            replicate grid dof:
                q [q] q, smoothed
                qdot [q] qdot, smoothed
                qddot [q] qddot, smoothed
            grid:
                row [1] row of the recording
                trajectory_number [1] trajectory, by its position
                inner [1] whether far from both ends
            replicate dof:
                noise_std [q] noise, from differences
                bandwidth [Hz] where motion drowns in noise
                frequency [Hz] main frequency
            """,
            OF_COORDINATES,
            finite=("q", "qdot", "qddot", "noise_std", "frequency"),
        ),
        swept=False,
    ),
    "measured_rollout": Contract(
        "validate",
        variables(
            """
            replicate path_sample dof:
                q_measured [q] measured
                q_estimate [q] predicted
                q_band [q] half the width of the 95 % band
                residual [q] measured less fitted, over three main periods
            path_sample:
                path_trajectory [1] trajectory, by its position
                path_time [s] time since the begin of the trajectory
            replicate trajectory dof:
                rms_error [1] rms error over half the range
                maximum_error [1] largest error over half the range
                rms_band [1] rms half width of the 95 % band over half the range
            trajectory dof:
                half_range [q] half the range of the trajectory
            trajectory:
                prediction_time [s] until noise of the start moves a run by 5 %
            replicate dof:
                force_error [1] rms force that the law misses over short windows, \
over that recorded
                one_step_error [q] rms difference from what the law expects of a \
sample from all before
            replicate window dof:
                force_missed [force] mean force that the law misses in a short window
                force_recorded [force] mean force recorded in it
            window:
                window_trajectory [1] trajectory, by its position
                window_time [s] time of its middle since the begin of the trajectory
            """,
            OF_COORDINATES,
            finite=("q_measured",),
            optional=(
                *("path_time", "rms_band", "prediction_time"),
                *("force_error", "one_step_error"),
            ),
        ),
        swept=False,
    ),
}


def paths_and_errors(runs: Sequence[tuple], stride: int, step: float) -> dict:
    """Variables of a ``measured_rollout`` by sample of a path and by trajectory.

    Each run has what was measured, predicted, half the band and the residual, shape
    (sample, dof). Errors are those of all samples, `step` s apart; every `stride`-th is
    stored.
    """
    half = np.array([np.ptp(y, axis=0) / 2 for y, *_ in runs])
    half = np.where(half > 0, half, 1.0)  # what rests has errors in its own unit
    errors = [
        np.abs(np.where(np.isfinite(p), p - y, np.inf)) / size
        for (y, p, *_), size in zip(runs, half, strict=True)
    ]
    names = "q_measured", "q_estimate", "q_band", "residual"
    each = zip(names, zip(*runs, strict=True), strict=True)
    counts = [len(y[::stride]) for y, *_ in runs]
    return {
        **{name: np.concatenate([x[::stride] for x in parts]) for name, parts in each},
        "path_trajectory": np.repeat(np.arange(len(runs)), counts),
        "path_time": np.concatenate([np.arange(n) * step * stride for n in counts]),
        "rms_error": [np.sqrt((e**2).mean(axis=0)) for e in errors],
        "maximum_error": [e.max(axis=0) for e in errors],
        "rms_band": [np.sqrt((r[2] ** 2).mean(axis=0)) for r in runs] / half,
        "half_range": half,
    }


def amount(counts: Sequence[int], step: float) -> str:
    """Number of trajectories, of their samples, and duration in s.

    >>> amount([100, 20], 0.1)
    '2 trajectories, 120 samples, 12 s'
    """
    several, total = "y" if len(counts) == 1 else "ies", sum(counts)
    return f"{len(counts)} trajector{several}, {total} samples, {total * step:.4g} s"


def shown_units(dataset: xr.Dataset) -> tuple[list[str], list[str], np.ndarray]:
    """Coordinates, their units as the user writes them, and the SI values of these."""
    names, units = (
        [str(text) for text in dataset[name].values]
        for name in ("dof", "coordinate_shown_unit")
    )
    return names, units, dataset["coordinate_shown_factor"].values


def pieces(observations: xr.Dataset) -> list[slice]:
    """Rows of each trajectory of a ``measurements`` dataset."""
    first = observations["first_sample"].values
    count = observations["sample_count"].values
    return [slice(int(a), int(a + n)) for a, n in zip(first, count, strict=True)]


def select(observations: xr.Dataset, chosen: Sequence[int]) -> xr.Dataset:
    """The dataset with some of its trajectories."""
    every = pieces(observations)
    rows = np.concatenate([np.arange(every[i].start, every[i].stop) for i in chosen])
    selected = observations.isel(sample=rows, trajectory=list(chosen))
    count = selected["sample_count"].values
    first = np.cumsum(count, dtype=count.dtype) - count
    return selected.assign(first_sample=selected["first_sample"].copy(data=first))


def training(observations: xr.Dataset) -> xr.Dataset:
    """The trajectories that a model may see."""
    return select(observations, np.flatnonzero(observations["held_out"].values == 0))


def held_out(observations: xr.Dataset) -> xr.Dataset:
    """The trajectories that only validation may see."""
    return select(observations, np.flatnonzero(observations["held_out"].values))
