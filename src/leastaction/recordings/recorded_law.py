"""The dataset of a law that :mod:`.prediction_error` found: contract ``model``."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from leastaction.core.contracts import variables
from leastaction.core.estimate import LagrangianEstimate, lagrangian_estimate
from leastaction.ensembles.innovation_tests import excess_kurtosis
from leastaction.likelihood.covariance import nearest_absent, spread
from leastaction.likelihood.missed_force import is_line, memory, tone
from leastaction.likelihood.term_selection import equally_good
from leastaction.recordings.bandwidth_spline import oscillation
from leastaction.recordings.contracts import (
    DEVIATIONS,
    LEAST_SHARE_OF_RANGE,
    OF_COORDINATES,
)
from leastaction.recordings.inputs import (
    BAND_LIMITED,
    LAG,
    TIME_CONSTANT,
    has_unknown_gain,
)
from leastaction.recordings.refusals import RecordingError
from leastaction.trajectories.library_equations import library_equations

if TYPE_CHECKING:
    from leastaction.recordings.prediction_error import Identified

# Harmonic of the main frequency up to which a missed force is counted.
HARMONIC = 3.0
# Windows in which the missed force is shown: rows at least, and the part of the force
# that noise of the sensor may show as missed in them; the recorded force of a resonance
# is a tenth of the inertial one.
LEAST_ROWS, SHARE_OF_NOISE = 8, 0.001
MOST_ALTERNATIVES = 8
DESCRIBED = variables(
    """
    :
        blocks [1] stretches that intervals rest on, or samples of the information
        stretches [1] stretches that intervals rest on; 0 if on the information
        force_window [s] length of the windows that a missed force is shown in
        period [s] main period
        sliding_width [(units of q)/s] velocity where friction turns
        input_degree [1] of the spline through inputs that do not repeat; 0 if held
        criterion_value [1] extended BIC, up to a constant
        converged [1] whether a further step would be a fraction of every error bar
        equivalent_models [1] models that fit alike, as JSON
        whiteness_p_value [1] p-value of Ljung and Box's test of innovations
        kurtosis [1] largest excess kurtosis of the innovations of a sensor
        free_run_ratio [1] misfit of whole runs over the noise of the sensor; \
infinite where nothing follows them
        corrections [1] terms smaller than what is missed, coefficient, standard \
error, as JSON
        missed_tone [Hz] frequency of a tone that is most of what is missed, and no \
line of a recorded input, or NaN
        memory_ratio [1] gain of lagged velocities over what the criterion asks
    block column_fitted:
        jackknife_coefficient [mixed] points around the law with its covariance
    column_fitted:
        column_position [1] position among all candidates
        horizon_difference [mixed] half of what fits with and without process noise \
differ by, beyond chance
        prediction_coefficient [mixed] coefficients with the corrections, of \
