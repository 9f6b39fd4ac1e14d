"""Ensembles of trajectories driven by white noise, and the sensors that record them.

Paths are integrated in batches of trajectories and steps. A batch is small enough to
stay in the processor's cache between the drawing of its noise, the integration and the
storage. The division into batches changes no number: each trajectory has a random
generator of its own and draws from it step by step.

A sensor adds Gaussian noise, white or coloured, and may leave channels out. What is
recorded of a channel y at sample k is

.. math::  ỹ_k = y_k + s\\, e_k , \\qquad
           e_k = \\frac{1}{\\sqrt c} \\sum_{i<c} w_{k-i} , \\quad w ∼ N(0, 1)

with s in units of the rms of the channel over the noise-free ensemble, each degree of
freedom for itself. A correlation of c = 1 sample is white noise; c > 1 is the moving
average of an anti-aliasing filter, with unit variance kept.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import xarray as xr

from leastaction.core.initial_state import ensemble_starts
from leastaction.core.simulation import (
    check_finite,
    generator,
    noise_generator,
    step_count,
)
from leastaction.core.system import System
from leastaction.ensembles.contracts import CONTRACTS
from leastaction.ensembles.strong_taylor import integrator

TRAJECTORIES_PER_BATCH = 256
# Of the states and of the normal numbers of a batch: 1 MB.
NUMBERS_PER_BATCH = 2**17
CHANNELS = ("q", "qdot")


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
    DivergenceError
        If a trajectory does not stay finite.
    """
    integrate = integrator(system)
    steps = step_count(settings["duration"], settings["time_step"])
    dt, n = settings["time_step"], settings["trajectories"]
    key = seed, example, "simulate", replicate
    starts = ensemble_starts(
        settings["initial_state"], system, partial(generator, *key), n
    )
    noise = white_noise(*key, system.wiener_processes)
    q = np.empty((1, n, steps + 1, system.dof))
    qdot = np.empty_like(q)
    with np.errstate(over="ignore", invalid="ignore"):
        fill_paths(integrate, starts, noise, dt, q[0], qdot[0])
    check_finite(q[0], qdot[0], dt, replicate)
    return _dataset(q, qdot, system, dt, replicate, units)


def _dataset(q, qdot, system, dt, replicate, units) -> xr.Dataset:
    each = sorted({units[name] for name in system.coordinates})
    unit = each[0] if len(each) == 1 else "see coordinate_unit"
    rate = f"({unit})/s" if len(each) == 1 else unit
    return CONTRACTS["observations"].dataset(
        {"q": q, "qdot": qdot},
        coords={
            "replicate": [replicate],
            "time": (
                "time",
                np.arange(q.shape[2]) * dt,
                {"units": "s", "long_name": "time"},
            ),
            "dof": list(system.coordinates),
            "coordinate_unit": ("dof", [units[name] for name in system.coordinates]),
        },
        units={"q": unit, "qdot": rate},
    )


def white_noise(
    seed: int, example: str, purpose: str, replicate: int, processes: int
) -> Callable[[range], Callable[[int], np.ndarray]]:
    """White noise of the trajectories of one replicate.

    Returns
    -------
    callable
        ``start(trajectories)`` begins the noise of these trajectories, always with the
        same numbers, and returns ``draw(steps)``, which continues it: two independent
        N(0, 1) per step, Wiener process and trajectory, shape (2, steps, wiener,
        trajectory). The numbers of a trajectory depend on (seed, example, purpose,
        replicate), on its own number and on the number of processes alone.
    """

    def start(trajectories: range) -> Callable[[int], np.ndarray]:
        generators = [
            noise_generator(seed, example, purpose, replicate, trajectory)
            for trajectory in trajectories
        ]

        def draw(steps: int) -> np.ndarray:
            normals = np.empty((len(generators), steps, processes, 2))
            for source, of_trajectory in zip(generators, normals, strict=True):
                source.standard_normal(out=of_trajectory)
            return np.ascontiguousarray(normals.transpose(3, 1, 2, 0))

        return draw

    return start


