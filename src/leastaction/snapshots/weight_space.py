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
from functools import cached_property, lru_cache
from itertools import pairwise, product

import numpy as np

# Samples whose features stay in the cache of a core.
BLOCK = 200


@lru_cache(maxsize=64)
def multi_indices(variables: int, degree: int) -> np.ndarray:
    """Multi-indices of total degree ≤ `degree`, lexicographic, (index, variable)."""
    found = np.zeros((1, 0), dtype=np.int64)
    for _ in range(variables):
        room = degree - found.sum(axis=1)
        last = np.concatenate([np.arange(r + 1) for r in room])
        found = np.column_stack([np.repeat(found, room + 1, axis=0), last])
    found.flags.writeable = False
    return found


@dataclass(frozen=True, eq=False)
class WeightSpace:
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

    degree: int
    length_scale: float
    inputs: np.ndarray
    centre: np.ndarray

    @cached_property
    def indices(self) -> np.ndarray:
        """Multi-index α of every feature, shape (feature, variable)."""
        return multi_indices(len(self.inputs), self.degree)

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.indices)

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return self.inputs.shape[1] // 2

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Partial derivatives of all features.

        Parameters
        ----------
        state
            (q, q̇), shape (sample, 2 dof).
        axes
            Components of `state` to differentiate by, in any order; none for the
            features themselves.

        Returns
        -------
        np.ndarray
            Shape (sample, feature).
        """
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
        for start in range(0, found.shape[1], BLOCK):
            block = slice(start, start + BLOCK)
            part, *others = (table[:, block] for table in tables)
            for (prefix, last), table in zip(self._growth, others, strict=True):
                part = part[prefix]
                part *= table[last]
            found[:, block] = part
        return found

    @cached_property
    def _growth(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """From multi-indices of i to those of i + 1 variables: the prefix, and α_i."""
        grown = [multi_indices(i, self.degree) for i in range(1, len(self.inputs) + 1)]
        return [
            (
                np.repeat(np.arange(len(few)), self.degree - few.sum(axis=1) + 1),
                many[:, -1],
            )
            for few, many in pairwise(grown)
        ]


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
