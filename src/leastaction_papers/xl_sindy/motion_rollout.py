"""Rollout of truth and model from the same starts, without random forces.

The starts are those of the first trajectories of the training data; the second part of
a rollout, beyond the training duration, is prediction.
"""

import math

import numpy as np
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.initial_state import random_names, state_of_names
from leastaction.core.model import IdentifiedModel
from leastaction.core.runge_kutta import Motion, motion_of, substeps_of
from leastaction.core.simulation import generator, step_count
from leastaction.core.system import System, is_singular
from leastaction_papers.rollout import Rollout, compares
from leastaction_papers.xl_sindy.contracts import CONTRACTS


@compares
def validate(run: Rollout) -> xr.Dataset:
    """Roll out one replicate, every case of its sweep over noise.

    Stored are paths of truth and model, their velocities and accelerations; the
    relative rms error of the model's acceleration along the true path; the rms
    deviation of the true energy along the model's path over the mean of ½ p·q̇ of the
    truth; the trajectories that did not stay finite. The random numbers are those of
    the training data.
    """
    truth = _Truth(run)
    # Requested cases that the model has; if there is none, all it has.
    both, requested = {}, run.settings.get("cases", {})
    for key, name in (("modes", "noise_mode"), ("levels", "noise_level")):
        present = run.model[name].values if name in run.model.dims else ()
        both[key] = [v for v in present if v in requested.get(key, ())]
    same = "q_true", "qdot_true", "qddot_true"
    return run.over_cases(truth.beside, both, same)


class _Truth:
    """The truth's rollout, beside which every model is put."""

    def __init__(self, run: Rollout):
        system, simulation, settings = run.system, run.simulation, run.settings
        start = simulation["initial_state"]
        self.drawn_names = tuple(start.get("random", {}))
        self.inputs = simulation["input"]
        self.step, self.substeps = simulation["time_step"], substeps_of(simulation)
        steps = step_count(settings["lengths"] * simulation["duration"], self.step)
        self.every = math.ceil(steps / (settings["samples"] - 1))
        self.samples = steps + 1
        self.training = simulation["duration"]
        self.names = list(system.coordinates)
        draw, state_of = random_names(start), state_of_names(start, system)
        count = min(settings["trajectories"], simulation["trajectories"])
        keys = run.seed, run.example, "simulate", run.replicate
        drawn = [draw(generator(*keys, i), i) for i in range(count)]
        self.values = [tuple(one.values()) for one in drawn]
        self.starts = [state_of(one) for one in drawn]
        self.energy = _energy(system)
        motion = motion_of(system, self.inputs, self.drawn_names)
        self.path, self.acceleration = self.roll(motion)
        self.hamiltonian, self.action = self.energy(self.path)

    def roll(self, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
        """Paths (trajectory, time, state) and accelerations at the stored times."""
        runs = [
            motion.integrate(start, self.samples, self.step, self.substeps, values)
            for start, values in zip(self.starts, self.values, strict=True)
        ]
        return tuple(np.array(x)[:, :: self.every] for x in zip(*runs, strict=True))

    def beside(self, model: xr.Dataset) -> xr.Dataset:
        """Rollout of one model, and its errors."""
        dof = len(self.names)
        motion = self._motion(model)
        path, rate = (
            np.full_like(self.path, np.nan),
            np.full_like(self.acceleration, np.nan),
        )
        predicted = np.full_like(self.acceleration, np.nan)
        time = np.arange(path.shape[1]) * self.every * self.step
        if motion is not None:
            with np.errstate(all="ignore"):
                path, rate = self.roll(motion)
                paths = zip(self.path, self.values, strict=True)
                predicted = np.array(
                    [motion.accelerations(time, *each) for each in paths]
                )
        stays = np.isfinite(path).all(axis=(1, 2), keepdims=True)
        path, rate = np.where(stays, path, np.nan), np.where(stays, rate, np.nan)
        energy, _ = self.energy(path)
        missed = np.linalg.norm(predicted - self.acceleration)
        drift = np.sqrt(np.mean((energy - self.hamiltonian) ** 2))
        return CONTRACTS["motion_rollout"].dataset(
            {
                "q_true": self.path[..., :dof],
                "q_estimate": path[..., :dof],
                "qdot_true": self.path[..., dof:],
                "qdot_estimate": path[..., dof:],
                "qddot_true": self.acceleration,
                "qddot_estimate": rate,
                "acceleration_error": missed / np.linalg.norm(self.acceleration),
                "energy_drift": drift / np.abs(self.action / 2).mean(),
                "diverged": float(np.isnan(path).any(axis=(1, 2)).sum()),
            },
            {"replicate": model["replicate"], "time": time, "dof": self.names},
            {"training_duration": float(self.training)},
        )

    def _motion(self, model: xr.Dataset) -> Motion | None:
        """Compiled motion of a model; None if it has no equations of motion."""
        if model.attrs.get("contract") == "implicit_model":
            from leastaction_papers.xl_sindy.sindy_pi import ImplicitModel

            implicit = ImplicitModel(model)
            if implicit.slopes.det() == 0:
                return None
            law = implicit.coordinates, implicit.accelerations, implicit.parameters
            return Motion(*law, self.drawn_names)
        identified = IdentifiedModel(model.isel(replicate=0)).system
        if is_singular(identified.mass_matrix):
            return None
        return motion_of(identified, self.inputs, self.drawn_names)


def _energy(system: System):
    """H and p·q̇ = H + L of paths (trajectory, time, state)."""
    functions = [system.hamiltonian, system.hamiltonian + system.lagrangian]
    evaluate = evaluator(functions, system.coordinates, list(system.parameters))

    def energy(path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        flat = path.reshape(-1, path.shape[-1])
        q, qdot = flat[:, : system.dof], flat[:, system.dof :]
        values = evaluate(q, qdot, system.parameter_values)
        return tuple(values.T.reshape(2, *path.shape[:2]))

    return energy
