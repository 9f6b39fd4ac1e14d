"""Backward error analysis at many points, from the partial derivatives of L.

From the partial derivatives of L at points (q, q̇) up to order k + r follow those up to
order r of the modified Lagrangian, truncated after h^k, in any dimension and to
rounding error: no difference quotient, no closed formula. Every function here takes and
gives partial derivatives as one array (index, point), its rows in graded order
(:mod:`leastaction.core.multi_index`) of the variables q_1 ... q_n, q̇_1 ... q̇_n: the
first row is the value, the next 2 n are the gradient. Velocities are (point, dof).

The algebra of :mod:`backward_error` is that of truncated Taylor polynomials
(:class:`Jet`).
"""

from functools import lru_cache
from math import comb

import numpy as np
from numba import njit

from leastaction.core.multi_index import factors, multi_indices
from leastaction.snapshots.backward_error import modified_coefficients

# The Taylor polynomials of these fit into the cache of a core.
POINTS_PER_BATCH = 1024


def needed_order(order: int, derivatives: int = 0) -> int:
    """Highest partial derivative of L for one of L^[k]; H^[k] counts one more."""
    return max(order, 2 if order else 0) + derivatives


def modified_lagrangian(
    derivatives: np.ndarray,
    velocity: np.ndarray,
    step: float,
    order: int = 2,
    rule: str = "midpoint",
    inverse: bool = False,
) -> np.ndarray:
    """Partial derivatives of L^[k] (Theorem 4.2), or of its inverse (Theorem 4.3).

    From those of L up to an order K ≥ k, k = `order`, up to order K − k.
    """
    degree = _degree(derivatives, velocity, needed_order(order))
    if not order:
        return derivatives
    variables = 2 * velocity.shape[1]
    rows = monomials(variables, degree - order)
    result = np.empty((rows, velocity.shape[0]))
    scale = factorials(variables, degree)
    for start in range(0, velocity.shape[0], POINTS_PER_BATCH):
        block = slice(start, start + POINTS_PER_BATCH)
        here = np.ascontiguousarray(derivatives[:, block] / scale)
        algebra = Jets(velocity[block], max(degree - 1, 0))
        jet = Jet(here, variables, degree)
        coefficients = modified_coefficients(algebra, jet, order, rule, inverse)
        result[:, block] = sum(
            step ** (2 * j) * c.coefficients[:rows] for j, c in enumerate(coefficients)
        )
    return result * scale[:rows]


