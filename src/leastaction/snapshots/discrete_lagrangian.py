"""Discrete Lagrangians of a basis: momenta, Euler–Lagrange rows, mass, conditions.

A quadrature rule makes of L a discrete Lagrangian (Marsden and West 2001)

.. math::

    L_d(q_0, q_1) = h \\sum_j w_j L(z_j), \\qquad
    z_j = ((1-θ_j) q_0 + θ_j q_1,\\; (q_1-q_0)/h) .

All of this is linear in L, so for L = Σ b_i φ_i each quantity is a row in b. Positions
have the shape (trajectory, time, dof); `first` and `second` are positions a step h
apart, shape (pair, dof).
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations_with_replacement
from math import factorial

import numpy as np
import xarray as xr
from scipy.linalg import solve_triangular

from leastaction.snapshots.bases import Basis

# Mass over the largest of another direction, below which there is none.
LEAST_MASS = 1e-2

RULES: Mapping[str, tuple[tuple[Fraction, Fraction], ...]] = {
    "midpoint": ((Fraction(1), Fraction(1, 2)),),
    "trapezoidal": ((Fraction(1, 2), Fraction(0)), (Fraction(1, 2), Fraction(1))),
}
"""Weight and place (w, θ) of the points of a rule."""


def rule_points(rule: str) -> tuple[tuple[float, float], ...]:
    """Points (w, θ) of a rule; a ValueError if it is unknown."""
    if rule not in RULES:
        raise ValueError(f"rule {rule!r} is unknown; choose from {sorted(RULES)}")
    return tuple((float(w), float(theta)) for w, theta in RULES[rule])


def positions_of(observations: xr.Dataset) -> np.ndarray:
    """Snapshots of one case, sorted: the order of trajectories does not matter."""
    q = observations["q"].values[0]
    flat = q.reshape(len(q), -1)
    return q[np.lexsort(flat.T[::-1])]


def pairs(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring snapshots."""
    n = positions.shape[-1]
    return positions[:, :-1].reshape(-1, n), positions[:, 1:].reshape(-1, n)


def pair_states(
    first: np.ndarray, second: np.ndarray, time_step: float, theta: float = 0.5
) -> np.ndarray:
    """(q, q̇) at the place θ between positions a step apart, shape (pair, 2 dof)."""
    place = (1 - theta) * first + theta * second
    return np.concatenate([place, (second - first) / time_step], axis=-1)


def quadrature(
    first: np.ndarray, second: np.ndarray, time_step: float, rule: str
) -> Iterator[tuple[float, float, np.ndarray]]:
    """Weight, place and states (pair, 2 dof) of every point of a rule."""
    for weight, theta in rule_points(rule):
        yield weight, theta, pair_states(first, second, time_step, theta)


