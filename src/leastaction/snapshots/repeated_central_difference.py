"""Central differences of positions, and central differences of these (LGP)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step

CONTRACT = "sampled_motion"


def repeated_central_difference(
    positions: np.ndarray, time_step: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and accelerations where both differences exist.

    .. math::

        \\dot q_k = (q_{k+1} - q_{k-1})/2h, \\qquad
        \\ddot q_k = (\\dot q_{k+1} - \\dot q_{k-1})/2h

    Paper: the acceleration has a stencil of four steps, not the usual two; two
    snapshots are lost at each end.

    Parameters
    ----------
    positions
        Shape (trajectory, time, dof).
    time_step
        h, s.

    Returns
    -------
    tuple
        q, q̇, q̈, each of shape (trajectory, time − 4, dof).

    Raises
    ------
    ValueError
        If there are fewer than five snapshots.
    """
    if positions.shape[1] < 5:
        raise ValueError(
            f"two central differences need five snapshots, got {positions.shape[1]}"
        )
    velocity = (positions[:, 2:] - positions[:, :-2]) / (2 * time_step)
    acceleration = (velocity[:, 2:] - velocity[:, :-2]) / (2 * time_step)
    return positions[:, 2:-2], velocity[:, 1:-1], acceleration


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Samples (q, q̇, q̈) of one case from its positions alone.

    Parameters
    ----------
    observations
        One case, contract ``motion``.
    settings, library
        Not used.

    Returns
    -------
    xr.Dataset
        Contract ``sampled_motion``: `q`, `qdot`, `qddot` (replicate, sample, dof).
    """
    motion = repeated_central_difference(
        observations["q"].values[0], time_step(observations)
    )
    return sampled_motion(motion, observations)


def sampled_motion(motion: tuple, observations: xr.Dataset) -> xr.Dataset:
    """Contract ``sampled_motion`` of arrays (..., dof)."""
    meaning = ("generalised coordinate", "generalised velocity", "acceleration")
    n = observations.sizes["dof"]
    return xr.Dataset(
        {
            name: (
                ("replicate", "sample", "dof"),
                np.reshape(values, (1, -1, n)),
                {"units": "see coordinate_unit", "long_name": text},
            )
            for name, values, text in zip(
                ("q", "qdot", "qddot"), motion, meaning, strict=True
            )
        },
        coords={
            "replicate": observations["replicate"].values,
            "dof": observations["dof"].values,
        },
    )
