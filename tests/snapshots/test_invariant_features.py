"""Sums of Taylor features with given symmetries."""

from math import comb

import numpy as np
from scipy import sparse

from leastaction.core.multi_index import multi_indices
from leastaction.core.symmetries import Symmetry
from leastaction.snapshots.bases import WeightSpace
from leastaction.snapshots.invariant_features import (
    adapted,
    derivative_along,
    even,
    invariant_sums,
    is_far,
    null_space,
)

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
ABOUT_Z = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def symmetry(matrix, offset=None) -> Symmetry:
    offset = np.zeros(len(matrix)) if offset is None else np.array(offset, dtype=float)
    return Symmetry(offset, np.array(matrix, dtype=float), 0.0, 1.0, True)


def features(dof: int, degree: int, centre) -> WeightSpace:
    rng = np.random.default_rng(3)
    widths = np.diag(rng.uniform(0.5, 2, 2 * dof))
    return WeightSpace(degree, 2.8, widths, np.array(centre, dtype=float))


def along(basis: WeightSpace, one: Symmetry, states: np.ndarray) -> np.ndarray:
    """ξ·∂φ/∂q + (A q̇)·∂φ/∂q̇, shape (sample, function)."""
    n = basis.dof
    moved = np.hstack([one.field(states[:, :n]), states[:, n:] @ one.matrix.T])
    return sum(moved[:, i, None] * basis.partial(states, i) for i in range(2 * n))


def test_the_sparse_matrix_is_the_derivative_along_a_symmetry():
    basis = features(2, 6, np.zeros(4))
    one = symmetry([[0.2, -1.0], [0.5, 0.1]])
    low = multi_indices(4, 6, True).sum(axis=1) <= 4  # nothing of these is cut
    states = np.random.default_rng(0).standard_normal((30, 4))
    found = (basis.partial(states) @ derivative_along(basis, one))[:, low]
    expected = along(basis, one, states)[:, low]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_rotation_leaves_as_many_sums_as_there_are_invariants():
    """Of w = x + iy and its rate those products in which the phase drops out.

    Divide and conquer does not find all singular values of this matrix.
    """
    degree, one = 6, symmetry(ABOUT_Z)
    basis = adapted(features(3, degree, [0, 0, 0, 0, 0, 0]), [one])
    sums = invariant_sums(basis, [one])
    charges = multi_indices(6, degree) @ [1, -1, 0, 1, -1, 0]
    assert sums.shape == (basis.size, (charges == 0).sum())
    states = np.random.default_rng(1).uniform(-1, 1, (40, 6))
    np.testing.assert_allclose(along(basis, one, states) @ sums, 0, atol=1e-12)


def test_a_translation_leaves_the_features_of_the_differences():
    degree, one = 5, symmetry(np.zeros((3, 3)), [1, 1, 1])
    basis = adapted(features(3, degree, [0.1, 0.2, 0.3, 0, 0, 0]), [one])
    sums = invariant_sums(basis, [one])
    assert sums.shape[1] == comb(degree + 5, 5)
    states = np.random.default_rng(1).uniform(-1, 1, (40, 6))
    np.testing.assert_allclose(along(basis, one, states) @ sums, 0, atol=1e-12)


def test_even_sums_do_not_change_where_velocities_change_sign():
    """All other sums, as those with q·q̇ or q × q̇ alone, change sign."""
    one = symmetry(TURN)
    given = adapted(features(2, 6, np.zeros(4)), [one])
    sums = invariant_sums(given, [one])
    basis, kept = even(given, sums, slice(2, 4))
    states = np.random.default_rng(1).uniform(-1, 1, (40, 4))
    values, back = (basis.partial(z) for z in (states, states * [1, 1, -1, -1]))
    np.testing.assert_allclose(back @ kept, values @ kept, atol=1e-12)
    odd = np.isclose(back @ sums, -values @ sums, atol=1e-12).all(axis=0)
    assert 1 < kept.shape[1] == sums.shape[1] - odd.sum()


def test_far_is_outside_the_data_for_whatever_turns():
    turn, shift = symmetry(TURN), symmetry(np.zeros((2, 2)), [1, 0])
    away, near = features(2, 3, [9, 0, 0, 0]), features(2, 3, [0.1, 0, 0, 0])
    assert is_far(away, [turn]) and is_far(away, [shift, turn])
    assert not is_far(near, [turn]) and not is_far(near, [shift, turn])
    assert not is_far(away, [shift])


def test_a_squeeze_leaves_no_metric():
    assert adapted(features(2, 3, np.zeros(4)), [symmetry(np.diag([1, -1]))]) is None


def test_a_null_space_of_degenerate_parts():
    turn = sparse.kron(sparse.eye_array(200), sparse.csr_array(TURN))
    with_still = sparse.block_diag([turn, sparse.csr_array((3, 3))], format="csr")
    found = null_space(with_still)
    assert found.shape == (403, 3) and not found[:400].any()
