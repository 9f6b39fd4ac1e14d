"""Motion of an identified port-Hamiltonian equation under given inputs."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.time_grid import step_count
from leastaction.ports.energy_balance import energy_balance
from leastaction.ports.minimal_coordinates import path
from leastaction.ports.port_dae import SingularDaeError
from leastaction.ports.port_inputs import input_function

_SI = "SI units of each state"


def port_motion(model, system, settings: Mapping) -> xr.Dataset:
    """Roll out truth and model in every scenario, at every time step.

    Parameters
    ----------
    model
        :class:`leastaction.ports.port_model.PortModel`.
    system
        The truth.
    settings
        `steps` (s, the finest last) and `scenarios` by name, each with `input`,
        `initial_state` and `duration`.

    Returns
    -------
    xr.Dataset
        By scenario, at the finest step, states of truth and model (`x_true`,
        `x_estimate`, on a common grid of the coarsest step), `forward_error` by state,
        `constraint_drift`; by scenario and step, the `balance_residual` and the
        `violations` of the dissipation inequality. `failure` says why there is none.
    """
    steps = settings["steps"]
    results = {
        name: _scenario(model, system, scenario, steps)
        for name, scenario in settings["scenarios"].items()
    }
    longest = max(result["x_true"].shape[0] for result in results.values())
    count = len(system.states)
    names = list(results)

    def stacked(key: str, shape: tuple) -> np.ndarray:
        whole = np.full((len(names), *shape), np.nan)
        for i, name in enumerate(names):
            values = np.asarray(results[name][key], dtype=float)
            whole[(i, *(slice(n) for n in values.shape))] = values
        return whole

    over_time = ("scenario", "time_forward", "state")
    variables = {
        "x_true": (over_time, (longest, count), _SI, "true states"),
        "x_estimate": (over_time, (longest, count), _SI, "states of the model"),
        "hamiltonian_true": (over_time[:2], (longest,), "J", "true H along the truth"),
        "hamiltonian_estimate": (
            over_time[:2],
            (longest,),
            "J",
            "identified H along the model, from the first true value on",
        ),
        "forward_error": (
            ("scenario", "state"),
            (count,),
            _SI,
            "error of the motion at the finest step, rms",
        ),
        "constraint_drift": (
            ("scenario",),
            (),
            "SI units",
            "largest |g| of the motion",
        ),
        "balance_residual": (
            ("scenario", "step"),
            (len(steps),),
            "J",
            "largest residual of the energy balance",
        ),
        "balance_order": (
            ("scenario",),
            (),
            "1",
            "order of the residual between the two finest steps",
        ),
        "violations": (
            ("scenario", "step"),
            (len(steps),),
            "1",
            "steps that break the dissipation inequality",
        ),
    }
    found = {
        key: (dims, stacked(key, shape), {"units": units, "long_name": meaning})
        for key, (dims, shape, units, meaning) in variables.items()
    }
    found["failure"] = (
        ("scenario",),
        np.array([results[name]["failure"] for name in names], dtype=object),
        {"units": "1", "long_name": "why there is no motion; empty if there is"},
    )
    return xr.Dataset(
        found,
        coords={
            "scenario": names,
            "step": ("step", list(steps), {"units": "s", "long_name": "time step"}),
            "time_forward": (
                "time_forward",
                steps[0] * np.arange(longest),
                {"units": "s", "long_name": "time"},
            ),
            "state": list(system.states),
        },
    )


def order_of(residual, steps) -> float:
    """Order p of a residual ~ hᵖ, from the two finest steps."""
    ratio = np.asarray(residual[-2], dtype=float) / residual[-1]
    return float(np.log(ratio) / np.log(steps[-2] / steps[-1]))


def _scenario(model, system, scenario: Mapping, steps) -> dict:
    u = input_function(system, scenario["input"])
    grids = {
        step: step * np.arange(step_count(scenario["duration"], step) + 1)
        for step in steps
    }
    finest = grids[steps[-1]]
    true, _ = path(
        system, "dop853", finest, scenario["input"], scenario["initial_state"]
    )
    every = round(steps[0] / steps[-1])
    energy = system.hamiltonian_at(true)
    nothing = np.full_like(true[::every], np.nan)
    result = {
        "x_true": true[::every],
        "x_estimate": nothing,
        "hamiltonian_true": energy[::every],
        "hamiltonian_estimate": nothing[:, 0],
        "forward_error": np.full(true.shape[1], np.nan),
        "constraint_drift": np.nan,
        "balance_residual": np.full(len(steps), np.nan),
        "balance_order": np.nan,
        "violations": np.full(len(steps), np.nan),
        "failure": "",
    }
    try:
        for k, step in enumerate(steps):
            x = model.dae.path(true[0], grids[step], u)
            if model.dae.hamiltonian is not None:
                balance = energy_balance(model.dae, grids[step], x, u(grids[step]))
                result["balance_residual"][k] = np.abs(balance.residual).max()
                result["violations"][k] = balance.violations
    except SingularDaeError as error:
        return result | {"failure": str(error)}
    result["balance_order"] = order_of(result["balance_residual"], steps)
    result["x_estimate"] = x[::every]
    result["forward_error"] = np.sqrt(((x - true) ** 2).mean(axis=0))
    drift = system.constraint_at(x)
    result["constraint_drift"] = np.abs(drift).max() if drift.size else 0.0
    if model.dae.hamiltonian is not None:
        found = model.dae.hamiltonian(x)
        result["hamiltonian_estimate"] = (found - found[0] + energy[0])[::every]
    return result
