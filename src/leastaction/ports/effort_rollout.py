"""Identified efforts beside the true ones: learning curves, time, structure, motion.

Zaspel and Günther (2024), sections 4.3 to 4.6, and what they do not show: whether the
efforts are a gradient, whether the equation determines its algebraic states, how it
moves under inputs it has not seen, and what its posterior bands are worth.

The truth is f evaluated on the recorded states, whatever scheme made them.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.generators import generator
from leastaction.core.time_grid import step_count
from leastaction.ports.minimal_coordinates import path
from leastaction.ports.port_coupled import coupled_motion
from leastaction.ports.port_hamiltonian import PortHamiltonianSystem
from leastaction.ports.port_model import PortModel
from leastaction.ports.port_motion import port_motion
from leastaction.ports.port_structure import structure_scores
from leastaction.ports.training_sets import draw_sets

NORMAL_95 = 1.959963984540054


def validate(
    system: PortHamiltonianSystem,
    model: xr.Dataset,
    simulation: Mapping,
    settings: Mapping,
    library: Mapping,
    *,
    example: str,
    seed: int,
) -> xr.Dataset:
    """Validate one replicate.

    Parameters
    ----------
    system
        The truth.
    model
        Contract ``effort_process`` or ``effort_gradient``, one replicate.
    simulation
        The `simulate` section of the example.
    settings
        The `validate` section; `port` says what is rolled out.
    library
        Not used.
    example, seed
        Key of the test set.

    Returns
    -------
    xr.Dataset
        Contract ``port_rollout``.
    """
    wanted = settings["port"]
    steps = step_count(simulation["duration"], simulation["time_step"])
    time = simulation["time_step"] * np.arange(steps + 1)
    scheme = str(model["scheme"].values)
    x, u = path(system, scheme, time, simulation["input"], simulation["initial_state"])
    sets = draw_sets(
        time,
        simulation["training"],
        generator(seed, example, "simulate", 0, 1),
        generator(seed, example, "simulate", int(model["replicate"].values[0]), 0),
    )
    test = sets["test_index"].values
    fits = [PortModel(model, fit) for fit in range(model.sizes["fit"])]
    pieces = [
        _learning_curves(fits, system, x, test),
        structure_scores(fits, system, x[test]),
        _along_time(fits, system, time, x, wanted["shown_size"]),
    ]
    chosen = fits[0].trained_on(wanted["forward_size"])
    pieces.append(port_motion(chosen, system, wanted))
    if wanted.get("coupling"):
        pieces.append(coupled_motion(chosen, system, wanted["coupling"]))
    about = {"scheme": model["scheme"], "state_unit": model["state_unit"]}
    together = xr.merge(pieces, join="exact").expand_dims(
        replicate=model["replicate"].values
    )
    together = together.assign(about).assign_coords(
        training_size=model["training_size"], pool=model["pool"]
    )
    return together


def _learning_curves(fits, system, x: np.ndarray, test: np.ndarray) -> xr.Dataset:
    """Errors on the test samples by fit, and the share inside the posterior bands."""
    points = x[test]
    efforts = system.efforts_at(points)
    a = system.transformation
    found: dict[str, list] = {name: [] for name in _CURVES}
    for fit in fits:
        estimate = fit.efforts(points)
        error = estimate - efforts
        covariance = fit.covariance(points)
        through = np.einsum("ij,pjk,ik->pi", a, covariance, a)
        band = np.sqrt(np.maximum(through, 0.0))
        own, targets = fit.training_data
        off = targets - system.efforts_at(own) @ a.T
        found["transformed_rmse"].append(_rms(error @ a.T))
        found["effort_rmse"].append(_rms(error))
        found["coverage"].append((np.abs(error @ a.T) <= NORMAL_95 * band).mean(axis=0))
        found["band"].append(_rms(band))
        found["target_rmse"].append(_rms(off))
    return xr.Dataset(
        {
            name: (
                ("fit", "effort" if name == "effort_rmse" else "row"),
                np.array(found[name]),
                {"units": units, "long_name": meaning},
            )
            for name, (units, meaning) in _CURVES.items()
        },
        coords={
            "row": [f"row_{i + 1}" for i in range(len(a))],
            "effort": [f"z_{i + 1}" for i in range(len(a))],
        },
    )


_SI = "SI units of each entry"
_CURVES = {
    "transformed_rmse": (_SI, "error of (J - R) z on the test samples, rms"),
    "effort_rmse": (_SI, "error of z on the test samples, rms"),
    "coverage": ("1", "share of test samples inside the 95 % band of (J - R) z"),
    "band": (_SI, "posterior standard deviation of (J - R) z, rms"),
    "target_rmse": (_SI, "error of the training targets, rms"),
}


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt((values**2).mean(axis=0))


def _along_time(fits, system, time, x: np.ndarray, size: int) -> xr.Dataset:
    """Efforts along the recorded path, of the sets of one size from each pool."""
    shown = [fit for fit in fits if fit.training_size == size]
    pools = [str(fit.dataset["pool"].values[fit.fit]) for fit in shown]
    estimate = np.array([fit.efforts(x) for fit in shown])
    variance = np.array(
        [np.einsum("pii->pi", fit.covariance(x)).clip(0.0) for fit in shown]
    )
    samples = [fit.dataset["training_index"].values[0, fit.fit] for fit in shown]
    samples = np.array([index[:size] for index in samples])
    dims = ("pool_shown", "time", "effort")
    return xr.Dataset(
        {
            "effort_true": (
                ("time", "effort"),
                system.efforts_at(x),
                {"units": _SI, "long_name": "true efforts at the recorded states"},
            ),
            "effort_estimate": (
                dims,
                estimate,
                {"units": _SI, "long_name": "identified efforts"},
            ),
            "effort_std": (
                dims,
                np.sqrt(variance),
                {"units": _SI, "long_name": "posterior standard deviation"},
            ),
            "training_sample": (
                ("pool_shown", "sample_shown"),
                samples,
                {"units": "1", "long_name": "training samples of the fits shown"},
            ),
        },
        coords={
            "time": ("time", time, {"units": "s", "long_name": "time"}),
            "pool_shown": pools,
        },
    )
