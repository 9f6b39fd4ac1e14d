"""Wiener processes: white noise by random access, and the increments it makes."""

from collections.abc import Callable

import numpy as np

from leastaction.core.generators import seed_sequence
from leastaction.ensembles import box_muller, philox


def white_noise(
    seed: int, example: str, purpose: str, replicate: int, processes: int
) -> Callable[[range, range], np.ndarray]:
    """Normal numbers of any steps of any trajectories, by random access.

    Returns
    -------
    callable
        ``normals(steps, trajectories)``: two independent N(0, 1) per step, Wiener
        process and trajectory, shape (2, steps, wiener, trajectory), of consecutive
        steps and trajectories, by :mod:`~leastaction.ensembles.philox` and
        :mod:`~leastaction.ensembles.box_muller`. A number depends on (seed, example,
        purpose, replicate) and on its own step, process and trajectory alone.
    """
    key = seed_sequence(seed, example, purpose, replicate).generate_state(2)

    def normals(steps: range, trajectories: range) -> np.ndarray:
        words = philox.random_words(key, steps, processes, trajectories)
        return box_muller.standard_normals(words)

    return normals


def increments(normals: np.ndarray, time_step: float) -> tuple[np.ndarray, np.ndarray]:
    """Jointly Gaussian ΔW = ∫dW and ΔZ = ∫∫dW ds of each step.

    Var ΔW = dt, Var ΔZ = dt³/3, Cov(ΔW, ΔZ) = dt²/2 (Kloeden and Platen 1992,
    eq. 10.4.3).

    Parameters
    ----------
    normals
        Shape (2, steps, wiener), or with a further axis of trajectories.
    time_step
        dt, s.

    Returns
    -------
    dW, dZ
        Shape (steps, wiener), or with that axis, s^0.5 and s^1.5.
    """
    first, second = normals
    dw = np.sqrt(time_step) * first
    dz = 0.5 * time_step**1.5 * (first + second / np.sqrt(3.0))
    return dw, dz
