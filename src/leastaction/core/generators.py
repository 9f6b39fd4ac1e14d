"""Random generators, keyed so that they never depend on how the work is divided."""

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
