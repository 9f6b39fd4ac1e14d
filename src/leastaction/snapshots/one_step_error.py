"""Predicted error of one step: the residual of a discrete Lagrangian as a length."""

import numpy as np

from leastaction.snapshots.discrete_lagrangian import (
    Basis,
    discrete_euler_lagrange,
    discrete_mass,
)


def one_step_errors(
    basis: Basis,
    coefficients: np.ndarray,
    positions: np.ndarray,
    time_step: float,
    rule: str,
) -> np.ndarray:
    """Displacements of q_{k+1} that satisfy the discrete Euler–Lagrange equation.

    One Newton step, h · M_d⁻¹ [∇₂L_d(q_{k−1}, q_k) + ∇₁L_d(q_k, q_{k+1})], with the
    discrete mass M_d = −h ∇₁∇₂L_d. Neither a factor of L nor g(q₁) − g(q₀) added to L_d
    changes it, so Lagrangians may be compared by it.

    Parameters
    ----------
    coefficients
        Shape (..., function).
    positions
        Shape (trajectory, time, dof).

    Returns
    -------
    np.ndarray
        Shape (..., row, dof).
    """
    n = basis.dof
    rows = discrete_euler_lagrange(basis, positions, time_step, rule)
    first, second = (
        part.reshape(-1, n) for part in (positions[:, 1:-1], positions[:, 2:])
    )
    mass = discrete_mass(basis, first, second, time_step, rule)
    b = np.asarray(coefficients, dtype=float)
    residual = np.moveaxis(rows.reshape(-1, n, basis.size) @ b.T, (0, 1), (-2, -1))
    # Rows differ by ∇₁∇₂L_d δq₁ in component i of q₀.
    matrix = np.moveaxis(mass @ b.T, (0, 1, 2), (-2, -1, -3))
    if b.ndim == 1:
        residual = residual.reshape(-1, n)
    return time_step**2 * np.linalg.solve(matrix, residual[..., None])[..., 0]
