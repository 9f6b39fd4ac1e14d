"""Backward error analysis at many points, from the partial derivatives of L.

A learned Lagrangian, a kernel or feature model, gives its partial derivatives in q and
q̇ at points (q, q̇). From those up to order k + r follow all partial derivatives up to
order r of L_mod or L_invmod, truncated after h^k, in any dimension and to rounding
error: no difference quotient, no closed formula. Every function here takes and gives
partial derivatives as one array (index, point); the multi-indices of its rows are
``multi_indices(2 n, order)``, with the variables q_1 ... q_n, q̇_1 ... q̇_n.
"""

from collections.abc import Callable, Sequence

import numpy as np
import sympy as sp

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.snapshots.backward_error_jets import (
    Jet,
    Jets,
    degree_of,
    factorials,
    monomials,
    multi_indices,
)
from leastaction.snapshots.backward_error_series import (
    inverse_modified_coefficients,
    modified_coefficients,
)

POINTS = 1024


def needed_order(order: int, derivatives: int = 0) -> int:
    """Highest partial derivative of L that a result needs.

    Parameters
    ----------
    order
        Truncation of L_mod or L_invmod.
    derivatives
        Highest derivative of the result. A Hamiltonian counts one more than its own.
    """
    return max(order, 2 if order else 0) + derivatives


def modified_lagrangian(
    derivatives: np.ndarray,
    velocity: np.ndarray,
    step: float,
    order: int = 2,
    rule: str = "midpoint",
) -> np.ndarray:
    """Partial derivatives of the modified Lagrangian L^[k] (Theorem 4.2).

    Parameters
    ----------
    derivatives
        Partial derivatives of L up to any order K ≥ `order`, shape (index, point).
    velocity
        q̇ at the points, shape (point, dof).
    step
        h (s).
    order
        k, the power of h after which it is truncated, even.
    rule
        ``midpoint`` or ``trapezoidal``.

    Returns
    -------
    Partial derivatives up to order K − k, shape (index, point). The first row is the
    value, the next 2 n rows the gradient.

    Raises
    ------
    ValueError
        If the rows are not a full set of derivatives, reach less far than `order`, or
        the order or rule is unknown.
    """
    return _truncated(modified_coefficients, derivatives, velocity, step, order, rule)


def inverse_modified_lagrangian(
    derivatives: np.ndarray,
    velocity: np.ndarray,
    step: float,
    order: int = 2,
    rule: str = "midpoint",
) -> np.ndarray:
    """Partial derivatives of the inverse modified Lagrangian (Theorem 4.3).

    Parameters, results and errors are those of :func:`modified_lagrangian`.
    """
    return _truncated(
        inverse_modified_coefficients, derivatives, velocity, step, order, rule
    )


def energy(derivatives: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Partial derivatives of the energy q̇·∂L/∂q̇ − L, up to one order less than of L.

    Applied to L^[k] it is the modified Hamiltonian H^[k] as a function of (q, q̇): the
    first row is its value, the next 2 n rows its gradient.

    Parameters
    ----------
    derivatives
        Of a Lagrangian, up to order 1 at least, shape (index, point).
    velocity
        Shape (point, dof).
    """
    variables = 2 * velocity.shape[1]
    degree = _checked(derivatives, velocity, 1)
    jet = Jet(derivatives / factorials(variables, degree), variables, degree)
    algebra = Jets(velocity, degree - 1)
    total = jet.shortened(degree - 1) * -1.0
    for i, v in enumerate(algebra.velocity()):
        total = total + v * algebra.partial(jet, 1, i)
    return total.coefficients * factorials(variables, degree - 1)


def momentum(derivatives: np.ndarray, dof: int) -> np.ndarray:
    """Return p = ∂L/∂q̇, shape (point, dof), from the partial derivatives of L."""
    return derivatives[1 + dof : 1 + 2 * dof].T


def partial_derivatives(
    lagrangian: sp.Expr, coordinates: Sequence[str], order: int
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Partial derivatives of an expression as the functions here want them.

    Parameters
    ----------
    lagrangian
        L(q, q̇) without other symbols.
    coordinates
        Names of q.
    order
        Highest order.

    Returns
    -------
    Function of q and q̇, each (point, dof), that gives the array (index, point).
    """
    variables = (*symbols(coordinates), *symbols(velocity_names(coordinates)))
    found: dict[tuple, sp.Expr] = {}
    for index in map(tuple, multi_indices(len(variables), order)):
        last = max((i for i, k in enumerate(index) if k), default=None)
        if last is None:
            found[index] = sp.sympify(lagrangian)
        else:
            lower = (*index[:last], index[last] - 1, *index[last + 1 :])
            found[index] = sp.diff(found[lower], variables[last])
    function = sp.lambdify(variables, list(found.values()), "numpy", cse=True)

    def evaluated(q: np.ndarray, qdot: np.ndarray) -> np.ndarray:
        rows = function(*np.transpose(q), *np.transpose(qdot))
        return np.array([np.broadcast_to(row, len(q)) for row in rows], dtype=float)

    return evaluated


def _truncated(coefficients_of, derivatives, velocity, step, order, rule):
    variables = 2 * velocity.shape[1]
    degree = _checked(derivatives, velocity, needed_order(order))
    rows = monomials(variables, degree - order)
    result = np.empty((rows, velocity.shape[0]))
    scale = factorials(variables, degree)
    for start in range(0, velocity.shape[0], POINTS):
        block = slice(start, start + POINTS)
        here = np.ascontiguousarray(derivatives[:, block] / scale)
        algebra = Jets(velocity[block], max(degree - 1, 0))
        jet = Jet(here, variables, degree)
        coefficients = coefficients_of(algebra, jet, order, rule)
        result[:, block] = sum(
            step ** (2 * j) * c.coefficients[:rows] for j, c in enumerate(coefficients)
        )
    return result * scale[:rows]


def _checked(derivatives: np.ndarray, velocity: np.ndarray, least: int) -> int:
    if derivatives.ndim != 2 or derivatives.shape[1] != len(velocity):
        raise ValueError(
            f"derivatives have shape {derivatives.shape}, velocities {velocity.shape}; "
            "expected (index, point) and (point, dof)"
        )
    degree = degree_of(len(derivatives), 2 * velocity.shape[1])
    if degree < least:
        raise ValueError(
            f"derivatives of L are given up to order {degree}; order {least} is needed"
        )
    return degree
