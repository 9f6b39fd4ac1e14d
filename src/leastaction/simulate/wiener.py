"""Wiener increments, keyed so that they never depend on how the work is divided."""

import zlib

import numpy as np

PURPOSES = {"simulate": 0, "validate": 1, "sensor": 2}


def generator(
    seed: int, example: str, purpose: str, replicate: int, trajectory: int
) -> np.random.Generator:
    """Random generator of one trajectory.

    The key is (seed, example, purpose, replicate, trajectory): the same numbers come
    out whatever the chunking, the core count or the order of the jobs.
    """
    key = (zlib.crc32(example.encode()), PURPOSES[purpose], replicate, trajectory)
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=key)
    return np.random.Generator(np.random.PCG64DXSM(sequence))


def standard_normals(
    rng: np.random.Generator,
    steps: int,
    wiener_processes: int,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Two independent N(0, 1) per step and Wiener process.

    Shape (steps, wiener, 2); put into `out` if that is given.
    """
    return rng.standard_normal((steps, wiener_processes, 2), out=out)


def increments(normals: np.ndarray, time_step: float) -> tuple[np.ndarray, np.ndarray]:
    """Jointly Gaussian ΔW = ∫dW and ΔZ = ∫∫dW ds of each step.

    Var ΔW = dt, Var ΔZ = dt³/3, Cov(ΔW, ΔZ) = dt²/2 (Kloeden and Platen 1992,
    eq. 10.4.3).

    Returns
    -------
    dW, dZ
        Shape (steps, wiener), s^0.5 and s^1.5.
    """
    first, second = normals[..., 0], normals[..., 1]
    dw = np.sqrt(time_step) * first
    dz = 0.5 * time_step**1.5 * (first + second / np.sqrt(3.0))
    return dw, dz
