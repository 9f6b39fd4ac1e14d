"""Windows of recordings for shooting: samples, weights, starts, and their blocks."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from leastaction.recordings.contracts import pieces
from leastaction.recordings.inputs import Inputs, inputs_of
from leastaction.trajectories.multiple_shooting import Positions, Segments, joined
from leastaction.trajectories.variational_equations import VariationalEquations

# Steps of the integrator, and samples at least, per inverse bandwidth.
STEPS_PER_INVERSE_BANDWIDTH = 10
# No fit is asked to be better than this fraction of the amplitude: a law of a real
# mechanism with ten terms is not.
TOLERATED_MISFIT = 0.003
# Samples that are fitted at most; longer recordings give evenly spaced stretches.
MOST_SAMPLES = 24000
# Trajectories that are left out one by one, if there are so many; otherwise stretches.
LEAST_TRAJECTORIES_AS_BLOCKS = 4
LEAST_BLOCKS = 6
# Rms input, over that of all data, below which a motion is free, and trajectories with
# more, of which one can be left out: without any nothing gives a driven law its scale.
INPUT_OF_FREE_MOTION, LEAST_DRIVEN_TRAJECTORIES = 0.1, 2
# Main periods of a stretch.
PERIODS_OF_STRETCH = 11
# The bandwidth is taken to hold this harmonic of the main frequency.
LEAST_HARMONIC = 3.0
MOST_BLOCKS = 12
# Main periods in a window, level by level.
PERIODS_OF_WINDOWS = (1.0, 3.0, 10.0)
# Windows of a driven motion begin at this part of a main period, and so many samples.
SHORTEST_PART_OF_PERIOD = 1 / 50
LEAST_SAMPLES_OF_WINDOW = 8
# Rms deviation from uniform motion in them, in standard deviations of the sensor.
DEVIATIONS_OF_FORCE = 3.0
# Windows that are no longer than this multiple of those before tell nothing new.
LEAST_GROWTH = 1.2
# A step that changes the squared misfit by a smaller part ends a fit: in windows where
# a joint turns around it is not smooth, and steps go on and on.
LEAST_CHANGE_OF_FIT = 1e-4
DEGREE_OF_SMOOTHING = 3


@dataclass(frozen=True)
class Recording:
    """Samples of all trajectories, and what is known before any model."""

    positions: Positions  # `sigma` has one row per sample
    parts: list[slice]  # rows of each trajectory
    # (row, q, q̇) of the smoothed motion by trajectory.
    smoothed: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    period: float  # main period, s
    amplitude: np.ndarray  # by trajectory and coordinate, see :func:`oscillation`
    noise: np.ndarray  # σ² over the variance that weights allow, (row, dof)
    rows: np.ndarray  # recorded row of each sample
    thin: int  # recorded rows between two samples
    inputs: Inputs | None = None  # of a driven motion

    @property
    def input_power(self) -> np.ndarray:
        """Squared input of every sample, over its mean; one of a free motion."""
        if self.inputs is None:
            return np.ones(len(self.rows))
        square = self.inputs.recorded[self.rows] ** 2
        each = (square / np.maximum(square.mean(axis=0), 1e-300)).mean(axis=1)
        return each / max(each.mean(), 1e-300)

    @property
    def by_trajectory(self) -> bool:
        """Whether trajectories are left out one by one, rather than stretches."""
        power = self.input_power
        pushed = [power[p].mean() > INPUT_OF_FREE_MOTION**2 for p in self.parts]
        enough = len(self.parts) >= LEAST_TRAJECTORIES_AS_BLOCKS
        return bool(enough and sum(pushed) >= LEAST_DRIVEN_TRAJECTORIES)

    def driven_by(self, inputs: Inputs) -> "Recording":
        """The recording with other inputs."""
        force = inputs.nodes(self.rows, self.thin)
        positions = replace(self.positions, force=force)
        return replace(self, positions=positions, inputs=inputs)


def recording(
    observations: xr.Dataset, equations: xr.Dataset, compiled: VariationalEquations
) -> Recording:
    """Samples for shooting from training data and what their smoothing found.

    Where data are much denser than the motion asks, every m-th sample of a local cubic
    (Savitzky and Golay 1964) stands for its m neighbours; of a driven motion only as
    far as there are too many, since forces that switch are seen in single samples.
    Weights are

    .. math::  1 / (σ^2 + (0.003\\, A_s)^2)

    with the amplitude A of the trajectory and coordinate, so that a cost of one per
    value means a misfit of 0.3 % of the amplitude.
    """
    from scipy.signal import savgol_filter

    dt = float(observations.attrs["time_step"])
    q = observations["q"].values[0]
    frequency = equations["frequency"].values[0]
    bandwidth = float(equations["bandwidth"].values.max())
    bandwidth = max(bandwidth, LEAST_HARMONIC * frequency.max())
    thin = max(int(1 / (STEPS_PER_INVERSE_BANDWIDTH * bandwidth) / dt), 1)
    if "input" in observations:
        thin = min(thin, max(len(q) // MOST_SAMPLES, 1))
    step = dt * thin
    period = 1 / float(np.exp(np.mean(np.log(np.maximum(frequency, 1e-300)))))
    trajectories = pieces(observations)
    chosen = _stretches(
        [np.arange(p.start, p.stop)[thin // 2 :: thin] for p in trajectories],
        round(PERIODS_OF_STRETCH * period / step),
    )
    ends = np.cumsum([len(rows) for rows in chosen])
    parts = [slice(e - len(r), e) for e, r in zip(ends, chosen, strict=True)]
    rows = np.concatenate(chosen)
    thinned, sigma = q[rows], equations["noise_std"].values[0]
    width = thin if thin % 2 else thin + 1
    if width > DEGREE_OF_SMOOTHING + 1:
        smooth = [
            savgol_filter(q[p], width, DEGREE_OF_SMOOTHING, axis=0, mode="interp")
            for p in trajectories
        ]
        thinned = np.concatenate(smooth)[rows]
        sigma = sigma * 1.5 / np.sqrt(width)
    turn = max(round(period / step), 8)
    amplitude = np.array([oscillation(thinned[p], turn) for p in parts])
    least = np.maximum(amplitude, 1e-3 * amplitude.max(axis=0))
    allowed = np.sqrt(sigma**2 + (TOLERATED_MISFIT * least) ** 2)
    weights = np.repeat(allowed, [p.stop - p.start for p in parts], axis=0)
    inputs = inputs_of(observations)
    samples = np.ascontiguousarray(thinned), 0, step, weights
    how = _steps(step, bandwidth), None, np.inf, LEAST_CHANGE_OF_FIT
    positions = Positions(compiled, *samples, *how)
    smoothed = _smoothed_rows(equations, rows, parts, thin)
    noise = sigma**2 / weights**2
    about = (positions, parts, smoothed, period, amplitude, noise, rows, thin)
    found = Recording(*about)
    return found if inputs is None else found.driven_by(inputs)


def weighted(found: Recording, duration: float) -> tuple[Positions, float]:
    """Positions with the weights of windows of `duration` (s), and χ² of noise alone.

    A force that is wrong by 0.3 % moves a motion by 0.003 A (T/P)² in a window T that
    is shorter than the main period P; the weights allow so much.
    """
    sensor = found.noise * found.positions.sigma**2
    allowed = found.positions.sigma**2 - sensor
    share = min(duration / found.period, 1.0) ** 4
    square = sensor + share * allowed
    sigma = np.sqrt(np.maximum(square, 1e-300))
    return replace(found.positions, sigma=sigma), float((sensor / square).sum())


def durations(found: Recording) -> list[float]:
    """Lengths of windows, s, to be fitted one after the other.

    One, three and ten main periods. A driven motion is begun in windows as short as its
    sampling and its noise allow, a fiftieth of a main period at least, each twice the
    one before.
    """
    longest = longest_window(found)
    wanted = [periods * found.period for periods in PERIODS_OF_WINDOWS]
    if found.positions.force is not None:
        short = LEAST_SAMPLES_OF_WINDOW * found.positions.dt
        short = max(SHORTEST_PART_OF_PERIOD * found.period, short)
        count = max(int(np.ceil(np.log2(found.period / short))), 1)
        wanted = [*(short * 2.0 ** np.arange(count)), *wanted]
        least = _least_duration(found)
        wanted = [each for each in wanted if each >= least] or wanted[-1:]
    kept: list[float] = []
    for duration in wanted:
        duration = float(min(duration, longest))
        if not kept or duration > LEAST_GROWTH * kept[-1]:
            kept.append(duration)
    return kept


def _least_duration(found: Recording) -> float:
    """Duration, s, over which forces move a coordinate well beyond its noise.

    A constant acceleration a leaves a straight line by aT²/(12√5) rms.
    """
    sensor = np.sqrt((found.noise * found.positions.sigma**2).mean(axis=0))
    dt, square = found.positions.dt, []
    for row, _, v in found.smoothed:
        rate = np.diff(v, axis=0) / (np.diff(row) * dt)[:, None]
        square.append(rate**2)
    rms = np.sqrt(np.concatenate(square).mean(axis=0))
    least = 12 * np.sqrt(5) * DEVIATIONS_OF_FORCE * sensor / np.maximum(rms, 1e-300)
    return float(np.sqrt(least.max()))


def _smoothed_rows(equations, rows, parts, thin) -> list[tuple]:
    """(row, q, q̇) of the smoothed motion, rows counted as in the thinned samples."""
    at = equations["row"].values
    found = []
    for part in parts:
        first = rows[part.start]
        mine = (at >= first - thin) & (at <= rows[part.stop - 1] + thin)
        place = (at[mine] - first) / thin + part.start
        found.append(
            (place, *(equations[name].values[0][mine] for name in ("q", "qdot")))
        )
    return found


def oscillation(q: np.ndarray, turn: int) -> np.ndarray:
    """Half the largest range within a main period, a linear drift removed.

    The angle of a joint that keeps turning has a range that says nothing about how
    well it is to be predicted. Shapes are (sample, dof) and (dof,); a main period has
    `turn` samples.
    """
    turn = min(turn, len(q))
    line = np.stack([np.ones(turn), np.linspace(-1, 1, turn)], axis=1)
    onto = line @ np.linalg.pinv(line)
    starts = range(0, len(q) - turn + 1, max(turn // 4, 1))
    parts = [q[i : i + turn] for i in starts]
    return np.max([np.ptp(p - onto @ p, axis=0) / 2 for p in parts], axis=0)


def _stretches(rows: list[np.ndarray], longest: int) -> list[np.ndarray]:
    """Rows of all trajectories, or of evenly spaced stretches of very long ones."""
    total = sum(map(len, rows))
    if total <= MOST_SAMPLES:
        return rows
    cut = [
        part
        for each in rows
        for part in np.array_split(each, max(len(each) // longest, 1))
    ]
    wanted = max(int(len(cut) * MOST_SAMPLES / total), LEAST_BLOCKS)
    chosen = np.linspace(0, len(cut) - 1, min(wanted, len(cut))).round().astype(int)
    return [cut[i] for i in np.unique(chosen)]


def windows(
    found: Recording, duration: float, before: Segments | None = None
) -> tuple[Segments, np.ndarray]:
    """Equal windows of about `duration` (s).

    Their states are those of the smoothed motion, or those of the windows `before`, of
    which every new one then joins several: a state that was fitted over three periods
    leads through ten, one that was read from a spline may not. With the trajectory of
    each.
    """
    own = []
    for number, part in enumerate(found.parts):
        samples = part.stop - part.start
        count = max(round(samples * found.positions.dt / duration), 1)
        count = max(min(count, samples // (4 * found.positions.dof)), 1)
        edges = np.linspace(part.start, part.stop, count + 1).round().astype(int)
        if before is None:
            states = _smoothed_states(found, number, edges[:-1])
        else:
            mine = (before.first >= part.start) & (before.first < part.stop)
            there = before.first[mine]
            near = np.unique(np.abs(there[:, None] - edges[:-1]).argmin(axis=0))
            edges = np.append(there[near], part.stop)
            states = before.state[mine][near]
        own.append(Segments(edges[:-1], np.diff(edges), states))
    return joined(own), np.repeat(np.arange(len(own)), [len(part) for part in own])


def _smoothed_states(found: Recording, number: int, rows: np.ndarray) -> np.ndarray:
    at, q, v = found.smoothed[number]
    near = np.abs(at[:, None] - rows).argmin(axis=0)
    ahead = (rows - at[near])[:, None] * found.positions.dt
    return np.hstack([q[near] + ahead * v[near], v[near]])


def longest_window(found: Recording) -> float:
    """Duration, s, of whole trajectories; of stretches if these are left out."""
    lengths = np.array([p.stop - p.start for p in found.parts]) * found.positions.dt
    if found.by_trajectory:
        return float(lengths.max())
    return float(lengths.sum() / LEAST_BLOCKS)


def blocks(found: Recording, segments: Segments, trajectory: np.ndarray) -> np.ndarray:
    """Block of every window: what is left out together.

    Trajectories, if there are four or more, two of them driven if any; otherwise
    stretches of them.
    """
    if found.by_trajectory:
        count = trajectory.max() + 1
        return trajectory * min(MOST_BLOCKS, count) // count
    wanted = min(MOST_BLOCKS, len(segments))
    return np.arange(len(segments)) * wanted // len(segments)


def _steps(dt: float, bandwidth: float) -> int:
    """Steps per sample, a power of two, each at most a tenth of 1 / bandwidth."""
    steps = 1
    while dt / steps > 1.2 / (STEPS_PER_INVERSE_BANDWIDTH * bandwidth) and steps < 16:
        steps *= 2
    return steps