predictions of the next sample
    dof:
        input_lag [s] time after its record at which an input acts
        input_lag_std [s] standard error of that time, NaN if given
        input_time_constant [s] of the first-order lag of an input
        input_time_constant_std [s] standard error of it, NaN if given
        input_gain [mixed] force over the input in the unit given
        input_gain_std [mixed] standard error of that, NaN if given
        noise_level [q] noise of the sensor
        process_noise [(units of force) s^0.5] missed force, as white noise
        missed_force [1] the same up to the third harmonic, over the force of the motion
    dof end:
        amplitude_range [q] smallest and largest amplitude of a trajectory
    """,
    OF_COORDINATES,
)


def estimate(
    model: "Identified",
    equations: xr.Dataset,
    observations: xr.Dataset,
) -> LagrangianEstimate:
    """Coefficients, standard errors and diagnostics of a law."""
    problem, law = model.problem, model.horizons.law
    noise = spread(law.fit.innovations)
    every = np.zeros((len(noise.deviations), len(law.c)))
    every[:, law.fit.active] = noise.deviations
    absent = nearest_absent(law.quadratic, law.solution)
    lagged, far = memory(law.fit, problem.period), model.horizons.far
    if far is not None and not lagged.explained_by(memory(far, problem.period)):
        lagged = lagged._replace(gain=0.0)
    past = np.zeros((len(lagged.deviations), len(law.c)))
    past[:, law.fit.active] = lagged.deviations
    model_errors = model.of_width, model.dynamics.deviations, model.horizons.deviation
    every = np.vstack([every, absent, past, *model_errors])
    factors, gain, gain_std = problem.to_reference(law.c), 1.0, 0.0
    c, every = factors * law.c, factors * every
    if problem.driven and has_unknown_gain(observations):
        c, every, gain, gain_std = _in_units_of_reference(problem, c, every)
    every[:, c == 0] = 0.0
    count = len(problem.terms.terms) + len(problem.terms.dissipation)

    def placed(values: np.ndarray, empty: float = 0.0) -> np.ndarray:
        full = np.full((*values.shape[:-1], count), empty)
        full[..., problem.columns] = values
        return full

    size = np.sqrt((every**2).sum(axis=0))
    std = placed(np.where(c != 0, size, np.nan), np.nan)
    numbers, arrays = _values(model, noise, equations, gain)
    numbers["memory_ratio"] = lagged.gain / lagged.threshold
    arrays |= {
        "jackknife_coefficient": sigma_points(c, every),
        "column_position": problem.columns,
        "horizon_difference": gain * np.abs(factors * model.horizons.deviation),
        "input_gain": np.full(problem.motion.dof, gain),
        "input_gain_std": np.full(problem.motion.dof, gain_std),
    }
    about = DESCRIBED
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


def _in_units_of_reference(problem, c, every):
    """Law, deviations, and gain of the input that the reference gives."""
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


def _values(model, noise, equations, gain):
    """Numbers, and arrays by name, of a law."""
    problem, law = model.problem, model.horizons.law
    motion = problem.motion
    window = force_window(
        motion, model.horizons.near.levels.sensor, equations, problem.period
    )
    turn = max(round(problem.period / motion.dt), 8)
    amplitude = np.array([oscillation(motion.y[p], turn) for p in motion.parts])
    near, far = model.horizons.near.levels, model.horizons.far
    run = np.inf if far is None else far.levels.sensor
    numbers = {
        "kurtosis": kurtosis(law.fit),
        "blocks": noise.stretches or law.fit.innovations.count,
        "stretches": noise.stretches,
        "whiteness_p_value": noise.whiteness,
        "force_window": window,
        "period": problem.period,
        "sliding_width": law.fit.motion.equations.width,
        "input_degree": problem.inputs.degree if problem.driven else BAND_LIMITED,
        "criterion_value": law.quadratic.criterion(law.solution),
        "converged": int(law.fit.converged),
        "free_run_ratio": float(np.max(run / near.sensor)),
        "missed_tone": missed_tone(problem, law.fit),
    }
    equivalents = alike(problem, law, gain)
    added = model.horizons.corrections
    corrected, error = _beside(problem, law, added, gain)
    named = {problem.names[k]: (float(corrected[k]), float(error[k])) for k in added}
    arrays = {
        "equivalent_models": np.array(json.dumps(equivalents), dtype=object),
        "corrections": np.array(json.dumps(named), dtype=object),
        "prediction_coefficient": corrected,
        "noise_level": near.sensor,
        "amplitude_range": np.stack([amplitude.min(0), amplitude.max(0)], axis=1),
        "process_noise": np.where(near.is_free, near.process, 0.0),
        "missed_force": missed_force(problem, model, equations),
        **of_inputs(problem, model.dynamics),
    }
    return numbers, arrays


def kurtosis(fitted) -> float:
    """Largest excess kurtosis of the innovations of a sensor.

    Of those of whose noise ten standard deviations make a spike: errors of the steps of
    an integrator are no noise.
    """
    size = np.ptp(fitted.path[:, : fitted.motion.dof], axis=0) / 2
    noisy = DEVIATIONS * fitted.levels.sensor > LEAST_SHARE_OF_RANGE * size
    pairs = zip(fitted.innovations.standardised(), noisy, strict=True)
    return float(max((excess_kurtosis(z) for z, known in pairs if known), default=0.0))


def missed_tone(problem, fitted) -> float:
    """Frequency, Hz, of a tone that no input has; NaN if there is none."""
    frequency, motion = tone(fitted), fitted.motion
    if problem.driven and np.isfinite(frequency):
        inputs = [problem.inputs.recorded[part] for part in motion.parts]
        if is_line(inputs, motion.dt, frequency):
            return np.nan
    return frequency


def _beside(problem, law, added, gain: float) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of a law and of terms `added`, and their standard errors."""
    if not len(added):
        return gain * problem.to_reference(law.c) * law.c, np.zeros_like(law.c)
    corrected = law.quadratic.solve({*law.solution.support, *added})
    scale, error = gain * problem.to_reference(corrected.x), np.zeros_like(law.c)
    error[corrected.free] = np.sqrt(np.diag(corrected.inverse))
    return scale * corrected.x, np.abs(scale) * error


