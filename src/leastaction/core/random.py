"""Random numbers: generators keyed by what they are for, and Halton points."""

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
    sequence = _seed_sequence(seed, example, purpose, replicate, trajectory)
    return np.random.Generator(np.random.PCG64DXSM(sequence))


def noise_generator(
    seed: int, example: str, purpose: str, replicate: int, trajectory: int
) -> np.random.Generator:
    """Random generator of the white noise along one trajectory.

    It is the first child of the seed sequence behind :func:`generator`, so that the
    noise is independent of the initial state and starts anew as often as it is needed.
    Drawing the noise is most of the cost of an ensemble, and SFC64 is NumPy's fastest.
    """
    sequence = _seed_sequence(seed, example, purpose, replicate, trajectory)
    return np.random.Generator(np.random.SFC64(sequence.spawn(1)[0]))


def _seed_sequence(seed: int, example: str, purpose: str, *numbers: int):
    key = (zlib.crc32(example.encode()), PURPOSES[purpose], *numbers)
    return np.random.SeedSequence(entropy=seed, spawn_key=key)


def halton(index: int, dimensions: int, points: int = 1) -> np.ndarray:
    """Consecutive points of the Halton sequence in the first prime bases.

    Parameters
    ----------
    index
        Index of the first point, from 0, whose point is the origin.
    dimensions
        Number of bases: 2, 3, 5, ...
    points
        How many.

    Returns
    -------
    np.ndarray
        Shape (point, dimension), in [0, 1).
    """
    from scipy.stats import qmc  # a second to import, and few need it

    engine = qmc.Halton(dimensions, scramble=False)
    if index:
        engine.fast_forward(index)
    return engine.random(points)


def first_index(dimensions: int) -> int:
    """Index that Ober-Blöbaum and Offen begin with: the largest base plus one.

    3 in one dimension, 4 in two, 8 in four: the points before it lie on lines.
    """
    from sympy import prime

    return int(prime(dimensions)) + 1


def halton_starts(
    index: int, low: np.ndarray, high: np.ndarray, points: int = 1
) -> np.ndarray:
    """Points of the Halton sequence in a box, shape (point, dimension).

    Parameters
    ----------
    index
        Index of the first point; see :func:`first_index`.
    low, high
        Corners of the box, shape (dimension,).
    """
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return low + (high - low) * halton(index, low.size, points)
