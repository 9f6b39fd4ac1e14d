"""Radial basis functions exp(−|z − z_j|²/ε²) at centres z_j, z = (q, q̇).

The kernel of Ober-Blöbaum and Offen, eq. (21): ε², not 2 ε², and no scaling of
positions against velocities.
"""

from dataclasses import dataclass

import numpy as np

from leastaction.snapshots.backward_error_jets import multi_indices

# Samples whose tables of derivatives fit into the cache together.
CHUNK = 64


@dataclass(frozen=True, eq=False)
class RadialBasis:
    """Kernel functions at centres as a basis for L(q, q̇).

    Attributes
    ----------
    centres
        Shape (centre, 2 dof).
    length_scale
        ε.
    """

    centres: np.ndarray
    length_scale: float

    @property
    def size(self) -> int:
        """Number of centres."""
        return len(self.centres)

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return self.centres.shape[1] // 2

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Partial derivatives of all functions, shape (sample, centre).

        Parameters
        ----------
        state
            (q, q̇), shape (sample, 2 dof).
        axes
            Components of `state` to differentiate by; none for the values.
        """
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
        for i in range(0, len(states), CHUNK):
            tables = self._tables(states[i : i + CHUNK], order)
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
            found[:, i : i + CHUNK] = products[:, left, right].T
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
