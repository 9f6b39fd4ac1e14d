r"""Errors in variables: L from noisy snapshots by orthogonal distance regression.

Noise of the snapshots q is inside the rows A(q) b of the discrete Euler–Lagrange
equation, and three rows share a snapshot: least squares of the rows is biased and does
not weigh them right. Orthogonal distance regression (Boggs, Byrd and Schnabel 1987)
takes the motion nearest to the snapshots,

.. math::

    \min_{b, \hat q} |q - \hat q|^2 \quad\text{subject to}\quad A(\hat q)\, b = 0.

Each round linearises the condition (Britt and Luecke 1973) about the adjusted
positions q̂ of the round before, with noise of variance σ² in every position,

.. math::

    A(\hat q)\, b + J\,(q - \hat q) = ε, \qquad J = ∂(A b)/∂\hat q, \qquad
    \operatorname{cov} ε = σ^2 J J^T,

learns b from it by its evidence, and adjusts
q̂ = q − Jᵀ(J Jᵀ)⁻¹[A(q̂) b + J (q − q̂)]. Nothing has to be known of σ: it is the error
of a row that is left.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from leastaction.core.multi_index import factors
from leastaction.snapshots.bases import Basis, WeightSpace
from leastaction.snapshots.constrained_rows import (
    ConstrainedRows,
    evidence_maximisation,
    probable,
)
from leastaction.snapshots.contracts import lagrangian_dataset
from leastaction.snapshots.discrete_euler_lagrange import (
    ERROR_OF_RESOLVED_ROWS,
    FIRST_LENGTH_SCALE,
    highest,
    weight_space,
)
from leastaction.snapshots.discrete_lagrangian import (
    discrete_euler_lagrange,
    mass_conditions,
    massive,
    pairs,
    positions_of,
    quadrature,
)
from leastaction.snapshots.turned_features import basis_of

ROUNDS = 2


def row_jacobian(
    basis: Basis,
    coefficients: np.ndarray,
    positions: np.ndarray,
    time_step: float,
    rule: str,
) -> np.ndarray:
    """J, derivatives of the rows of a learned L by positions (trajectory, time, dof).

    Shape (trajectory, equation, time dof), with the equations of a trajectory in the
    order of :func:`~.discrete_lagrangian.discrete_euler_lagrange`.
    """
    (count, times, n), eye = positions.shape, np.eye(positions.shape[-1])
    every = factors(2 * n, 2)
    axes = range(2 * n)
    entries = [[every.index((min(i, j), max(i, j))) for j in axes] for i in axes]
    matrix = np.zeros((count * (times - 1), 2 * n, 2 * n))
    for weight, theta, states in quadrature(*pairs(positions), time_step, rule):
        hessian = basis.derivatives(states, coefficients, 2)[entries]
        # (q, q̇) of a point by the two positions.
        ends = np.block([[(1 - theta) * eye, theta * eye], [-eye, eye]])
        ends[n:] /= time_step
        hessian = np.moveaxis(hessian, -1, 0)
        matrix += weight * (ends.T @ hessian @ ends)
    parts = matrix.reshape(count, times - 1, 2, n, 2, n)
    jacobian = np.zeros((count, times - 2, n, times, n))
    for k in range(times - 2):
        before, after = parts[:, k, 1], parts[:, k + 1, 0]
        jacobian[:, k, :, k] = before[:, :, 0]
        jacobian[:, k, :, k + 1] = before[:, :, 1] + after[:, :, 0]
        jacobian[:, k, :, k + 2] = after[:, :, 1]
    return jacobian.reshape(count, (times - 2) * n, times * n)


class Linearisation:
    """The equations of snapshots, linearised about adjusted positions.

    The Jacobian is that of L = Σ b_i φ_i; q (`measured`) and q̂ (`adjusted`) have the
    shape (trajectory, time, dof).
    """

    def __init__(
        self,
        basis: Basis,
        coefficients: np.ndarray,
        measured: np.ndarray,
        adjusted: np.ndarray,
        time_step: float,
        rule: str,
    ):
        self.measured, self.adjusted = measured, adjusted
        self.step_and_rule = time_step, rule
        self._jacobian = row_jacobian(
            basis, coefficients, adjusted, *self.step_and_rule
        )
        self._square = self._jacobian @ np.swapaxes(self._jacobian, 1, 2)
        moved = (measured - adjusted).reshape(len(measured), -1, 1)
        self._target = self._jacobian @ moved

    def rows(self, basis: Basis, sums: np.ndarray) -> np.ndarray:
        """[A(q̂) N, J (q − q̂)] with independent errors, shape (equation, sum + 1)."""
        rows = discrete_euler_lagrange(basis, self.adjusted, *self.step_and_rule)
        rows = rows.reshape(len(self.adjusted), -1, basis.size) @ sums
        lower = np.linalg.cholesky(self._square)
        matrix = np.concatenate([rows, self._target], axis=-1)
        return np.linalg.solve(lower, matrix).reshape(-1, matrix.shape[-1])

    def moved(self, basis: Basis, coefficients: np.ndarray) -> "Linearisation":
        """The linearisation about the positions nearest to the snapshots that fit L."""
        rows = (
            discrete_euler_lagrange(basis, self.adjusted, *self.step_and_rule)
            @ coefficients
        )
        rows = rows.reshape(*self._target.shape) + self._target
        pulled = np.swapaxes(self._jacobian, 1, 2) @ np.linalg.solve(self._square, rows)
        adjusted = self.measured - pulled.reshape(self.measured.shape)
        return Linearisation(
            basis, coefficients, self.measured, adjusted, *self.step_and_rule
        )

    def is_near(self) -> bool:
        """Whether no position was adjusted by more than the positions spread."""
        spread = self.measured.std(axis=(0, 1))
        return bool((np.abs(self.adjusted - self.measured) < spread).all())


@dataclass(frozen=True)
class Fit:
    """L = Σ b_i φ_i with b = N z, learned from linearised equations."""

    basis: Basis
    sums: np.ndarray  # N, shape (function, sum)
    system: ConstrainedRows
    damping: float

    @cached_property
    def coefficients(self) -> np.ndarray:
        """b, shape (function,)."""
        return self.sums @ self.system.coefficients(self.damping)[:-1]

    @property
    def factor(self) -> np.ndarray:
        """F of the posterior covariance FᵀF of b, shape (direction, function)."""
        return self.system.factor(self.damping)[:, :-1] @ self.sums.T

    @property
    def log_evidence(self) -> float:
        """Logarithm of the evidence, comparable for the same linearised equations."""
        return self.system.log_evidence(self.damping)

    @property
    def noise(self) -> float:
        """σ, the standard deviation of a position."""
        return self.system.row_error(self.damping)

    def beside(
        self, line: Linearisation, basis: Basis, sums: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of further functions, shape (sum,), and F of their covariance.

        Sums of `basis` are added to L, which is learned again with them; they have no
        prior. F is (direction, sum).
        """
        directions, count = self.system.directions, sums.shape[1]
        b, room = self.system.coefficients(self.damping), len(directions)
        rows, more = line.rows(self.basis, self.sums), line.rows(basis, sums)[:, :-1]
        prior = np.zeros((room, room + count + 1))
        prior[:, :room] = self.damping * np.eye(room)
        prior[:, -1] = self.damping * (directions @ b)
        stacked = np.vstack(
            [np.column_stack([rows @ directions.T, more, rows @ b]), prior]
        )
        corner = np.linalg.qr(stacked, mode="r")[room : room + count, room:]
        inverse = np.linalg.inv(corner[:, :-1])
        return -inverse @ corner[:, -1], self.noise * inverse.T

    @property
    def diagnostics(self) -> dict[str, float]:
        """Numbers of the contract ``learned_lagrangian``."""
        damping = self.damping / self.system.singular[0]
        return {"damping": damping, "row_error": self.noise}


