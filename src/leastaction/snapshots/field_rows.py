"""Fields that were learned from snapshots, beside the truth: rows of the scorecard."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from leastaction.report.case import Row, count

# Steps after which errors are told, beside the last one.
STEPS = (50, 200)


def errors_at(rollout: xr.Dataset, step: int) -> np.ndarray:
    """Error after so many steps, one per replicate; infinite if a motion failed."""
    return rollout["error"].isel(step=step).fillna(np.inf).values


def _at(step: int) -> Callable:
    def values(rollout: xr.Dataset) -> np.ndarray | None:
        last = rollout.sizes["step"] - 1
        return errors_at(rollout, step) if abs(step) <= last else None

    return values


def speed_error(rollout: xr.Dataset) -> np.ndarray:
    """|c²/c²_true − 1|, one per replicate."""
    return np.abs((rollout["speed_squared"] / rollout["speed_squared_true"]) - 1).values


def slope_error(rollout: xr.Dataset) -> np.ndarray | None:
    """Largest error of V' over its largest value; None where V' is zero."""
    true = rollout["slope_true"]
    largest = float(np.abs(true).max())
    if largest == 0:
        return None
    return (np.abs(rollout["slope_estimate"] - true).max("value") / largest).values


def _said(rollout: xr.Dataset) -> np.ndarray:
    """Fits that were called stable, and have a motion that failed."""
    return ((rollout["stable"] == 1) & (rollout["failed"] > 0)).values


def _refused(rollout: xr.Dataset) -> np.ndarray:
    return (rollout["stable"] == 0).values


TABLE = (
    Row(
        f"rms error of unseen motions after {STEPS[0]} steps",
        _at(STEPS[0]),
        limit="field_error_50",
        note="over their rms",
    ),
    Row(
        f"rms error of unseen motions after {STEPS[1]} steps",
        _at(STEPS[1]),
        limit="field_error_200",
        note="over their rms",
    ),
    Row(
        "rms error of unseen motions after the last step",
        _at(-1),
        limit="field_error",
        note="over their rms",
    ),
    Row(
        "relative error of the squared speed of waves",
        speed_error,
        limit="wave_speed_error",
    ),
    Row(
        "largest error of V' over its largest value",
        slope_error,
        limit="field_slope_error",
    ),
    Row(
        "change of the true energy along the motions",
        lambda rollout: np.abs(rollout["energy_drift"].values),
        limit="field_energy_drift",
        note="mean of the last steps over that of the first, minus 1",
    ),
    Row(
        "fits called stable whose motion failed",
        _said,
        limit="field_failures",
        kind="maximum",
        summary=count,
    ),
    Row(
        "fits refused before their rollout",
        _refused,
        limit="fields_refused",
        kind="minimum",
        summary=count,
        note="no stable density is compatible with the data",
    ),
)
