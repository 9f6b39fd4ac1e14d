"""Paths of an ensemble driven by white noise, in batches of trajectories and steps.

A batch is small enough to stay in the processor's cache between the drawing of its
noise, the integration and the storage. The division into batches changes no number:
each trajectory has a random generator of its own and draws from it step by step.
"""

from collections.abc import Callable, Iterator

import numpy as np

from leastaction.core.generators import noise_generator

TRAJECTORIES_PER_BATCH = 256
# Of the states and of the normal numbers of a batch: 1 MB.
NUMBERS_PER_BATCH = 2**17


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
            for generator, of_trajectory in zip(generators, normals, strict=True):
                generator.standard_normal(out=of_trajectory)
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