def learned(line: Linearisation, basis: Basis, sums: np.ndarray | None = None) -> Fit:
    """The most probable L = Σ b_i φ_i, b = N z, of linearised equations."""
    sums = np.eye(basis.size) if sums is None else sums
    conditions, values = mass_conditions(basis, line.adjusted, *line.step_and_rule)
    # The last coefficient, that of J (q − q̂), is 1.
    matrix = np.zeros((len(conditions) + 1, sums.shape[1] + 1))
    matrix[:-1, :-1], matrix[-1, -1] = conditions @ sums, 1.0

    def mass(z: np.ndarray) -> np.ndarray | None:
        row = massive(basis, sums @ z[:-1], line.adjusted, *line.step_and_rule)
        return None if row is None else np.append(row @ sums, 0.0)

    rows = line.rows(basis, sums)
    system, damping, _ = probable(rows, (matrix, np.append(values, 1.0)), mass)
    return Fit(basis, sums, system, damping)


def rescaled(line: Linearisation, fit: Fit) -> Fit:
    """A fit with the same features of the most probable length scale.

    It was chosen with all noise in the rows; it is kept where these are satisfied.
    """
    spread, basis = line.measured.std(axis=(0, 1)).min(), fit.basis
    if fit.noise < ERROR_OF_RESOLVED_ROWS * spread:
        return fit
    fits: dict[float, Fit] = {}

    def evidence(scale: float) -> float:
        other = weight_space(line.measured, line.step_and_rule[0], basis.degree, scale)
        fits[scale] = learned(line, other)
        return fits[scale].log_evidence

    return fits[highest(evidence, FIRST_LENGTH_SCALE)]