def energy(derivatives: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Partial derivatives of q̇·∂L/∂q̇ − L, up to one order less than of L.

    Applied to L^[k] it is the modified Hamiltonian H^[k] as a function of (q, q̇).
    """
    variables = 2 * velocity.shape[1]
    degree = _degree(derivatives, velocity, 1)
    jet = Jet(derivatives / factorials(variables, degree), variables, degree)
    algebra = Jets(velocity, degree - 1)
    total = jet.shortened(degree - 1) * -1.0
    for i, v in enumerate(algebra.velocity()):
        total = total + v * algebra.partial(jet, 1, i)
    return total.coefficients * factorials(variables, degree - 1)


def momentum(derivatives: np.ndarray, dof: int) -> np.ndarray:
    """P = ∂L/∂q̇, shape (point, dof), from the partial derivatives of L."""
    return derivatives[1 + dof : 1 + 2 * dof].T


def mass_matrices(derivatives: np.ndarray, dof: int) -> np.ndarray:
    """∂²L/∂q̇∂q̇, shape (point, dof, dof), from partial derivatives up to order 2."""
    mass = np.empty((derivatives.shape[1], dof, dof))
    for axes, row in zip(factors(2 * dof, 2), derivatives, strict=True):
        if len(axes) == 2 and axes[0] >= dof:
            i, j = axes[0] - dof, axes[1] - dof
            mass[:, i, j] = mass[:, j, i] = row
    return mass


def _degree(derivatives: np.ndarray, velocity: np.ndarray, least: int) -> int:
    """Order up to which derivatives of L are given, if all are and it is enough."""
    if derivatives.ndim != 2 or derivatives.shape[1] != len(velocity):
        raise ValueError(
            f"derivatives have shape {derivatives.shape}, velocities {velocity.shape}; "
            "expected (index, point) and (point, dof)"
        )
    rows, variables, degree = len(derivatives), 2 * velocity.shape[1], 0
    while monomials(variables, degree) < rows:
        degree += 1
    if monomials(variables, degree) != rows:
        raise ValueError(
            f"{rows} rows are not the partial derivatives up to some order in "
            f"{variables} variables; orders 0, 1, 2, ... have "
            f"{[monomials(variables, k) for k in range(5)]}, ... rows (multi_indices)"
        )
    if degree < least:
        raise ValueError(
            f"derivatives of L are given up to order {degree}; order {least} is needed"
        )
    return degree


def monomials(variables: int, degree: int) -> int:
    """Number of monomials up to a degree."""
    return comb(variables + degree, degree)


@lru_cache(maxsize=64)
def factorials(variables: int, degree: int) -> np.ndarray:
    """α! of every multi-index, shape (monomial, 1): derivative over coefficient."""
    table = np.cumprod([1.0, *range(1, degree + 1)])
    return table[multi_indices(variables, degree)].prod(axis=1)[:, None]


class Jet:
    """Taylor polynomials in 2 n variables, coefficients (monomial, point)."""

    __slots__ = ("coefficients", "degree", "variables")

    def __init__(self, coefficients: np.ndarray, variables: int, degree: int):
        self.coefficients = coefficients
        self.variables = variables
        self.degree = degree

    def __add__(self, other: "Jet") -> "Jet":
        a, b, degree = self._matched(other)
        return Jet(a + b, self.variables, degree)

    def __sub__(self, other: "Jet") -> "Jet":
        a, b, degree = self._matched(other)
        return Jet(a - b, self.variables, degree)

    def __mul__(self, other: "Jet | float") -> "Jet":
        if not isinstance(other, Jet):
            return Jet(self.coefficients * other, self.variables, self.degree)
        a, b, degree = self._matched(other)
        product = np.zeros_like(a)
        _multiply(a, b, *_pairs(self.variables, degree), product)
        return Jet(product, self.variables, degree)

    def partial(self, variable: int) -> "Jet":
        """∂/∂(variable), one degree lower."""
        if self.degree == 0:
            raise ValueError(
                "the partial derivatives of the Lagrangian do not reach far enough; "
                "give them to a higher order (needed_order)"
            )
        source, factor = _partial_rows(self.variables, self.degree, variable)
        values = np.empty((source.size, self.coefficients.shape[1]))
        _scaled_rows(self.coefficients, source, factor, values)
        return Jet(values, self.variables, self.degree - 1)

    def shortened(self, degree: int) -> "Jet":
        """The same up to a lower degree."""
        if degree >= self.degree:
            return self
        rows = monomials(self.variables, degree)
        return Jet(self.coefficients[:rows], self.variables, degree)

    def _matched(self, other: "Jet"):
        rows = min(len(self.coefficients), len(other.coefficients))
        degree = min(self.degree, other.degree)
        return self.coefficients[:rows], other.coefficients[:rows], degree


class Jets:
    """The algebra of jets of at most a degree, see :mod:`backward_error`."""

    def __init__(self, velocity: np.ndarray, degree: int):
        points, self.dof = velocity.shape
        self.variables = 2 * self.dof
        self._velocity = []
        for i in range(self.dof):
            values = np.zeros((monomials(self.variables, degree), points))
            values[0] = velocity[:, i]
            if degree:
                values[1 + self.dof + i] = 1.0
            self._velocity.append(Jet(values, self.variables, degree))

    number = float

    def velocity(self) -> list[Jet]:
        """q̇."""
        return self._velocity

    def partial(self, jet: Jet, slot: int, i: int) -> Jet:
        """∂f/∂q_i (slot 0) or ∂f/∂q̇_i (slot 1)."""
        return jet.partial(slot * self.dof + i)

    def shortened(self, elements: list[Jet], function: Jet, k: int) -> list[Jet]:
        """As far as k-th derivatives of `function` are known."""
        return [x.shortened(max(function.degree - k, 0)) for x in elements]

    def solve(self, matrix: list[list[Jet]], right: list[Jet]) -> list[Jet]:
        """Solve by fixed point: each sweep makes a degree exact; NaN where singular."""
        dofs = range(self.dof)
        here = np.array([[x.coefficients[0] for x in row] for row in matrix])
        here = np.moveaxis(here, -1, 0)
        inverse, regular = np.full_like(here, np.nan), np.linalg.det(here) != 0
        inverse[regular] = np.linalg.inv(here[regular])
        rest = [[self._resized(x, x.degree, constant=0.0) for x in r] for r in matrix]
        solution = self._applied(inverse, [x.shortened(0) for x in right])
        for d in range(1, right[0].degree + 1):
            grown = [self._resized(x, d) for x in solution]
            residual = [x.shortened(d) for x in right]
            for i in dofs:
                for j in dofs:
                    residual[i] = residual[i] - rest[i][j] * grown[j]
            solution = self._applied(inverse, residual)
        return solution

    def _applied(self, inverse: np.ndarray, vector: list[Jet]) -> list[Jet]:
        dofs, degree = range(self.dof), vector[0].degree
        products = (
            sum(inverse[:, i, j] * vector[j].coefficients for j in dofs) for i in dofs
        )
        return [Jet(product, self.variables, degree) for product in products]

    def _resized(self, jet: Jet, degree: int, constant: float | None = None) -> Jet:
        """A copy of a higher degree, or with another constant term."""
        rows = monomials(self.variables, degree)
        values = np.zeros((rows, jet.coefficients.shape[1]))
        values[: len(jet.coefficients)] = jet.coefficients
        if constant is not None:
            values[0] = constant
        return Jet(values, self.variables, degree)


@lru_cache(maxsize=64)
def _position(variables: int, degree: int) -> dict[tuple, int]:
    return {tuple(a): i for i, a in enumerate(multi_indices(variables, degree))}


@lru_cache(maxsize=256)
def _partial_rows(variables: int, degree: int, variable: int):
    lower = multi_indices(variables, degree - 1)
    raised = lower.copy()
    raised[:, variable] += 1
    position = _position(variables, degree)
    source = np.array([position[tuple(a)] for a in raised])
    return source, raised[:, variable].astype(float)


@lru_cache(maxsize=64)
def _pairs(variables: int, degree: int) -> tuple[np.ndarray, ...]:
    """Rows (left, right, product) of all products up to the degree."""
    indices, position = multi_indices(variables, degree), _position(variables, degree)
    result = [
        (i, j, position[tuple(a + b)])
        for i, a in enumerate(indices)
        for j, b in enumerate(indices[: monomials(variables, degree - a.sum())])
    ]
    return tuple(np.array(column) for column in zip(*result, strict=True))


@njit(cache=True, nogil=True)
def _multiply(a, b, left, right, target, product):
    for t in range(left.size):
        i, j, k = left[t], right[t], target[t]
        for p in range(product.shape[1]):
            product[k, p] += a[i, p] * b[j, p]


@njit(cache=True, nogil=True)
def _scaled_rows(a, source, factor, out):
    for t in range(source.size):
        i, c = source[t], factor[t]
        for p in range(out.shape[1]):
            out[t, p] = c * a[i, p]
