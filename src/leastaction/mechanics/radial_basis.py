"""Radial basis functions exp(−|z − z_j|²/ε²) at centres z_j, z = (q, q̇).

The kernel of Ober-Blöbaum and Offen, eq. (21): ε², not 2 ε², and no scaling of
positions against velocities.
"""

from dataclasses import dataclass

import numpy as np


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