def relinearised(line: Linearisation, fit: Fit) -> tuple[Fit, Linearisation]:
    """L from equations linearised about the motion that fits it, and these equations.

    `line` is about positions that fit an L that is nearly right. Rounds end early where
    L is so uncertain that positions leave their neighbourhood.
    """
    for _ in range(ROUNDS - 1):
        moved = line.moved(fit.basis, fit.coefficients)
        if not moved.is_near():
            break
        line = moved
        fit = learned(line, fit.basis, fit.sums)
    return fit, line


def orthogonal_distance_regression(
    rows: xr.Dataset, positions: np.ndarray
) -> tuple[Fit, Linearisation]:
    """L, and the equations it was learned from, begun at L with all noise in the rows.

    `rows` is the latter, contract ``learned_lagrangian``, of positions (trajectory,
    time, dof). ValueError if its features are no Taylor features of all coordinates and
    velocities.
    """
    basis, b, about = basis_of(rows), rows["coefficient"].values[0], rows.attrs
    if not isinstance(basis, WeightSpace) or len(basis.inputs) != 2 * basis.dof:
        raise ValueError(
            "noise of snapshots is taken out with Taylor features of all coordinates; "
            "leave out assemble.basis.kind and assemble.basis.cyclic"
        )
    step_and_rule = about["time_step"], about["rule"]
    line = Linearisation(basis, b, positions, positions, *step_and_rule)
    moved = line.moved(basis, b)
    line = moved if moved.is_near() else line
    fit = learned(line, basis)
    if not about.get("length_scale_given", 0):
        fit = rescaled(line, fit)
    return relinearised(line, fit)


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> xr.Dataset:
    """Learn L by orthogonal distance regression, for one case."""
    rows, fit, _ = learned_from(equations, observations, library)
    return lagrangian_dataset(
        rows, fit.coefficients, fit.diagnostics, square(fit.factor), fit.basis
    )


def learned_from(
    equations: xr.Dataset, observations: xr.Dataset, library: Mapping
) -> tuple[xr.Dataset, Fit, Linearisation]:
    """L of the rows by their evidence, and by orthogonal distance regression after."""
    rows = evidence_maximisation(
        equations, {"damping": "evidence"}, observations, library
    )
    return rows, *orthogonal_distance_regression(rows, positions_of(observations))


def square(factor: np.ndarray) -> np.ndarray:
    """A factor with as many rows in every case, so that cases can be put together."""
    return np.pad(factor, ((0, factor.shape[1] - len(factor)), (0, 0)))
