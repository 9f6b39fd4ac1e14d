"""Recorded trajectories that a law has not seen, predicted from their first moments."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import interval_factor
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import parse
from leastaction.core.model import IdentifiedModel
from leastaction.likelihood.augmented_kalman_filter import augmented_filter, smoothed
from leastaction.likelihood.iterated_smoother import fit, smooth_motion
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.likelihood.noise_levels import NoiseLevels
from leastaction.recordings.candidates import smooth_friction
from leastaction.recordings.contracts import (
    CONTRACTS,
    held_out,
    paths_and_errors,
    pieces,
)
from leastaction.recordings.excitation import PERIODS_PER_WINDOW
from leastaction.recordings.inputs import inputs_of
from leastaction.recordings.units_of_terms import energy_and_force_units
from leastaction.trajectories.variational_equations import variational_equations

# Part of a trajectory that fixes its initial state, main periods.
PERIODS_OF_START = 0.45
# Rms input, over that of all data, below which a motion is free.
INPUT_OF_FREE_MOTION = 0.1
# Rms error that is no reservation: of the force over short windows, and of a free run
# over half its range.
LARGEST_TRUSTED_ERROR = 0.05
# Samples per main period of what is stored; the errors are those of all samples.
STORED_SAMPLES_PER_PERIOD = 200
MOST_ROUNDS, MOST_STEPS = 30, 16
# Change of a run, over the noise, that does not matter: by steps half as long, or by a
# further round of least squares.
SMALL_CHANGE = 0.05
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
    in_sample = not observations["held_out"].values.any()
    every = observations
    if not in_sample:
        observations = held_out(observations)
    law = CompiledLaw(observations, model)
    period = float(model["period"].values[0])
    start = settings["start"] or PERIODS_OF_START * period
    stored, forces, times = [], [], []
    window = float(model["force_window"].values[0])
    for part in pieces(observations):
        forces.append(law.force_error(part, window))
        path, band, by_start = law.free_run(part, start)
        residual = law.residual(part, PERIODS_PER_WINDOW * period)
        stored.append((observations["q"].values[0][part], path, band, residual))
        times.append(law.dt * _predictable(stored[-1][0], by_start))
    about = {"start": start, "learned_from": int(in_sample), "period": period}
    energy, units = energy_and_force_units(IdentifiedModel(model), observations)
    about |= {"force_window": window, "energy_unit": energy}
    about["time_step"] = law.dt
    observations = observations.assign_coords(force_unit=("dof", units))
    shares = {"one_step_error": law.one_step_error(pieces(observations), start)}
    shares["prediction_time"] = np.array(times)
    if law.inputs is not None:
        loud, usual = (_rms(each["input"].values[0]) for each in (observations, every))
        driven = loud > INPUT_OF_FREE_MOTION * usual
        shares["force_error"] = np.where(driven, _share(forces), np.nan)
    return _dataset(observations, stored, forces, shares, about)


class WindowForces(NamedTuple):
    """Forces of windows, (window, dof), and their times."""

    missed: np.ndarray
    recorded: np.ndarray
    variance: np.ndarray  # of what is missed, by noise of the sensors alone
    middle: np.ndarray  # (window,), s


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
        self.q, self.parts = observations["q"].values[0], pieces(observations)
        self.inputs = inputs_of(observations)
        if self.inputs is not None:
            self.inputs = replace(
                self.inputs,
                recorded=model["input_gain"].values * self.inputs.recorded,
                lag=model["input_lag"].values,
                time_constant=model["input_time_constant"].values,
                degree=int(model["input_degree"]),
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

    @cached_property
    def states(self) -> np.ndarray:
        """Positions and velocities smoothed without a law, (row, 2 dof)."""
        motion = MeasuredMotion(self.equations, self.q, self.parts, self.dt)
        return smooth_motion(motion, 1e-3 * self.noise)[0][:, :2].reshape(
            len(self.q), -1
        )

    def _motion(self, part: slice) -> tuple[MeasuredMotion, np.ndarray]:
        """One trajectory, and the noise of its sensors, which is no less than 1e-4."""
        q, force = np.ascontiguousarray(self.q[part]), None
        sensor = np.maximum(self.noise, 1e-4 * np.maximum(np.ptp(q, axis=0) / 2, 1e-12))
        if self.inputs is not None:
            force = self.inputs.nodes(np.arange(part.start, part.stop), 1)
        return MeasuredMotion(
            self.equations, q, [slice(0, len(q))], self.dt, 1, force
        ), sensor

    def free_run(self, part: slice, start: float):
        """Predicted path, half the width of its 95 % band, and that by its start."""
        motion, sensor = self._motion(part)
        rows = min(max(round(start / self.dt), 8), len(motion.y))
        begin = self.states[part][:rows]
        first = replace(motion, y=motion.y[:rows], parts=[slice(0, rows)])
        begun = followed(first, begin, self.c, sensor)
        motion = enough_steps(motion, begun[:1], self.c, sensor)

        def run(c: np.ndarray) -> np.ndarray:
            """The run of a law, whose begin is fitted to the first rows."""
            exact = replace(first, steps=motion.steps)
            state = followed(exact, begun, c, sensor)[:1]
            return runs_of(motion, state, c, motion.steps)[0]

        path, count = run(self.c), len(self.left)
        left = np.array([run(c) for c in self.left])
        square = (count - 1) / count * ((left - left.mean(0)) ** 2).sum(0)
        by_start = self._variance_by_start(motion, first, begun, sensor)
        band = self.factor * np.sqrt(square + by_start) + 2 * self.noise
        return path, band, self.factor * np.sqrt(by_start)

    def _variance_by_start(self, motion, first, begun, sensor) -> np.ndarray:
        """Variance of a free run, (row, dof), by noise of the rows that fix its start.

        The start of least squares is linear in them near the run; two runs for every
        axis of its covariance.
        """
        n, nothing = motion.dof, np.zeros(0, dtype=int)
        exact = replace(first, steps=motion.steps)
        flow, flows = np.eye(2 * n), []
        for A in exact.linearised(begun, self.c, nothing)[0].A:
            flows.append(flow[:n] / sensor[:, None])
            flow = A @ flow
        if not np.isfinite(flows).all():
            return np.full(motion.y.shape, np.nan)
        gain = np.linalg.pinv(np.concatenate(flows))
        noise = np.tile(self.noise / sensor, len(flows))
        axes, size, _ = np.linalg.svd(gain * noise, full_matrices=False)
        moved = (axes * size).T
        each = replace(motion, parts=2 * len(moved) * motion.parts)
        begins = begun[0] + np.concatenate([moved, -moved])
        up, down = np.split(runs_of(each, begins, self.c, motion.steps), 2)
        return (((up - down) / 2) ** 2).sum(axis=0)

    def force_error(self, part: slice, window: float):
        """Forces in windows, and time; see :func:`force_error`."""
        motion, sensor = self._motion(part)
        zeros = np.full(len(self.constants), self.constants[0])
        c = np.insert(self.c, zeros, 0.0)
        how = self.states[part], sensor, c, self.constants, window
        forces = force_error(replace(motion, equations=self.pushed), *how)
        # Of sensors that are better than they are taken for, no more than all have.
        part_of_noise = float(np.min(self.noise / sensor)) ** 2
        return forces._replace(variance=part_of_noise * forces.variance)

    def one_step_error(self, parts: Sequence[slice], start: float) -> np.ndarray:
        """Rms innovation of each coordinate from `start` on, in the unit of it.

        That is measured minus what the law expects from all earlier samples; levels of
        noise are those of these data. NaN where the law cannot follow them.
        """
        rows = np.arange(len(self.q))
        force = None if self.inputs is None else self.inputs.nodes(rows, 1)
        motion = MeasuredMotion(self.equations, self.q, parts, self.dt, force=force)
        least = self.process_noise, self.noise, 0 * self.noise, 1e-3 * self.noise
        levels, path = NoiseLevels(*least), self.states
        filtered = fit(motion, self.of_sample, [], path, levels, rounds_of_starts=0)
        if filtered is None:
            return np.full(motion.dof, np.nan)
        late = np.concatenate([np.arange(p.stop - p.start) for p in parts])
        return _rms(filtered.innovations.e[late * self.dt >= start])

    def residual(self, part: slice, window: float) -> np.ndarray:
        """Measured less fitted over windows with states of their own."""
        motion, sensor = self._motion(part)
        motion = replace(motion, parts=windows_of(motion, 0, len(motion.y), window))
        motion = enough_steps(motion, self.states[part], self.c, sensor)
        path = followed(motion, self.states[part], self.c, sensor)
        return motion.y - path[:, : motion.dof]


def _predictable(q: np.ndarray, by_start: np.ndarray) -> float:
    """Rows until noise of its start moves a run too far; infinite if it does not."""
    lost = ~(by_start <= LARGEST_TRUSTED_ERROR * np.ptp(q, axis=0) / 2).all(axis=1)
    return float(lost.argmax()) if lost.any() else np.inf


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(values**2, axis=0))


def _share(forces: list) -> np.ndarray:
    """Rms of missing forces over that of recorded ones, of windows that are not lost.

    Infinite if all are. The mean square of what noise alone would show as missing is
    not missing.
    """
    missing, recorded, variance, _ = map(np.concatenate, zip(*forces, strict=True))
    left = np.isfinite([missing, recorded]).all(axis=(0, 2))
    if not left.any():
        return np.full(missing.shape[1], np.inf)
    square = (missing[left] ** 2 - variance[left]).mean(axis=0)
    missing, recorded = np.sqrt(np.maximum(square, 0.0)), _rms(recorded[left])
    return missing / np.where(recorded, recorded, np.nan)


def _dataset(observations, stored, forces, shares: dict, about: dict) -> xr.Dataset:
    dt = float(observations.attrs["time_step"])
    stride = max(round(about["period"] / dt / STORED_SAMPLES_PER_PERIOD), 1)
    missed, recorded, _, middle = (
        np.concatenate(part) for part in zip(*forces, strict=True)
    )
    windows = [len(part) for part, *_ in forces]
    return CONTRACTS["measured_rollout"].dataset(
        {
            **paths_and_errors(stored, stride, dt),
            **shares,
            "force_missed": missed[None],
            "force_recorded": recorded[None],
            "window_trajectory": np.repeat(np.arange(len(windows)), windows),
            "window_time": middle,
        },
        {name: observations[name] for name in COORDINATES},
        about,
    )


def windows_of(motion: MeasuredMotion, start: int, stop: int, duration: float) -> list:
    """Equal windows of about `duration` (s), at least 4 dof rows."""
    rows = max(duration / motion.dt, 4 * motion.dof)
    count = max(int((stop - start) // rows), 1)
    edges = np.linspace(start, stop, count + 1).round().astype(int)
    return [slice(*pair) for pair in pairwise(edges.tolist())]


def runs_of(
    motion: MeasuredMotion, states: np.ndarray, c: np.ndarray, steps: int
) -> np.ndarray:
    """Positions of runs through the parts of a motion, (part, row, dof).

    NaN behind the end of a part; `states` (part, 2 dof) are their begins.
    """
    first = np.array([part.start for part in motion.parts])
    length = np.array([part.stop for part in motion.parts]) - first
    force = None if motion.force is None else motion.force(steps)
    how = motion.dt, int(length.max()), steps, force, first, length
    return motion.equations.rollout(states, c, *how)[:, :, : motion.dof]


def enough_steps(
    motion: MeasuredMotion, states: np.ndarray, c: np.ndarray, sensor: np.ndarray
) -> MeasuredMotion:
    """The motion with steps so short that half of them change no run by a 20th σ.

    One part in twenty may change by more: a lost one needs no accuracy. `states`
    (row, 2 dof) hold those at the begins of the parts.
    """
    some = replace(motion, parts=motion.parts[:: max(len(motion.parts) // 100, 1)])
    begins = states[[part.start for part in some.parts]]
    steps, coarse = motion.steps, runs_of(some, begins, c, motion.steps)
    while steps < MOST_STEPS:
        fine = runs_of(some, begins, c, 2 * steps)
        moved = np.abs((fine - coarse) / sensor)
        inside = [part.stop - part.start for part in some.parts]
        each = [x[:n].max() for x, n in zip(moved, inside, strict=True)]
        if np.quantile(np.nan_to_num(each, nan=1e9), 0.95) < SMALL_CHANGE:
            break
        steps, coarse = 2 * steps, fine
    return replace(motion, steps=steps)


def followed(
    motion: MeasuredMotion, path: np.ndarray, c: np.ndarray, sensor: np.ndarray
) -> np.ndarray:
    """Path (row, 2 dof) of least squares, whose parts begin anywhere.

    The iterated smoother without process noise: Gauss and Newton's method for the
    states at the begins, about a path that need not obey the law at first. NaN from
    where the law escapes to the end of a part.
    """
    none, no_noise = np.zeros(0, dtype=int), np.zeros(motion.dof)
    model, _ = motion.linearised(path, c, none)
    for _ in range(MOST_ROUNDS):
        change, innovations = smoothed(model, no_noise, sensor)
        lost = ~np.isfinite(change).all(axis=1)
        change[lost] = 0.0
        for step in (1.0, 0.25, 0.0625):
            trial = path + step * change
            new, _ = motion.linearised(trial, c, none)
            value = np.nansum(augmented_filter(new, no_noise, sensor).moment)
            if value < 2 * np.nansum(innovations.moment) + innovations.count:
                break
        path, model = trial, new
        moved = np.abs(step * change[:, : motion.dof]) / sensor
        if moved.max() < SMALL_CHANGE:
            break
    path[lost] = np.nan
    return path


def force_error(
    motion: MeasuredMotion,
    path: np.ndarray,
    sensor: np.ndarray,
    c: np.ndarray,
    constants: np.ndarray,
    window: float,
) -> WindowForces:
    r"""Constant force that a law misses in every window, and the mean recorded one.

    In every window the state and a constant generalised force δ are fitted, c given:

    .. math::  \frac{d}{dt} \frac{∂L}{∂q̇} - \frac{∂L}{∂q} + \frac{∂D}{∂q̇} = Q(t) + δ

    which is one row of the weak form (inverse dynamics), with the test function that
    noise of positions asks for; nothing is differentiated. The mean of Q in the same
    sense is what is missing without Q, less δ. Noise of the sensors alone gives δ the
    covariance G⁻¹, G its information. `motion` is one trajectory, smoothed as `path`,
    `constants` the candidates q_a of L, whose coefficients are zero. Windows overlap by
    half: a blow at the edge of one would be taken for the velocity that it begins with.
    Of a window that the law loses forces are NaN.
    """
    rows, results = len(motion.y), []
    early = windows_of(motion, 0, rows, window)
    half = early[0].stop // 2
    late = windows_of(motion, half, rows - half, window)
    ends = slice(0, half), slice(rows - half, rows)

    def missing(changed: MeasuredMotion, near: np.ndarray, inner: slice) -> tuple:
        lost = ~np.isfinite(near).all(axis=1)
        about = np.where(lost[:, None], path, near)
        model, _ = changed.linearised(about, c, constants)
        model = model._replace(block=np.cumsum(model.begin) - 1)
        moment = augmented_filter(model, np.zeros(motion.dof), sensor).moment
        moment[[lost[part].any() for part in changed.parts]] = np.nan
        moment = moment[inner]
        covariance = np.linalg.inv(moment[:, 1:, 1:])
        missed = -(covariance @ moment[:, 1:, :1])[..., 0]
        return missed, np.diagonal(covariance, axis1=1, axis2=2)

    for parts in (early, [ends[0], *late, ends[1]])[: len(early)]:
        cut = enough_steps(replace(motion, parts=parts), path, c, sensor)
        near = followed(cut, path, c, sensor)
        inner = slice(None) if parts is early else slice(1, -1)
        missed, variance = missing(cut, near, inner)
        recorded = 0 * missed
        if motion.force is not None:
            recorded = missing(replace(cut, force=None), near, inner)[0] - missed
        middle = [motion.dt * (part.start + part.stop) / 2 for part in parts[inner]]
        results.append((missed, recorded, variance, np.array(middle)))
    every = [*map(np.concatenate, zip(*results, strict=True))]
    order = np.argsort(every[-1], kind="stable")
    return WindowForces(*(each[order] for each in every))