def discrete_momenta(
    basis: Basis, first: np.ndarray, second: np.ndarray, time_step: float, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Momenta −∇₁L_d and ∇₂L_d, each of shape (dof, pair, function)."""
    n = basis.dof
    # Sample by sample in memory, as the derivatives of a basis are.
    before = np.zeros((n, basis.size, len(first))).swapaxes(1, 2)
    after = np.zeros((n, basis.size, len(first))).swapaxes(1, 2)
    for weight, theta, states in quadrature(first, second, time_step, rule):
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
    basis: Basis,
    positions: np.ndarray,
    time_step: float,
    rule: str,
    whiten: bool = False,
) -> np.ndarray:
    """Rows [∇₂L_d(q_{k−1}, q_k) + ∇₁L_d(q_k, q_{k+1})]/h of all inner snapshots.

    Shape (trajectory, inner time, dof, function); :func:`whitened` if asked for.
    """
    # Paper: eq. (16); section 2.5.2 has a wrong sign in its second bracket.
    count, times, n = positions.shape
    if times < 3:
        raise ValueError(
            f"a discrete Euler-Lagrange row needs three snapshots, got {times} each"
        )
    before, after = discrete_momenta(basis, *pairs(positions), time_step, rule)
    shape = (n, count, times - 1, basis.size)
    rows = after.reshape(shape)[:, :, :-1] - before.reshape(shape)[:, :, 1:]
    rows /= time_step
    rows = np.moveaxis(rows, 0, 2)
    return whitened(rows) if whiten else rows


def whitened(rows: np.ndarray) -> np.ndarray:
    """Rows with uncorrelated errors if every snapshot has an error of its own."""
    # To leading order in h the row of snapshot k sees the errors e of the positions as
    # e_{k−1} − 2 e_k + e_{k+1}, times the mass over h². The rows of a trajectory are
    # multiplied by the inverse Cholesky factor of the covariance of that, scaled to
    # leave a single row as it is.
    count = rows.shape[1]
    second = np.diff(np.eye(count + 2), 2, axis=0)
    lower = np.linalg.cholesky(second @ second.T / 6.0)
    inverse = solve_triangular(lower, np.eye(count), lower=True)
    return np.einsum("kl,tldm->tkdm", inverse, rows, optimize=True)


def discrete_mass(
    basis: Basis, first: np.ndarray, second: np.ndarray, time_step: float, rule: str
) -> np.ndarray:
    """Discrete mass −h ∇₁∇₂L_d, shape (dof of q₀, dof of q₁, pair, function).

    It does not change if g(q₁) − g(q₀) is added to L_d, the discrete counterpart of a
    total time derivative, and is L_q̇q̇ in the limit h → 0.
    """
    n, h = basis.dof, time_step
    mass = np.zeros((n, n, len(first), basis.size))
    for weight, theta, states in quadrature(first, second, h, rule):
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
    arguments, n = (basis, first, second, time_step, rule), basis.dof
    return sum(_mean_mass(*arguments, i, i) for i in range(n)) / n


def _mean_mass(
    basis: Basis,
    first: np.ndarray,
    second: np.ndarray,
    time_step: float,
    rule: str,
    i: int,
    j: int,
) -> np.ndarray:
    """Mean over pairs of the symmetric part of the discrete mass, component (i, j)."""
    n, h = basis.dof, time_step
    row = np.zeros(basis.size)
    for weight, theta, states in quadrature(first, second, h, rule):
        row += weight * basis.partial(states, n + i, n + j).mean(axis=0)
        if theta * (1 - theta):
            square = basis.partial(states, i, j).mean(axis=0)
            row -= weight * h**2 * theta * (1 - theta) * square
        if theta != 0.5:
            mixed = basis.partial(states, i, n + j) + basis.partial(states, j, n + i)
            row += weight * h * (theta - 0.5) * mixed.mean(axis=0)
    return row


def mass_conditions(
    basis: Basis, positions: np.ndarray, time_step: float, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Mean discrete mass 1 and L = 0 at the centre: rows (2, function), values (2,)."""
    mass = mean_discrete_mass(basis, *pairs(positions), time_step, rule)
    middle = pair_states(*pairs(positions), time_step).mean(axis=0, keepdims=True)
    middle[:, basis.dof :] = 0.0
    return np.vstack([mass, basis.partial(middle)]), np.array([1.0, 0.0])


def massive(
    basis: Basis,
    coefficients: np.ndarray,
    positions: np.ndarray,
    time_step: float,
    rule: str,
) -> np.ndarray | None:
    """Row (function,) of the mean mass along a direction that has next to none.

    A mode that moves freely has an exact Lagrangian of its own, in which the others
    have no mass. None if L has a mass in every direction.
    """
    n, arguments = basis.dof, (*pairs(positions), time_step, rule)
    if n == 1:
        return None
    mass = np.empty((n, n, basis.size))
    for i, j in combinations_with_replacement(range(n), 2):
        mass[i, j] = mass[j, i] = _mean_mass(basis, *arguments, i, j)
    values, vectors = np.linalg.eigh(mass @ coefficients)
    if values[0] > LEAST_MASS * values[-1]:
        return None
    return np.einsum("i,j,ijf->f", vectors[:, 0], vectors[:, 0], mass)


def corner_momenta(basis: Basis) -> np.ndarray:
    """Sum of all momenta over the corners of the unit cube, over n! 2^(2n)."""
    # Paper: eq. (15) prints a product of momenta, which would not be linear in L; the
    # authors' code has this sum, with 1/n! in front. A total time derivative meets it.
    n = basis.dof
    corners = np.array(list(np.ndindex(*(2,) * (2 * n))), dtype=float)
    total = sum(basis.partial(corners, n + i).sum(axis=0) for i in range(n))
    return total / (factorial(n) * 2 ** (2 * n))


def published_conditions(basis: Basis, volume: float) -> tuple[np.ndarray, np.ndarray]:
    """Corner momenta = c and L(0, 0) = 0: rows (2, function) and values (2,)."""
    origin = np.zeros((1, 2 * basis.dof))
    rows = np.vstack([corner_momenta(basis), basis.partial(origin)])
    return rows, np.array([volume, 0.0])


def one_step_errors(
    basis: Basis,
    coefficients: np.ndarray,
    positions: np.ndarray,
    time_step: float,
    rule: str,
) -> np.ndarray:
    """Displacements of q_{k+1} that satisfy the discrete Euler–Lagrange equation.

    One Newton step, for coefficients (..., function); shape (..., row, dof). Neither a
    factor of L nor g(q₁) − g(q₀) added to L_d changes it, so Ls may be compared by it.
    """
    n = basis.dof
    rows = discrete_euler_lagrange(basis, positions, time_step, rule)
    mass = discrete_mass(basis, *pairs(positions[:, 1:]), time_step, rule)
    b = np.asarray(coefficients, dtype=float)
    residual = np.moveaxis(rows.reshape(-1, n, basis.size) @ b.T, (0, 1), (-2, -1))
    # Rows differ by ∇₁∇₂L_d δq₁ in component i of q₀.
    matrix = np.moveaxis(mass @ b.T, (0, 1, 2), (-2, -1, -3))
    return time_step**2 * np.linalg.solve(matrix, residual[..., None])[..., 0]
