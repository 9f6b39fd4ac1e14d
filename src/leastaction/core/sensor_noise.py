"""Recordings of simulated motions: channels, and unit noise of their sensors."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xarray as xr

from leastaction.core.contracts import contracts
from leastaction.core.noise_sweep import CHANNELS
from leastaction.core.simulation import generator

# How noise enters the channels, see :func:`_unit_noise`.
MODES = ("independent", "shared")


def recordings(
    data: Mapping[str, np.ndarray],
    sensors: Mapping,
    time: np.ndarray,
    key: tuple,
    coordinates: Sequence[str],
    units: Mapping[str, str],
    attributes: Mapping | None = None,
) -> xr.Dataset:
    """Contract ``recordings`` of one replicate: channels, and unit noise of each.

    `data` has channels without noise, and perhaps `input`, (trajectory, time, dof);
    `sensors` `channels`, `modes` and `levels` of the noise; `key` (seed, example,
    purpose, replicate) is that of the random numbers; `units` are by coordinate.
    """
    seed, example, _, replicate = key
    kept = [name for name in CHANNELS if name in sensors["channels"]]
    modes = [mode for mode in MODES if mode in sensors["modes"]]
    shape = data["q"].shape
    generators = (
        generator(seed, example, "sensor", replicate, i) for i in range(shape[0])
    )
    noise = _unit_noise(generators, modes, shape)
    return contracts()["recordings"].dataset(
        {name: data[name] for name in (*kept, "input") if name in data}
        | {f"noise_{name}": noise[CHANNELS.index(name)] for name in kept},
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

    ``independent``: one draw for each channel, degree of freedom and time;
    ``shared``: one draw for each time, added to all channels of all degrees of freedom.
    A generator draws for all, so that leaving one out changes nothing in the others.

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
