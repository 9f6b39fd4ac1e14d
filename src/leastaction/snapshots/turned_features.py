r"""Taylor features of turned states: rotations about far points, and screw motions.

A rotation ξ(q) = A (q − p) with A³ = −A moves the plane of e and A e. In coordinates
y = B (q − p) along e, along A e and across the plane, and w = B q̇, a state is turned
until its y has the direction e (a moving frame, Fels and Olver 1999):

.. math::

    s = (ρ,\, 0,\, y_3, …;\; w_ρ,\, w_φ,\, w_3, …), \quad ρ^2 = y_1^2 + y_2^2, \quad
    ρ w_ρ = y_1 w_1 + y_2 w_2, \quad ρ w_φ = y_1 w_2 - y_2 w_1 ,

the distance from p, the radial and the tangential velocity. L = Σ b_f φ_f(s) has the
symmetry exactly, and all around p though the data be on one side of it.

A screw motion ξ(q) = A (q − p) + a with A a = 0 also moves y₃, the angle by which q has
advanced along a. A state is turned back by y₃, and moved to y₃ = 0: of s this component
is then zero instead of the second. The class of L depends on the pitch.

All rotations of space about p leave ρ = |y|, w_ρ = y·w/ρ and w·w, and any L that has
them is a function of these three: s = (ρ, 0, 0; w_ρ, w·w, 0).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import factorial, prod

import numpy as np
import xarray as xr
from scipy.linalg import null_space

from leastaction.core.compiled import fill
from leastaction.core.multi_index import factors
from leastaction.core.symmetries import Symmetry
from leastaction.snapshots.backward_error_numerical import Jet, factorials, monomials
from leastaction.snapshots.bases import (
    VELOCITY_RATIO,
    Basis,
    RadialBasis,
    WeightSpace,
    scaled_inputs,
)
from leastaction.snapshots.invariant_features import adapted

# Of what is one: below this it is round-off.
ROUND_OFF = 1e-9

# Loops, since an array assigned to another takes seconds to compile.
TURN_BACK = """
@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def turn_back(c, s, frame, x):
    n = frame.shape[0]
    y = np.empty(n)
    for k in range(0, 2 * n, n):
        x[k], x[k + 1] = c * x[k] - s * x[k + 1], s * x[k] + c * x[k + 1]
        for j in range(n):
            y[j] = x[k + j]
        for j in range(n):
            x[k + j] = 0.0
            for i in range(n):
                x[k + j] += frame[i, j] * y[i]
"""
CENTRAL = """
@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def central(y, layout, values, work, second_order, gradient, hessian):
    r = math.sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2])
    invariants, by_state = np.zeros(6), np.zeros((3, 6))
    along = (y[0] * y[3] + y[1] * y[4] + y[2] * y[5]) / r
    invariants[0], invariants[3] = r, along
    invariants[4] = y[3] * y[3] + y[4] * y[4] + y[5] * y[5]
    jet_of_features(
        invariants, layout, values, work, second_order, gradient, hessian
    )
    for i in range(3):
        by_state[0, i] = by_state[1, 3 + i] = y[i] / r
        by_state[1, i] = (y[3 + i] - along * y[i] / r) / r
        by_state[2, 3 + i] = 2.0 * y[3 + i]
    slope = gradient[0], gradient[3], gradient[4]
    for i in range(6):
        gradient[i] = 0.0
        for a in range(3):
            gradient[i] += slope[a] * by_state[a, i]
    if second_order:
        curved = np.empty((6, 6))
        for i in range(6):
            for j in range(6):
                curved[i, j] = hessian[i, j]
        for i in range(6):
            for j in range(6):
                hessian[i, j] = 0.0
                for a in range(3):
                    for b in range(3):
                        both = by_state[a, i] * by_state[b, j]
                        hessian[i, j] += both * curved[a + 2 * (a > 0), b + 2 * (b > 0)]
        for i in range(3):
            hessian[3 + i, 3 + i] += 2.0 * slope[2]
            for j in range(3):
                across = ((i == j) - y[i] * y[j] / r**2) / r
                mixed = by_state[1, i] * y[j] + by_state[1, j] * y[i]
                hessian[i, j] += slope[0] * across
                hessian[i, j] -= slope[1] * (mixed / r**2 + along * across / r)
                hessian[i, 3 + j] += slope[1] * across
                hessian[3 + j, i] += slope[1] * across
