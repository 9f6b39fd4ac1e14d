"""Ensembles of trajectories of a stochastic field."""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from leastaction.core.generators import generator
from leastaction.core.time_grid import check_finite, step_count
from leastaction.fields.domain import Domain
from leastaction.fields.field_system import FieldSystem
from leastaction.fields.initial_state import field_initial_states


def field_ensemble(
    paths: Callable,
    system: FieldSystem,
    settings: Mapping,
    *,
    example: str,
    seed: int,
    replicate: int,
    units: Mapping[str, str],
) -> xr.Dataset:
    """Simulate one replicate: an ensemble of independent trajectories.

    Parameters
    ----------
    paths
        Scheme that fills u and u_t: ``paths(system, starts, generators, dt, u, u_t)``.
    system
        The truth.
    settings
        The `simulate` section of an example.
    example, seed, replicate
        Key of the random numbers.
    units
        Unit of the field.

    Returns
    -------
    xr.Dataset
        `u` and `u_t` of shape (replicate=1, trajectory, time, node), contract
        ``field_observations``; the attributes tell the field and its domain.

    Raises
    ------
    DivergenceError
        If a trajectory does not stay finite.
    """
    steps = step_count(settings["duration"], settings["time_step"])
    dt, n = settings["time_step"], settings["trajectories"]
    draw = field_initial_states(settings["initial_state"], system)
    generators = [
        generator(seed, example, "simulate", replicate, trajectory)
        for trajectory in range(n)
    ]
    starts = np.array([draw(rng) for rng in generators])
    u = np.empty((1, n, steps + 1, system.dof))
    u_t = np.empty_like(u)
    with np.errstate(over="ignore", invalid="ignore"):
        paths(system, starts, generators, dt, u[0], u_t[0])
    check_finite(u[0], u_t[0], dt, replicate)
    return _dataset(u, u_t, system, dt, replicate, units[system.field])


def domain_attributes(system: FieldSystem) -> dict:
    """Attributes that carry the field and its domain from file to file."""
    domain = system.domain
    return {
        "field": system.field,
        "domain_length": float(domain.length),
        "domain_nodes": int(domain.nodes),
        "domain_left": domain.left,
        "domain_right": domain.right,
    }


def node_coordinate(domain: Domain) -> tuple:
    """Coordinate of the dimension `node`: where the nodes are."""
    return ("node", domain.x, {"units": "m", "long_name": "position of the node"})


def _dataset(u, u_t, system, dt, replicate, unit) -> xr.Dataset:
    dims = ("replicate", "trajectory", "time", "node")
    time = np.arange(u.shape[2]) * dt
    return xr.Dataset(
        {
            "u": (dims, u, {"units": unit, "long_name": "field"}),
            "u_t": (
                dims,
                u_t,
                {"units": f"({unit})/s", "long_name": "velocity of the field"},
            ),
        },
        coords={
            "replicate": [replicate],
            "time": ("time", time, {"units": "s", "long_name": "time"}),
            "node": node_coordinate(system.domain),
        },
        attrs=domain_attributes(system),
    )
