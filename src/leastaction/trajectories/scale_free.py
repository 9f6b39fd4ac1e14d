"""Null vectors of a Gram matrix, found without fixing the scale of the Lagrangian.

A Lagrangian is known up to a factor, and c = 0 solves A c = 0. Instead of giving one
coefficient a value, the residual is compared with the inertial force of the same c,

.. math::  ρ(c) = \\frac{cᵀ G c}{cᵀ K c} ,

whose minimum is a generalised symmetric eigenproblem. τ = ρ / (1 + ρ), the smallest
eigenvalue of (G, G + K), has the same minimiser, lies between 0 and 1, and stays
accurate where G is singular, as it is without noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

RIDGE = 1e-14
# Each section of an interval in so many parts gains four bits.
PARTS = 16
SECTIONS = 13
FRACTIONS = np.arange(1, PARTS)[:, None] / PARTS
TRIED = 8


@dataclass(frozen=True)
class Ratio:
    """Pair (G, K) with columns of unit length.

    Attributes
    ----------
    gram, whole
        G and G + K, shape (column, column).
    length
        Root mean square of the columns; coefficients are those of the unit columns
        divided by it.
    kept
        Columns that every support contains, such as a known input.
    """

    gram: np.ndarray
    whole: np.ndarray
    length: np.ndarray
    kept: tuple[int, ...] = ()

    @classmethod
    def from_moments(
        cls, gram: np.ndarray, inertia: np.ndarray, kept: Sequence[int] = ()
    ) -> "Ratio":
        """Pair of moment matrices of columns of any length."""
        length = np.sqrt(np.diag(gram))
        length = np.where(length > 0, length, 1.0)
        scale = np.outer(length, length)
        normal = gram / scale
        whole = normal + inertia / scale
        return cls(normal, whole + RIDGE * np.eye(len(gram)), length, tuple(kept))

    def minimise(self, support: Sequence[int]) -> tuple[float, np.ndarray]:
        """Smallest τ over coefficients of the unit columns in `support`."""
        chosen = np.ix_(support, support)
        values, vectors = scipy.linalg.eigh(
            self.gram[chosen], self.whole[chosen], subset_by_index=[0, 0]
        )
        return float(values[0]), vectors[:, 0]

    def best(
        self, supports: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of supports of equal size, shape (support, size), those with smallest τ.

        Returns
        -------
        supports, τ, coefficients
            Of `count` supports, best first.
        """
        root, white = self._white(supports)
        lowest = np.linalg.eigvalsh(white)[:, 0]
        chosen = np.argsort(lowest, kind="stable")[:count]
        vectors = np.linalg.eigh(white[chosen])[1][:, :, :1]
        unit = np.linalg.solve(np.swapaxes(root[chosen], 1, 2), vectors)[..., 0]
        return supports[chosen], lowest[chosen], unit

    def _white(self, supports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cholesky factor of G + K, and G in coordinates in which that is one."""
        index = (supports[:, :, None], supports[:, None, :])
        root = np.linalg.cholesky(self.whole[index])
        left = np.linalg.solve(root, self.gram[index])
        white = np.linalg.solve(root, np.swapaxes(left, 1, 2))
        return root, (white + np.swapaxes(white, 1, 2)) / 2


def backward_elimination(ratio: Ratio) -> list[list[int]]:
    """Supports of every size, each the best of the larger one without one column.

    With the eigenvalues τ_i of the present support, the one without column j has for
    smallest eigenvalue the root between τ_1 and τ_2 of Σ_i z_ij² / (τ_i − τ) = 0, so
    one decomposition serves all columns.

    Returns
    -------
    list
        From all columns down to `kept` and one more.
    """
    support = list(range(len(ratio.gram)))
    path = [list(support)]
    while len(support) > len(ratio.kept) + 1:
        chosen = np.ix_(support, support)
        root = np.linalg.cholesky(ratio.whole[chosen])
        left = scipy.linalg.solve_triangular(root, ratio.gram[chosen], lower=True)
        white = scipy.linalg.solve_triangular(root, left.T, lower=True)
        values, vectors = np.linalg.eigh((white + white.T) / 2)
        constraint = scipy.linalg.solve_triangular(
            root, np.eye(len(support)), lower=True
        )
        squares = (vectors.T @ constraint) ** 2
        free = [i for i, column in enumerate(support) if column not in ratio.kept]
        worst = _cheapest(values, squares, np.array(free))
        del support[worst]
        path.append(list(support))
    return path


def _cheapest(values: np.ndarray, squares: np.ndarray, free: np.ndarray) -> int:
    """Column whose removal raises the smallest eigenvalue least."""
    gaps = np.maximum(values[1:] - values[0], 1e-300)
    first = squares[0] / np.maximum((squares[1:] / gaps[:, None]).sum(0), 1e-300)
    tried = free[np.argsort(first[free], kind="stable")[:TRIED]]
    z = squares[:, tried]
    low, width = np.full(len(tried), values[0]), np.full(len(tried), gaps[0])
    for _ in range(SECTIONS):
        points = low + width * FRACTIONS
        offset = values[:, None, None] - points
        offset[offset == 0] = 1e-300
        below = (z[:, None, :] / offset).sum(0) <= 0
        low, width = low + width * below.sum(0) / PARTS, width / PARTS
    return int(tried[np.argmin(low)])