"""
JET_OF_TURNED = """
@njit(cache=True, no_cpython_wrapper=True)
def jet(z, layout, values, work, second_order, gradient, hessian):
    n = z.size // 2
    fixed, about = layout[3], layout[3] + n
    frame, y, column = np.empty((n, n)), np.zeros(2 * n), np.empty(2 * n)
    for i in range(n):
        for j in range(n):
            frame[i, j] = values[about + n * i + j]
            y[i] += frame[i, j] * (z[j] - values[fixed + j])
            y[n + i] += frame[i, j] * z[n + j]
    {features}
    if second_order:
        for i in range(2 * n):
            turn_back(c, s, frame, hessian[i])
        for j in range(2 * n):
            for i in range(2 * n):
                column[i] = hessian[i, j]
            turn_back(c, s, frame, column)
            for i in range(2 * n):
                hessian[i, j] = column[i]
    turn_back(c, s, frame, gradient)
"""
FEATURES_OF_CENTRAL = """\
c, s = 1.0, 0.0
central(y, layout, values, work, second_order, gradient, hessian)"""
# Derivatives by the component m that is zero follow from X L = Σ g_k L_k = 0, g =
# (-y_1, y_0, 1 of a screw; -y_(n+1), y_n), those elsewhere from the turned state.
FEATURES_OF_TURNED = """\
m = layout[4]
if m == 1:
    r = math.sqrt(y[0] * y[0] + y[1] * y[1])
    c, s = y[0] / r, y[1] / r
else:
    c, s = math.cos(y[2]), math.sin(y[2])
for k in range(0, 2 * n, n):
    y[k], y[k + 1] = c * y[k] + s * y[k + 1], c * y[k + 1] - s * y[k]
y[m] = 0.0
jet_of_features(y, layout, values, work, second_order, gradient, hessian)
g = np.zeros(2 * n)
g[2 % n] = m - 1.0
g[0], g[1], g[n], g[n + 1] = -y[1], y[0], -y[n + 1], y[n]
gradient[m] = 0.0
total = 0.0
for i in range(2 * n):
    total += g[i] * gradient[i]
