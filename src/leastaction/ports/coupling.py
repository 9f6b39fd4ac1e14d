"""Port-Hamiltonian systems coupled through their ports: again port-Hamiltonian.

With the coupling inputs û and outputs ŷ = B̂ᵀ z of all subsystems and a skew matrix Ĉ,

.. math::  \\hat u + \\hat C \\hat y = 0 \\quad\\Rightarrow\\quad
    E \\dot x = (J - \\hat B \\hat C \\hat B^T - R)\\, z + \\bar B \\bar u

(Zaspel and Günther 2024, eq. 3): J̃ is skew because Ĉ is, and H is the sum. An
identified subsystem coupled to a known one is rolled out beside the coupled truth.
"""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import xarray as xr
from scipy.linalg import block_diag

from leastaction.core.simulation import step_count
from leastaction.ports.contracts import CONTRACTS
from leastaction.ports.dae import (
    PortDae,
    SingularDaeError,
    energy_balance,
    order_of,
)
from leastaction.ports.minimal_coordinates import start
from leastaction.ports.system import PortHamiltonianSystem, input_function

# Of the interconnection, which a user writes as decimal numbers.
LARGEST_ASYMMETRY = 1e-12

IDENTIFIED, KNOWN = "identified", "known"


def couple(
    systems: Mapping[str, PortDae],
    ports: Sequence[tuple[str, int]],
    interconnection: np.ndarray,
) -> PortDae:
    """One system of several.

    Parameters
    ----------
    systems
        By name; a state x of system `a` becomes ``a.x``.
    ports
        (system, number of its port) of every coupling port; all others stay inputs, in
        the order of the systems.
    interconnection
        Ĉ, shape (coupling port, coupling port), skew-symmetric.

    Raises
    ------
    ValueError
        If Ĉ is not skew-symmetric, does not fit the ports, a port is not there, or a
        system has constraints.
    """
    c = np.asarray(interconnection, dtype=float)
    _check(systems, ports, c)
    names, parts = list(systems), list(systems.values())
    everything = block_diag(*(part.port for part in parts))
    first = np.cumsum([0, *(part.port.shape[1] for part in parts)])
    inner = [int(first[names.index(name)]) + number for name, number in ports]
    outer = [i for i in range(everything.shape[1]) if i not in inner]
    coupling = everything[:, inner]
    structure = block_diag(*(part.structure for part in parts))
    ends = np.cumsum([0, *(len(part.states) for part in parts)])
    places = [slice(*pair) for pair in itertools.pairwise(ends)]

    def jacobian(x: np.ndarray) -> np.ndarray:
        found = np.zeros((len(x), *structure.shape))
        for part, own in zip(parts, places, strict=True):
            found[:, own, own] = part.jacobian(x[:, own])
        return found

    def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        efforts, slopes = np.empty(len(x)), np.zeros(structure.shape)
        for part, own in zip(parts, places, strict=True):
            efforts[own], slopes[own, own] = part.at(x[own])
        return efforts, slopes

    def each(function: str) -> Callable:
        """Values of all subsystems at states of the coupled one."""
        return lambda x: [
            getattr(part, function)(x[:, own])
            for part, own in zip(parts, places, strict=True)
        ]

    efforts, energies = each("efforts"), each("hamiltonian")
    known = all(part.hamiltonian is not None for part in parts)
    return PortDae(
        states=tuple(f"{n}.{s}" for n, part in systems.items() for s in part.states),
        flow=block_diag(*(part.flow for part in parts)),
        structure=structure - coupling @ c @ coupling.T,
        dissipation=block_diag(*(part.dissipation for part in parts)),
        port=everything[:, outer],
        efforts=lambda x: np.hstack(efforts(x)),
        jacobian=jacobian,
        hamiltonian=(lambda x: sum(energies(x))) if known else None,
        at=at,
    )


def _check(systems: Mapping[str, PortDae], ports: Sequence, c: np.ndarray) -> None:
    if c.shape != (len(ports),) * 2 or np.abs(c + c.T).max() > LARGEST_ASYMMETRY:
        raise ValueError(
            f"the interconnection must be a skew-symmetric matrix of the {len(ports)} "
            f"coupling ports; it is {c.tolist()}. Only then it passes power on and "
            "makes none"
        )
    for name, number in ports:
        if name not in systems or not 0 <= number < systems[name].port.shape[1]:
            raise ValueError(
                f"port {number} of {name!r} does not exist; ports are "
                f"{ {n: s.port.shape[1] for n, s in systems.items()} }"
            )
    if any(part.constraint is not None for part in systems.values()):
        raise ValueError(
            "only systems of index 0 or 1 can be coupled here: with constraints, the "
            "algebraic states of the others would have to be solved for beside the "
            "multipliers"
        )


def coupling_of(
    system: PortHamiltonianSystem, settings: Mapping
) -> tuple[PortHamiltonianSystem, list[tuple[str, int]]]:
    """The known subsystem, and the coupling ports as (system, number).

    Raises
    ------
    ValueError
        If the subsystem is invalid or a port is not there.
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
    """Roll out the coupled truth and the coupled model, at every time step.

    Parameters
    ----------
    model
        :class:`leastaction.ports.model.PortModel`.
    system
        Truth of the identified subsystem.
    settings
        The section `port.coupling` of `validate`.
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
    return CONTRACTS["port_rollout"].dataset(
        {
            "coupled_true": true[::every],
            "coupled_estimate": estimate[::every],
            "coupled_error": np.sqrt(((estimate - true) ** 2).mean(axis=0)),
            "coupled_residual": size["residual"] or nothing,
            "coupled_order": (
                order_of(size["residual"], steps) if size["residual"] else np.nan
            ),
            "coupled_violations": np.array(size["violations"] or nothing, dtype=float),
            "coupled_failure": failure,
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
