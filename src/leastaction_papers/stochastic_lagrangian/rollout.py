"""Rollout of truth and model on common random numbers.

Both are driven by the same Wiener paths from the same initial states. With independent
paths the scatter of two finite ensembles would hide the error of a good model.
"""

import logging
import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.contracts import contracts
from leastaction.core.initial_state import ensemble_starts
from leastaction.core.library import Library
from leastaction.core.simulation import generator, step_count
from leastaction.core.system import System, is_singular
from leastaction.ensembles.strong_taylor import fill_paths, integrator, white_noise
from leastaction_papers.rollout import Rollout, compares

STATISTICS = ("mean", "std", "hamiltonian", "hamiltonian_of_mean")

log = logging.getLogger(__name__)


@compares
def validate(run: Rollout) -> xr.Dataset:
    """Roll out one replicate over several training lengths.

    Mean and standard deviation over the ensemble of truth and model, their mean
    Hamiltonian along time, the Hamiltonian of the mean path (what the paper plots), the
    growth of energy by Itô's formula, relative errors of the mean path over the
    training and the prediction window, and the number of trajectories of the model that
    did not stay finite (they are left out of its statistics). The random numbers differ
    from those of the training data.
    """
    system, simulation, settings = run.system, run.simulation, run.settings
    estimate = run.estimate
    training, dt = simulation["duration"], simulation["time_step"]
    steps = step_count(settings["lengths"] * training, dt)
    every = math.ceil(steps / (settings["samples"] - 1))
    wiener = max(system.wiener_processes, estimate.wiener_processes)
    noise = white_noise(*run.key, wiener)
    starts = ensemble_starts(
        simulation["initial_state"],
        system,
        partial(generator, *run.key),
        settings["trajectories"],
    )
    projection = Library.from_config(run.library, system.coordinates).projection(system)
    scale = 1.0 if projection is None else projection[1]
    time = np.arange(0, steps + 1, every) * dt
    along, followed = np.empty((2, len(starts), len(time), 2 * system.dof))
    truth = integrator(system)
    one = along[:1]
    fill_paths(truth, starts[:1], noise, dt, *np.split(one, 2, axis=2), every)
    turn = _alignment(system, estimate, wiener, one[0])
    both = _side_by_side(truth, _model_integrator(estimate), turn)
    fill_paths(both, np.tile(starts, 2), noise, dt, along, followed, every)
    of_model = _statistics(followed, estimate, 1.0)
    return comparison(
        _statistics(along, system, scale),
        of_model,
        time,
        training,
        growth=_growth(system, along, time, scale),
        diverged=of_model["diverged"],
        replicate=run.model["replicate"],
        axis={"state": [s.name for s in system.state]},
        judged=slice(0, system.dof),
    )


def _side_by_side(truth: Callable, model: Callable, turn: np.ndarray) -> Callable:
    """Integrator of both at once, state (truth, model); the model's noise is turned.

    To draw the noise takes longer than to integrate either.
    """

    def integrate(states, normals, time_step):
        first, second = np.split(states, 2)
        paths = (
            truth(first, normals, time_step),
            model(second, turn @ normals, time_step),
        )
        return np.concatenate(paths, axis=1)

    return integrate


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
        constant = not one.volatility.free_symbols & set(one.state)
        values = _along(one, list(one.volatility), path[:1] if constant else path)
        values = values.reshape(-1, one.dof, one.wiener_processes)
        missing = wiener - one.wiener_processes
        roots.append(np.pad(values, ((0, 0), (0, 0), (0, missing))))
    product = np.einsum("nai,naj->ij", *np.broadcast_arrays(*roots))
    left, _, right = np.linalg.svd(product)
    return left @ right


def _along(system: System, functions, states: np.ndarray) -> np.ndarray:
    """Functions of the state at states (q, q̇), shape (samples, function)."""
    evaluate = evaluator(functions, system.coordinates, list(system.parameters))
    q, qdot = states[:, : system.dof], states[:, system.dof :]
    return evaluate(q, qdot, system.parameter_values)


