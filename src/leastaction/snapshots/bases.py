"""Functions φ_i(q, q̇) in which a Lagrangian L = Σ b_i φ_i is linear: two bases.

`RadialBasis`, the kernel of Ober-Blöbaum and Offen, eq. (21), at centres z_j,

.. math::  φ_j(z) = e^{-|z-z_j|^2/ε^2}, \\qquad z = (q, q̇)

(ε², not 2 ε², and no scaling of positions against velocities), and `WeightSpace`, the
features of the squared exponential kernel (Rasmussen and Williams 2005). With
x = A (z − c) that kernel,

.. math::  k(x, y) = e^{-|x-y|^2/ε^2}
           = \\sum_α φ_α(x)\\, φ_α(y), \\qquad
           φ_α(x) = \\prod_i \\sqrt{(2a)^{α_i}/α_i!}\\; x_i^{α_i} e^{-a x_i^2},
           \\quad a = 1/ε^2,

is a sum over all multi-indices; those of total degree up to D are kept. A Gaussian
process with this kernel is then linear regression with a unit Gaussian prior on the
weights of the features (section 2.1.2 there). A map A that does not see a direction of
z makes every Lagrangian of the features invariant along it.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from itertools import product
from textwrap import indent
from typing import ClassVar, Self

import numpy as np
import xarray as xr

from leastaction.core.multi_index import factors, multi_indices

# How much longer the length scale is for velocities, in which a Lagrangian is smoother
# than in positions.
VELOCITY_RATIO = 4.0
# Tables of derivatives of so many samples stay in the cache of a core.
SAMPLES_OF_RADIAL, SAMPLES_OF_WEIGHT_SPACE = 64, 200


class Basis(ABC):
    """Functions of (q, q̇) with all partial derivatives.

    A basis has a `size` (number of functions), `dof`, and :meth:`partial`; for rollouts
    a compiled :meth:`jet`; and `VARIABLES`, attributes that define it, for files.
    """

    VARIABLES: ClassVar[tuple[str, ...]] = ()
    size: int
    dof: int

    @abstractmethod
    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Derivatives by components `axes` of states, new array (sample, function)."""

    def derivatives(
        self, states: np.ndarray, coefficients: np.ndarray, order: int
    ) -> np.ndarray:
        """Partial derivatives up to `order` of Σ b_i φ_i, (index, sample), graded."""
        axes = factors(states.shape[1], order)
        return np.array([self.partial(states, *one) @ coefficients for one in axes])

    @abstractmethod
    def jet(self, coefficients: np.ndarray) -> tuple[str, np.ndarray, ...]:
        """Gradient and Hessian of L: Numba source, and its arrays.

        ``jet(z, layout, values, work, second_order, gradient, hessian)``, of which
        `layout` (integers), `values` and `work` are returned.
        """

    def to_dataset(self) -> dict[str, np.ndarray]:
        """Values of its variables in the contract ``shadow_equations``."""
        return {k: np.asarray(getattr(self, k), dtype=float) for k in self.VARIABLES}

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> Self:
        """Basis of one replicate and case from its variables."""
        values = {name: dataset[name].values[0] for name in cls.VARIABLES}
        return cls(**{k: v.item() if np.ndim(v) == 0 else v for k, v in values.items()})


# A row of `values` is b, 1/ε² and the centre.
JET_OF_CENTRES = """
@njit(cache=True, no_cpython_wrapper=True)
def jet(z, layout, values, work, second_order, gradient, hessian):
    size, units = layout[0], layout[1]
    along = work[0, 0]
    gradient[:] = 0.0
    if second_order:
        hessian[:] = 0.0
    for c in range(units):
        at = c * (size + 2)
        b, x = values[at], values[at + 1]
        vector = values[at + 2 : at + 2 + size]
        square = 0.0
        for j in range(size):
            along[j] = z[j] - vector[j]
            square += along[j] * along[j]
        slope = -2.0 * x * b * math.exp(-x * square)
        diagonal, curvature = slope, 2.0 * x * slope
        for j in range(size):
            gradient[j] += slope * along[j]
            if second_order:
                hessian[j, j] += diagonal
                for k in range(j + 1):
                    hessian[j, k] -= curvature * along[j] * along[k]
    if second_order:
        for j in range(size):
            for k in range(j):
                hessian[k, j] = hessian[j, k]
"""