gradient[m] = -total / g[m]
if second_order:
    for k in range(m + 1, m + 1 + 2 * n):
        j = k % (2 * n)  # m is the last
        hessian[j, m] = 0.0
        along = 0.0
        for i in range(2 * n):
            along += g[i] * hessian[j, i]
        if j % n == 0:
            along += gradient[j + 1]
        if j % n == 1:
            along -= gradient[j - 1]
        hessian[m, j] = hessian[j, m] = -along / g[m]"""


@dataclass(eq=False)
class TurnedFeatures(WeightSpace):
    """Features of s, which `inputs` and `centre` refer to.

    `frame` is B, shape (dof, dof), `fixed_point` is p, shape (dof,).
    """

    VARIABLES = (*WeightSpace.VARIABLES, "frame", "fixed_point")
    frame: np.ndarray
    fixed_point: np.ndarray

    @property
    def zero(self) -> int:
        """First component of s that is zero, which no input sees: 1, 2 of a screw."""
        return int(np.argmin(np.abs(self.inputs).sum(axis=0)))

    @property
    def is_central(self) -> bool:
        """Whether features are of the three invariants of all rotations of space."""
        return np.count_nonzero(~self.inputs.any(axis=0)) == 3

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> WeightSpace:
        """As :meth:`.Basis.from_dataset`; a frame of zeros turns nothing."""
        turned = dataset["frame"].values[0].any()
        return (
            super().from_dataset(dataset)
            if turned
            else WeightSpace.from_dataset(dataset)
        )

    def __str__(self) -> str:
        return f"{super().__str__()}, of states turned about {self.fixed_point}"

    def turned(self, states: np.ndarray, order: int = 0) -> list[Jet]:
        """Components of s as Taylor polynomials of (q, q̇) up to `order`."""
        n, zero = self.dof, np.zeros_like(self.frame)
        shifted = np.array(states, dtype=float)
        shifted[:, :n] -= self.fixed_point
        rows = np.block([[self.frame, zero], [zero, self.frame]])
        y = [_linear(row, shifted, order) for row in rows]
        if self.is_central:
            square, along, speed = (
                sum((a * b for a, b in zip(u, w, strict=True)), y[0] * 0.0)
                for u, w in ((y[:n], y[:n]), (y[:n], y[n:]), (y[n:], y[n:]))
            )
            inverse, none = _inverse_root(square), y[0] * 0.0
            return [square * inverse, none, none, along * inverse, speed, none]
        if self.zero == 1:
            inverse = _inverse_root(y[0] * y[0] + y[1] * y[1])
            c, s = y[0] * inverse, y[1] * inverse
        else:
            c, s = _cosine(y[2]), _cosine(y[2], -np.pi / 2)
        for k in (0, n):
            y[k], y[k + 1] = c * y[k] + s * y[k + 1], c * y[k + 1] - s * y[k]
        y[self.zero] *= 0.0
        return y

    def _chain(
        self, states: np.ndarray, order: int
    ) -> Iterator[tuple[list[np.ndarray], np.ndarray]]:
        """Terms of the chain rule, one for each multi-index α of the inputs x.

        Factors of ∂^α of the features, and the partial derivatives of (x − x₀)^α/α! by
        (q, q̇) at x = x₀, (index, sample).
        """
        s, inputs = self.turned(states, order), []
        for row in self.inputs:
            parts = (s[j] * row[j] for j in np.flatnonzero(row))
            inputs.append(sum(parts, s[self.zero]))
        values = np.array([x.coefficients[0] for x in inputs])
        values -= (self.inputs @ self.centre)[:, None]
        tables = [self._one_variable(x, order) for x in values]
        variables, scale = 2 * self.dof, factorials(2 * self.dof, order)
        for x in inputs:
            x.coefficients[0] = 0.0
        products = {(): _constant(np.ones(len(states)), variables, order)}
        for axes in factors(len(inputs), order):
            if axes:
                products[axes] = products[axes[:-1]] * inputs[axes[-1]]
            powers = [axes.count(i) for i in range(len(inputs))]
            share = scale / prod(factorial(k) for k in powers)
            entries = [table[k] for table, k in zip(tables, powers, strict=True)]
            yield entries, products[axes].coefficients * share

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Partial derivatives of all features, shape (sample, feature)."""
        row = factors(2 * self.dof, len(axes)).index(tuple(sorted(axes)))
        chain = self._chain(state, len(axes))
        used = ((entries, by[row]) for entries, by in chain if by[row].any())
        none = np.zeros((self.size, len(state)))
        return sum((self._products(some) * by for some, by in used), none).T

    def derivatives(
        self, states: np.ndarray, coefficients: np.ndarray, order: int
    ) -> np.ndarray:
        """As :meth:`.Basis.derivatives`."""
        chain = self._chain(states, order)
        return sum((coefficients @ self._products(some)) * by for some, by in chain)

    def jet(self, coefficients: np.ndarray) -> tuple[str, np.ndarray, ...]:
        """Gradient and Hessian; the arrays are those of s, p and B."""
        source, layout, values, work = super().jet(coefficients)
        source = source.replace("def jet(", "def jet_of_features(") + TURN_BACK
        if self.is_central:
            source += CENTRAL
        features = FEATURES_OF_CENTRAL if self.is_central else FEATURES_OF_TURNED
        return (
            source + fill(JET_OF_TURNED, {"features": features}),
            np.append(layout, [values.size, 0 if self.is_central else self.zero]),
            np.concatenate([values, self.fixed_point, self.frame.ravel()]),
            work,
        )


