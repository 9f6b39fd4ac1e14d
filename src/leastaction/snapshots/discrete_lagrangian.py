"""Discrete Lagrangians of a basis: momenta, discrete Euler–Lagrange rows, mass.

A quadrature rule makes of L a discrete Lagrangian (Marsden and West 2001)

.. math::

    L_d(q_0, q_1) = h \\sum_j w_j L(z_j), \\qquad
    z_j = ((1-θ_j) q_0 + θ_j q_1,\\; (q_1-q_0)/h) .

All of this is linear in L, so for L = Σ b_i φ_i each quantity is a row in b.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np

# Weight and place (w, θ) of the points of a rule.
RULES: Mapping[str, tuple[tuple[float, float], ...]] = MappingProxyType(
    {"midpoint": ((1.0, 0.5),), "trapezoidal": ((0.5, 0.0), (0.5, 1.0))}
)


class Basis(Protocol):
    """Functions of (q, q̇) with all partial derivatives."""

    size: int
    dof: int

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Derivatives at states (sample, 2 dof): new, shape (sample, function)."""


def rule_points(rule: str) -> tuple[tuple[float, float], ...]:
    """Points (w, θ) of a rule.

    Raises
    ------
    ValueError
        If the rule is unknown.
    """
    if rule not in RULES:
        raise ValueError(f"rule {rule!r} is unknown; choose from {sorted(RULES)}")
    return RULES[rule]


def pair_states(
    first: np.ndarray, second: np.ndarray, time_step: float, theta: float = 0.5
) -> np.ndarray:
    """(q, q̇) at the place θ between positions a step apart, shape (pair, 2 dof)."""
    place = (1 - theta) * first + theta * second
    return np.concatenate([place, (second - first) / time_step], axis=-1)


def discrete_momenta(
    basis: Basis, first: np.ndarray, second: np.ndarray, time_step: float, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Momenta −∇₁L_d and ∇₂L_d of pairs of positions as rows in the coefficients.

    Parameters
    ----------
    first, second
        q₀, q₁ of every pair, shape (pair, dof).

    Returns
    -------
    tuple
        Two arrays of shape (dof, pair, function).
    """
    n = basis.dof
    # Sample by sample in memory, as the derivatives of a basis are.
    before = np.zeros((n, basis.size, len(first))).swapaxes(1, 2)
    after = np.zeros((n, basis.size, len(first))).swapaxes(1, 2)
    for weight, theta in rule_points(rule):
        states = pair_states(first, second, time_step, theta)
        for i in range(n):
            momentum = basis.partial(states, n + i)
            momentum *= weight
            before[i] += momentum
            after[i] += momentum
            impulse = basis.partial(states, i)
            impulse *= weight * time_step
            before[i] -= (1 - theta) * impulse
            impulse *= theta
            after[i] += impulse
    return before, after


def discrete_euler_lagrange(
    basis: Basis, positions: np.ndarray, time_step: float, rule: str
) -> np.ndarray:
    """Rows [∇₂L_d(q_{k−1}, q_k) + ∇₁L_d(q_k, q_{k+1})]/h of all inner snapshots.

    Paper: these are the rows of eq. (16); the system of section 2.5.2 has a wrong sign
    in its second bracket.

    Parameters
    ----------
    positions
        Snapshots, shape (trajectory, time, dof).

    Returns
    -------
    np.ndarray
        Shape (trajectory, inner time, dof, function).

    Raises
    ------
    ValueError
        If a trajectory has fewer than three snapshots.
    """
    count, times, n = positions.shape
    if times < 3:
        raise ValueError(
            f"a discrete Euler-Lagrange row needs three snapshots, got {times} each"
        )
    first = positions[:, :-1].reshape(-1, n)
    second = positions[:, 1:].reshape(-1, n)
    before, after = discrete_momenta(basis, first, second, time_step, rule)
    shape = (n, count, times - 1, basis.size)
    rows = after.reshape(shape)[:, :, :-1] - before.reshape(shape)[:, :, 1:]
    rows /= time_step
    return np.moveaxis(rows, 0, 2)


def discrete_mass(
    basis: Basis, first: np.ndarray, second: np.ndarray, time_step: float, rule: str
) -> np.ndarray:
    """Discrete mass matrix −h ∇₁∇₂L_d of pairs as rows in the coefficients.

    It does not change if g(q₁) − g(q₀) is added to L_d, the discrete counterpart of a
    total time derivative, and is L_q̇q̇ in the limit h → 0.

    Returns
    -------
    np.ndarray
        Shape (dof of q₀, dof of q₁, pair, function).
    """
    n, h = basis.dof, time_step
    mass = np.zeros((n, n, len(first), basis.size))
    for weight, theta in rule_points(rule):
        states = pair_states(first, second, h, theta)
        for i in range(n):
            for j in range(n):
                mass[i, j] += weight * (
                    basis.partial(states, n + i, n + j)
                    - h * (1 - theta) * basis.partial(states, i, n + j)
                    + h * theta * basis.partial(states, n + i, j)
                    - h**2 * theta * (1 - theta) * basis.partial(states, i, j)
                )
    return mass


def mean_discrete_mass(
    basis: Basis, first: np.ndarray, second: np.ndarray, time_step: float, rule: str
) -> np.ndarray:
    """Mean of −h tr(∇₁∇₂L_d)/dof over pairs, a row of shape (function,)."""
    n, h = basis.dof, time_step
    row = np.zeros(basis.size)
    for weight, theta in rule_points(rule):
        states = pair_states(first, second, h, theta)
        for i in range(n):
            terms = basis.partial(states, n + i, n + i)
            if theta * (1 - theta):
                terms -= h**2 * theta * (1 - theta) * basis.partial(states, i, i)
            if theta != 0.5:
                terms -= h * (1 - 2 * theta) * basis.partial(states, i, n + i)
            row += weight * terms.mean(axis=0) / n
    return row


def corner_momenta(basis: Basis) -> np.ndarray:
    """Sum of all momenta over the corners of the unit cube, over n! 2^(2n).

    Paper: eq. (15) prints a product of momenta, which would not be linear in L; the
    authors' code has this sum, with 1/n! in front. A total time derivative satisfies
    it, so the mass it leaves can be as small as round-off lets it be.
    """
    n = basis.dof
    corners = np.array(list(np.ndindex(*(2,) * (2 * n))), dtype=float)
    factorial = np.prod(np.arange(1, n + 1))
    return sum(basis.partial(corners, n + i).sum(axis=0) for i in range(n)) / (
        factorial * 2 ** (2 * n)
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
