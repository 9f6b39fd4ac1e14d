"""Motion of a system without noise, by the classical Runge–Kutta method of order 4.

Between two samples, `time_step` apart, it takes as many equal steps as keep each below
`integration_step`. Accelerations are those of the equations of motion at the samples.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr
from numba import njit

from leastaction.core.compiled import assigned, assignments, kernel, unpack
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.initial_state import (
    input_expressions,
    input_force,
    random_names,
    state_of_names,
)
from leastaction.core.settings import CHANNELS
from leastaction.core.simulation import (
    DivergenceError,
    generator,
    recordings,
    step_count,
)
from leastaction.core.system import System

# All that is compiled for a model; the loops below call it by its address.
KERNEL = """
@njit(cache=True, no_cpython_wrapper=True)
def rate(time, state, parameters, out):
    {time}
    {parameters}
    {state}
    {rate}
"""
RATE = "FunctionType(void(f8, f8[::1], f8[::1], f8[::1]))"


@njit(
    f"({RATE}, f8[::1], f8, i8, f8[::1], f8[:, ::1], f8[:, ::1])",
    cache=True,
    nogil=True,
)
def _integrate(rate, initial, dt, substeps, parameters, path, acceleration):
    size = initial.size
    dof = size // 2
    h = dt / substeps
    state, trial = initial.copy(), initial.copy()
    k1, k2, k3, k4 = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for n in range(path.shape[0]):
        rate(n * dt, state, parameters, k1)
        for i in range(size):
            path[n, i] = state[i]
        for i in range(dof):
            acceleration[n, i] = k1[dof + i]
        if n == path.shape[0] - 1:
            break
        for step in range(substeps):
            time = n * dt + step * h
            rate(time, state, parameters, k1)
            for i in range(size):
                trial[i] = state[i] + h / 2 * k1[i]
            rate(time + h / 2, trial, parameters, k2)
            for i in range(size):
                trial[i] = state[i] + h / 2 * k2[i]
            rate(time + h / 2, trial, parameters, k3)
            for i in range(size):
                trial[i] = state[i] + h * k3[i]
            rate(time + h, trial, parameters, k4)
            for i in range(size):
                state[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i])


@njit(f"({RATE}, f8[::1], f8[:, ::1], f8[::1], f8[:, ::1])", cache=True, nogil=True)
def _accelerations(rate, time, state, parameters, acceleration):
    out = np.empty(state.shape[1])
    dof = out.size // 2
    for n in range(time.size):
        rate(time[n], state[n], parameters, out)
        for i in range(dof):
            acceleration[n, i] = out[dof + i]


class Motion:
    """Compiled motion q̈ = a(t, q, q̇) of given accelerations.

    `acceleration` are expressions in ``time``, the state, `parameters` and names
    `drawn`, whose values are given with every call.
    """

    def __init__(
        self,
        coordinates: Sequence[str],
        acceleration: Sequence[sp.Expr],
        parameters: Mapping[str, float],
        drawn: Sequence[str] = (),
    ):
        state = [*coordinates, *velocity_names(coordinates)]
        rates = [*symbols(velocity_names(coordinates)), *acceleration]
        out = [f"out[{i}]" for i in range(len(rates))]
        self._dof = len(coordinates)
        self._fixed = np.array(list(parameters.values()), dtype=float)
        blocks = {
            "time": assigned(["time"], ["time"]),
            "parameters": unpack([*parameters, *drawn], "parameters"),
            "state": unpack(state, "state"),
            "rate": assignments(out, rates, "s_"),
        }
        self._rate = kernel(KERNEL, blocks).rate

    def integrate(self, initial_state, samples, time_step, substeps=1, values=()):
        """Path of shape (samples, state), accelerations of shape (samples, dof)."""
        start = np.array(initial_state, dtype=float)
        result = np.empty((samples, start.size)), np.empty((samples, self._dof))
        steps = start, time_step, substeps, self._parameters(values)
        _integrate(self._rate, *steps, *result)
        return result

    def accelerations(self, time, state, values=()):
        """Accelerations at given times and states, shape (samples, dof)."""
        acceleration = np.empty((len(time), self._dof))
        time, state = (np.array(x, dtype=float, order="C") for x in (time, state))
        _accelerations(self._rate, time, state, self._parameters(values), acceleration)
        return acceleration

    def _parameters(self, values) -> np.ndarray:
        return np.concatenate([self._fixed, np.asarray(values, dtype=float)])


def motion_of(
    system: System, inputs: Mapping[str, str] | None = None, drawn: Sequence[str] = ()
) -> Motion:
    """Compile the motion of a system under external forces; its noise plays no part.

    `inputs` are generalised forces of coordinates, expressions in ``time``, parameters
    and the names `drawn`, whose values are given with every call.
    """
    forces = sp.Matrix(input_expressions(system, inputs or {}, drawn))
    acceleration = system.accelerated_by(system.forces + forces)
    return Motion(system.coordinates, acceleration, system.parameters, drawn)


def substeps_of(settings: Mapping) -> int:
    """Steps between two samples, each at most `integration_step` long."""
    return math.ceil(settings["time_step"] / settings["integration_step"] - 1e-9)


def simulate(
    system: System,
    settings: Mapping,
    *,
    example: str,
    seed: int,
    replicate: int,
    units: Mapping[str, str],
) -> xr.Dataset:
    """Simulate one replicate: motions from random starts, and the noise of sensors.

    Stored are the recorded channels without noise, and one draw of unit noise for each;
    see :mod:`leastaction.core.noise_sweep`. Motions in files (``motions``) take the
    place of those integrated.

    DivergenceError if a trajectory does not stay finite.
    """
    dt = settings["time_step"]
    time = np.arange(step_count(settings["duration"], dt) + 1) * dt
    key = seed, example, "simulate", replicate
    if "motions" in settings:
        data = stored_motions(settings["motions"], len(time), system.dof)
    else:
        data, force = _motions(system, settings, time, key)
        if settings.get("input"):
            data["input"] = force
    return recordings(data, settings["noise"], time, key, system.coordinates, units)


def stored_motions(
    files: Mapping[str, str], samples: int, dof: int
) -> dict[str, np.ndarray]:
    """Channels in two files of NumPy, each (trajectory, time, dof).

    ``states`` holds q, then q̇, shape (sample, 2 dof), and ``rates`` q̇, then q̈, all
    trajectories one after the other. ValueError if they are no full trajectories.
    """
    states, rates = (np.load(files[name]) for name in ("states", "rates"))
    if states.shape != rates.shape or states.shape[1:] != (2 * dof,):
        raise ValueError(
            f"motions: files of shapes {states.shape} and {rates.shape}, both expected "
            f"as (samples, {2 * dof}): q and qdot, then qdot and qddot"
        )
    if not len(states) or len(states) % samples:
        raise ValueError(
            f"motions: {len(states)} samples are no trajectories of {samples}; set "
            "simulate.duration and time_step to those of the files"
        )
    shape = -1, samples, dof
    channels = states[:, :dof], states[:, dof:], rates[:, dof:]
    return {
        name: np.ascontiguousarray(channel.reshape(shape))
        for name, channel in zip(CHANNELS, channels, strict=True)
    }


def _motions(
    system: System, settings: Mapping, time: np.ndarray, key: tuple
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Channels without noise, and input, each (trajectory, time, dof)."""
    start, inputs = settings["initial_state"], settings.get("input", {})
    drawn_names = tuple(start.get("random", {}))
    motion = motion_of(system, inputs, drawn_names)
    draw, state_of = random_names(start), state_of_names(start, system)
    dt, dof, samples = settings["time_step"], system.dof, len(time)
    force = np.zeros((settings["trajectories"], samples, dof))
    data = {name: np.empty_like(force) for name in CHANNELS}
    force_of = input_force(system, inputs, drawn_names)
    for trajectory in range(len(force)):
        drawn = draw(generator(*key, trajectory), trajectory)
        values = tuple(drawn.values())
        path, acceleration = motion.integrate(
            state_of(drawn), samples, dt, substeps_of(settings), values
        )
        if not np.isfinite(path).all():
            when = dt * int(np.argmax(~np.isfinite(path).all(axis=1)))
            raise DivergenceError(
                f"trajectory {trajectory} of replicate {key[-1]} is not finite from "
                f"t = {when:g} s on; reduce simulate.integration_step"
            )
        data["q"][trajectory] = path[:, :dof]
        data["qdot"][trajectory] = path[:, dof:]
        data["qddot"][trajectory] = acceleration
        force[trajectory] = force_of(time, values)
    return data, force
