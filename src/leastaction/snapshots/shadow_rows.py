"""Rows and conditions of Lagrangian Shadow Integration for one basis."""

import numpy as np
import xarray as xr
from scipy.linalg import solve_triangular

from leastaction.snapshots.discrete_lagrangian import (
    Basis,
    corner_momenta,
    discrete_euler_lagrange,
    mean_discrete_mass,
    pair_states,
)
from leastaction.snapshots.weight_space import WeightSpace, scaled_inputs


def positions_of(observations: xr.Dataset) -> np.ndarray:
    """Snapshots (trajectory, time, dof) of one case, trajectories in canonical order.

    Sorted by their values, so that no result depends on the order of the trajectories.
    """
    q = observations["q"].values[0]
    flat = q.reshape(len(q), -1)
    return q[np.lexsort(flat.T[::-1])]


def pairs(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring snapshots (pair, dof) of positions (trajectory, time, dof)."""
    n = positions.shape[-1]
    return positions[:, :-1].reshape(-1, n), positions[:, 1:].reshape(-1, n)


def whitened(rows: np.ndarray) -> np.ndarray:
    """Rows with uncorrelated errors if every snapshot has an error of its own.

    To leading order in h the row of snapshot k sees the errors e of the positions as
    e_{k−1} − 2 e_k + e_{k+1}, times the mass over h². Rows of a trajectory are
    multiplied by the inverse Cholesky factor of the covariance of that, scaled to leave
    a single row as it is.

    Parameters
    ----------
    rows
        Shape (trajectory, inner time, dof, function).
    """
    count = rows.shape[1]
    second = np.zeros((count, count + 2))
    k = np.arange(count)
    second[k, k], second[k, k + 1], second[k, k + 2] = 1.0, -2.0, 1.0
    lower = np.linalg.cholesky(second @ second.T / 6.0)
    inverse = solve_triangular(lower, np.eye(count), lower=True)
    return np.einsum("kl,tldm->tkdm", inverse, rows, optimize=True)


def published_conditions(basis: Basis, volume: float) -> tuple[np.ndarray, np.ndarray]:
    """Corner momenta = c and L(0, 0) = 0: rows (2, function) and values (2,)."""
    origin = np.zeros((1, 2 * basis.dof))
    rows = np.vstack([corner_momenta(basis), basis.partial(origin)])
    return rows, np.array([volume, 0.0])


def mass_conditions(
    basis: Basis, positions: np.ndarray, time_step: float, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Mean discrete mass 1 and L = 0 at the centre: rows (2, function), values (2,)."""
    mass = mean_discrete_mass(basis, *pairs(positions), time_step, rule)
    first, second = pairs(positions)
    middle = pair_states(first, second, time_step).mean(axis=0, keepdims=True)
    middle[:, basis.dof :] = 0.0
    rows = np.vstack([mass, basis.partial(middle)])
    return rows, np.array([1.0, 0.0])


def shadow_rows(
    basis: Basis, positions: np.ndarray, time_step: float, rule: str
) -> np.ndarray:
    """Whitened rows, shape (trajectory, inner time, dof, function)."""
    return whitened(discrete_euler_lagrange(basis, positions, time_step, rule))


def largest_degree(rows: int, variables: int, most: int = 20) -> int:
    """Largest degree with at most a third as many features as rows, up to `most`."""
    degree, features = 0, 1
    while degree < most:
        features = features * (degree + 1 + variables) // (degree + 1)
        if 3 * features > rows:
            break
        degree += 1
    return max(degree, 2)


def weight_space(
    positions: np.ndarray,
    time_step: float,
    degree: int,
    length_scale: float,
    velocity_ratio: float,
    cyclic: tuple[int, ...] = (),
) -> WeightSpace:
    """Taylor features on the cube that the pairs of positions span.

    Parameters
    ----------
    positions
        Shape (trajectory, time, dof).
    degree
        Total degree D.
    length_scale
        ε of positions, in half widths of the cube.
    velocity_ratio
        How much longer ε is for velocities, in which a Lagrangian is smoother.
    cyclic
        Coordinates that L must not depend on.
    """
    n = positions.shape[-1]
    states = pair_states(*pairs(positions), time_step)
    inputs, centre = scaled_inputs(states, cyclic)
    of_velocity = inputs[:, n:].any(axis=1)
    inputs = np.where(of_velocity[:, None], inputs / velocity_ratio, inputs)
    return WeightSpace(degree, length_scale, inputs, centre)
