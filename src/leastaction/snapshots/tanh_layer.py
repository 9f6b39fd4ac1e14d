"""One layer of tanh units as a basis for L(q, q̇): φ_k = tanh(w_k·z + c_k)."""

from dataclasses import dataclass

import numpy as np

from leastaction.snapshots.basis import Basis


def tanh_derivatives(argument: np.ndarray, order: int) -> list[np.ndarray]:
    """Derivatives of tanh of order 0 ... `order`, as polynomials of t = tanh.

    From dt/dx = 1 − t².
    """
    t = np.tanh(argument)
    polynomial = np.polynomial.Polynomial([0.0, 1.0])
    slope = np.polynomial.Polynomial([1.0, 0.0, -1.0])
    found = []
    for _ in range(order + 1):
        found.append(polynomial(t))
        polynomial = polynomial.deriv() * slope
    return found


JET = """
@njit(cache=True, nogil=True)
def jet(z, layout, values, work, second_order, gradient, hessian):
    size, units = layout[0], layout[1]
    gradient[:] = 0.0
    if second_order:
        hessian[:] = 0.0
    for c in range(units):
        at = c * (size + 2)
        argument = values[at + 1]
        for j in range(size):
            argument += values[at + 2 + j] * z[j]
        t = math.tanh(argument)
        slope = values[at] * (1.0 - t * t)
        for j in range(size):
            gradient[j] += slope * values[at + 2 + j]
            if second_order:
                for k in range(j + 1):
                    hessian[j, k] -= (
                        2.0 * t * slope * values[at + 2 + j] * values[at + 2 + k])
    if second_order:
        for j in range(size):
            for k in range(j):
                hessian[k, j] = hessian[j, k]
"""


@dataclass(frozen=True, eq=False)
class TanhLayer(Basis):
    """Units tanh(w_k·z + c_k) as a basis.

    Attributes
    ----------
    weights
        w, shape (unit, 2 dof).
    offsets
        c, shape (unit,).
    """

    VARIABLES = ("weights", "offsets")
    weights: np.ndarray
    offsets: np.ndarray

    def __str__(self) -> str:
        return "one layer of tanh units"

    @property
    def size(self) -> int:
        """Number of units."""
        return len(self.weights)

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return self.weights.shape[1] // 2

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Partial derivatives of all units, shape (sample, unit)."""
        argument = np.asarray(state, dtype=float) @ self.weights.T + self.offsets
        factor = np.prod(self.weights[:, list(axes)], axis=1)
        return tanh_derivatives(argument, len(axes))[-1] * factor

    @property
    def jet(self) -> str:
        """Compiled gradient and Hessian: a loop over the units."""
        return JET

    def packed(self, coefficients: np.ndarray) -> tuple[np.ndarray, ...]:
        """Arrays that the jet reads: (b_k, c_k, w_k) of every unit."""
        size = 2 * self.dof
        rows = np.column_stack([coefficients, self.offsets, self.weights])
        layout = np.array([size, self.size], dtype=np.int64)
        return layout, rows.ravel(), np.empty((1, 1, size))
