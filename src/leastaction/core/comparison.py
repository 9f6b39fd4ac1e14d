"""Truth and model beside each other: the dataset that every rollout ends in."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

STATISTICS = {
    "mean": "ensemble mean",
    "std": "standard deviation",
    "hamiltonian": "ensemble mean of the Hamiltonian",
    "hamiltonian_of_mean": "Hamiltonian of the mean path",
}
OF_TIME = ("hamiltonian", "hamiltonian_of_mean")


def comparison(
    truth: Mapping[str, np.ndarray],
    found: Mapping[str, np.ndarray],
    time: np.ndarray,
    training: float,
    *,
    growth: float,
    diverged: int,
    replicate: xr.DataArray,
    axis: Mapping,
    judged: slice = slice(None),
    unit: str = "unit of the state",
    energy_unit: str = "unit of L",
) -> xr.Dataset:
    """Dataset of one replicate, with the relative errors of the model.

    Parameters
    ----------
    truth, found
        `mean` and `std` of shape (time, axis), `hamiltonian` and
        `hamiltonian_of_mean` of shape (time,).
    time, training
        Stored times and the training duration, s.
    growth
        Growth of E[H] by Itô's formula, per second; NaN where it depends on the motion.
    diverged
        Number of trajectories of the model that did not stay finite.
    replicate
        Coordinate of the model.
    axis
        The coordinate ``{name: values}`` of the second dimension: states or nodes.
    judged
        Part of that dimension that the relative errors compare.
    """
    (name,) = axis
    dims = ("replicate", "time", name)
    data = {}
    for end, one in (("true", truth), ("estimate", found)):
        for key, meaning in STATISTICS.items():
            about = {"units": unit, "long_name": meaning}
            if key in OF_TIME:
                about["units"] = energy_unit
            data[f"{key}_{end}"] = (dims[: one[key].ndim + 1], one[key][None], about)
    data["hamiltonian_growth"] = (
        dims[:2],
        (truth["hamiltonian"][0] + growth * time)[None],
        {"units": energy_unit, "long_name": "H(0) plus the growth by Ito's formula"},
    )
    windows = {"training": time <= training, "prediction": time > training}
    scores = {
        f"mean_error_{window}": (
            relative_error(found["mean"][rows, judged], truth["mean"][rows, judged]),
            f"relative error of the mean path, {window} window",
        )
        for window, rows in windows.items()
    }
    scores["std_error"] = (
        relative_error(found["std"][:, judged], truth["std"][:, judged]),
        "relative error of the standard deviation",
    )
    scores["diverged"] = (diverged, "trajectories of the model that diverged")
    for key, (value, meaning) in scores.items():
        data[key] = ("replicate", [value], {"units": "1", "long_name": meaning})
    return xr.Dataset(
        data,
        coords={
            "replicate": replicate,
            "time": ("time", time, {"units": "s", "long_name": "time"}),
            **axis,
        },
        attrs={"training_duration": float(training)},
    )


def relative_error(estimate: np.ndarray, truth: np.ndarray) -> float:
    """‖estimate − truth‖ / ‖truth‖; not finite if the estimate is not."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return float(np.linalg.norm(estimate - truth) / np.linalg.norm(truth))
