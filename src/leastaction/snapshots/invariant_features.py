r"""Sums of Taylor features that have given affine symmetries.

With x = A (z − c) and a = 1/ε² the features of :class:`~.bases.WeightSpace` are those
of harmonic oscillators: ∂/∂x_i = √(2a) (a_i − a_i†) and x_i = a_i†/√(2a) with ladder
operators a_i φ_α = √α_i φ_{α−e_i}, a_i† φ_α = √(α_i+1) φ_{α+e_i}. The derivative along
ξ(z) = G x, in the coordinates x about a fixed point, is the sparse matrix

.. math::  X = \sum_{ij} G_{ij}\, a_j^† (a_i - a_i^†),

and L = Σ b_f φ_f has the symmetry if X b = 0. In a metric that the symmetry leaves
unchanged G is antisymmetric: X keeps the total degree, and sums of features up to a
degree have the symmetry exactly (:func:`adapted`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.linalg
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from leastaction.core.multi_index import multi_indices
from leastaction.core.symmetries import Symmetry
from leastaction.snapshots.bases import WeightSpace

# Of what is one: below this it is round-off.
ROUND_OFF = 1e-9
# Smallest eigenvalue of a metric, over the largest, of features that still resolve.
FLATTEST_METRIC = 1e-3


def adapted(basis: WeightSpace, symmetries: Sequence[Symmetry]) -> WeightSpace | None:
    """The same features in a metric, about a centre, that symmetries leave unchanged.

    Of x = A (z - c) the metric AᵀA of positions, and that of velocities, is replaced by
    the nearest W with MᵀW + W M = 0 for the matrices M of the symmetries; it is blind
    to translations. None if there is no such metric or centre.
    """
    n, centre = basis.dof, basis.centre.copy()
    matrices = [one.matrix for one in symmetries if one.matrix.any()]
    still = [one.offset for one in symmetries if not one.matrix.any()]
    roots = []
    for part, blind in ((slice(0, n), still), (slice(n, 2 * n), ())):
        metric_inputs = basis.inputs[:, part]
        root = _invariant_root(metric_inputs.T @ metric_inputs, matrices, blind)
        if root is None:
            return None
        roots.append(root)
    if matrices:
        moved = [one.field(centre[:n]) for one in symmetries if one.matrix.any()]
        step = np.linalg.lstsq(np.vstack(matrices), np.concatenate(moved), rcond=None)
        centre[:n] -= step[0]
        centre[n:] = 0.0
    inputs = scipy.linalg.block_diag(*roots)
    result = replace(basis, inputs=inputs, centre=centre)
    return None if moves_centre(result, symmetries) else result


def moves_centre(basis: WeightSpace, symmetries: Sequence[Symmetry]) -> bool:
    """Whether a symmetry moves the centre of features, as far as these see it."""
    return any(
        np.abs(_in_inputs(basis, one)[0]).max() > ROUND_OFF for one in symmetries
    )


def _invariant_root(metric: np.ndarray, matrices, blind) -> np.ndarray | None:
    """R with RᵀR the nearest invariant metric, without rows for blind directions.

    None if the metric is flat.
    """
    n, eye = len(metric), np.eye(len(metric))
    if matrices:
        # Of W in one vector, row by row.
        condition = np.vstack([np.kron(m.T, eye) + np.kron(eye, m.T) for m in matrices])
        free = scipy.linalg.null_space(condition)
        metric = (free @ (free.T @ metric.ravel())).reshape(n, n)
    values = np.linalg.eigvalsh(metric)
    if not values[0] > FLATTEST_METRIC * values[-1]:
        return None
    for direction in blind:
        visible = metric @ direction
        metric = metric - np.outer(visible, visible) / (direction @ visible)
    values, vectors = np.linalg.eigh(metric)
    return (np.sqrt(np.abs(values))[:, None] * vectors.T)[len(blind) :]


def _in_inputs(basis: WeightSpace, symmetry: Symmetry) -> tuple[np.ndarray, np.ndarray]:
    """Offset u and matrix G of the coordinates x."""
    a, n = basis.inputs, basis.dof
    matrix = np.kron(np.eye(2), symmetry.matrix)
    offset = np.concatenate([symmetry.offset, np.zeros(n)])
    return a @ (offset + matrix @ basis.centre), a @ matrix @ np.linalg.pinv(a)


def is_far(basis: WeightSpace, symmetries: Sequence[Symmetry]) -> bool:
    """Whether symmetries turn, but about no point within the half widths of positions.

    Translations alone have features of their own, wherever the data are.
    """
    turning = [_in_inputs(basis, one) for one in symmetries if one.matrix.any()]
    if not turning:
        return False
    offset, matrix = (np.concatenate(parts) for parts in zip(*turning, strict=True))
    fixed = np.linalg.pinv(matrix) @ -offset
    off = np.abs(matrix @ fixed + offset).max()
    return bool(off > ROUND_OFF or np.abs(fixed).max() > 1)


def derivative_along(basis: WeightSpace, symmetry: Symmetry) -> sparse.csr_array:
    """X, shape (function, function); what goes beyond the highest degree is cut."""
    powers = multi_indices(len(basis.inputs), basis.degree, True)
    places = (basis.degree + 1) ** np.arange(powers.shape[1])[::-1]
    keys = powers @ places  # sorted, as multi-indices are
    lower = []
    for power, place in zip(powers.T, places, strict=True):
        used = np.flatnonzero(power)
        below = np.searchsorted(keys, keys[used] - place)
        shape = (basis.size, basis.size)
        lower.append(sparse.csr_array((np.sqrt(power[used]), (below, used)), shape))
    _, matrix = _in_inputs(basis, symmetry)
    along = sparse.csr_array((basis.size, basis.size))
    for i, one in enumerate(lower):
        slope = one - one.T
        for j in np.flatnonzero(np.abs(matrix[i]) > ROUND_OFF):
            along += matrix[i, j] * (lower[j].T @ slope)
    return along


def invariant_sums(basis: WeightSpace, symmetries: Sequence[Symmetry]) -> np.ndarray:
    """Orthonormal columns N, shape (function, sum): X L = 0 for L = Σ (N z)_f φ_f.

    For features that are :func:`adapted` to the symmetries.
    """
    conditions = [derivative_along(basis, one) for one in symmetries]
    return null_space(sparse.vstack(conditions, format="csr"))


def even(
    basis: WeightSpace, sums: np.ndarray, axes: slice
) -> tuple[WeightSpace, np.ndarray]:
    """Features centred at zero of some components of states, and their even sums.

    These do not change if all of the components change sign. `sums` do not mix
    parities, as symmetries of positions do not mix velocities with them.
    """
    centre = basis.centre.copy()
    centre[axes] = 0.0
    powers = multi_indices(len(basis.inputs), basis.degree, True)
    odd = powers[:, basis.inputs[:, axes].any(axis=1)].sum(axis=1) % 2 == 1
    even_sums = np.abs(sums[odd]).max(axis=0, initial=0.0) < ROUND_OFF
    return replace(basis, centre=centre), sums[:, even_sums]


def null_space(matrix: sparse.csr_array) -> np.ndarray:
    """Orthonormal columns N with M N = 0, for a matrix of parts that do not mix.

    >>> null_space(sparse.csr_array([[1.0, 1.0, 0.0]])).shape
    (3, 2)
    """
    # By pivoted QR, part by part: an SVD of such matrices, whose singular values are
    # highly degenerate, need not converge in LAPACK's divide and conquer.
    mixed = abs(matrix).T @ abs(matrix)
    count, part = connected_components(mixed)
    blocks = []
    for columns in (np.flatnonzero(part == k) for k in range(count)):
        some = matrix[:, columns]
        dense = some[np.unique(some.nonzero()[0])].toarray()
        q, r, _ = scipy.linalg.qr(dense.T, pivoting=True)
        size = np.abs(np.diag(r))
        rank = int((size > ROUND_OFF * size.max(initial=0.0)).sum())
        block = np.zeros((matrix.shape[1], len(columns) - rank))
        block[columns] = q[:, rank:]
        blocks.append(block)
    return np.concatenate(blocks, axis=1)
