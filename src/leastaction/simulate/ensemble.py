"""Ensembles of trajectories of a stochastic system."""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from leastaction.mechanics.system import System
from leastaction.simulate.initial_state import initial_states
from leastaction.simulate.time_grid import step_count
from leastaction.simulate.wiener import generator, standard_normals


class DivergenceError(ArithmeticError):
    """A simulated trajectory left the range of floating-point numbers."""


def ensemble(
    integrator: Callable,
    system: System,
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
    integrator
        Compiles a system into ``integrate(initial_state, normals, time_step)``.
    system
        The truth.
    settings
        The `simulate` section of an example: `time_step` (s), `duration` (s),
        `trajectories`, `initial_state`.
    example, seed, replicate
        Key of the random numbers.
    units
        Unit of each coordinate.

    Returns
    -------
    xr.Dataset
        `q` and `qdot` of shape (replicate=1, trajectory, time, dof).

    Raises
    ------
    DivergenceError
        If a trajectory does not stay finite.
    """
    integrate = integrator(system)
    steps = step_count(settings["duration"], settings["time_step"])
    draw = initial_states(settings["initial_state"], system)
    dt = settings["time_step"]
    n, dof = settings["trajectories"], system.dof
    q = np.empty((1, n, steps + 1, dof))
    qdot = np.empty_like(q)
    for trajectory in range(n):
        rng = generator(seed, example, "simulate", replicate, trajectory)
        start = draw(rng)
        normals = standard_normals(rng, steps, system.wiener_processes)
        path = integrate(start, normals, dt)
        if not np.isfinite(path).all():
            when = dt * int(np.argmax(~np.isfinite(path).all(axis=1)))
            raise DivergenceError(
                f"trajectory {trajectory} of replicate {replicate} is not finite from "
                f"t = {when:g} s on; reduce simulate.time_step ({dt:g} s)"
            )
        q[0, trajectory], qdot[0, trajectory] = path[:, :dof], path[:, dof:]
    return _dataset(q, qdot, system, dt, replicate, units)


def _dataset(q, qdot, system, dt, replicate, units) -> xr.Dataset:
    dims = ("replicate", "trajectory", "time", "dof")
    each = sorted({units[name] for name in system.coordinates})
    unit = each[0] if len(each) == 1 else "see coordinate_unit"
    rate = f"({unit})/s" if len(each) == 1 else unit
    return xr.Dataset(
        {
            "q": (dims, q, {"units": unit, "long_name": "generalised coordinate"}),
            "qdot": (dims, qdot, {"units": rate, "long_name": "generalised velocity"}),
        },
        coords={
            "replicate": [replicate],
            "time": (
                "time",
                np.arange(q.shape[2]) * dt,
                {"units": "s", "long_name": "time"},
            ),
            "dof": list(system.coordinates),
            "coordinate_unit": ("dof", [units[name] for name in system.coordinates]),
        },
    )
