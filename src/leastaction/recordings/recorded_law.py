"""The dataset of a law that :mod:`.prediction_error` found: contract ``model``."""

import json
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from leastaction.core.contracts import variables
from leastaction.core.estimate import LagrangianEstimate, lagrangian_estimate
from leastaction.likelihood.covariance import nearest_absent, spread
from leastaction.recordings.contracts import OF_COORDINATES
from leastaction.recordings.inputs import GAIN, UNKNOWN, said_of_inputs
from leastaction.recordings.law_estimate import DESCRIBED as OF_EVERY_LAW
from leastaction.recordings.windows import TOLERATED_MISFIT, oscillation
from leastaction.trajectories.library_equations import library_equations

if TYPE_CHECKING:
    from leastaction.recordings.prediction_error import Identified

# Harmonic of the main frequency up to which a missed force is counted.
HARMONIC = 3.0
# Windows in which the missed force is shown: rows at least, and the part of the force
# that noise of the sensor may show as missed in them; the recorded force of a resonance
# is a tenth of the inertial one.
LEAST_ROWS, SHARE_OF_NOISE = 8, 0.001
DESCRIBED = variables(
    """
    :
        stretches [1] stretches that intervals rest on; 0 if on the information
        portmanteau [1] Ljung and Box's statistic per lag; one of white innovations
        free_run_ratio [1] misfit of whole runs over the noise of the sensor
        corrections [1] terms smaller than what is missed, as JSON
    dof:
        process_noise [(units of force) s^0.5] missed force, as white noise
        sensor_noise_estimate [q] noise of the sensor
        missed_force [1] the same up to the third harmonic, over the force of the motion
    column_fitted:
        horizon_difference [mixed] half of what fits with and without process noise \
differ by
    """,
    OF_COORDINATES,
)


def estimate(
    found: "Identified",
    equations: xr.Dataset,
    observations: xr.Dataset,
) -> LagrangianEstimate:
    """Coefficients, standard errors and diagnostics of a law."""
    problem, law = found.problem, found.horizons.law
    noise = spread(law.fit.innovations)
    every = np.zeros((len(noise.deviations), len(law.c)))
    every[:, law.fit.active] = noise.deviations
    absent = nearest_absent(law.quadratic, law.solution)
    every = np.vstack([every, absent, found.of_width, found.horizons.deviation])
    c, gain, gain_std = law.c, 1.0, 0.0
    if problem.driven and _unknown_gain(observations):
        c, every, gain, gain_std = _in_units_of_reference(problem, c, every)
    every[:, c == 0] = 0.0
    count = len(problem.terms.terms) + len(problem.terms.dissipation)

    def placed(values: np.ndarray, empty: float = 0.0) -> np.ndarray:
        whole = np.full((*values.shape[:-1], count), empty)
        whole[..., problem.columns] = values
        return whole

    size = np.sqrt((every**2).sum(axis=0))
    std = placed(np.where(c != 0, size, np.nan), np.nan)
    numbers, arrays = _values(found, noise, equations)
    arrays |= {
        "jackknife_coefficient": sigma_points(c, every),
        "column_position": problem.columns,
        "horizon_difference": gain * np.abs(found.horizons.deviation),
        "input_gain": np.full(problem.motion.dof, gain),
        "input_gain_std": np.full(problem.motion.dof, gain_std),
    }
    about = OF_EVERY_LAW | DESCRIBED
    words = {k: (about[k].units, about[k].long_name) for k in about}
    return lagrangian_estimate(
        equations,
        placed(c),
        {k: (value, *words[k]) for k, value in numbers.items()},
        {k: (about[k].dims, value, *words[k]) for k, value in arrays.items()},
        std,
    )


