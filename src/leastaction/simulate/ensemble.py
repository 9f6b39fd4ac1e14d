"""Ensembles of trajectories of a stochastic system."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.mechanics.system import System
from leastaction.simulate.initial_state import initial_state
from leastaction.simulate.strong_taylor import strong_taylor
from leastaction.simulate.wiener import generator, standard_normals

METHODS = {"strong_taylor": strong_taylor}


class DivergenceError(ArithmeticError):
    """A simulated trajectory left the range of floating-point numbers."""


def simulate(
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
    system
        The truth.
    settings
        The `simulate` section of an example: `method`, `time_step` (s), `duration` (s),
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
    integrate = METHODS[settings["method"]](system)
    steps = step_count(settings["duration"], settings["time_step"])
    dt = settings["time_step"]
    n, dof = settings["trajectories"], system.dof
    q = np.empty((1, n, steps + 1, dof))
    qdot = np.empty_like(q)
    for trajectory in range(n):
        rng = generator(seed, example, "simulate", replicate, trajectory)
        start = initial_state(settings["initial_state"], system, rng)
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


def step_count(duration: float, time_step: float) -> int:
    """Number of steps, which must be a whole number.

    Raises
    ------
    ValueError
        If the duration is not a multiple of the time step.
    """
    steps = round(duration / time_step)
    if steps < 2 or abs(steps * time_step - duration) > 1e-6 * time_step * steps:
        raise ValueError(
            f"duration {duration:g} s is not a multiple (of at least 2) of time_step "
            f"{time_step:g} s; use for example {max(2, steps) * time_step:g} s"
        )
    return steps


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
