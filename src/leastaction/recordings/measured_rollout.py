"""Recorded trajectories that a law has not seen, predicted from their first moments."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import interval_factor
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import parse
from leastaction.core.model import IdentifiedModel
from leastaction.likelihood.iterated_smoother import fit, smooth_motion
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.likelihood.noise_levels import NoiseLevels
from leastaction.recordings.candidates import smooth_friction
from leastaction.recordings.contracts import CONTRACTS, held_out, pieces
from leastaction.recordings.inputs import inputs_of
from leastaction.recordings.units_of_terms import energy_and_force_units
from leastaction.trajectories.multiple_shooting import (
    Positions,
    Segments,
    eliminated,
    enough_steps,
    fit_states,
    joined,
    normal_equations,
    split,
    start_states,
)
from leastaction.trajectories.variational_equations import variational_equations

# Part of a trajectory that fixes its initial state, main periods.
PERIODS_OF_START = 0.45
# Windows whose residuals show what is missing in the forces, main periods.
PERIODS_OF_RESIDUAL_WINDOW = 3.0
# Rms input, over that of all data, below which a motion is free.
INPUT_OF_FREE_MOTION = 0.1
# Samples per main period of what is stored; the errors are those of all samples.
STORED_SAMPLES_PER_PERIOD = 200
# Change of the input from which the mean recorded force of a window is read.
CHANGE_OF_INPUT = 1e-3
# Of the observations, which the rollout has as well.
COORDINATES = (
    *("replicate", "dof", "label", "coordinate_unit", "force_unit"),
    *("coordinate_shown_unit", "coordinate_shown_factor"),
)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def predict(
    observations: xr.Dataset, model: xr.Dataset, settings: Mapping
) -> xr.Dataset:
    """Free run over each held-out trajectory from its first 0.45 main periods.

    Predictions of one sample have the corrections
    (:mod:`leastaction.likelihood.horizons`); runs, forces and residuals are those of
    the law itself. The band is that of the coefficients: of points around the law with
    its covariance, each started from a state of its own.

    Errors are over half the range of the trajectory and coordinate. The model is one of
    :mod:`leastaction.recordings.prediction_error`; the setting `start` is in s,
    by the main period if None.
    """
    check(observations, "measurements")
    check(model, "model")
    seen = not observations["held_out"].values.any()
    every = observations
    if not seen:
        observations = held_out(observations)
    law = CompiledLaw(observations, model)
    period = float(model["period"].values[0])
    start = settings["start"] or PERIODS_OF_START * period
    stored, forces = [], []
    window = float(model["force_window"].values[0])
    for part in pieces(observations):
        forces.append(law.force_error(part, window))
        path, band = law.free_run(part, start)
        residual = law.residual(part, PERIODS_OF_RESIDUAL_WINDOW * period)
        stored.append((observations["q"].values[0][part], path, band, residual))
    about = {"start": start, "learned_from": int(seen), "period": period}
    energy, units = energy_and_force_units(IdentifiedModel(model), observations)
    about |= {"force_window": window, "energy_unit": energy}
    about["time_step"] = law.dt
    observations = observations.assign_coords(force_unit=("dof", units))
    shares = {"one_step_error": law.one_step_error(pieces(observations), start)}
    if law.inputs is not None:
        loud, usual = (_rms(each["input"].values[0]) for each in (observations, every))
        driven = loud > INPUT_OF_FREE_MOTION * usual
        shares["force_error"] = np.where(driven, _share(forces), np.nan)
    return _dataset(observations, stored, forces, shares, about)


class CompiledLaw:
    """Compiled motions of the selected terms, and variations of their coefficients."""

    def __init__(self, observations: xr.Dataset, model: xr.Dataset):
        model = model.isel(replicate=0)
        names = [str(n) for n in model["dof"].values]
        kinds = ("", "dissipation_")
        texts = [model[f"{kind}term"].values for kind in kinds]
        law = [model[f"{kind}coefficient_estimate"].values for kind in kinds]
        law, corrected = np.concatenate(law), np.zeros(sum(map(len, law)))
        position = model["column_position"].values.astype(int)
        corrected[position] = model["prediction_coefficient"].values
        chosen = np.flatnonzero((law != 0) | (corrected != 0))
        # Of the law, and of predictions of one sample.
        self.c, self.of_sample = law[chosen], corrected[chosen]
        order = [int(np.flatnonzero(position == k)[0]) for k in chosen]
        self.left = model["jackknife_coefficient"].values[:, order]
        self.factor = interval_factor(model)
        self.noise = model["noise_level"].values
        self.process_noise = model["process_noise"].values
        self.dt = float(observations.attrs["time_step"])
        self.q = observations["q"].values[0]
        self.inputs = inputs_of(observations)
        if self.inputs is not None:
            self.inputs = replace(
                self.inputs,
                recorded=model["input_gain"].values * self.inputs.recorded,
                lag=model["input_lag"].values,
                time_constant=model["input_time_constant"].values,
                stepwise=bool(model["stepwise"]),
                curves={},
            )
        every, width = (*names, *velocity_names(names)), float(model["sliding_width"])
        count = len(texts[0])
        terms, losses = (
            [parse(str(t), every) for t in some]
            for some in (
                texts[0][chosen[chosen < count]],
                texts[1][chosen[chosen >= count] - count],
            )
        )
        losses = [smooth_friction(loss, width) for loss in losses]
        self.equations = variational_equations(terms, names, losses)
        # With a constant force of every coordinate, which is zero.
        forces = symbols(names)
        self.pushed = variational_equations([*terms, *forces], names, losses)
        self.constants = len(terms) + np.arange(len(names))

    def _positions(self, part: slice) -> Positions:
        q, force = np.ascontiguousarray(self.q[part]), None
        sigma = np.maximum(self.noise, 1e-4 * np.maximum(np.ptp(q, axis=0) / 2, 1e-12))
        if self.inputs is not None:
            force = self.inputs.nodes(np.arange(part.start, part.stop), 1)
        return Positions(self.equations, q, self.dt, sigma, 1, force)

    def _started(self, positions: Positions, rows: int, c) -> Segments:
        """Begin of the trajectory fitted to its first rows."""
        time = np.arange(rows) * self.dt
        degree = min(4, rows - 1)
        fit = np.linalg.lstsq(
            np.vander(time, degree + 1, increasing=True), positions.q[:rows], rcond=None
        )[0]
        first = Segments(np.array([0]), np.array([rows]), np.concatenate(fit[:2])[None])
        return fit_states(positions, first, c, 30)[0]

    def free_run(self, part: slice, start: float):
        """Predicted path and half the width of its 95 % band."""
        positions = self._positions(part)
        rows = min(max(round(start / self.dt), 8), len(positions.q))
        begun = self._started(positions, rows, self.c)
        whole = Segments(begun.first, np.array([len(positions.q)]), begun.state)
        positions = enough_steps(positions, whole, self.c, 0.05)
        path = self._path(positions, rows, self.c)
        count = len(self.left)
        left = np.array([self._path(positions, rows, c) for c in self.left])
        square = (count - 1) / count * ((left - left.mean(0)) ** 2).sum(0)
        return path, self.factor * np.sqrt(square) + 2 * self.noise

    def force_error(self, part: slice, window: float):
        """Missing and recorded force in windows, and time; see :func:`force_error`."""
        positions = replace(self._positions(part), equations=self.pushed)
        zeros = np.full(len(self.constants), self.constants[0])
        c = np.insert(self.c, zeros, 0.0)
        return force_error(positions, c, self.constants, window)

    def one_step_error(self, parts: Sequence[slice], start: float) -> np.ndarray:
        """Rms innovation of each coordinate from `start` on, in the unit of it.

        That is measured minus what the law expects from all earlier samples; levels of
        noise are those of these data. NaN where the law cannot follow them.
        """
        rows = np.arange(len(self.q))
        force = None if self.inputs is None else self.inputs.nodes(rows, 1)
        motion = MeasuredMotion(self.equations, self.q, parts, self.dt, force=force)
        least = 1e-3 * self.noise
        states, _ = smooth_motion(motion, least)
        path = states[:, :2].reshape(len(rows), -1)
        levels = NoiseLevels(self.process_noise, self.noise, 0 * self.noise, least)
        found = fit(motion, self.of_sample, [], path, levels, rounds_of_starts=0)
        if found is None:
            return np.full(motion.dof, np.nan)
        late = np.concatenate([np.arange(p.stop - p.start) for p in parts])
        return _rms(found.innovations.e[late * self.dt >= start])

    def _path(self, positions: Positions, rows: int, c) -> np.ndarray:
        begun = self._started(positions, rows, c)
        whole = Segments(begun.first, np.array([len(positions.q)]), begun.state)
        return positions.rollout(whole, c, len(positions.q))[0, :, : positions.dof]

    def residual(self, part: slice, window: float) -> np.ndarray:
        """Measured less fitted over windows with states of their own."""
        positions = self._positions(part)
        windows = start_states(positions, split(positions, window), self.c)
        positions = enough_steps(positions, windows, self.c, 0.05)
        windows, _ = fit_states(positions, windows, self.c, 30)
        paths = positions.rollout(windows, self.c, int(windows.length.max()))
        paths = paths[:, :, : positions.dof]
        fitted = [path[:n] for path, n in zip(paths, windows.length, strict=True)]
        return positions.q - np.concatenate(fitted)


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(values**2, axis=0))


def _share(forces: list) -> np.ndarray:
    """Rms of missing forces over that of recorded ones."""
    missing, recorded, _ = (
        _rms(np.concatenate(part)) for part in zip(*forces, strict=True)
    )
    return missing / np.where(recorded, recorded, np.nan)


def _dataset(observations, stored, forces, shares: dict, about: dict) -> xr.Dataset:
    dt = float(observations.attrs["time_step"])
    stride = max(round(about["period"] / dt / STORED_SAMPLES_PER_PERIOD), 1)
    rms, largest, sizes = [], [], []
    for q, path, _, _ in stored:
        size = np.maximum(np.ptp(q, axis=0) / 2, 1e-300)
        error = np.where(np.isfinite(path), path - q, np.inf) / size
        sizes.append(size)
        rms.append(np.sqrt((error**2).mean(0)))
        largest.append(np.abs(error).max(0))
    paths = [
        np.concatenate([path[::stride] for path in each])
        for each in zip(*stored, strict=True)
    ]
    names_of_paths = ("q_measured", "q_estimate", "q_band", "residual")
    counts = [len(q[::stride]) for q, *_ in stored]
    missed, recorded, middle = (
        np.concatenate(part) for part in zip(*forces, strict=True)
    )
    windows = [len(part) for part, *_ in forces]
    return CONTRACTS["measured_rollout"].dataset(
        {
            **dict(zip(names_of_paths, paths, strict=True)),
            "path_trajectory": np.repeat(np.arange(len(counts)), counts),
            "path_time": np.concatenate([np.arange(n) * dt * stride for n in counts]),
            "rms_error": rms,
            "maximum_error": largest,
            "half_range": np.array(sizes),
            **shares,
            "force_missed": missed[None],
            "force_recorded": recorded[None],
            "window_trajectory": np.repeat(np.arange(len(windows)), windows),
            "window_time": middle,
        },
        {name: observations[name] for name in COORDINATES},
        about,
    )


def force_error(
    positions: Positions, c: np.ndarray, constants: np.ndarray, window: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Constant force that a law misses in every window, and the mean recorded one.

    In every window the state and a constant generalised force δ are fitted, c given:

    .. math::  \frac{d}{dt} \frac{∂L}{∂q̇} - \frac{∂L}{∂q} + \frac{∂D}{∂q̇} = Q(t) + δ

    which is one row of the weak form (inverse dynamics), with the test function that
    noise of positions asks for; nothing is differentiated. The mean of Q in the same
    sense is the change of −δ as Q grows. `positions` are one trajectory, `constants`
    the candidates q_a of L, whose coefficients are zero; forces come in the shape
    (window, dof), and with them the time of the middle of each window. Windows overlap
    by half: a blow at the edge of one would be taken for the velocity that it begins
    with.
    """
    own = 2 * positions.dof
    segments = split(positions, window)
    late = segments[:-1]
    late = replace(late, first=late.first + late.length // 2)
    segments = start_states(positions, joined([segments, late]), c)
    positions = enough_steps(positions, segments, c)
    segments, _ = fit_states(positions, segments, c)
    middle = positions.dt * (segments.first + segments.length / 2)

    def missing(changed: Positions) -> np.ndarray:
        h, g, _ = normal_equations(changed, segments, c, constants)
        schur, right = eliminated(h, g, own)
        return np.linalg.solve(schur, right[..., None])[..., 0]

    def louder(steps: int) -> np.ndarray:
        return (1 + CHANGE_OF_INPUT) * positions.force(steps)

    found = missing(positions)
    if positions.force is None:
        return found, 0 * found, middle
    change = missing(replace(positions, force=louder)) - found
    return found, -change / CHANGE_OF_INPUT, middle
