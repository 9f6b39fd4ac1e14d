"""Regression of a Lagrangian on discrete Euler–Lagrange rows, its mean mass fixed.

The rows A b = 0 know L up to a factor and up to terms that say nothing. Two linear
conditions are met exactly: the discrete mass has the mean 1 over the data, and
L(0, 0) = 0. In their null space b = b₀ + N z (b₀ of least norm, N orthonormal) Tikhonov
regularisation

.. math::  \\min_z |A (b_0 + N z)|^2 + μ^2 |z|^2

is the posterior mean of a Gaussian process with weights b ~ N(0, 1) and rows of noise
μ; its posterior covariance is N V diag(s²/(s_k² + μ²)) Vᵀ Nᵀ.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ConstrainedRows:
    """Singular value decomposition of the rows in the null space of the conditions."""

    particular: np.ndarray
    directions: np.ndarray
    left_target: np.ndarray
    singular: np.ndarray
    size: int
    target_square: float

    def coefficients(self, damping: np.ndarray) -> np.ndarray:
        """Coefficients b for every μ, shape (damping, function)."""
        s = self.singular
        weights = s * self.left_target / (s**2 + np.asarray(damping)[:, None] ** 2)
        return self.particular - weights @ self.directions

    def factor(self, damping: float) -> np.ndarray:
        """Factor F of the posterior covariance FᵀF of b, shape (direction, function)."""
        b = self.coefficients(np.array([damping]))[0]
        shrunk = damping**2 / (self.singular**2 + damping**2)
        outside = self.target_square - (self.left_target**2).sum()
        square = max(outside, 0.0) + ((shrunk * self.left_target) ** 2).sum()
        used = (1 - shrunk).sum()
        noise = np.sqrt(square / max(self.size - used, 1.0))
        del b
        scale = noise / np.sqrt(self.singular**2 + damping**2)
        return scale[:, None] * self.directions


def constrained(rows: np.ndarray, conditions: np.ndarray, values: np.ndarray):
    """Reduce min |A b|, C b = d to the null space of C and decompose it.

    Parameters
    ----------
    rows
        A, shape (row, function).
    conditions, values
        C of shape (condition, function), d of shape (condition,).

    Returns
    -------
    ConstrainedRows
    """
    complete = np.linalg.qr(conditions.T, mode="complete")
    count = len(conditions)
    particular = complete.Q[:, :count] @ np.linalg.solve(complete.R[:count].T, values)
    null = complete.Q[:, count:]
    # R of the rows first: the decomposition is then of a square matrix.
    joined = np.column_stack([rows @ null, rows @ particular])
    small = np.linalg.qr(joined, mode="r")
    u, s, vt = np.linalg.svd(small[:, :-1], full_matrices=False)
    return ConstrainedRows(
        particular=particular,
        directions=vt @ null.T,
        left_target=u.T @ small[:, -1],
        singular=s,
        size=len(rows),
        target_square=float(small[:, -1] @ small[:, -1]),
    )
