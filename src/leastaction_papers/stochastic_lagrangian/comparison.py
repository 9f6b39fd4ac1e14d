"""Truth and model beside each other: the dataset that every rollout ends in."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import Contract, contracts, variables

STATISTICS = ("mean", "std", "hamiltonian", "hamiltonian_of_mean")
CHECKED = ("mean", "std", "hamiltonian")


def comparison_contract(axis: str, unit: str, energy_unit: str) -> Contract:
    """Contract of a :func:`comparison` along `axis`, states or nodes, with units."""
    result = variables(
        f"""
        replicate time {axis}:
            mean_true [{unit}] ensemble mean
            std_true [{unit}] standard deviation
            mean_estimate [{unit}] ensemble mean
            std_estimate [{unit}] standard deviation
        replicate time:
            hamiltonian_true [{energy_unit}] ensemble mean of the Hamiltonian
            hamiltonian_of_mean_true [{energy_unit}] Hamiltonian of the mean path
            hamiltonian_estimate [{energy_unit}] ensemble mean of the Hamiltonian
            hamiltonian_of_mean_estimate [{energy_unit}] Hamiltonian of the mean path
            hamiltonian_growth [{energy_unit}] H(0) plus the growth by Ito's formula
        replicate:
            mean_error_training [1] error of the mean path over its rms, training
            mean_error_prediction [1] error of the mean path over its rms, prediction
            std_error [1] relative error of the standard deviation
            diverged [1] trajectories of the model that diverged
        """,
        finite=[f"{name}_true" for name in CHECKED],
    )
    return Contract("validate", result)


def comparison(
    truth: Mapping[str, np.ndarray],
    result: Mapping[str, np.ndarray],
    time: np.ndarray,
    training: float,
    *,
    growth: np.ndarray,
    diverged: int,
    replicate: xr.DataArray,
    axis: Mapping,
    judged: slice = slice(None),
    contract: str = "rollout",
) -> xr.Dataset:
    """Dataset of one replicate, with the relative errors of the model.

    `truth` and `result` have `mean` and `std` (time, axis), `hamiltonian` and
    `hamiltonian_of_mean` (time,); `growth` (time,) is that of E[H] by Itô's formula,
    NaN where it is not known; `diverged` trajectories of the model did not stay finite.
    `axis` is the coordinate ``{name: values}`` of the second dimension, of which the
    errors compare the part `judged`. `time` and the duration `training` are in s.
    """
    values = {f"{name}_true": truth[name] for name in STATISTICS}
    values |= {f"{name}_estimate": result[name] for name in STATISTICS}
    values["hamiltonian_growth"] = truth["hamiltonian"][0] + growth
    windows = {"training": time <= training, "prediction": time > training}
    # Of the path, not of its mean: that may vanish.
    rms = np.hypot(truth["mean"], truth["std"])
    for window, rows in windows.items():
        values[f"mean_error_{window}"] = relative_error(
            result["mean"][rows, judged] - truth["mean"][rows, judged],
            rms[rows, judged],
        )
    values["std_error"] = relative_error(
        result["std"][:, judged] - truth["std"][:, judged], truth["std"][:, judged]
    )
    values["diverged"] = diverged
    coords = {"replicate": replicate, "time": time, **axis}
    attrs = {"training_duration": float(training)}
    return contracts()[contract].dataset(values, coords, attrs)


def relative_error(error: np.ndarray, size: np.ndarray) -> float:
    """‖error‖ / ‖size‖; not finite if the error is not."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return float(np.linalg.norm(error) / np.linalg.norm(size))
