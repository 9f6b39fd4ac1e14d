"""Realised covariation of the velocities, free of any model.

The second difference of the velocities removes the smooth part of the acceleration to
O(dt²); what is left is the noise:

.. math::  g g^T ≈ \\frac{1}{2\\,dt} ⟨Δ²\\dot q\\, Δ²\\dot q^T⟩,
           Δ²\\dot q_k = \\dot q_{k+2} − 2 \\dot q_{k+1} + \\dot q_k .
"""

import logging
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.contracts import time_step

CONTRACT = "realised_variation"
COARSE = 0.1

log = logging.getLogger(__name__)


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Realised covariation and mean angular frequency of one replicate.

    Parameters
    ----------
    observations
        One replicate, contract ``observations``.
    settings, library
        Not used: this method has nothing to set and needs no candidates.

    Returns
    -------
    xr.Dataset
        `realised_covariation` g gᵀ (replicate, dof, dof_other), (unit of q̈)² s, and
        `frequency` (replicate, dof), rad/s, the ratio of the spread of q̇ to that of q.
    """
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    dt = time_step(observations)
    dof = q.shape[-1]
    covariation = np.zeros((dof, dof))
    for path in qdot:
        second = np.diff(path, n=2, axis=0)
        covariation += second.T @ second
    covariation /= 2 * dt * qdot.shape[0] * (qdot.shape[1] - 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        frequency = qdot.std(axis=(0, 1)) / q.std(axis=(0, 1))
    for name, omega in zip(observations["dof"].values, frequency, strict=True):
        if omega * dt > COARSE:
            log.warning(
                "%s turns by %.2g rad per sample (more than %g): differences of "
                "velocities attenuate the motion; sample faster",
                name,
                omega * dt,
                COARSE,
            )
    return xr.Dataset(
        {
            "realised_covariation": (
                ("replicate", "dof", "dof_other"),
                covariation[None],
                {"units": "(units of qddot)^2 s", "long_name": "realised covariation"},
            ),
            "frequency": (
                ("replicate", "dof"),
                frequency[None],
                {"units": "rad/s", "long_name": "mean angular frequency"},
            ),
        },
        coords={
            "replicate": observations["replicate"],
            "dof": observations["dof"].values,
        },
    )