def sigma_points(c: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Points around c whose delete-one covariance is DᵀD, shape (point, candidate).

    c ± s a for the principal axes a of DᵀD, two for every coefficient (Julier and
    Uhlmann, Proc. IEEE 92 (2004) 401); (P − 1)/P of their summed squares is DᵀD.
    """
    active = np.flatnonzero(deviations.any(axis=0))
    count = max(len(active), 1)
    size = np.sqrt((deviations[:, active] ** 2).sum(axis=0))
    axes = np.zeros((count, len(c)))
    scaled = np.linalg.svd(deviations[:, active] / size, full_matrices=False)
    rows = scaled[1][:, None] * scaled[2] * size
    axes[: len(rows), active] = rows * np.sqrt(count / (2 * count - 1))
    return np.concatenate([c + axes, c - axes])


def _unknown_gain(observations: xr.Dataset) -> bool:
    return any(v.get(GAIN) == UNKNOWN for v in said_of_inputs(observations).values())


def _in_units_of_reference(problem, c, every):
    """Law, deviations, and gain of the input that the reference gives."""
    from leastaction.recordings.error import RecordingError

    for k, value in problem.references.items():
        if c[k]:
            gain = value / c[k]
            moved = -every[:, k] / c[k]
            every = gain * (every + np.outer(moved, c))
            every[:, k] = 0.0
            return gain * c, every, gain, abs(gain) * np.sqrt((moved**2).sum())
    raise RecordingError(
        "library.reference is no term of the law, so that nothing gives it its scale; "
        "give the coefficient of another term, such as the square of a velocity"
    )


def _values(found, noise, equations):
    """Numbers, and arrays by name, of a law."""
    problem, law = found.problem, found.horizons.law
    motion = problem.motion
    period = 1 / float(np.exp(np.log(equations["frequency"].values[0]).mean()))
    lengths = [part.stop - part.start for part in motion.parts]
    longest = max(lengths) * motion.dt
    window = force_window(motion, found.horizons.near.levels.sensor, equations, period)
    turn = max(round(period / motion.dt), 8)
    amplitude = np.array([oscillation(motion.y[p], turn) for p in motion.parts])
    near = found.horizons.near.levels
    run = (
        near.sensor if found.horizons.far is None else found.horizons.far.levels.sensor
    )
    one_step = np.sqrt(np.nanmean(np.square(law.fit.innovations.e), axis=0))
    allowed = np.hypot(TOLERATED_MISFIT * amplitude.max(axis=0), near.sensor)
    numbers = {
        "blocks": noise.stretches or law.fit.innovations.count,
        "stretches": noise.stretches,
        "portmanteau": noise.portmanteau,
        "window": longest,
        "longest_window": longest,
        "force_window": window,
        "misfit": float(np.sqrt(np.mean((one_step / allowed) ** 2))),
        "period": period,
        "sliding_width": law.fit.motion.equations.width,
        "stepwise": int(problem.driven and problem.inputs.stepwise),
        "criterion_value": law.quadratic.criterion(law.solution),
        "converged": int(law.fit.converged),
        "free_run_ratio": float((run / near.sensor).max()),
    }
    zeros = np.zeros(len(problem.columns))
    dof = motion.dof
    named = [problem.names[k] for k in found.horizons.corrections]
    arrays = {
        "equivalent_models": np.array("[]", dtype=object),
        "corrections": np.array(json.dumps(named), dtype=object),
        "noise_level": near.sensor,
        "drift": zeros,
        "drift_std": zeros,
        "amplitude_range": np.stack([amplitude.min(0), amplitude.max(0)], axis=1),
        "process_noise": np.where(near.is_free, near.process, 0.0),
        "sensor_noise_estimate": near.sensor,
        "missed_force": missed_force(problem, found, equations),
        "input_lag": np.zeros(dof) if not problem.driven else problem.inputs.lag,
        "input_lag_std": (
            np.full(dof, np.nan) if found.lag_std is None else found.lag_std
        ),
        "input_time_constant": (
            np.zeros(dof) if not problem.driven else problem.inputs.time_constant
        ),
        "input_time_constant_std": np.full(dof, np.nan),
    }
    return numbers, arrays


def force_window(motion, noise, equations, period) -> float:
    """Window, s, in which noise moves an acceleration by .1 % of its rms, or less.

    A parabola through T/Δt rows has the variance 720 σ² Δt / T⁵ of its acceleration.
    """
    rms = np.maximum(equations["acceleration_scale"].values[0], 1e-300)
    least = (720 * motion.dt * (noise / (SHARE_OF_NOISE * rms)) ** 2) ** 0.2
    return float(min(max(least.max(), LEAST_ROWS * motion.dt), period))


def missed_force(problem, found, equations) -> np.ndarray:
    """Rms process noise up to the third harmonic, over that of the motion's force.

    White noise of strength S has the power 2 B S² in a band B; the force of the motion
    is the recorded one, or the inertial one of a coordinate that has none.
    """
    levels = found.horizons.near.levels
    band = HARMONIC * equations["frequency"].values[0]
    missed = np.sqrt(2 * band) * np.where(levels.is_free, levels.process, 0.0)
    q, v, a = (equations[f"{k}_sample"].values[0] for k in ("q", "qdot", "qddot"))
    compiled = library_equations(problem.terms)
    inertia = compiled.columns(q, v, a, problem.columns)[1] @ found.horizons.near.c
    size = np.sqrt((inertia**2).mean(axis=0))
    if problem.driven:
        recorded = np.sqrt((problem.inputs.recorded**2).mean(axis=0))
        size = np.where(recorded > 0, recorded, size)
    return missed / np.maximum(size, 1e-300)
