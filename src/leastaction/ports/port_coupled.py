"""An identified subsystem coupled to a known one, beside the coupled truth."""

import json
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.core.time_grid import step_count
from leastaction.ports.energy_balance import energy_balance
from leastaction.ports.minimal_coordinates import start
from leastaction.ports.port_coupling import couple
from leastaction.ports.port_dae import PortDae, SingularDaeError
from leastaction.ports.port_hamiltonian import PortHamiltonianSystem
from leastaction.ports.port_inputs import input_function
from leastaction.ports.port_motion import order_of

IDENTIFIED, KNOWN = "identified", "known"


def coupling_of(
    system: PortHamiltonianSystem, settings: Mapping
) -> tuple[PortHamiltonianSystem, list[tuple[str, int]]]:
    """The known subsystem, and the coupling ports as (system, number).

    Raises
    ------
    ValueError
        If the subsystem is no good or a port is not there.
    """
    known = PortHamiltonianSystem.from_config(settings["system"])
    inputs = {IDENTIFIED: system.inputs, KNOWN: known.inputs}
    ports = []
    for text in settings["ports"]:
        name, _, port = text.partition(".")
        if port not in inputs.get(name, ()):
            there = [f"{n}.{p}" for n, names in inputs.items() for p in names]
            raise ValueError(f"coupling: no port {text!r}; there are {there}")
        ports.append((name, inputs[name].index(port)))
    return known, ports


def coupled_motion(model, system, settings: Mapping) -> xr.Dataset:
    """Roll out the coupled truth and the coupled model.

    Parameters
    ----------
    model
        :class:`leastaction.ports.port_model.PortModel`.
    system
        Truth of the identified subsystem.
    settings
        The known `system`, the `ports` that are coupled, the skew `interconnection`,
        `initial_state` of both in minimal coordinates, `input` of the free ports of the
        known one, `duration` and `steps` (s, the finest last).

    Returns
    -------
    xr.Dataset
        `coupled_true`, `coupled_estimate` (time_coupled, state_coupled), errors in rms
        at the finest step, `coupled_residual` of the energy balance and
        `coupled_violations` by step.
    """
    steps = settings["steps"]
    together, given, truth, true = _truth(system, json.dumps(dict(settings)))
    first = true[0]
    grids = [s * np.arange(step_count(settings["duration"], s) + 1) for s in steps]
    every = round(steps[0] / steps[-1])
    size = {"residual": [], "violations": []}
    estimate, failure = np.full_like(true, np.nan), ""
    try:
        coupled = together(model.dae)
        for time in grids:
            estimate = coupled.path(first, time, given)
            if coupled.hamiltonian is None:
                continue
            balance = energy_balance(coupled, time, estimate, given(time))
            size["residual"].append(np.abs(balance.residual).max())
            size["violations"].append(balance.violations)
    except SingularDaeError as error:
        failure, estimate = str(error), np.full_like(true, np.nan)
        size = {"residual": [], "violations": []}
    nothing = [np.nan] * len(steps)
    mixed = {"units": "SI units of each state"}
    dims = ("time_coupled", "state_coupled")
    return xr.Dataset(
        {
            "coupled_true": (
                dims,
                true[::every],
                mixed | {"long_name": "states of the coupled truth"},
            ),
            "coupled_estimate": (
                dims,
                estimate[::every],
                mixed | {"long_name": "states of the coupled model"},
            ),
            "coupled_error": (
                ("state_coupled",),
                np.sqrt(((estimate - true) ** 2).mean(axis=0)),
                mixed | {"long_name": "error of the coupled motion, rms"},
            ),
            "coupled_residual": (
                ("step_coupled",),
                size["residual"] or nothing,
                {"units": "J", "long_name": "largest residual of the energy balance"},
            ),
            "coupled_order": (
                (),
                order_of(size["residual"], steps) if size["residual"] else np.nan,
                {"units": "1", "long_name": "order of that residual, finest steps"},
            ),
            "coupled_violations": (
                ("step_coupled",),
                np.array(size["violations"] or nothing, dtype=float),
                {"units": "1", "long_name": "steps that break the inequality"},
            ),
            "coupled_failure": (
                (),
                failure,
                {
                    "units": "1",
                    "long_name": "why there is no motion; empty if there is",
                },
            ),
        },
        coords={
            "state_coupled": list(truth.states),
            "step_coupled": ("step_coupled", list(steps), {"units": "s"}),
            "time_coupled": ("time_coupled", grids[0], {"units": "s"}),
        },
    )


@lru_cache(maxsize=4)
def _truth(system, written: str) -> tuple:
    """Coupling of a subsystem, input of the free ports, coupled truth and its path."""
    settings = json.loads(written)
    known, ports = coupling_of(system, settings)
    u = input_function(known, settings["input"])
    free = [i for i in range(len(known.inputs)) if (KNOWN, i) not in ports]
    idle = len(system.inputs) - sum(name == IDENTIFIED for name, _ in ports)

    def together(own: PortDae) -> PortDae:
        matrix = settings["interconnection"]
        return couple({IDENTIFIED: own, KNOWN: known.dae}, ports, matrix)

    def given(time: np.ndarray) -> np.ndarray:
        """Inputs of the free ports; those of the identified one stay at zero."""
        return np.hstack([np.zeros((len(time), idle)), u(time)[:, free]])

    truth = together(system.dae)
    step = settings["steps"][-1]
    time = step * np.arange(step_count(settings["duration"], step) + 1)
    return (
        together,
        given,
        truth,
        truth.path(_first(system, known, settings), time, given),
    )


def _first(system, known, settings: Mapping) -> np.ndarray:
    """First states of both; algebraic ones are guesses for Newton's method."""
    parts = []
    for each in (system, known):
        own = {k: settings["initial_state"][k] for k in each.coordinates}
        xi = start(each, {"initial_state": own})[None]
        parts.append(each.states_at(xi, np.zeros((1, len(each.inputs))))[0])
    return np.concatenate(parts)
