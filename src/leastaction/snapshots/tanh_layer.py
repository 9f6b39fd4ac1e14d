"""One layer of tanh units as a basis for L(q, q̇): φ_k = tanh(w_k·z + c_k)."""

from dataclasses import dataclass

import numpy as np


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


@dataclass(frozen=True, eq=False)
class TanhLayer:
    """Units tanh(w_k·z + c_k) as a basis.

    Attributes
    ----------
    weights
        w, shape (unit, 2 dof).
    offsets
        c, shape (unit,).
    """

    weights: np.ndarray
    offsets: np.ndarray

    @property
    def size(self) -> int:
        """Number of units."""
        return len(self.weights)

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return self.weights.shape[1] // 2

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Partial derivatives of all units, shape (sample, unit).

        Parameters
        ----------
        state
            (q, q̇), shape (sample, 2 dof).
        axes
            Components of `state` to differentiate by; none for the values.
        """
        argument = np.asarray(state, dtype=float) @ self.weights.T + self.offsets
        factor = np.prod(self.weights[:, list(axes)], axis=1)
        return tanh_derivatives(argument, len(axes))[-1] * factor
