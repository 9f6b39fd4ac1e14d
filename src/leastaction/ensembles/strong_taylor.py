r"""Ensembles by the order 1.5 strong Taylor scheme, and the sensors that record them.

The scheme of Kloeden and Platen (1992), eq. (10.4.6), for additive and diagonal noise:

.. math::

    Y^k_{n+1} = Y^k + a^k Δ + b^{kj} ΔW^j + ½ L^0 a^k Δ² + L^j a^k ΔZ^j
        + L^0 b^{kj} (ΔW^j Δ − ΔZ^j) + ½ L^j b^{kj} ((ΔW^j)² − Δ)
        + ½ L^j L^j b^{kj} (⅓ (ΔW^j)² − Δ) ΔW^j .

The operators are applied symbolically, and the loop is compiled. Paths are integrated
in batches of trajectories and steps that stay in the processor's cache; each trajectory
has a random generator of its own, so that batches change no number.

A sensor adds Gaussian noise and may leave channels out. What is recorded of a channel y
at sample k is

.. math::  ỹ_k = y_k + s\, e_k , \qquad
           e_k = \frac{1}{\sqrt c} \sum_{i<c} w_{k-i} , \quad w ∼ N(0, 1)

with s in units of the rms of the channel over the noise-free ensemble, each degree of
freedom for itself. A correlation of c = 1 sample is white noise; c > 1 is the moving
average of an anti-aliasing filter, with unit variance kept.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import assigned, assignments, kernel, local, unpack
from leastaction.core.contracts import time_step
from leastaction.core.expressions import symbol
from leastaction.core.initial_state import ensemble_starts
from leastaction.core.simulation import (
    check_finite,
    generator,
    noise_generator,
    step_count,
)
from leastaction.core.system import System
from leastaction.ensembles.contracts import CONTRACTS

TRAJECTORIES_PER_BATCH = 256
# Of the states and of the normal numbers of a batch: 4 MB. Smaller ones stay nearer to
# the processor, but each is drawn by as many calls as there are trajectories.
NUMBERS_PER_BATCH = 2**19
CHANNELS = ("q", "qdot")
Noise = Callable[[range], Callable[[int], np.ndarray]]

# Every step depends on the one before, but not on other trajectories. Side by side, the
# loop over them becomes vector instructions, where no sine or the like is in it: the
# arithmetic of each stays the same, bit by bit.
KERNEL = """
@njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
def integrate(normals, dt, parameters, path):
    root = math.sqrt(dt)
    {time_step}
    {parameters}
    states = path[0].copy()
    for n in range(normals.shape[1]):
        for m in range(path.shape[2]):
            {load}
            {increments}
            {step}
            {advance}
        for i in range(states.shape[0]):
            for m in range(states.shape[1]):
                path[n + 1, i, m] = states[i, m]
