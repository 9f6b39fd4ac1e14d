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

CENTRE = np.array([2.0, -1.0, 0.5])
# Coordinates, and how far a turn by 1 advances along the axis.
MOTIONS = [(2, 0.0), (3, 0.0), (3, 0.75), (3, -1.6)]


def motion(dof: int, advance: float = 0.0, centre=CENTRE) -> Symmetry:
    matrix = MATRICES[dof]
    offset = advance * AXES[:dof, 2] - matrix @ np.array(centre)[:dof]
    return Symmetry(offset, matrix, 0.0, 1.0, True)


def turned(dof: int, advance: float, degree: int = 4):
    """Features, states, and where the states are after a turn by 0.7."""
    one, states = motion(dof, advance), RNG.uniform(-1, 1, (9, 2 * dof))
    given = WeightSpace(degree, 1.3, np.eye(2 * dof), np.zeros(2 * dof))
    flow = np.zeros((dof + 1, dof + 1))
    flow[:dof] = np.column_stack([one.matrix, one.offset])
    flow = expm(0.7 * flow)[:dof]
    moved = states @ np.kron(np.eye(2), flow[:, :dof]).T
    moved[:, :dof] += flow[:, dof]
    return turned_features(given, [one], states), states, moved


def central(degree: int = 4):
    """As :func:`turned`, of all rotations about the centre, by two of their axes."""
    skew = np.diag([1.0, 2.0, 0.5]) @ AXES
    matrices = [
        np.linalg.solve(skew, np.cross(np.eye(3), axis) @ skew) for axis in AXES[:2]
    ]
    both = [Symmetry(-m @ CENTRE, m, 0.0, 1.0, True) for m in matrices]
    states = RNG.uniform(-1, 1, (9, 6))
    turn = expm(0.7 * matrices[0]) @ expm(-0.4 * matrices[1])
    moved = states @ np.kron(np.eye(2), turn).T
    moved[:, :3] += CENTRE - turn @ CENTRE
    given = WeightSpace(degree, 1.3, np.eye(6), np.zeros(6))
    return turned_features(given, both, states), states, moved


def features_of(dof: int, advance: float | None):
    """Those of one motion; of all rotations of space where there is no advance."""
    return central() if advance is None else turned(dof, advance)


ALL = [*MOTIONS, (3, None)]


@pytest.mark.parametrize(("dof", "advance"), ALL)
def test_features_are_the_same_all_around_the_fixed_point(dof, advance):
    basis, states, moved = features_of(dof, advance)
    values = basis.partial(states)
    np.testing.assert_allclose(basis.partial(moved), values, rtol=1e-9, atol=1e-12)
    inputs = 3 if advance is None else 2 * dof - 1
    assert len(basis.inputs) == inputs and np.ptp(values, axis=0)[1:].all()


@pytest.mark.parametrize(("dof", "advance"), ALL)
def test_derivatives_are_those_of_difference_quotients(dof, advance):
    basis, states, _ = features_of(dof, advance)
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


@pytest.mark.parametrize(("dof", "advance"), ALL)
def test_compiled_jets_are_the_partial_derivatives(dof, advance):
    basis, states, moved = features_of(dof, advance)
    b, both = RNG.standard_normal(basis.size), np.concatenate([states, moved])
    found = basis.derivatives(both, b, 2)
    gradient, hessian = VariationalIntegrator(basis, b, 0.1, "midpoint").jet(both)
    size = np.abs(found).max()
    for axes, row in zip(factors(2 * dof, 2), found, strict=True):
        if axes:
            jet = gradient[:, axes[0]] if len(axes) == 1 else hessian[:, *axes]
            np.testing.assert_allclose(jet, row, atol=1e-11 * size)


def test_only_rotations_about_one_point_or_one_screw_turn():
    basis, states, _ = turned(2, 0.0)
    shift = Symmetry(np.ones(2), np.zeros((2, 2)), 0.0, 1.0, True)
    squeeze = Symmetry(np.zeros(2), np.diag([1.0, -1.0]), 0.0, 1.0, True)
    one = motion(2, centre=np.zeros(2))
    for some in ([shift], [squeeze], [one, shift], []):
        assert turned_features(basis, some, states) is None
    basis, states, _ = turned(3, 0.0)
    for other in (motion(3, 1.0), Symmetry(AXES[:, 0], np.zeros((3, 3)), 0.0, 1, True)):
        assert turned_features(basis, [motion(3), other], states) is None


def test_features_of_a_screw_motion_depend_on_its_pitch():
    """The angle of the axis counts: what one has, no other has, nor the rotation."""
    states = RNG.uniform(-1, 1, (9, 6))
    given = WeightSpace(3, 1.3, np.eye(6), np.zeros(6))
    one, other = (turned_features(given, [motion(3, a)], states) for a in (0.75, 1.0))
    assert np.ptp(one.partial(states) - other.partial(states)) > 0.1
    assert adapted(given, [motion(3, 1.0)]) is None
