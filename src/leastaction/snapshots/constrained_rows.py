"""Homogeneous rows A b = 0 under conditions C b = d, as a Gaussian process sees them.

The rows know L up to a factor and up to terms that say nothing; the conditions fix
these exactly. In their null space b = b₀ + N z (b₀ of least norm, N orthonormal)
Tikhonov regularisation

.. math::  \\min_z |A (b_0 + N z)|^2 + μ^2 |z|^2

is the posterior mean for weights b ~ N(0, τ²) and rows with errors μ τ. The evidence,
the probability of the rows and conditions with τ at its best value, is (MacKay 1992)

.. math::

    -2 \\log p = (m + c) \\log Q + \\sum_k \\log(s_k^2 + μ^2)
               + (m - r) \\log μ^2 + \\log\\det C C^T + \\text{const}, \\qquad
    Q = |A b|^2/μ^2 + |b|^2 ,

with m rows, c conditions and r singular values s_k of A N. Methods of identify are
:func:`evidence_maximisation` (recommended) and :func:`minimum_norm` (published), which
has the conditions among the rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.linalg import solve_triangular

from leastaction.core.contracts import check
from leastaction.snapshots.contracts import lagrangian_dataset
from leastaction.snapshots.discrete_lagrangian import (
    massive,
    one_step_errors,
    positions_of,
)
from leastaction.snapshots.turned_features import basis_of

# Damping below this, of the largest singular value, is round-off.
SMALLEST_DAMPING = 1e-11
LARGEST_DAMPING = 0.1
DAMPINGS_PER_DECADE = 4
# One of so many trajectories is held out.
TRAJECTORIES_PER_HELD_OUT = 5


@dataclass(frozen=True)
class ConstrainedRows:
    """Singular value decomposition of A N, and A b₀ in its terms."""

    particular: np.ndarray  # b₀, shape (function,)
    directions: np.ndarray  # right singular vectors, in b, (direction, function)
    singular: np.ndarray  # s_k, shape (direction,)
    target: np.ndarray  # A b₀ along the left singular vectors, (direction,)
    outside: float  # square of the rest of A b₀
    rows: int  # m
    conditions: int  # c
    condition_volume: float  # log det C Cᵀ

    def coefficients(self, damping: float) -> np.ndarray:
        """Posterior mean b, shape (function,)."""
        s = self.singular
        weights = s * self.target / (s**2 + damping**2)
        return self.particular - weights @ self.directions

    def log_evidence(self, damping: float) -> float:
        """Logarithm of the evidence, up to a constant that all bases share."""
        s2, m2 = self.singular**2, damping**2
        q = (self.target**2 / (s2 + m2)).sum() + self.outside / m2
        q += self.particular @ self.particular
        volume = np.log(s2 + m2).sum() + (self.rows - s2.size) * np.log(m2)
        total = self.rows + self.conditions
        return -0.5 * float(total * np.log(q / total) + volume + self.condition_volume)

    def dampings(self) -> np.ndarray:
        """Values of μ to choose from, decreasing."""
        decades = np.log10(LARGEST_DAMPING / SMALLEST_DAMPING)
        count = int(round(decades * DAMPINGS_PER_DECADE)) + 1
        return self.singular[0] * np.geomspace(LARGEST_DAMPING, SMALLEST_DAMPING, count)

    def most_probable(self) -> tuple[float, float]:
        """First maximum of the evidence from large μ on, and its logarithm."""
        # Noise is in the rows too, not only in their errors. At a much smaller μ wild
        # coefficients make noisy rows vanish, and the evidence has a second maximum
        # there that means nothing.
        best, evidence = np.nan, -np.inf
        for damping in self.dampings():
            result = self.log_evidence(damping)
            if result < evidence:
                break
            best, evidence = float(damping), result
        return best, evidence

    def row_error(self, damping: float) -> float:
        """Standard error of a row: root of the residual over degrees of freedom."""
        shares = self.singular**2 / (self.singular**2 + damping**2)
        square = self.outside + (((1 - shares) * self.target) ** 2).sum()
        return float(np.sqrt(square / max(self.rows - shares.sum(), 1.0)))

    def factor(self, damping: float) -> np.ndarray:
        """Factor F of the posterior covariance FᵀF of b, with :meth:`row_error`."""
        scale = self.row_error(damping) / np.sqrt(self.singular**2 + damping**2)
        return scale[:, None] * self.directions


def compressed(rows: np.ndarray) -> np.ndarray:
    """Rows with the same |A b| for every b, no more than there are functions."""
    return np.linalg.qr(rows, mode="r") if len(rows) > rows.shape[1] else rows


def constrained(
    rows: np.ndarray,
    conditions: np.ndarray,
    values: np.ndarray,
    count: int | None = None,
) -> ConstrainedRows:
    """Decompose A in the null space of C; `count` rows were :func:`compressed` to A.

    Raises a LinAlgError if there are no more functions than conditions.
    """
    if rows.shape[1] <= len(conditions):
        raise np.linalg.LinAlgError(
            f"{rows.shape[1]} functions under {len(conditions)} conditions leave "
            "nothing to learn; give features of a higher degree"
        )
    small = compressed(rows)
    particular, null, volume = _solutions(conditions, values)
    left, singular, right = np.linalg.svd(small @ null, full_matrices=False)
    image = small @ particular
    target = left.T @ image
    rest = image - left @ target
    return ConstrainedRows(
        particular=particular,
        directions=right @ null.T,
        singular=singular,
        target=target,
        outside=float(rest @ rest),
        rows=len(rows) if count is None else count,
        conditions=len(conditions),
        condition_volume=volume,
    )


def damped_coefficients(
    rows: np.ndarray, conditions: np.ndarray, values: np.ndarray, damping: float
) -> np.ndarray:
    """Posterior mean b for one μ, by a QR decomposition: half the work of the other."""
    particular, null, _ = _solutions(conditions, values)
    directions = null.shape[1]
    damped = np.zeros((len(rows) + directions, directions + 1))
    damped[: len(rows), :-1] = rows @ null
    damped[: len(rows), -1] = rows @ particular
    np.fill_diagonal(damped[len(rows) :], damping)
    corner = np.linalg.qr(damped, mode="r")[:directions]
    return particular - null @ solve_triangular(corner[:, :-1], corner[:, -1])


def _solutions(
    conditions: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """b₀, N and log det C Cᵀ."""
    complete = np.linalg.qr(conditions.T, mode="complete")
    count = len(conditions)
    corner = complete.R[:count]
    particular = complete.Q[:, :count] @ np.linalg.solve(corner.T, values)
    volume = 2 * float(np.log(np.abs(np.diag(corner))).sum())
    return particular, complete.Q[:, count:], volume


def probable(
    rows: np.ndarray,
    conditions: Sequence[np.ndarray],
    mass: Callable[[np.ndarray], np.ndarray | None],
    count: int | None = None,
) -> tuple[ConstrainedRows, float, Sequence[np.ndarray]]:
    """Rows, their most probable damping, and the conditions with which L has a mass.

    `rows` and `count` as for :func:`constrained`, `conditions` are C and d; `mass` of b
    is a row that has to be 1 where L would be without mass, None if it is not.
    """
    system = constrained(rows, *conditions, count)
    damping = system.most_probable()[0]
    more = mass(system.coefficients(damping))
    if more is not None:
        conditions = [np.vstack([conditions[0], more]), np.append(conditions[1], 1.0)]
        system = constrained(rows, *conditions, count)
        damping = system.most_probable()[0]
    return system, damping, conditions


def _system(equations: xr.Dataset) -> list[np.ndarray]:
    """A, C and d of one case."""
    check(equations, "shadow_equations")
    names = ("theta", "condition", "condition_value")
    return [equations[name].values[0] for name in names]


def evidence_maximisation(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> xr.Dataset:
    """Learn L by Gaussian process regression under exact conditions, for one case.

    The damping is the only thing to choose. Without noise it goes down to what
    round-off allows, with noise it follows the noise, which need not be known.
    """
    positions, (theta, *conditions) = positions_of(observations), _system(equations)
    about = equations.attrs["time_step"], equations.attrs["rule"]
    basis = basis_of(equations)
    held = np.arange(len(positions)) % TRAJECTORIES_PER_HELD_OUT == 0
    rows = theta.reshape(len(positions), -1, theta.shape[1])
    others = compressed(rows[~held].reshape(-1, theta.shape[1]))
    all_rows = np.concatenate([others, *rows[held]])
    # As many directions in every case, so that cases can be put together.
    room = min(len(all_rows), basis.size - equations.sizes["constraint"])
    system, damping, conditions = probable(
        all_rows, conditions, lambda b: massive(basis, b, positions, *about), len(theta)
    )

    if settings["damping"] != "evidence":
        damping = float(settings["damping"]) * float(system.singular[0])
    fit = damped_coefficients(others, *conditions, damping)
    # Of the trajectories that this fit has not seen.
    missed = one_step_errors(basis, fit, positions[held], *about)
    diagnostics = {
        "damping": damping / system.singular[0],
        "log_evidence": system.log_evidence(damping),
        "row_error": system.row_error(damping),
        "one_step_error": np.sqrt((missed**2).mean()),
    }
    coefficients, factor = system.coefficients(damping), system.factor(damping)
    factor = np.pad(factor, ((0, room - len(factor)), (0, 0)))
    return lagrangian_dataset(equations, coefficients, diagnostics, factor)


def minimum_norm(equations: xr.Dataset, settings: Mapping) -> xr.Dataset:
    """Least squares of minimum norm for one case, the conditions among its rows."""
    theta, condition, value = _system(equations)
    rows = np.vstack([theta, condition])
    target = np.concatenate([np.zeros(len(theta)), value])
    b, _, rank, _ = np.linalg.lstsq(rows, target, rcond=settings.get("cut"))
    square = float(((rows @ b - target) ** 2).sum())
    return lagrangian_dataset(equations, b, {"rank": rank, "residual_square": square})
