"""Rollout of truth and model on common random numbers.

Both are driven by the same Wiener paths from the same initial states. With independent
paths the scatter of two finite ensembles would hide the error of a good model.
"""

import logging
import math
from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr

from leastaction.core.comparison import comparison
from leastaction.core.compiled import evaluator
from leastaction.core.initial_state import ensemble_starts
from leastaction.core.library import Library
from leastaction.core.model import IdentifiedModel
from leastaction.core.simulation import generator, step_count
from leastaction.core.system import System, is_singular
from leastaction.ensembles.ensemble import fill_paths, white_noise
from leastaction.ensembles.strong_taylor import integrator

log = logging.getLogger(__name__)


def validate(
    system: System,
    model: xr.Dataset,
    simulation: Mapping,
    settings: Mapping,
    library: Mapping,
    *,
    example: str,
    seed: int,
) -> xr.Dataset:
    """Roll out one replicate over several training lengths.

    Mean and standard deviation over the ensemble of truth and model, their mean
    Hamiltonian along time, the Hamiltonian of the mean path (what the paper plots), the
    growth of energy by Itô's formula, relative errors of the mean path over the
    training and the prediction window, and the number of trajectories of the model that
    did not stay finite (they are left out of its statistics). `settings` hold
    `lengths`, the rollout in units of the training duration, `trajectories`, and
    `samples`, the number of stored times. The random numbers differ from those of the
    training data.
    """
    replicate = int(model["replicate"].values[0])
    estimate = IdentifiedModel(model.isel(replicate=0)).system
    training = simulation["duration"]
    steps = step_count(settings["lengths"] * training, simulation["time_step"])
    every = math.ceil(steps / (settings["samples"] - 1))
    wiener = max(system.wiener_processes, estimate.wiener_processes)
    key = seed, example, "validate", replicate
    starts = ensemble_starts(
        simulation["initial_state"],
        system,
        partial(generator, *key),
        settings["trajectories"],
    )
    noise = white_noise(*key, wiener)

    def paths(integrate, noise):
        path = np.empty((len(starts), steps // every + 1, 2 * system.dof))
        q, qdot = path[..., : system.dof], path[..., system.dof :]
        fill_paths(integrate, starts, noise, simulation["time_step"], q, qdot, every)
        return path

    along = paths(integrator(system), noise)
    turn = _alignment(system, estimate, wiener, along[0])
    followed = paths(_model_integrator(estimate), _turned(noise, turn))
    time = np.arange(steps // every + 1) * every * simulation["time_step"]
    projection = Library.from_config(library, system.coordinates).projection(system)
    scale = 1.0 if projection is None else projection[1]
    truth = _statistics(along, system, scale)
    found = _statistics(followed, estimate, 1.0)
    names = [s.name for s in system.state]
    return comparison(
        truth,
        found,
        time,
        training,
        growth=scale * _growth_rate(system),
        diverged=found["diverged"],
        replicate=model["replicate"],
        axis={"state": names},
        judged=slice(0, system.dof),
    )


def _model_integrator(model: System):
    """Integrator of the model; if it has no equations of motion, of nothing at all."""
    if not is_singular(model.mass_matrix):
        return integrator(model)
    log.warning(
        "the identified Lagrangian %s lacks the kinetic energy of a coordinate; all "
        "its trajectories count as diverged",
        model.lagrangian,
    )

    def nowhere(states, normals, time_step):
        return np.full((normals.shape[1] + 1, *states.shape), np.nan)

    return nowhere


def _turned(noise, rotation: np.ndarray):
    """The same `noise` of Wiener processes Q W."""

    def start(trajectories):
        draw = noise(trajectories)
        return lambda steps: rotation @ draw(steps)

    return start


def _alignment(system: System, estimate: System, wiener: int, path) -> np.ndarray:
    """Rotation Q of the Wiener processes that brings S_estimate Q closest to S_system.

    Data tell S Sᵀ, hence S only up to a rotation; without it a perfect model would
    give the same random force to the wrong process (orthogonal Procrustes problem).
    Where S depends on the state, the distance is the mean along `path`, shape
    (time, state); for one process this chooses the sign of the root, for the sake of
    this comparison only.
    """
    roots = []
    for one in (estimate, system):
        values = _along(one, path)
        missing = wiener - one.wiener_processes
        roots.append(np.pad(values, ((0, 0), (0, 0), (0, missing))))
    product = np.einsum("nai,naj->ij", *np.broadcast_arrays(*roots))
    left, _, right = np.linalg.svd(product)
    return left @ right


def _along(system: System, path: np.ndarray) -> np.ndarray:
    """S along a path, shape (time, dof, wiener); one time if it is a constant."""
    shape = (-1, system.dof, system.wiener_processes)
    if not system.volatility.free_symbols & set(system.state):
        constant = system.evaluated(system.volatility)
        return np.array(constant, dtype=float).reshape(1, *shape[1:])
    evaluate = evaluator(
        list(system.volatility), system.coordinates, list(system.parameters)
    )
    q, qdot = path[:, : system.dof], path[:, system.dof :]
    return evaluate(q, qdot, system.parameter_values).reshape(shape)


def _statistics(path: np.ndarray, system: System, scale: float) -> dict:
    """Ensemble statistics over the trajectories that stay finite."""
    alive = np.isfinite(path).all(axis=(1, 2))
    energy = _energy(system)
    if not alive.any():
        empty = np.full(path.shape[1:], np.nan)
        nothing = empty[:, 0]
        return {
            "mean": empty,
            "std": empty,
            "hamiltonian": nothing,
            "hamiltonian_of_mean": nothing,
            "diverged": len(path),
        }
    kept = path[alive]
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = kept.mean(axis=0), kept.std(axis=0)
        hamiltonian = energy(kept.reshape(-1, kept.shape[-1])).reshape(kept.shape[:2])
        return {
            "mean": mean,
            "std": std,
            "hamiltonian": scale * hamiltonian.mean(axis=0),
            "hamiltonian_of_mean": scale * energy(mean),
            "diverged": int((~alive).sum()),
        }


def _energy(system: System):
    """Hamiltonian of states (q, q̇) of shape (samples, state)."""
    evaluate = evaluator(
        [system.hamiltonian], system.coordinates, list(system.parameters)
    )

    def energy(state):
        q, qdot = state[:, : system.dof], state[:, system.dof :]
        return evaluate(q, qdot, system.parameter_values)[:, 0]

    return energy


def _growth_rate(system: System) -> float:
    """Rate of E[H], W in the scale of L; NaN where it depends on the motion."""
    rate = system.evaluated(system.energy_growth)
    if rate.free_symbols or system.dissipation != 0:
        return float("nan")
    return float(rate)
