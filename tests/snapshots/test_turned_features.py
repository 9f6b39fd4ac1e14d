"""Features of turned states: symmetric all around a point far from the data."""

import numpy as np
import pytest
from scipy.linalg import expm

from leastaction.core.multi_index import factors
from leastaction.core.symmetries import Symmetry
from leastaction.snapshots.bases import WeightSpace
from leastaction.snapshots.invariant_features import adapted
from leastaction.snapshots.turned_features import turned_features
from leastaction.snapshots.variational_integrator import VariationalIntegrator

RNG = np.random.default_rng(2)
AXES = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
ABOUT_AXIS = AXES @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0]]) @ AXES.T
# A skew rotation of the plane, and a rotation about a line in space.
MATRICES = {2: np.array([[0.0, -1.0], [0.25, 0.0]]), 3: ABOUT_AXIS}


def rotation(dof: int, centre) -> Symmetry:
    matrix = MATRICES[dof]
    return Symmetry(-matrix @ np.array(centre), matrix, 0.0, 1.0, True)


def turned(dof: int, degree: int = 4):
    """Features, states, and where the states are after a turn by 0.7."""
    one, states = (
        rotation(dof, [2.0, -1.0, 0.5][:dof]),
        RNG.uniform(-1, 1, (9, 2 * dof)),
    )
    given = WeightSpace(degree, 1.3, np.eye(2 * dof), np.zeros(2 * dof))
    fixed = np.array([2.0, -1.0, 0.5][:dof])
    back = expm(0.7 * one.matrix).T
    moved = np.hstack(
        [fixed + (states[:, :dof] - fixed) @ back, states[:, dof:] @ back]
    )
    return turned_features(given, [one], states), states, moved


@pytest.mark.parametrize("dof", MATRICES)
def test_features_are_the_same_all_around_the_fixed_point(dof):
    basis, states, moved = turned(dof)
    values = basis.partial(states)
    np.testing.assert_allclose(basis.partial(moved), values, rtol=1e-9, atol=1e-12)
    assert len(basis.inputs) == 2 * dof - 1 and np.ptp(values, axis=0)[1:].all()


@pytest.mark.parametrize("dof", MATRICES)
def test_derivatives_are_those_of_difference_quotients(dof):
    basis, states, _ = turned(dof)
    b, step = RNG.standard_normal(basis.size), 1e-5
    found, every = basis.derivatives(states, b, 3), factors(2 * dof, 3)
    for i, shift in enumerate(step * np.eye(2 * dof)):
        up, down = (basis.derivatives(states + s * shift, b, 2) for s in (1, -1))
        rows = [every.index(tuple(sorted((*a, i)))) for a in factors(2 * dof, 2)]
        difference = (up - down) / (2 * step)
        np.testing.assert_allclose(found[rows], difference, atol=1e-7 * np.ptp(found))
    for axes in ((0,), (dof, 1), (1, 1)):
        row = found[every.index(tuple(sorted(axes)))]
        np.testing.assert_allclose(basis.partial(states, *axes) @ b, row, atol=1e-11)


@pytest.mark.parametrize("dof", MATRICES)
def test_compiled_jets_are_the_partial_derivatives(dof):
    basis, states, moved = turned(dof)
    b, both = RNG.standard_normal(basis.size), np.concatenate([states, moved])
    found = basis.derivatives(both, b, 2)
    gradient, hessian = VariationalIntegrator(basis, b, 0.1, "midpoint").jet(both)
    size = np.abs(found).max()
    for axes, row in zip(factors(2 * dof, 2), found, strict=True):
        if axes:
            jet = gradient[:, axes[0]] if len(axes) == 1 else hessian[:, *axes]
            np.testing.assert_allclose(jet, row, atol=1e-11 * size)


def test_only_one_rotation_of_one_plane_turns():
    basis, states, _ = turned(2)
    shift = Symmetry(np.ones(2), np.zeros((2, 2)), 0.0, 1.0, True)
    squeeze = Symmetry(np.zeros(2), np.diag([1.0, -1.0]), 0.0, 1.0, True)
    one = rotation(2, [0, 0])
    for some in ([shift], [squeeze], [one, shift], []):
        assert turned_features(basis, some, states) is None


def test_a_screw_motion_has_no_features_here():
    """Those of its rotation alone would deny it, whatever the pitch."""
    given = WeightSpace(3, 1.3, np.eye(6), np.zeros(6))
    states, along = RNG.uniform(-1, 1, (9, 6)), AXES[:, 2]
    for pitch, none in ((0.0, False), (0.75, True), (1.0, True)):
        screw = Symmetry(pitch * along, ABOUT_AXIS, 0.0, 1.0, True)
        assert (turned_features(given, [screw], states) is None) == none
        assert not none or adapted(given, [screw]) is None
