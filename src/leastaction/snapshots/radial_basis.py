"""Radial basis functions exp(−|z − z_j|²/ε²) at centres z_j, z = (q, q̇).

The kernel of Ober-Blöbaum and Offen, eq. (21): ε², not 2 ε², and no scaling of
positions against velocities.
"""

from dataclasses import dataclass

import numpy as np

from leastaction.core.multi_index import multi_indices
from leastaction.snapshots.basis import Basis

# Their tables of derivatives fit into the cache together.
SAMPLES_PER_BATCH = 64

JET = """
@njit(cache=True, nogil=True)
def jet(z, layout, values, work, second_order, gradient, hessian):
    size, centres = layout[0], layout[1]
    a = values[0]
    gradient[:] = 0.0
    if second_order:
        hessian[:] = 0.0
    for c in range(centres):
        at = 1 + c * (size + 1)
        square = 0.0
        for j in range(size):
            work[0, 0, j] = z[j] - values[at + 1 + j]
            square += work[0, 0, j] * work[0, 0, j]
        factor = -2.0 * a * values[at] * math.exp(-a * square)
        for j in range(size):
            gradient[j] += factor * work[0, 0, j]
            if second_order:
                hessian[j, j] += factor
                for k in range(j + 1):
                    hessian[j, k] -= 2.0 * a * factor * work[0, 0, j] * work[0, 0, k]
    if second_order:
        for j in range(size):
            for k in range(j):
                hessian[k, j] = hessian[j, k]
"""


@dataclass(frozen=True, eq=False)
class RadialBasis(Basis):
    """Kernel functions at centres as a basis for L(q, q̇).

    Attributes
    ----------
    centres
        Shape (centre, 2 dof).
    length_scale
        ε.
    """

    VARIABLES = ("length_scale", "centres")
    centres: np.ndarray
    length_scale: float

    def __str__(self) -> str:
        return f"radial, length scale {self.length_scale:g}"

    @property
    def size(self) -> int:
        """Number of centres."""
        return len(self.centres)

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return self.centres.shape[1] // 2

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Partial derivatives of all functions, shape (sample, centre)."""
        state = np.asarray(state, dtype=float)
        a = 1.0 / self.length_scale**2
        square = np.zeros((len(state), self.size))
        for z, centre in zip(state.T, self.centres.T, strict=True):
            square += (z[:, None] - centre) ** 2
        total = np.exp(-a * square)
        orders = np.bincount(np.array(axes, dtype=int), minlength=state.shape[1])
        for i in np.flatnonzero(orders):
            distance = state[:, i][:, None] - self.centres[:, i]
            before, factor = 0.0, np.ones_like(distance)
            for r in range(orders[i]):
                before, factor = factor, -2 * a * (distance * factor + r * before)
            total *= factor
        return total

    def derivatives(
        self, states: np.ndarray, coefficients: np.ndarray, order: int
    ) -> np.ndarray:
        """All partial derivatives up to `order` of Σ b_j φ_j, shape (index, sample).

        The kernel is a product over q and q̇, so each derivative is a scalar product
        over the centres of one derivative in q and one in q̇.
        """
        n, states = self.dof, np.asarray(states, dtype=float)
        half = multi_indices(n, order)
        place = {tuple(row): i for i, row in enumerate(half.tolist())}
        rows = multi_indices(2 * n, order).tolist()
        left = [place[tuple(row[:n])] for row in rows]
        right = [place[tuple(row[n:])] for row in rows]
        found = np.empty((len(rows), len(states)))
        for i in range(0, len(states), SAMPLES_PER_BATCH):
            tables = self._tables(states[i : i + SAMPLES_PER_BATCH], order)
            of_q, of_v = (
                np.stack(
                    [
                        np.prod([t[k] for t, k in zip(part, row, strict=True)], axis=0)
                        for row in half
                    ],
                    axis=1,
                )
                for part in (tables[:n], tables[n:])
            )
            products = (of_q * coefficients) @ of_v.transpose(0, 2, 1)
            found[:, i : i + SAMPLES_PER_BATCH] = products[:, left, right].T
        return found

    def _tables(self, states: np.ndarray, order: int) -> list[np.ndarray]:
        """Derivatives of each factor exp(−(z−z_j)²/ε²), (order, sample, centre)."""
        a, tables = 1.0 / self.length_scale**2, []
        for z, centre in zip(states.T, self.centres.T, strict=True):
            distance = z[:, None] - centre
            table = [np.exp(-a * distance**2)]
            for r in range(order):
                before = table[r - 1] if r else 0.0
                table.append(-2 * a * (distance * table[r] + r * before))
            tables.append(np.array(table))
        return tables

    @property
    def jet(self) -> str:
        """Compiled gradient and Hessian: a loop over the centres."""
        return JET

    def packed(self, coefficients: np.ndarray) -> tuple[np.ndarray, ...]:
        """Arrays that the jet reads: 1/ε², then (b_j, z_j) of every centre."""
        size = 2 * self.dof
        rows = np.column_stack([coefficients, self.centres])
        layout = np.array([size, self.size], dtype=np.int64)
        values = np.append(1.0 / self.length_scale**2, rows)
        return layout, values, np.empty((1, 1, size))
