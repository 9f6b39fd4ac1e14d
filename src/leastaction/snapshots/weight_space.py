"""Weight-space features of the squared exponential kernel (Rasmussen, Williams 2005).

With x = A (z − c), z = (q, q̇), the kernel

.. math::  k(x, y) = e^{-|x-y|^2/ε^2}
           = \\sum_α φ_α(x)\\, φ_α(y), \\qquad
           φ_α(x) = \\prod_i \\sqrt{(2a)^{α_i}/α_i!}\\; x_i^{α_i} e^{-a x_i^2},
           \\quad a = 1/ε^2,

is a sum over all multi-indices; those of total degree up to D are kept. A Gaussian
process with this kernel is then linear regression with a unit Gaussian prior on the
weights of the features (section 2.1.2 there). A map A that does not see a direction of
z makes every Lagrangian of the features invariant along it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

import numpy as np

from leastaction.core.multi_index import multi_indices
from leastaction.snapshots.basis import Basis

# Their features stay in the cache of a core.
SAMPLES_PER_BATCH = 200


JET = """
@njit(cache=True, nogil=True)
def tables(z, layout, values, work):
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
    return math.exp(-a * square)


@njit(cache=True, nogil=True, fastmath={{"contract"}})
def jet_of_two(z, layout, values, work, gradient, hessian):
    d, size, terms = layout[0], layout[1], layout[2]
    inputs = 1 + 2 * terms
    scale = tables(z, layout, values, work)
    at = inputs + (d + 1) * size
{two}
    for j in range(size):
{gradient}
        for k in range(j, size):
{hessian}
            hessian[k, j] = hessian[j, k]


@njit(cache=True, nogil=True, fastmath={{"contract"}})
def jet_of_one(z, layout, values, work, gradient):
    d, size, terms = layout[0], layout[1], layout[2]
    inputs = 1 + 2 * terms
    scale = tables(z, layout, values, work)
    at = inputs + (d + 1) * size
{one}
    for j in range(size):
{gradient}


@njit(cache=True, nogil=True)
def jet(z, layout, values, work, second_order, gradient, hessian):
    if second_order:
        jet_of_two(z, layout, values, work, gradient, hessian)
    else:
        jet_of_one(z, layout, values, work, gradient)
