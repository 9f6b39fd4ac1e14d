"""Paths of an ensemble, a block of trajectories and steps at a time.

A block is small enough to stay in the cache between the drawing of its noise, the
integration and the storage. How the work is cut into blocks changes no number.
"""

from collections.abc import Callable, Iterator

import numpy as np

# Trajectories side by side, and the states of a block with as many normal numbers; its
# steps are even in number, for Philox draws two at once.
ABREAST, NUMBERS, EVEN = 256, 2**17, 2


def fill_paths(
    integrate: Callable,
    starts: np.ndarray,
    noise: Callable[[range, range], np.ndarray],
    time_step: float,
    q: np.ndarray,
    qdot: np.ndarray,
    every: int = 1,
    abreast: int = ABREAST,
    numbers: int = NUMBERS,
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
        ``noise(steps, trajectories)``, as of
        :func:`leastaction.ensembles.wiener.white_noise`.
    time_step
        dt, s.
    q, qdot
        Results, shape (trajectory, samples, dof): the start, and every so many steps.
    every
        Steps per sample.
    abreast, numbers
        Largest number of trajectories and of numbers in a block.
    """
    dof = q.shape[2]
    steps = (q.shape[1] - 1) * every
    q[:, 0], qdot[:, 0] = starts[:, :dof], starts[:, dof:]
    for group in _ranges(len(starts), abreast):
        lanes = slice(group.start, group.stop)
        states = starts[lanes].T
        length = max(1, numbers // (2 * states.size) // EVEN) * EVEN
        for block in _ranges(steps, length):
            path = integrate(states, noise(block, group), time_step)
            states = path[-1]
            first = -(block.start + 1) % every + 1
            kept = path[first::every].transpose(2, 0, 1)
            row = (block.start + first) // every
            rows = slice(row, row + kept.shape[1])
            q[lanes, rows], qdot[lanes, rows] = kept[..., :dof], kept[..., dof:]


def _ranges(stop: int, length: int) -> Iterator[range]:
    """Consecutive ranges that make up ``range(stop)``."""
    return (range(n, min(n + length, stop)) for n in range(0, stop, length))
