"""Euler–Lagrange equations of positions, velocities and accelerations (LGP)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.snapshots.basis import Basis
from leastaction.snapshots.contracts import equations_dataset
from leastaction.snapshots.discrete_lagrangian import published_conditions
from leastaction.snapshots.radial_basis import RadialBasis

CONTRACT = "shadow_equations"


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Rows L_q − L_q̇q q̇ − L_q̇q̇ q̈ of a Lagrangian Gaussian process (LGP, LGPExact).

    Paper, section 2.5.3: the centres are the samples (q, q̇). The Lagrangian is that of
    the motion, as far as the derivatives are, not the one that an integrator needs.

    Parameters
    ----------
    observations
        One case, contract ``motion``; its step and coordinates are used.
    derivatives
        `q`, `qdot`, `qddot` (replicate, sample, dof), contract ``sampled_motion``.
    settings
        `length_scale`: ε; `volume`: c of the normalisation; `rule`: that of the
        integrator of the rollout.
    library
        Not used.
    """
    q, qdot, qddot = (derivatives[name].values[0] for name in ("q", "qdot", "qddot"))
    basis = RadialBasis(np.concatenate([q, qdot], axis=1), settings["length_scale"])
    rows = euler_lagrange_rows(basis, q, qdot, qddot)
    return equations_dataset(
        basis.to_dataset(),
        rows.reshape(-1, basis.size),
        published_conditions(basis, settings["volume"]),
        observations,
        {"time_step": time_step(observations), "rule": settings["rule"], "shadow": 0},
    )


def euler_lagrange_rows(
    basis: Basis, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray
) -> np.ndarray:
    """Rows L_q − L_q̇q q̇ − L_q̇q̇ q̈, shape (sample, dof, function).

    Paper: eq. (19) prints a momentum for the force L_q, and a wrong sign.

    Parameters
    ----------
    q, qdot, qddot
        Shape (sample, dof).
    """
    n = basis.dof
    states = np.concatenate([q, qdot], axis=1)
    rows = np.empty((len(q), n, basis.size))
    for i in range(n):
        rows[:, i] = basis.partial(states, i)
        for j in range(n):
            rows[:, i] -= basis.partial(states, n + i, j) * qdot[:, j : j + 1]
            rows[:, i] -= basis.partial(states, n + i, n + j) * qddot[:, j : j + 1]
    return rows
