"""Lagrangian systems under random forces, seen by noisy sensors, as state-space models.

.. math::  M \\ddot q = F(q, \\dot q) + S \\dot W + w(t) , \\qquad
           y_k = C_q q + C_v \\dot q + C_a \\ddot q + s e_k ,

with L and D linear in candidates. A force with a correlation time τ is S u with
τ u̇ = −u + Ẇ, so that S keeps the meaning of the white level as τ → 0. A common
acceleration of the ground, in coordinates relative to it, is the force −M 1 a. An
accelerometer in a white force has no value at an instant: the mean over one step,
(q̇_k − q̇_{k−1})/Δt, stands for it.

A vector θ of parameters holds, in this order: free coefficients of L and D, entries of
S, log s of every channel, the gain of recorded forces and the lag, s, that they act
with, and log τ of a coloured one.
"""

import itertools
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import sympy as sp

from leastaction.core.compiled import evaluator
from leastaction.core.euler_lagrange import symbols
from leastaction.core.library import Library
from leastaction.ensembles import kalman_filter
from leastaction.ensembles.sensor_records import Record, splines

# |v| is a parabola below this part of the rms velocity: a filter needs slopes.
SLIDING_PART = 0.05
# Steps per sample of a filter that follows the change of the sign of v, at most.
MOST_SLIDING = 8
# Angle, rad, that a Runge–Kutta step may turn.
LARGEST_TURN = 0.3
# Gap, in innovations, between the exact and the nonlinear filter of a linear law; steps
# per sample that are enough for all.
LARGEST_GAP, MOST_REFINED = 0.1, 32
# Samples over the shortest correlation time that a nonlinear filter follows.
SHORTEST_MEMORY = 8.0
# Variance of an unknown start, in those of the motion.
DIFFUSE = 100.0
# Variance of a mean, of that of its noise, that the random force leaves at least.
LEAST_PART_OF_NOISE = 0.1
# Logarithm of what a linear motion may grow by over a record. One without damping
# comes out as slightly unstable as not; one that falls over was not recorded.
LARGEST_GROWTH = 20.0
# Points at which the forces of candidates are compared.
POINTS = 256
# The most general last; the first one is that of a field, of one strength everywhere.
FORCES = ("equal", "diagonal", "ground", "free")


class Start(NamedTuple):
    """State (q, q̇) at the first sample, its covariance, samples that it was made of."""

    mean: np.ndarray
    covariance: np.ndarray
    samples: int


@dataclass(frozen=True)
class Structure:
    """Which parameters there are.

    Free candidates in `columns`, those of D after those of L; a `force` that is
    ``diagonal``, ``free`` (lower Cholesky factor), ``ground`` (one common acceleration)
    or ``equal`` (independent and of one strength); a correlation time if it is
    `coloured`; the gain of recorded forces if the motion is `driven` by such, since a
    coefficient of L is given, and the lag between their record and them if they are
    `late` by an unknown one.
    """

    columns: tuple[int, ...]
    force: str = "diagonal"
    coloured: bool = False
    driven: bool = False
    late: bool = False

    def entries(self, dof: int) -> list[tuple[int, int]]:
        """Places of the entries of S among (row, column)."""
        if self.force in ("ground", "equal"):
            return [(0, 0)]
        if self.force == "diagonal":
            return [(a, a) for a in range(dof)]
        return [(a, b) for a in range(dof) for b in range(a + 1)]

    def places(self, dof: int, channels: int) -> tuple[slice, slice, slice]:
        """Where coefficients, entries of S and logarithms of the noise are in θ."""
        sizes = len(self.columns), len(self.entries(dof)), channels
        ends = np.cumsum([0, *sizes]).tolist()
        return tuple(slice(*pair) for pair in itertools.pairwise(ends))


class Parameters(NamedTuple):
    """What a vector θ says."""

    coefficients: np.ndarray
    root: np.ndarray
    noise: np.ndarray
    rate: float
    gain: float
    lag: float


class Discrete(NamedTuple):
    """A linear law: from sample to sample, and in continuous time.

    `step` has A and Q of the state without velocities of the sample before. `inverse`
    is M⁻¹ times the gain of recorded forces, `lag` theirs, s; `of_acceleration` weighs
    q̈ at the sensors.
    """

    transition: np.ndarray
    covariance: np.ndarray
    sees: np.ndarray
    rates: np.ndarray
    diffusion: np.ndarray
    push: np.ndarray
    step: tuple[np.ndarray, np.ndarray]
    inverse: np.ndarray
    of_acceleration: np.ndarray
    lag: float


