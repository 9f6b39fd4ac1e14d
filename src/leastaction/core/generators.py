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
    sequence = seed_sequence(seed, example, purpose, replicate, trajectory)
    return np.random.Generator(np.random.PCG64DXSM(sequence))


def seed_sequence(
    seed: int, example: str, purpose: str, *numbers: int
) -> np.random.SeedSequence:
    """Seed sequence of a key, which ends in as many numbers as it takes."""
    key = (zlib.crc32(example.encode()), PURPOSES[purpose], *numbers)
    return np.random.SeedSequence(entropy=seed, spawn_key=key)