"""


@dataclass(frozen=True, eq=False)
class WeightSpace(Basis):
    """Taylor features of total degree up to `degree` as a basis for L(q, q̇).

    Attributes
    ----------
    degree
        D.
    length_scale
        ε, in units of x.
    inputs
        A, shape (variable, 2 dof).
    centre
        c, shape (2 dof,).
    """

    VARIABLES = ("degree", "length_scale", "inputs", "centre")
    degree: int
    length_scale: float
    inputs: np.ndarray
    centre: np.ndarray

    def __post_init__(self):
        # Files hold a float.
        object.__setattr__(self, "degree", int(self.degree))

    def __str__(self) -> str:
        return (
            f"Taylor features of a squared exponential kernel, degree {self.degree}, "
            f"length scale {self.length_scale:g} half widths of the data"
        )

    @cached_property
    def indices(self) -> np.ndarray:
        """Multi-index α of every feature, shape (feature, variable)."""
        return multi_indices(len(self.inputs), self.degree, True)

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.indices)

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return self.inputs.shape[1] // 2

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Partial derivatives of all features, shape (sample, feature)."""
        x = (np.asarray(state, dtype=float) - self.centre) @ self.inputs.T
        tables = [
            one_variable(column, self.degree, self.length_scale, len(axes))
            for column in x.T
        ]
        total = None
        for rows in product(*(np.flatnonzero(self.inputs[:, a]) for a in axes)):
            first, *others = (table[rows.count(i)] for i, table in enumerate(tables))
            factor = np.prod(
                [self.inputs[r, a] for r, a in zip(rows, axes, strict=True)]
            )
            part = self._products([factor * first, *others])
            total = part if total is None else np.add(total, part, out=total)
        return (np.zeros((self.size, len(x))) if total is None else total).T

    def _products(self, tables: list[np.ndarray]) -> np.ndarray:
        """Products of one entry per table (k, sample) over all multi-indices."""
        found = np.empty((self.size, tables[0].shape[1]))
        for start in range(0, found.shape[1], SAMPLES_PER_BATCH):
            block = slice(start, start + SAMPLES_PER_BATCH)
            part, *others = (table[:, block] for table in tables)
            for (prefix, last), table in zip(self._growth, others, strict=True):
                part = part[prefix]
                part *= table[last]
            found[:, block] = part
        return found

    @cached_property
    def _growth(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """From multi-indices of i to those of i + 1 variables: the prefix, and α_i."""
        variables = range(1, len(self.inputs) + 1)
        grown = [multi_indices(i, self.degree, True) for i in variables]
        return [
            (
                np.repeat(np.arange(len(few)), self.degree - few.sum(axis=1) + 1),
                many[:, -1],
            )
            for few, many in pairwise(grown)
        ]

    @property
    def jet(self) -> str:
        """Compiled gradient and Hessian, written for the number of variables."""
        return _jet(len(self.inputs))

    def packed(self, coefficients: np.ndarray) -> tuple[np.ndarray, ...]:
        """Arrays that the jet reads: a, the recursion of φ_k, A, c and b."""
        d, size = self.inputs.shape
        terms = self.degree + 1
        layout = np.array([d, size, terms], dtype=np.int64)
        a, k = 1.0 / self.length_scale**2, np.arange(terms)
        recursion = np.sqrt(2 * a / np.maximum(k, 1)), np.sqrt(2 * a * k)
        values = np.concatenate(
            [[a], *recursion, self.inputs.ravel(), self.centre, coefficients]
        )
        return layout, values, np.empty((3, d, terms))


def one_variable(
    x: np.ndarray, degree: int, length_scale: float, order: int
) -> list[np.ndarray]:
    """Derivatives of φ_k(x) = √((2a)^k/k!) x^k exp(−a x²), k = 0 ... degree.

    From φ_k' = √(2 a k) φ_{k−1} − 2 a x φ_k, differentiated r times; no power of x is
    ever divided by x.

    Returns
    -------
    list of np.ndarray
        Derivative of order 0 ... `order`, each of shape (degree + 1, sample).
    """
    a = 1.0 / length_scale**2
    k = np.arange(1, degree + 1)[:, None]
    first = np.exp(-a * x**2)[None]
    tables = [np.cumprod(np.concatenate([first, np.sqrt(2 * a / k) * x]), axis=0)]
    for r in range(order):
        derived = -2 * a * x * tables[r]
        derived[1:] += np.sqrt(2 * a * k) * tables[r][:-1]
        if r:
            derived -= 2 * a * r * tables[r - 1]
        tables.append(derived)
    return tables


def scaled_inputs(
    states: np.ndarray, cyclic: Sequence[int] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Map A and centre c that bring the given states into the cube [−1, 1].

    Parameters
    ----------
    states
        (q, q̇), shape (sample, 2 dof).
    cyclic
        Components of q that L must not depend on: their momenta are conserved.
    """
    low, high = states.min(axis=0), states.max(axis=0)
    width = np.where(high > low, (high - low) / 2, 1.0)
    kept = [i for i in range(states.shape[1]) if i not in set(cyclic)]
    return np.diag(1.0 / width)[kept], (low + high) / 2


def _jet(variables: int) -> str:
    """Jet of Taylor features: one loop per variable, sums of products in registers.

    In lexicographic order the coefficients are read once, one after the other. The sum
    over the last variable is done first, then that over the one before it: beside the
    value, each loop adds up the first and second derivatives in its own variable and
    in those inside it.
    """

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
    return JET.format(
        two="\n".join(_loops(variables, 0, True)),
        one="\n".join(_loops(variables, 0, False)),
        gradient=f"        gradient[j] = scale * ({gradient})",
        hessian=f"            hessian[j, k] = scale * ({' + '.join(pairs)})",
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