def turned_features(
    basis: WeightSpace, symmetries: Sequence[Symmetry], states: np.ndarray
) -> TurnedFeatures | None:
    """Features of turned states (sample, 2 dof), scaled to the cube that these span.

    None if `symmetries` are anything else than one rotation of a plane, one screw, or
    rotations of space about one point.
    """
    n = basis.dof
    if len(symmetries) != 1:
        about = adapted(basis, symmetries)
        if n != 3 or about is None or len(about.inputs) < 2 * n:
            return None
        if not all(one.matrix.any() for one in symmetries):
            return None
        frame, fixed = about.inputs[:n, :n], about.centre[:n]
        return _scaled_to(states, basis, (1, 2, 5), frame, fixed)
    (matrix,) = [one.matrix for one in symmetries]
    square = -np.trace(matrix @ matrix) / 2
    onto = -matrix @ matrix / square if square > ROUND_OFF else np.zeros((n, n))
    turning = onto.any() and np.allclose(onto @ matrix, matrix)
    if not turning:
        return None
    first = onto[:, np.argmax(np.diag(onto))]
    plane = np.stack([first, matrix @ first / np.sqrt(square)], axis=1)
    across, offset = null_space(plane.T).T, symmetries[0].offset
    if screw := np.abs(offset - onto @ offset).max() > ROUND_OFF:
        along = (across @ offset)[None]
        angle = np.sqrt(square) * along / (along @ along.T)
        across = np.vstack([angle, null_space(along).T]) @ across
    frame = np.vstack([np.linalg.pinv(plane) @ onto, across])
    fixed = -np.linalg.pinv(matrix) @ offset
    return _scaled_to(states, basis, (1 + screw,), frame, fixed)


def _scaled_to(states, basis: WeightSpace, zero, frame, fixed) -> TurnedFeatures:
    """Features that see the components of s but `zero`, scaled to those of states."""
    n, eye = basis.dof, np.eye(2 * basis.dof)
    none = np.delete(eye, zero, axis=0), np.zeros(2 * n)
    features = TurnedFeatures(basis.degree, basis.length_scale, *none, frame, fixed)
    s = np.column_stack([jet.coefficients[0] for jet in features.turned(states)])
    inputs, centre = scaled_inputs(s, zero, VELOCITY_RATIO)
    centre[n:] = 0.0
    return replace(features, inputs=inputs, centre=centre)


def _linear(row: np.ndarray, states: np.ndarray, order: int) -> Jet:
    """row·z as a Taylor polynomial about each state."""
    jet = _constant(states @ row, states.shape[1], order)
    if order:
        jet.coefficients[1 : 1 + states.shape[1]] = row[:, None]
    return jet


def _constant(values: np.ndarray, variables: int, order: int) -> Jet:
    coefficients = np.zeros((monomials(variables, order), len(values)))
    coefficients[0] = values
    return Jet(coefficients, variables, order)


def _inverse_root(x: Jet) -> Jet:
    """1/√x by the binomial series about the value of x."""
    series = [x.coefficients[0] ** -0.5]
    for k in range(1, x.degree + 1):
        series.append(series[-1] * ((0.5 - k) / k) / x.coefficients[0])
    return _composed(x, series)


def _cosine(x: Jet, phase: float = 0.0) -> Jet:
    """Cosine of x + phase by Taylor's series about the value of x."""
    value, orders = x.coefficients[0] + phase, range(x.degree + 1)
    return _composed(x, [np.cos(value + k * np.pi / 2) / factorial(k) for k in orders])


def _composed(x: Jet, series: list[np.ndarray]) -> Jet:
    """Σ a_k (x − x₀)^k about the value x₀, by Horner's rule."""
    rest = x * 1.0
    rest.coefficients[0] = 0.0
    result = _constant(series[-1], x.variables, x.degree)
    for value in series[-2::-1]:
        result = result * rest + _constant(value, x.variables, x.degree)
    return result


def basis_of(dataset: xr.Dataset) -> Basis:
    """Basis of one replicate from its variables; a ValueError if none is there."""
    kinds = (TurnedFeatures, WeightSpace, RadialBasis)
    for kind in kinds:
        if set(kind.VARIABLES) <= set(dataset.data_vars):
            return kind.from_dataset(dataset)
    raise ValueError(
        f"no basis among {sorted(dataset.data_vars)}; expected "
        + ", or ".join(" and ".join(map(repr, kind.VARIABLES)) for kind in kinds)
    )
