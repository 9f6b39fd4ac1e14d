"""Euler–Lagrange equations of positions, velocities and accelerations (LGP)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.snapshots.discrete_euler_lagrange import equations_dataset
from leastaction.snapshots.discrete_lagrangian import euler_lagrange_rows
from leastaction.snapshots.radial_basis import RadialBasis
from leastaction.snapshots.shadow_rows import published_conditions

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
        basis,
        rows.reshape(-1, basis.size),
        published_conditions(basis, settings["volume"]),
        observations,
        {"time_step": time_step(observations), "rule": settings["rule"], "shadow": 0},
    )