"""


class NoiseError(ValueError):
    """A volatility outside what the scheme covers."""


def simulate(
    system: System,
    settings: Mapping,
    *,
    example: str,
    seed: int,
    replicate: int,
    units: Mapping[str, str],
) -> xr.Dataset:
    """One replicate: an ensemble of independent trajectories.

    Raises
    ------
    NoiseError
        If the noise is neither additive nor diagonal.
    DivergenceError
        If a trajectory does not stay finite.
    """
    dt, n = settings["time_step"], settings["trajectories"]
    key = seed, example, "simulate", replicate
    integrate = integrator(system)
    steps = step_count(settings["duration"], dt)
    noise = white_noise(*key, system.wiener_processes)
    if "legacy_seed" in settings:
        noise = legacy_noise(settings["legacy_seed"], system.wiener_processes, steps)
    starts = ensemble_starts(
        settings["initial_state"], system, partial(generator, *key), n
    )
    q = np.empty((1, n, steps + 1, system.dof))
    qdot = np.empty_like(q)
    with np.errstate(over="ignore", invalid="ignore"):
        fill_paths(integrate, starts, noise, dt, q[0], qdot[0])
    check_finite(q[0], qdot[0], dt, replicate)
    each = [units[name] for name in system.coordinates]
    unit = each[0] if len(set(each)) == 1 else "see coordinate_unit"
    rate = f"({unit})/s" if len(set(each)) == 1 else unit
    time = np.arange(q.shape[2]) * dt
    return CONTRACTS["observations"].dataset(
        {"q": q, "qdot": qdot},
        coords={
            "replicate": [replicate],
            "time": ("time", time, {"units": "s", "long_name": "time"}),
            "dof": list(system.coordinates),
            "coordinate_unit": ("dof", each),
        },
        units={"q": unit, "qdot": rate},
    )


def white_noise(
    seed: int, example: str, purpose: str, replicate: int, processes: int
) -> Noise:
    """White noise of one replicate: ``start(trajectories)`` gives ``draw(steps)``.

    Every start begins the same numbers; each draw continues them by two independent
    N(0, 1) per step, shape (2, steps, wiener, trajectory).
    """
    key = seed, example, purpose, replicate

    def start(trajectories: range) -> Callable[[int], np.ndarray]:
        generators = [noise_generator(*key, number) for number in trajectories]

        def draw(steps: int) -> np.ndarray:
            normals = np.empty((len(generators), steps, processes, 2))
            for source, of_trajectory in zip(generators, normals, strict=True):
                source.standard_normal(out=of_trajectory)
            return np.ascontiguousarray(normals.transpose(3, 1, 2, 0))

        return draw

    return start


def legacy_noise(seed: int, processes: int, steps: int) -> Noise:
    """White noise of the scripts that the paper released, for so many time steps.

    Paper: the scripts begin with ``np.random.seed(0)`` and draw the two numbers of each
    step trajectory by trajectory from NumPy's legacy generator (Mersenne Twister, polar
    method). Later numbers cannot be had without the earlier ones, so that all are drawn
    at once. What is returned is used as that of :func:`white_noise`.
    """

    def start(trajectories: range) -> Callable[[int], np.ndarray]:
        shape = trajectories.stop, steps, processes, 2
        normals = np.random.RandomState(seed).standard_normal(shape)
        by_step = iter(normals[trajectories.start :].transpose(1, 3, 2, 0))
        return lambda count: np.stack(list(itertools.islice(by_step, count)), axis=1)

    return start


def fill_paths(
    integrate: Callable,
    starts: np.ndarray,
    noise: Noise,
    time_step: float,
    q: np.ndarray,
    qdot: np.ndarray,
    every: int = 1,
) -> None:
    """Integrate an ensemble from `starts`, shape (trajectory, state), batch by batch.

    Fills `q` and `qdot`, (trajectory, samples, dof), with every so many states.
    """
    dof = q.shape[2]
    steps = (q.shape[1] - 1) * every
    q[:, 0], qdot[:, 0] = starts[:, :dof], starts[:, dof:]
    for group in _ranges(len(starts), TRAJECTORIES_PER_BATCH):
        members = slice(group.start, group.stop)
        states = starts[members].T
        draw = noise(group)
        for batch in _ranges(steps, max(1, NUMBERS_PER_BATCH // (2 * states.size))):
            path = integrate(states, draw(len(batch)), time_step)
            states = path[-1]
            first = -(batch.start + 1) % every + 1
            samples = path[first::every].transpose(2, 0, 1)
            row = (batch.start + first) // every
            rows = slice(row, row + samples.shape[1])
            q[members, rows], qdot[members, rows] = (
                samples[..., :dof],
                samples[..., dof:],
            )


def _ranges(stop: int, length: int) -> Iterator[range]:
    """Consecutive ranges that make up ``range(stop)``."""
    return (range(n, min(n + length, stop)) for n in range(0, stop, length))


def measure(
    observations: xr.Dataset, sensor: Mapping, *, example: str, seed: int
) -> xr.Dataset:
    """What sensors record of one replicate without noise.

    `sensor` holds `noise`, the standard deviation of each channel over its rms;
    `correlation`, c in samples; `channels`, those of q, q̇ and q̈ that are recorded;
    `every`, one sample in so many is. Each trajectory draws for q and q̇, so that
    leaving one out changes nothing in the other. Accelerations, which have no value at
    an instant of a white force, are means over the time between two recorded samples.
    """
    observations = observations.isel(time=slice(None, None, sensor["every"]))
    replicate = int(observations["replicate"].values[0])
    channels, length = CHANNELS, sensor["correlation"]
    if "qddot" in sensor["channels"]:
        channels = ("qddot",)
        rate = np.diff(observations["qdot"].values, axis=2) / time_step(observations)
        about = {"units": "unit of q / s^2", "long_name": "mean acceleration"}
        later = observations.isel(time=slice(1, None))
        observations = later.assign(qddot=(later["q"].dims, rate, about))
    clean = [observations[name].values[0] for name in channels]
    spread = [
        sensor["noise"].get(name, 0.0) * np.sqrt(np.mean(np.square(x), axis=(0, 1)))
        for name, x in zip(channels, clean, strict=True)
    ]
    noisy, spread = np.stack(clean, axis=-1), np.stack(spread, axis=-1)
    for trajectory, path in enumerate(noisy):
        rng = generator(seed, example, "sensor", replicate, trajectory)
        white = rng.standard_normal((len(path) + length - 1, *path.shape[1:]))
        path += spread * _moving_average(white, length)
    recorded = {
        name: observations[name].copy(data=np.ascontiguousarray(noisy[None, ..., i]))
        for i, name in enumerate(channels)
        if name in sensor["channels"]
    }
    return observations.drop_vars(CHANNELS).assign(recorded)


def _moving_average(white: np.ndarray, length: int) -> np.ndarray:
    """Sum of `length` neighbours over √length, along the first axis."""
    if length == 1:
        return white
    total = np.cumsum(white, axis=0)
    total[length:] -= total[:-length].copy()
    return total[length - 1 :] / np.sqrt(length)


def integrator(system: System):
    """Compiled ``integrate(states, normals, time_step)``: the path, the states first.

    Shapes are (state, trajectory), (2, steps, wiener, trajectory) and (steps + 1,
    state, trajectory); for one trajectory the last axis of all may be left out.
    """
    functions = _functions(
        system.coordinates,
        tuple(system.parameters),
        system.lagrangian,
        system.dissipation,
        system.volatility.as_immutable(),
        system.calculus,
    )
    parameters = system.parameter_values

    def integrate(states, normals, time_step):
        states = np.asarray(states, dtype=float)
        _check(system, states, normals)
        path = np.empty((normals.shape[1] + 1, *states.shape))
        path[0] = states
        trajectories = states.shape[1:] or (1,)
        functions.integrate(
            np.ascontiguousarray(normals).reshape(*normals.shape[:3], *trajectories),
            float(time_step),
            parameters,
            path.reshape(*path.shape[:2], *trajectories),
        )
        return path

    return integrate


def _check(system: System, states: np.ndarray, normals: np.ndarray) -> None:
    least = system.wiener_processes
    trajectories = states.shape[1:]
    fits = normals.ndim == 3 + len(trajectories) and len(normals) == 2
    fits = fits and normals.shape[2] >= least and normals.shape[3:] == trajectories
    if len(states) != 2 * system.dof or len(trajectories) > 1 or not fits:
        raise ValueError(
            f"states of shape {states.shape} and normals of shape {normals.shape}; "
            f"expected ({2 * system.dof}, trajectory) and (2, steps, {least} or more, "
            "trajectory), the last axis of both or of neither"
        )


@lru_cache(maxsize=64)
def _functions(coordinates, parameters, lagrangian, dissipation, volatility, calculus):
    """Compiled code of all systems that differ in the values of parameters only."""
    anything = dict.fromkeys(parameters, 1.0)
    rest = dissipation, volatility.as_mutable(), calculus
    system = System(lagrangian, anything, coordinates, *rest)
    return kernel(KERNEL, _blocks(system))


def _blocks(system: System) -> dict[str, str]:
    state = [s.name for s in system.state]
    wiener = range(system.wiener_processes)
    dw = [f"dw_{j}" for j in wiener]
    dz = [f"dz_{j}" for j in wiener]
    new = [f"new_{name}" for name in state]
    increments = "\n".join(
        f"{local(dw[j])} = root * normals[0, n, {j}, m]\n"
        f"{local(dz[j])} = 0.5 * dt * root * "
        f"(normals[0, n, {j}, m] + normals[1, n, {j}, m] / math.sqrt(3.0))"
        for j in wiener
    )
    return {
        "time_step": assigned(["dt"], ["dt"]),
        "parameters": unpack(list(system.parameters), "parameters"),
        "load": assigned(state, [f"states[{i}, m]" for i in range(len(state))]),
        "increments": increments,
        "step": assignments(new, step(system), "shared_"),
        "advance": "\n".join(f"states[{i}, m] = {s}" for i, s in enumerate(new)),
    }


def step(system: System) -> list[sp.Expr]:
    """One step as expressions in the state, ``dt``, ``dw_j`` and ``dz_j``."""
    dt = symbol("dt")
    drift = list(system.drift)
    noise = sp.zeros(system.dof, system.wiener_processes).col_join(system.diffusion)
    check_noise(system)
    result = []
    for k, (x, a) in enumerate(zip(system.state, drift, strict=True)):
        y = x + a * dt + _l0(a, system, drift, noise) * dt**2 / 2
        for j in range(system.wiener_processes):
            dw, dz = symbol(f"dw_{j}"), symbol(f"dz_{j}")
            b = noise[k, j]
            y += b * dw + _lj(a, system, noise, j) * dz
            y += _l0(b, system, drift, noise) * (dw * dt - dz)
            first = _lj(b, system, noise, j)
            y += first * (dw**2 - dt) / 2
            second = _lj(first, system, noise, j)
            y += second * (dw**2 / 3 - dt) * dw / 2
        result.append(y)
    return result


def _l0(f: sp.Expr, system: System, drift, noise: sp.Matrix) -> sp.Expr:
    """Itô generator L⁰ f = a·∇f + ½ Σ_j b_jᵀ (∇∇f) b_j."""
    gradient = [sp.diff(f, x) for x in system.state]
    result = sum(a * g for a, g in zip(drift, gradient, strict=True))
    for j in range(noise.cols):
        for b, g in zip(noise.col(j), gradient, strict=True):
            if b != 0:
                result += b * _lj(g, system, noise, j) / 2
    return sp.sympify(result)


def _lj(f: sp.Expr, system: System, noise: sp.Matrix, j: int) -> sp.Expr:
    """Directional derivative along the j-th noise, L^j f = b_j·∇f."""
    return sum(
        (noise[k, j] * sp.diff(f, x) for k, x in enumerate(system.state)),
        sp.Integer(0),
    )


def check_noise(system: System) -> None:
    """NoiseError unless noise is additive or diagonal: other needs Lévy areas."""
    noise = sp.zeros(system.dof, system.wiener_processes).col_join(system.diffusion)
    for j, other in itertools.permutations(range(noise.cols), 2):
        changes = (_lj(entry, system, noise, j) for entry in noise.col(other))
        if any(sp.simplify(change) != 0 for change in changes):
            raise NoiseError(
                f"volatility: the noise of process {other + 1} depends on a velocity "
                f"that process {j + 1} excites. The order 1.5 scheme covers additive "
                "noise and diagonal noise, where g_i depends on the coordinates and on "
                "its own velocity only"
            )