@dataclass(eq=False)
class RadialBasis(Basis):
    """Kernel functions at `centres` (centre, 2 dof), of the length scale ε."""

    VARIABLES = ("length_scale", "centres")
    centres: np.ndarray
    length_scale: float

    def __post_init__(self):
        self.size, self.dof = len(self.centres), self.centres.shape[1] // 2
        self._a = 1.0 / self.length_scale**2

    def __str__(self) -> str:
        return f"radial, length scale {self.length_scale:g}"

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Partial derivatives of all functions, shape (sample, centre)."""
        state = np.asarray(state, dtype=float)
        square = np.zeros((len(state), self.size))
        for z, centre in zip(state.T, self.centres.T, strict=True):
            square += (z[:, None] - centre) ** 2
        total = np.exp(-self._a * square)
        orders = np.bincount(np.array(axes, dtype=int), minlength=state.shape[1])
        for i in np.flatnonzero(orders):
            distance = state[:, i][:, None] - self.centres[:, i]
            one = np.ones_like(distance)
            total *= self._differentiated(one, distance, orders[i])[-1]
        return total

    def derivatives(
        self, states: np.ndarray, coefficients: np.ndarray, order: int
    ) -> np.ndarray:
        """As :meth:`Basis.derivatives`.

        The kernel is a product over q and q̇, so each derivative is a scalar product
        over the centres of one derivative in q and one in q̇.
        """
        n, states = self.dof, np.asarray(states, dtype=float)
        half = multi_indices(n, order)
        place = {tuple(row): i for i, row in enumerate(half.tolist())}
        rows = multi_indices(2 * n, order).tolist()
        left = [place[tuple(row[:n])] for row in rows]
        right = [place[tuple(row[n:])] for row in rows]
        result = np.empty((len(rows), len(states)))

        def products(block: np.ndarray, axes: slice) -> np.ndarray:
            """Derivatives of the factors of some axes, (sample, index, centre)."""
            distances = block.T[axes, :, None] - self.centres.T[axes, None]
            tables = [
                self._differentiated(np.exp(-self._a * d**2), d, order)
                for d in distances
            ]
            each = [[t[k] for t, k in zip(tables, row, strict=True)] for row in half]
            return np.stack([reduce(np.multiply, one) for one in each], axis=1)

        for i in range(0, len(states), SAMPLES_OF_RADIAL):
            block = states[i : i + SAMPLES_OF_RADIAL]
            of_q, of_v = products(block, slice(n)), products(block, slice(n, None))
            both = (of_q * coefficients) @ of_v.transpose(0, 2, 1)
            result[:, i : i + SAMPLES_OF_RADIAL] = both[:, left, right].T
        return result

    def _differentiated(self, first, distance: np.ndarray, order) -> list[np.ndarray]:
        """First times derivative over value of exp(−x²/ε²), by order."""
        result = [first]
        for r in range(order):
            before = result[r - 1] if r else 0.0
            result.append(-2 * self._a * (distance * result[r] + r * before))
        return result

    def jet(self, coefficients: np.ndarray) -> tuple[str, np.ndarray, ...]:
        """Gradient and Hessian by a loop over the centres."""
        a = np.full(self.size, self._a)
        rows = np.column_stack([coefficients, a, self.centres])
        layout = np.array([2 * self.dof, self.size], dtype=np.int64)
        return JET_OF_CENTRES, layout, rows.ravel(), np.empty((1, 1, 2 * self.dof))


JET_OF_FEATURES = """
@njit(cache=True, no_cpython_wrapper=True, fastmath={{"contract"}})
def jet(z, layout, values, work, second_order, gradient, hessian):
    d, size, terms = layout[0], layout[1], layout[2]
    a = values[0]
    inputs = 1 + 2 * terms
    centre = inputs + d * size
    square = 0.0
    for i in range(d):
        x = 0.0
        for j in range(size):
            x += values[inputs + i * size + j] * (z[j] - values[centre + j])
        square += x * x
        slope = -2.0 * a * x
        work[0, i, 0] = 1.0
        work[1, i, 0] = slope
        work[2, i, 0] = slope * slope - 2.0 * a
        for k in range(1, terms):
            up = values[1 + terms + k]
            f = work[0, i, k - 1] * x * values[1 + k]
            f1 = up * work[0, i, k - 1] + slope * f
            work[0, i, k] = f
            work[1, i, k] = f1
            work[2, i, k] = up * work[1, i, k - 1] + slope * f1 - 2.0 * a * f
    scale = math.exp(-a * square)
    at = centre + size
    if second_order:
{two}
        for j in range(size):
            for k in range(j, size):
{hessian}
                hessian[k, j] = hessian[j, k]
    else:
{one}
    for j in range(size):
{gradient}
"""


@dataclass(eq=False)
class WeightSpace(Basis):
    """Taylor features of total degree up to `degree`; ε is in units of x.

    `inputs` is A, shape (variable, 2 dof), `centre` is c, shape (2 dof,).
    """

    VARIABLES = ("degree", "length_scale", "inputs", "centre")
    degree: int
    length_scale: float
    inputs: np.ndarray
    centre: np.ndarray

    def __post_init__(self):
        self.degree = int(self.degree)  # files hold a float
        variables, self.dof = len(self.inputs), self.inputs.shape[1] // 2
        self.size = len(multi_indices(variables, self.degree, True))

    def __str__(self) -> str:
        return (
            f"Taylor features of a squared exponential kernel, degree {self.degree}, "
            f"length scale {self.length_scale:g} half widths of the data"
        )

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Partial derivatives of all features, shape (sample, feature)."""
        tables, total = self._tables(state, len(axes)), None
        for rows, factor in self._combined(axes):
            part = self._derived(tables, rows, factor)
            total = part if total is None else np.add(total, part, out=total)
        return (np.zeros((self.size, len(state))) if total is None else total).T

    def derivatives(
        self, states: np.ndarray, coefficients: np.ndarray, order: int
    ) -> np.ndarray:
        """As :meth:`Basis.derivatives`, with those by the inputs computed once."""
        tables = self._tables(states, order)
        by_inputs = cache(lambda rows: coefficients @ self._derived(tables, rows))
        return np.array(
            [
                sum(factor * by_inputs(rows) for rows, factor in self._combined(axes))
                + np.zeros(len(states))
                for axes in factors(states.shape[1], order)
            ]
        )

    def _tables(self, states: np.ndarray, order: int) -> list[list[np.ndarray]]:
        """Derivatives of the functions of each input, (k, sample), by order."""
        x = (np.asarray(states, dtype=float) - self.centre) @ self.inputs.T
        return [self._one_variable(column, order) for column in x.T]

    def _one_variable(self, x: np.ndarray, order: int) -> list[np.ndarray]:
        """Derivatives of φ_k(x) = √((2a)^k/k!) x^k exp(−a x²), (k, sample), by order.

        From φ_k' = √(2 a k) φ_{k−1} − 2 a x φ_k; no power of x is ever divided by x.
        """
        a, k = 1.0 / self.length_scale**2, np.arange(1, self.degree + 1)[:, None]
        first = np.exp(-a * x**2)[None]
        tables = [np.cumprod(np.concatenate([first, np.sqrt(2 * a / k) * x]), axis=0)]
        for r in range(order):
            derived = -2 * a * x * tables[r]
            derived[1:] += np.sqrt(2 * a * k) * tables[r][:-1]
            if r:
                derived -= 2 * a * r * tables[r - 1]
            tables.append(derived)
        return tables

    def _combined(self, axes: Sequence[int]) -> Iterable[tuple[tuple[int, ...], float]]:
        """Derivatives by inputs that one by components of states is made of."""
        parts = Counter()
        for rows in product(*(np.flatnonzero(self.inputs[:, a]) for a in axes)):
            parts[tuple(sorted(rows))] += np.prod(self.inputs[list(rows), list(axes)])
        return parts.items()

    def _derived(self, tables, rows: Sequence[int], factor: float = 1.0) -> np.ndarray:
        """Derivatives by the inputs `rows`, times a factor, (function, sample)."""
        first, *others = (table[rows.count(i)] for i, table in enumerate(tables))
        return self._products([factor * first, *others])

    def _products(self, tables: list[np.ndarray]) -> np.ndarray:
        """Products of one entry per table (k, sample) over all multi-indices."""
        result = np.empty((self.size, tables[0].shape[1]))
        for start in range(0, result.shape[1], SAMPLES_OF_WEIGHT_SPACE):
            block = slice(start, start + SAMPLES_OF_WEIGHT_SPACE)
            part, *others = (table[:, block] for table in tables)
            for (prefix, last), table in zip(self._growth, others, strict=True):
                part = part[prefix]
                part *= table[last]
            result[:, block] = part
        return result

    @cached_property
    def _growth(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """From multi-indices of i to those of i + 1 variables: the prefix, and α_i."""
        variables = range(1, len(self.inputs) + 1)
        grown = [multi_indices(i, self.degree, True) for i in variables]
        room = [self.degree - few.sum(axis=1) + 1 for few in grown]
        return [
            (np.repeat(np.arange(n.size), n), many[:, -1])
            for n, many in zip(room, grown[1:], strict=False)
        ]

    def jet(self, coefficients: np.ndarray) -> tuple[str, np.ndarray, ...]:
        """Gradient and Hessian; the arrays are a, the recursion of φ_k, A, c and b."""
        d, size = self.inputs.shape
        terms = self.degree + 1
        layout = np.array([d, size, terms], dtype=np.int64)
        a, k = 1.0 / self.length_scale**2, np.arange(terms)
        recursion = np.sqrt(2 * a / np.maximum(k, 1)), np.sqrt(2 * a * k)
        values = np.concatenate(
            [[a], *recursion, self.inputs.ravel(), self.centre, coefficients]
        )
        return _jet_of_features(d), layout, values, np.empty((3, d, terms))


def scaled_inputs(
    states: np.ndarray, cyclic: Sequence[int] = (), velocity_ratio: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Map A and centre c that bring states (sample, 2 dof) into the cube [−1, 1].

    Velocities into one smaller by `velocity_ratio`. A does not see `cyclic` components
    of q: their momenta are conserved.
    """
    low, high = states.min(axis=0), states.max(axis=0)
    width = np.where(high > low, (high - low) / 2, 1.0)
    width[len(width) // 2 :] *= velocity_ratio
    variables = [i for i in range(states.shape[1]) if i not in set(cyclic)]
    return np.diag(1.0 / width)[variables], (low + high) / 2


def _jet_of_features(variables: int) -> str:
    """Jet of Taylor features: one loop per variable, sums of products in registers."""
    # In lexicographic order the coefficients are read once, one after the other. The
    # sum over the last variable is done first: beside the value, each loop adds up the
    # first and second derivatives in its own variable and in those inside it.

    def entry(j, of):
        return f"values[inputs + {j} * size + {of}]"

    gradient = " + ".join(f"s0_{i} * {entry(i, 'j')}" for i in range(variables))
    pairs = [f"s0_{i}{i} * {entry(i, 'j')} * {entry(i, 'k')}" for i in range(variables)]
    pairs += [
        f"s0_{i}{m} * ({entry(i, 'j')} * {entry(m, 'k')}"
        f" + {entry(m, 'j')} * {entry(i, 'k')})"
        for i in range(variables)
        for m in range(i + 1, variables)
    ]
    return JET_OF_FEATURES.format(
        two=indent("\n".join(_loops(variables, 0, True)), "    "),
        one=indent("\n".join(_loops(variables, 0, False)), "    "),
        gradient=f"        gradient[j] = scale * ({gradient})",
        hessian=f"                hessian[j, k] = scale * ({' + '.join(pairs)})",
    )


def _loops(variables: int, i: int, second: bool) -> list[str]:
    """Lines of the loop over variable i and of all inside it."""
    pad = "    " * (i + 1)
    if i == variables:
        return [f"{pad}s{i}_ = values[at]", f"{pad}at += 1"]
    inner = range(i + 1, variables)
    sums = {"": ("0", "")} if i else {}
    sums[f"{i}"] = ("1", "")
    sums |= {f"{j}": ("0", f"{j}") for j in inner}
    if second:
        sums[f"{i}{i}"] = ("2", "")
        sums |= {f"{i}{j}": ("1", f"{j}") for j in inner}
        sums |= {f"{j}{m}": ("0", f"{j}{m}") for j in inner for m in inner if m >= j}
    room = f"room{i - 1} - k{i - 1}" if i else "terms"
    lines = [f"{pad}s{i}_{key} = 0.0" for key in sums]
    lines += [f"{pad}room{i} = {room}", f"{pad}for k{i} in range(room{i}):"]
    lines += _loops(variables, i + 1, second)
    lines += [
        f"{pad}    s{i}_{key} += work[{order}, {i}, k{i}] * s{i + 1}_{within}"
        for key, (order, within) in sums.items()
    ]
    return lines
