"""Sensors: additive Gaussian noise, white or coloured, and channels left out.

What is recorded of a channel y at sample k is

.. math::  ỹ_k = y_k + s\\, e_k , \\qquad
           e_k = \\frac{1}{\\sqrt c} \\sum_{i<c} w_{k-i} , \\quad w ∼ N(0, 1)

with s in units of the rms of the channel over the noise-free ensemble, each degree of
freedom for itself. A correlation of c = 1 sample is white noise; c > 1 is the moving
average of an anti-aliasing filter, with unit variance kept.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.generators import generator

CHANNELS = ("q", "qdot")


def contract(sensor: Mapping | None) -> str:
    """Contract of what these sensors record."""
    measured = (sensor or {}).get("channels", CHANNELS)
    return "observations" if "qdot" in measured else "displacements"


def measure(
    observations: xr.Dataset, sensor: Mapping, *, example: str, seed: int
) -> xr.Dataset:
    """Record one replicate of a noise-free ensemble.

    Parameters
    ----------
    observations
        One replicate, contract ``observations``, without noise.
    sensor
        `noise`: standard deviation of each channel over its rms, 1; `correlation`: c,
        samples; `channels`: which of q and q̇ are recorded.
    example, seed
        Key of the random numbers. Each trajectory draws for both channels, so that
        leaving one out changes nothing in the other.

    Returns
    -------
    xr.Dataset
        The recorded channels, contract ``observations`` or ``displacements``.
    """
    replicate = int(observations["replicate"].values[0])
    length = sensor["correlation"]
    recorded = observations.copy()
    clean = {name: observations[name].values[0] for name in CHANNELS}
    spread = {
        name: sensor["noise"].get(name, 0.0)
        * np.sqrt(np.mean(np.square(values), axis=(0, 1)))
        for name, values in clean.items()
    }
    noisy = {name: values.copy() for name, values in clean.items()}
    trajectories, samples, dof = clean["q"].shape
    for trajectory in range(trajectories):
        rng = generator(seed, example, "sensor", replicate, trajectory)
        white = rng.standard_normal((samples + length - 1, dof, len(CHANNELS)))
        noise = _moving_average(white, length)
        for i, name in enumerate(CHANNELS):
            noisy[name][trajectory] += spread[name] * noise[..., i]
    for name in CHANNELS:
        if name in sensor["channels"]:
            recorded[name] = observations[name].copy(data=noisy[name][None])
        else:
            recorded = recorded.drop_vars(name)
    return recorded


def _moving_average(white: np.ndarray, length: int) -> np.ndarray:
    """Sum of `length` neighbours over √length, along the first axis."""
    if length == 1:
        return white
    total = np.cumsum(white, axis=0)
    total[length:] -= total[:-length].copy()
    return total[length - 1 :] / np.sqrt(length)
