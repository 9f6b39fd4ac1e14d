"""What simulations share: time grids, random numbers, Halton points, sensors."""

import itertools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from leastaction.core.settings import CHANNELS

if TYPE_CHECKING:
    import xarray as xr

# How noise enters the channels, see :func:`_unit_noise`.
MODES = ("independent", "shared")
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
    result = np.zeros((points, dimensions))
    for column, base in zip(result.T, _bases(dimensions), strict=True):
        quotient, place = np.arange(index, index + points), 1 / base
        while quotient.any():
            quotient, digit = np.divmod(quotient, base)
            column += digit * place
            place /= base
    return result


def _bases(dimensions: int) -> list[int]:
    """The first primes."""
    primes: list[int] = []
    for number in itertools.count(2):
        if len(primes) == dimensions:
            return primes
        if all(number % prime for prime in primes):
            primes.append(number)


def first_index(dimensions: int) -> int:
    """Index that Ober-Blöbaum and Offen begin with: the points before lie on lines."""
    return _bases(dimensions)[-1] + 1


def halton_starts(
    index: int, low: np.ndarray, high: np.ndarray, points: int = 1
) -> np.ndarray:
    """Points (point, dimension) of the Halton sequence from `index` on, in a box.

    The box is from `low` to `high`, each of shape (dimension,).

    >>> halton_starts(1, np.zeros(2), np.ones(2), points=2).round(3)
    array([[0.5  , 0.333],
           [0.25 , 0.667]])
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
    """DivergenceError for an ensemble that left the range of floating-point numbers."""
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


def recordings(
    data: Mapping[str, np.ndarray],
    sensors: Mapping,
    time: np.ndarray,
    key: tuple,
    coordinates: Sequence[str],
    units: Mapping[str, str],
    attributes: Mapping | None = None,
) -> "xr.Dataset":
    """Contract ``recordings`` of one replicate: channels, and unit noise of each.

    `data` has channels without noise, and perhaps `input`, (trajectory, time, dof);
    `sensors` `channels`, `modes` and `levels` of the noise; `key` (seed, example,
    purpose, replicate) is that of the random numbers; `units` are by coordinate.
    """
    from leastaction.core.contracts import contracts

    seed, example, _, replicate = key
    selected = [name for name in CHANNELS if name in sensors["channels"]]
    modes = [mode for mode in MODES if mode in sensors["modes"]]
    shape = data["q"].shape
    key = seed, example, "sensor", replicate
    generators = (generator(*key, trajectory) for trajectory in range(shape[0]))
    noise = _unit_noise(generators, modes, shape)
    return contracts()["recordings"].dataset(
        {name: data[name] for name in (*selected, "input") if name in data}
        | {f"noise_{name}": noise[CHANNELS.index(name)] for name in selected},
        {
            "replicate": [replicate],
            "time": time,
            "dof": list(coordinates),
            "coordinate_unit": ("dof", [units[name] for name in coordinates]),
            "noise_mode": modes,
            "noise_level": np.asarray(sensors["levels"], dtype=float),
        },
        attributes,
    )


def _unit_noise(
    generators: Iterable[np.random.Generator],
    modes: Sequence[str],
    shape: tuple[int, int, int],
) -> np.ndarray:
    """Unit noise of sensors, (channel, mode, trajectory, time, dof), of all levels.

    ``independent``: one draw for each channel, degree of freedom and time; ``shared``:
    one for each time. A generator draws for all, so that leaving one out changes
    nothing.

    Paper: the text of Purnomo and Hayashibe reads as independent noise; their code
    draws one vector and adds it to every column.
    """
    _, samples, dof = shape
    every = (samples, dof, len(CHANNELS))
    noise = np.empty((len(CHANNELS), len(modes), *shape))
    for trajectory, rng in enumerate(generators):
        draws = {
            "independent": rng.standard_normal(every),
            "shared": rng.standard_normal((samples, 1, 1)),
        }
        for m, mode in enumerate(modes):
            drawn = np.broadcast_to(draws[mode], every)
            noise[:, m, trajectory] = np.moveaxis(drawn, -1, 0)
    return noise