def _statistics(path: np.ndarray, system: System, scale: float) -> dict:
    """Ensemble statistics over the trajectories that stay finite."""
    finite = path[np.isfinite(path).all(axis=(1, 2))]
    diverged = len(path) - len(finite)
    if diverged == len(path):
        finite = np.full_like(path[:1], np.nan)
    functions, states = [system.hamiltonian], finite.reshape(-1, finite.shape[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = finite.mean(axis=0), finite.std(axis=0)
        energy = _along(system, functions, states).reshape(finite.shape[:2])
        of_mean = _along(system, functions, mean)[:, 0]
    return {
        "mean": mean,
        "std": std,
        "hamiltonian": scale * energy.mean(axis=0),
        "hamiltonian_of_mean": scale * of_mean,
        "diverged": diverged,
    }


def _growth(system: System, path: np.ndarray, time: np.ndarray, scale: float):
    """Growth of E[H] by Itô's formula, ∫ E[½ tr(Sᵀ M⁻¹ S) − q̇·∂D/∂q̇] dt.

    What depends on the motion is the mean along `path`. NaN where S of Stratonovich's
    calculus depends on velocities, which adds to the drift.
    """
    if system.calculus == "stratonovich" and system.volatility.has(*system.qdot):
        return np.full(len(time), np.nan)
    loss = sum(v * sp.diff(system.dissipation, v) for v in system.qdot)
    rate = system.evaluated(system.energy_growth - loss)
    if not rate.free_symbols:
        return scale * float(rate) * time
    from scipy.integrate import cumulative_trapezoid  # slow to import

    power = _along(system, [rate], path.reshape(-1, path.shape[-1]))
    mean = power.reshape(path.shape[:2]).mean(axis=0)
    return scale * cumulative_trapezoid(mean, time, initial=0.0)


def comparison(
    truth: Mapping[str, np.ndarray],
    result: Mapping[str, np.ndarray],
    time: np.ndarray,
    training: float,
    *,
    growth: np.ndarray,
    diverged: int,
    replicate: xr.DataArray,
    axis: Mapping,
    judged: slice = slice(None),
    contract: str = "rollout",
) -> xr.Dataset:
    """Dataset of one replicate, with the relative errors of the model.

    `truth` and `result` have `mean` and `std` (time, axis), `hamiltonian` and
    `hamiltonian_of_mean` (time,); `growth` (time,) is that of E[H] by Itô's formula,
    NaN where it is not known; `diverged` trajectories of the model did not stay finite.
    `axis` is the coordinate ``{name: values}`` of the second dimension, of which the
    errors compare the part `judged`. `time` and the duration `training` are in s.
    """
    values = {f"{name}_true": truth[name] for name in STATISTICS}
    values |= {f"{name}_estimate": result[name] for name in STATISTICS}
    values["hamiltonian_growth"] = truth["hamiltonian"][0] + growth
    windows = {"training": time <= training, "prediction": time > training}
    # Of the path, not of its mean: that may vanish.
    rms = np.hypot(truth["mean"], truth["std"])
    for window, rows in windows.items():
        values[f"mean_error_{window}"] = relative_error(
            result["mean"][rows, judged] - truth["mean"][rows, judged],
            rms[rows, judged],
        )
    values["std_error"] = relative_error(
        result["std"][:, judged] - truth["std"][:, judged], truth["std"][:, judged]
    )
    values["diverged"] = diverged
    coords = {"replicate": replicate, "time": time, **axis}
    attrs = {"training_duration": float(training)}
    return contracts()[contract].dataset(values, coords, attrs)


def relative_error(error: np.ndarray, size: np.ndarray) -> float:
    """‖error‖ / ‖size‖; not finite if the error is not."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return float(np.linalg.norm(error) / np.linalg.norm(size))