def is_linear(library: Library) -> np.ndarray:
    """Whether the equations of each candidate, of L and then of D, are linear."""
    state = symbols(library.variables)
    columns = zip(*library.momenta, *library.forces, strict=True)
    return np.array([all(_is_affine(e, state) for e in column) for column in columns])


def _is_affine(expression: sp.Expr, state) -> bool:
    slopes = [sp.diff(expression, x) for x in state if expression.has(x)]
    jumps = expression.has(sp.Abs, sp.sign)
    return not jumps and not any(slope.has(*state) for slope in slopes)


class StateSpace:
    """State-space model of all candidates of a library, and its innovations.

    `records` of `channels` have a time step `dt`, s. First guesses: `scale`, the rms of
    (q, q̇); the highest angular `frequency`, rad/s; the `noise` by channel. A sample may
    be the mean of `averaged` ones over a `window`, s.
    """

    # Of innovations of the true law.
    correlation_of_neighbours = 0.0

    # Unit of what innovations follow each other in.
    read_over = "s"

    def __init__(
        self,
        library,
        channels,
        records,
        dt,
        scale,
        frequency,
        noise,
        averaged=1,
        window=0.0,
    ):
        self.averaged, self.window = averaged, window
        self.library, self.channels = library, channels
        self.records, self.dt, self.scale = records, dt, np.asarray(scale)
        self.dof = len(library.coordinates)
        self.driven = any(len(record.w) > 1 for record in records)
        self.late = any(record.late.any() for record in records)
        self.forces = [splines(r.w) if len(r.w) > 1 else None for r in records]
        self.moment = LARGEST_TURN / frequency
        self.steps = max(1, int(np.ceil(frequency * dt / LARGEST_TURN)))
        self.fewest = self.steps
        self.acceleration = frequency * float(self.scale[self.dof :].max())
        self.width = SLIDING_PART * self.acceleration / frequency
        noise = noise / np.sqrt(averaged)
        self._lagged: dict[int, tuple[float, np.ndarray]] = {}
        self.starts = [self._start(r, noise, frequency) for r in records]

    @cached_property
    def linear(self) -> np.ndarray:
        """Whether the equations of each candidate are linear."""
        return is_linear(self.library)

    @cached_property
    def kernel(self):
        """Compiled filter of all candidates."""
        return kalman_filter.compiled(self.library)

    def forces_of_motion(self) -> tuple[float, np.ndarray]:
        """Rms force of the given inertia, and of each candidate with coefficient 1.

        In a motion with the rms values `scale` and random phases.
        """
        library, scale, n = self.library, self.scale, self.dof
        forces = [e for term in library.terms for e in library.equations_of(term)]
        forces += [
            -library.forces[a][len(library.terms) + j]
            for j in range(len(library.dissipation))
            for a in range(n)
        ]
        phase = np.random.default_rng(0).uniform(0, 2 * np.pi, (POINTS, n))
        q = np.sqrt(2) * scale[:n] * np.cos(phase)
        v = -np.sqrt(2) * scale[n:] * np.sin(phase)
        acceleration = -q * np.square(scale[n:] / scale[:n])
        values = evaluator(forces, library.coordinates)(q, v, (), acceleration)
        size = np.sqrt(np.mean(np.square(values).reshape(POINTS, -1, n), axis=(0, 2)))
        return float(sum(abs(c) * size[i] for i, c in library.references)), size

    @property
    def narrowest(self) -> float:
        """Width of |v| that the shortest steps of a filter follow."""
        return self.acceleration * self.dt / MOST_SLIDING

    def slide(self, width: float) -> None:
        """Make |v| a parabola below another `width`, with steps that follow it."""
        self.width = width
        needed = int(np.ceil(self.acceleration * self.dt / width))
        self.steps = max(self.fewest, min(needed, MOST_SLIDING))

    @property
    def samples(self) -> int:
        """Sampling times."""
        return sum(len(r.y) for r in self.records)

    def read(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Times and samples of a record."""
        y = self.records[number].y
        return self.dt * np.arange(len(y)), y

    def places(self, structure: Structure) -> tuple[slice, slice, slice]:
        """Where coefficients, entries of S and logarithms of the noise are in θ."""
        return structure.places(self.dof, len(self.channels.names))

    def parameters(self, structure: Structure, theta: np.ndarray) -> Parameters:
        """Coefficients, S, sensor noise and rate of the colour."""
        n = self.dof
        coefficients, entries, noises = self.places(structure)
        c = np.append(self.library.fixed, np.zeros(len(self.library.dissipation)))
        c[list(structure.columns)] = theta[coefficients]
        if structure.force == "ground":
            root = np.full((n, 1), theta[entries][0])
        elif structure.force == "equal":
            root = theta[entries][0] * np.eye(n)
        else:
            root = np.zeros((n, n))
            root[tuple(np.transpose(structure.entries(n)))] = theta[entries]
        rate = np.exp(-theta[-1]) if structure.coloured else 0.0
        gain = theta[noises.stop] if structure.driven else 0.0
        lag = theta[noises.stop + 1] if structure.late else 0.0
        noise = self._of_means(np.exp(2 * theta[noises]), c, root, structure)
        return Parameters(c, root, noise, rate, gain, lag)

    def _of_means(self, noise, coefficients, root, structure) -> np.ndarray:
        """Variances of means of samples, as those of samples in the middle.

        A mean of velocities over T has part of the random force of two steps. Its
        differences have the autocovariance of those of samples with noise that is less
        by σ² T (1 − 1/n²)/6.
        """
        noise = noise / self.averaged
        if self.averaged == 1 or structure.coloured:
            return noise
        if structure.force != "ground":
            root = self.at(coefficients)[0] @ root
        force = np.square(self.channels.velocity @ root).sum(axis=1)
        less = force * self.window * (1 - 1 / self.averaged**2) / 6
        return np.maximum(noise - less, LEAST_PART_OF_NOISE * noise)

    def matrices(self, structure: Structure) -> tuple[np.ndarray, ...]:
        """Sensor matrices of the state, of accelerations, of coloured forces."""
        one, n = self.channels, self.dof
        forces = 0
        if structure.coloured:
            forces = 1 if structure.force == "ground" else n
        mean = not structure.coloured and bool(
            (one.acceleration[~one.absolute] != 0).any()
        )
        state = [one.position, one.velocity, np.zeros((len(one.names), forces))]
        of_acceleration = one.acceleration
        if mean:
            by_mean = np.where(one.absolute[:, None], 0.0, of_acceleration)
            state[1] = state[1] + by_mean / self.dt
            state.append(-by_mean / self.dt)
            of_acceleration = of_acceleration - by_mean
        shaken = np.where(one.absolute[:, None], 0.0, of_acceleration)
        return tuple(
            map(np.ascontiguousarray, (np.hstack(state), of_acceleration, shaken))
        )

    def innovations(self, structure: Structure, theta: np.ndarray, order: int = 2):
        """Function from the number of a record to e and V; None if it diverges."""
        parameters = self.parameters(structure, theta)
        run = (
            self._linear(structure, parameters)
            if self.linear[list(structure.columns)].all()
            else self._nonlinear(structure, parameters, order)
        )

        def of_record(number: int):
            y = self.records[number].y
            e, V = np.empty_like(y), np.empty_like(y)
            if not run(number, y, e, V):
                return None
            burnt = self.starts[number].samples if self.starts[number] else 0
            e[:burnt], V[:burnt] = 0.0, 1.0
            return e, V

        return of_record

    def refine(self, structure: Structure, theta: np.ndarray) -> None:
        """Shorten the steps of the nonlinear filter until it follows a linear law.

        Sensors that are exact to 10⁻⁵ of the motion see errors of its steps.
        """
        columns = list(structure.columns)
        exact = self.innovations(structure, theta)(0)
        linear, self.linear = self.linear, np.zeros_like(self.linear)
        while linear[columns].all() and exact and self.steps < MOST_REFINED:
            result = self.innovations(structure, theta)(0)
            gap = np.abs(result[0] - exact[0]) / np.sqrt(exact[1]) if result else np.inf
            if np.max(gap) < LARGEST_GAP:
                break
            self.steps *= 2
        self.linear, self.fewest = linear, self.steps

    def discrete(
        self, structure: Structure, parameters: Parameters
    ) -> "Discrete | None":
        """The linear law from sample to sample; None if no record can be its motion.

        That is one which is not finite, or grows by too much over a record.
        """
        matrix, of_acceleration, shaken = self.matrices(structure)
        rates, diffusion, push = self.linearised(structure, parameters)
        longest = self.dt * max(len(record.y) for record in self.records)
        if not np.isfinite(rates).all():
            return None
        if np.linalg.eigvals(rates).real.max() * longest > LARGEST_GROWTH:
            return None
        n, size, core = self.dof, matrix.shape[1], len(rates)
        transition, covariance = np.zeros((2, size, size))
        step = kalman_filter.discretised(rates, diffusion, self.dt)
        transition[:core, :core], covariance[:core, :core] = step
        if not np.isfinite(transition).all():
            return None
        if size > core:
            transition[core:, n : 2 * n] = np.eye(n)
        sees = matrix.copy()
        sees[:, : 2 * n] += of_acceleration @ rates[n : 2 * n, : 2 * n]
        sees[:, 2 * n : core] += shaken @ rates[n : 2 * n, 2 * n :]
        inverse = parameters.gain * self.at(parameters.coefficients)[0]
        of_time = transition, covariance, sees, rates, diffusion, push, step
        return Discrete(*of_time, inverse, of_acceleration, parameters.lag)

    def recorded(self, number: int, lag: float) -> np.ndarray:
        """Recorded forces at half steps, (half step, dof); one row if there are none.

        Those that act with an unknown `lag`, s, act so much after their record.
        """
        record = self.records[number]
        if len(record.w) == 1:
            return record.w
        if self._lagged.get(number, (None,))[0] != lag:
            half_steps = np.arange(2 * len(record.w) - 1) / 2
            rows = np.where(record.late, lag / self.dt, 0.0)
            self._lagged[number] = lag, self.forces[number](half_steps, rows)
        return self._lagged[number][1]

    def forced(self, law: "Discrete", number: int) -> tuple[np.ndarray, np.ndarray]:
        """What forces add to the state in each step, and to sensors; else one row."""
        n, core = self.dof, len(law.rates)
        w = self.recorded(number, law.lag)
        pushes = np.tile(law.push, (len(w), 1))
        pushes[:, n : 2 * n] += w @ law.inverse.T
        if not pushes.any():
            return np.zeros((1, len(law.transition))), np.zeros((1, len(law.sees)))
        half = kalman_filter.discretised(law.rates, law.diffusion, self.dt / 2)[0]
        begin, end = kalman_filter.response(law.rates, self.dt / 2)
        offset = pushes[::2, n : 2 * n] @ law.of_acceleration.T
        if len(pushes) == 1:
            pushes = np.tile(pushes, (3, 1))
        first, middle, last = pushes[:-2:2], pushes[1:-1:2], pushes[2::2]
        drive = np.zeros((len(first), len(law.transition)))
        drive[:, :core] = (first @ begin.T + middle @ end.T) @ half.T
        drive[:, :core] += middle @ begin.T + last @ end.T
        return drive, offset

    def _linear(self, structure: Structure, parameters: Parameters):
        """Exact filter."""
        law = self.discrete(structure, parameters)
        if law is None:
            return lambda *_: False
        size, core = len(law.transition), len(law.rates)
        alike = None if self.driven else self.forced(law, 0)
        settled = cache(lambda: (law.step[0], kalman_filter.stationary(*law.step)))

        def run(number, y, e, V):
            drive, offset = alike or self.forced(law, number)
            x, P = self._state(number, parameters, size, core, settled)
            moved = law.transition, law.covariance, drive
            sensors = law.sees, offset, parameters.noise
            return kalman_filter.run(y, *moved, *sensors, x, P, e, V)

        return run

    def _nonlinear(self, structure: Structure, parameters: Parameters, order: int):
        sees = self.matrices(structure)
        memory = parameters.rate * self.dt
        if memory > SHORTEST_MEMORY:
            return lambda *_: False
        force = (
            parameters.root,
            structure.force == "ground",
            parameters.noise,
            parameters.rate,
        )
        law = parameters.coefficients, self.width, *force
        step = self.dt, max(self.steps, int(np.ceil(memory))), order
        rates, diffusion, _ = self.linearised(structure, parameters)
        size, core = sees[0].shape[1], len(rates)
        settled = cache(lambda: self._settled(rates, diffusion))

        def run(number, y, e, V):
            start = self._state(number, parameters, size, core, settled)
            w = parameters.gain * self.recorded(number, parameters.lag)
            if len(w) == 1:
                w = np.broadcast_to(w, (2 * len(y) + 1, self.dof)).copy()
            return self.kernel.run(y, w, *law, *sees, *start, *step, e, V)

        return run

    def at(self, coefficients: np.ndarray, state=None):
        """M⁻¹, acceleration without a force, and its slopes, at a state (0 if None)."""
        n = self.dof
        x = np.zeros(2 * n) if state is None else np.asarray(state, dtype=float)
        M, inverse = np.empty((n, n)), np.empty((n, n))
        F, C, f = np.empty(n), np.empty(n), np.empty(n)
        D, slopes = np.empty((n, 2 * n)), np.empty((n, 2 * n))
        still = np.zeros((2 * n, 2 * n)), np.zeros(n)
        self.kernel.acceleration(
            x, coefficients, self.width, 1, *still, M, inverse, F, D, C, f, slopes
        )
        return inverse, f, slopes

    def linearised(self, structure: Structure, parameters: Parameters):
        """A_c and Γ Γᵀ of the state (q, q̇, u) about q = 0, and the rate there."""
        n, columns = self.dof, parameters.root.shape[1]
        _, f, slopes = self.at(parameters.coefficients)
        kicks = self.kicks(structure, parameters)
        size = 2 * n + (columns if structure.coloured else 0)
        rates, push = np.zeros((size, size)), np.zeros(size)
        rates[:n, n : 2 * n] = np.eye(n)
        rates[n : 2 * n, : 2 * n] = slopes
        push[n : 2 * n] = f
        if structure.coloured:
            rates[n : 2 * n, 2 * n :] = self.pushed(structure, parameters)
            rates[2 * n :, 2 * n :] = -parameters.rate * np.eye(columns)
        return rates, kicks @ kicks.T, push

    def pushed(self, structure: Structure, parameters: Parameters) -> np.ndarray:
        """Accelerations by each random force of strength one, (dof, force)."""
        ground = structure.force == "ground"
        return (
            parameters.root
            if ground
            else self.at(parameters.coefficients)[0] @ parameters.root
        )

    def kicks(self, structure: Structure, parameters: Parameters) -> np.ndarray:
        """Γ: what each random force does to the state (q, q̇, u), (state, force)."""
        n, columns = self.dof, parameters.root.shape[1]
        if structure.coloured:
            colours = parameters.rate * np.eye(columns)
            return np.vstack([np.zeros((2 * n, columns)), colours])
        return np.vstack([np.zeros((n, columns)), self.pushed(structure, parameters)])

    def _settled(self, rates, diffusion):
        """A over a sample, and the covariance of a stationary motion or None."""
        if not np.isfinite(rates).all():
            return np.zeros_like(rates), None
        moved, spread = kalman_filter.discretised(rates, diffusion, self.dt)
        return moved, kalman_filter.stationary(moved, spread)

    def _state(self, number, parameters, size, core, settled):
        """State and covariance at the first sample, of what `settled` gives or wide."""
        n = self.dof
        x, P = np.zeros(size), np.zeros((size, size))
        start = self.starts[number]
        if start is not None:
            x[: 2 * n], P[: 2 * n, : 2 * n] = start.mean, start.covariance
            P[2 * n : core, 2 * n : core] = parameters.rate / 2 * np.eye(core - 2 * n)
            return x, P
        velocities = slice(n, n + size - core)
        moved, spread = settled()
        if spread is None:
            moved, spread = np.zeros((2, core, core))
            spread[: 2 * n, : 2 * n] = np.diag(DIFFUSE * self.scale**2)
            spread[2 * n :, 2 * n :] = parameters.rate / 2 * np.eye(core - 2 * n)
        P[:core, :core] = spread
        P[core:, core:] = spread[velocities, velocities]
        P[:core, core:] = moved @ spread[:, velocities]
        P[core:, :core] = P[:core, core:].T
        return x, P

    def _start(self, record: Record, noise, frequency) -> Start | None:
        """State at the first sample by a line through the first ones.

        None if the sensors do not tell every coordinate.
        """
        one, n = self.channels, self.dof
        still = ~(one.velocity.any(axis=1) | one.acceleration.any(axis=1))
        if np.linalg.matrix_rank(one.position[still]) < n or record.y.shape[0] < 8:
            return None
        inverse = np.linalg.pinv(one.position[still])
        variance = np.diag(inverse @ np.diag(noise[still] ** 2) @ inverse.T)
        acceleration = frequency * self.scale[n:]
        most = max(4, min(len(record.y) // 4, int(1 / (frequency * self.dt))))
        m = np.arange(3, most + 1)[:, None]
        error = (
            12 * variance / (m**3 * self.dt**2) + (acceleration * m * self.dt / 2) ** 2
        )
        samples = int(m[error.sum(axis=1).argmin(), 0])
        q = record.y[:samples, still] @ inverse.T
        if not np.isfinite(q).all():
            return None
        slope, level = np.polyfit(np.arange(samples) * self.dt, q, 1)
        bend = acceleration * (samples * self.dt) ** 2 / 8
        spread = np.concatenate([4 * variance / samples + bend**2, error[samples - 3]])
        return Start(np.concatenate([level, slope]), 2 * np.diag(spread), samples)