def fill_paths(
    integrate: Callable,
    starts: np.ndarray,
    noise: Callable[[range], Callable[[int], np.ndarray]],
    time_step: float,
    q: np.ndarray,
    qdot: np.ndarray,
    every: int = 1,
    trajectories_per_batch: int = TRAJECTORIES_PER_BATCH,
    numbers_per_batch: int = NUMBERS_PER_BATCH,
) -> None:
    """Integrate an ensemble and keep some of its states.

    Parameters
    ----------
    integrate
        ``integrate(states, normals, time_step)``, as of
        :func:`leastaction.ensembles.strong_taylor.integrator`.
    starts
        Initial states (q, q̇), shape (trajectory, state).
    noise
        As of :func:`white_noise`.
    time_step
        dt, s.
    q, qdot
        Results, shape (trajectory, samples, dof): the start, and every so many steps.
    every
        Steps per sample.
    trajectories_per_batch, numbers_per_batch
        Largest number of trajectories and of states with normal numbers in a batch.
    """
    dof = q.shape[2]
    steps = (q.shape[1] - 1) * every
    q[:, 0], qdot[:, 0] = starts[:, :dof], starts[:, dof:]
    for group in _ranges(len(starts), trajectories_per_batch):
        members = slice(group.start, group.stop)
        states = starts[members].T
        draw = noise(group)
        for batch in _ranges(steps, max(1, numbers_per_batch // (2 * states.size))):
            path = integrate(states, draw(len(batch)), time_step)
            states = path[-1]
            first = -(batch.start + 1) % every + 1
            kept = path[first::every].transpose(2, 0, 1)
            row = (batch.start + first) // every
            rows = slice(row, row + kept.shape[1])
            q[members, rows], qdot[members, rows] = kept[..., :dof], kept[..., dof:]


def _ranges(stop: int, length: int) -> Iterator[range]:
    """Consecutive ranges that make up ``range(stop)``."""
    return (range(n, min(n + length, stop)) for n in range(0, stop, length))


def measure(
    observations: xr.Dataset, sensor: Mapping, *, example: str, seed: int
) -> xr.Dataset:
    """What sensors record of one replicate without noise.

    `sensor` holds `noise`, the standard deviation of each channel over its rms;
    `correlation`, c in samples; `channels`, those of q and q̇ that are recorded. Each
    trajectory draws for both channels, so that leaving one out changes nothing in the
    other.
    """
    replicate = int(observations["replicate"].values[0])
    length = sensor["correlation"]
    recorded = observations.copy()
    clean = {name: observations[name].values[0] for name in CHANNELS}
    spread = {
        name: sensor["noise"].get(name, 0.0)
        * np.sqrt(np.mean(np.square(values), axis=(0, 1)))
        for name, values in clean.items()
    }
    noisy = {name: values.copy() for name, values in clean.items()}
    trajectories, samples, dof = clean["q"].shape
    for trajectory in range(trajectories):
        rng = generator(seed, example, "sensor", replicate, trajectory)
        white = rng.standard_normal((samples + length - 1, dof, len(CHANNELS)))
        noise = _moving_average(white, length)
        for i, name in enumerate(CHANNELS):
            noisy[name][trajectory] += spread[name] * noise[..., i]
    for name in CHANNELS:
        if name in sensor["channels"]:
            recorded[name] = observations[name].copy(data=noisy[name][None])
        else:
            recorded = recorded.drop_vars(name)
    return recorded


def _moving_average(white: np.ndarray, length: int) -> np.ndarray:
    """Sum of `length` neighbours over √length, along the first axis."""
    if length == 1:
        return white
    total = np.cumsum(white, axis=0)
    total[length:] -= total[:-length].copy()
    return total[length - 1 :] / np.sqrt(length)
