"""Unit noise of sensors, drawn once for every noise level of a sweep.

Modes of the noise (`noise_mode`):

``independent``
    one draw for each channel, degree of freedom and time;
``shared``
    one draw for each time, added to all channels of all degrees of freedom.
    Paper: the text of Purnomo and Hayashibe reads as independent noise; their code
    draws one vector and adds it to every column.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.generators import generator
from leastaction.core.noise_sweep import CHANNELS

MODES = ("independent", "shared")


def noise_draws(
    motions: xr.Dataset, settings: Mapping, *, example: str, seed: int
) -> xr.Dataset:
    """Add to one replicate of motions the unit noise of its channels.

    Parameters
    ----------
    motions
        `q` and other channels, each (replicate=1, trajectory, time, dof).
    settings
        `modes`, `levels`: modes of the noise and its standard deviations, SI units of
        each channel.
    example, seed
        Key of the random numbers. Every trajectory draws for all channels and modes,
        so that leaving one out changes nothing in the others.

    Returns
    -------
    xr.Dataset
        With `noise_q`, ... of shape (replicate=1, noise_mode, trajectory, time, dof)
        and the coordinates `noise_mode` and `noise_level`.
    """
    replicate = int(motions["replicate"].values[0])
    _, trajectories, samples, dof = motions["q"].shape
    recorded = [name for name in CHANNELS if name in motions]
    modes = [mode for mode in MODES if mode in settings["modes"]]
    shape = (1, len(modes), trajectories, samples, dof)
    noise = {name: np.empty(shape) for name in recorded}
    for trajectory in range(trajectories):
        rng = generator(seed, example, "sensor", replicate, trajectory)
        draws = {
            "independent": rng.standard_normal((samples, dof, len(CHANNELS))),
            "shared": rng.standard_normal((samples, 1, 1)),
        }
        for m, mode in enumerate(modes):
            each = np.broadcast_to(draws[mode], (samples, dof, len(CHANNELS)))
            for name in recorded:
                noise[name][0, m, trajectory] = each[..., CHANNELS.index(name)]
    dims = ("replicate", "noise_mode", "trajectory", "time", "dof")
    about = {"units": "1", "long_name": "unit noise of the sensor"}
    return motions.assign(
        {f"noise_{name}": (dims, values, about) for name, values in noise.items()}
    ).assign_coords(
        noise_mode=modes,
        noise_level=(
            "noise_level",
            np.asarray(settings["levels"], dtype=float),
            {
                "units": "SI units of the channel",
                "long_name": "standard deviation of the noise",
            },
        ),
    )
