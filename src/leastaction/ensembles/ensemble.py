"""Ensembles of trajectories of a stochastic system."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import xarray as xr

from leastaction.core.generators import generator
from leastaction.core.initial_state import ensemble_starts
from leastaction.core.system import System
from leastaction.core.time_grid import check_finite, step_count
from leastaction.ensembles.paths import fill_paths, white_noise


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
        Compiles a system into ``integrate(states, normals, time_step)``.
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
    dt, n = settings["time_step"], settings["trajectories"]
    key = seed, example, "simulate", replicate
    starts = ensemble_starts(
        settings["initial_state"], system, partial(generator, *key), n
    )
    noise = white_noise(*key, system.wiener_processes)
    q = np.empty((1, n, steps + 1, system.dof))
    qdot = np.empty_like(q)
    with np.errstate(over="ignore", invalid="ignore"):
        fill_paths(integrate, starts, noise, dt, q[0], qdot[0])
    check_finite(q[0], qdot[0], dt, replicate)
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