def of_inputs(problem, dynamics) -> dict:
    """Delay and time constant of the input of each coordinate, with errors."""
    dof = problem.motion.dof
    values = {}
    for key in (LAG, TIME_CONSTANT):
        inputs = problem.inputs
        values[f"input_{key}"] = (
            np.zeros(dof) if inputs is None else getattr(inputs, key)
        )
        std = np.full(dof, np.nan)
        for unknown, error in zip(problem.unknowns, dynamics.std, strict=True):
            if unknown.name == key:
                std[list(unknown.coordinates)] = error
        values[f"input_{key}_std"] = std
    return values


def alike(problem, law, gain: float) -> list[dict]:
    """Laws of the same size that fit alike, terms exchanged; see `equally_good`.

    `weights` of a new term k are β = G_aa⁻¹ G_ak: of c_a + Σ β_ak c_k over the new ones
    the motion tells the sum alone.
    """
    names, solution, alternatives = problem.names, law.solution, []
    # What a search over whole runs keeps may be exchanged all the same.
    quadratic = replace(law.quadratic, candidates=problem.candidates)
    for other in equally_good(quadratic, solution)[:MOST_ALTERNATIVES]:
        c = gain * problem.to_reference(other.x) * other.x
        new = [k for k in other.support if k not in solution.support]
        weights = (solution.inverse @ law.quadratic.G[np.ix_(solution.free, new)]).T
        columns = [*map(int, problem.columns[solution.free])]
        of_new = [dict(zip(columns, each, strict=True)) for each in weights]
        alternatives.append(
            {
                "weights": dict(zip([names[k] for k in new], of_new, strict=True)),
                "error_ratio": float(other.square / solution.square),
                "coefficients": {names[k]: float(c[k]) for k in other.support},
                "instead_of": [names[k] for k in solution.support if not other.x[k]],
                "has": [names[k] for k in new],
            }
        )
    return alternatives


def force_window(motion, noise, equations, period) -> float:
    """Window, s, in which noise moves an acceleration by .1 % of its rms, or less.

    A parabola through T/Δt rows has the variance 720 σ² Δt / T⁵ of its acceleration.
    """
    rms = np.maximum(equations["acceleration_scale"].values[0], 1e-300)
    least = (720 * motion.dt * (noise / (SHARE_OF_NOISE * rms)) ** 2) ** 0.2
    return float(min(max(least.max(), LEAST_ROWS * motion.dt), period))


def missed_force(problem, model, equations) -> np.ndarray:
    """Rms process noise up to the third harmonic, over that of the motion's force.

    White noise of strength S has the power 2 B S² in a band B; the force of the motion
    is the recorded one, or the inertial one of a coordinate that has none.
    """
    levels = model.horizons.near.levels
    band = HARMONIC * equations["frequency"].values[0]
    missed = np.sqrt(2 * band) * np.where(levels.is_free, levels.process, 0.0)
    q, v, a = (equations[f"{k}_sample"].values[0] for k in ("q", "qdot", "qddot"))
    compiled = library_equations(problem.terms)
    inertia = compiled.columns(q, v, a, problem.columns)[1] @ model.horizons.near.c
    size = np.sqrt((inertia**2).mean(axis=0))
    if problem.driven:
        recorded = np.sqrt((problem.inputs.recorded**2).mean(axis=0))
        size = np.where(recorded > 0, recorded, size)
    return missed / np.maximum(size, 1e-300)
