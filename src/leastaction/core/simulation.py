"""What simulations share: time grids, keyed random numbers, and Halton points."""

import itertools
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

    The first child of the seed sequence behind :func:`generator`: independent of the
    initial state. Drawing noise is most of the cost of an ensemble, and SFC64 is fast.
    """
    sequence = _seed_sequence(seed, example, purpose, replicate, trajectory)
    return np.random.Generator(np.random.SFC64(sequence.spawn(1)[0]))


def _seed_sequence(seed: int, example: str, purpose: str, *numbers: int):
    key = (zlib.crc32(example.encode()), PURPOSES[purpose], *numbers)
    return np.random.SeedSequence(entropy=seed, spawn_key=key)


def halton(index: int, dimensions: int, points: int = 1) -> np.ndarray:
    """Consecutive points of the Halton sequence in the first prime bases, in [0, 1).

    Shape (point, dimension); the point of `index` 0 is the origin. Digit by digit, as
    :class:`scipy.stats.qmc.Halton`, whose import takes longer than a small simulation.
    """
    found = np.zeros((points, dimensions))
    for column, base in zip(found.T, _bases(dimensions), strict=True):
        quotient, place = np.arange(index, index + points), 1 / base
        while quotient.any():
            quotient, digit = np.divmod(quotient, base)
            column += digit * place
            place /= base
    return found


def _bases(dimensions: int) -> list[int]:
    """The first primes."""
    primes: list[int] = []
    for number in itertools.count(2):
        if len(primes) == dimensions:
            return primes
        if all(number % prime for prime in primes):
            primes.append(number)


def first_index(dimensions: int) -> int:
    """Index that Ober-Blöbaum and Offen begin with: the largest base plus one.

    3 in one dimension, 4 in two, 8 in four: the points before it lie on lines.
    """
    return _bases(dimensions)[-1] + 1


def halton_starts(
    index: int, low: np.ndarray, high: np.ndarray, points: int = 1
) -> np.ndarray:
    """Points of the Halton sequence in a box with corners `low` and `high`.

    Shape (point, dimension), the first of them of `index`; see :func:`first_index`.
    """
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return low + (high - low) * halton(index, low.size, points)


def step_count(duration: float, time_step: float) -> int:
    """Number of steps of a duration; ValueError if that is not a multiple of them."""
    steps = round(duration / time_step) if np.isfinite(duration) else 0
    if steps < 2 or abs(steps * time_step - duration) > 1e-6 * duration:
        raise ValueError(
            f"duration {duration:g} s is not a multiple (of at least 2) of time_step "
            f"{time_step:g} s; use for example {max(2, steps) * time_step:g} s"
        )
    return steps


class DivergenceError(ArithmeticError):
    """A simulated trajectory left the range of floating-point numbers."""


def check_finite(
    q: np.ndarray, qdot: np.ndarray, time_step: float, replicate: int
) -> None:
    """Refuse an ensemble that left the range of floating-point numbers.

    DivergenceError says when. What is not finite stays so: only the last state is
    looked at.
    """
    last = np.isfinite(q[:, -1]).all(axis=1) & np.isfinite(qdot[:, -1]).all(axis=1)
    if last.all():
        return
    trajectory = int(np.argmin(last))
    path = np.hstack([q[trajectory], qdot[trajectory]])
    when = time_step * int(np.argmin(np.isfinite(path).all(axis=1)))
    raise DivergenceError(
        f"trajectory {trajectory} of replicate {replicate} is not finite from "
        f"t = {when:g} s on; reduce simulate.time_step ({time_step:g} s)"
    )
