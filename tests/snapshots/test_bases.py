from itertools import combinations_with_replacement

import numpy as np
import pytest

from leastaction.core.multi_index import multi_indices
from leastaction.snapshots.bases import RadialBasis, WeightSpace, scaled_inputs

RNG = np.random.default_rng(1)
STATES = RNG.uniform(-1, 1, (7, 4))
BASES = [
    WeightSpace(5, 1.3, RNG.normal(size=(4, 4)), RNG.normal(size=4)),
    WeightSpace(6, 2.0, RNG.normal(size=(3, 4)), RNG.normal(size=4)),
    RadialBasis(RNG.normal(size=(9, 4)), 1.7),
]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("axes", [(), (0,), (3, 0), (1, 1), (2, 1, 2), (0, 1, 2)])
@pytest.mark.parametrize("axis", [0, 3])
def test_partial_derivatives_are_those_of_difference_quotients(basis, axes, axis):
    step = np.zeros(4)
    step[axis] = 1e-5
    up, down = (basis.partial(STATES + s * step, *axes) for s in (1, -1))
    found = basis.partial(STATES, *axes, axis)
    np.testing.assert_allclose(found, (up - down) / 2e-5, atol=2e-8 * abs(up).max())


@pytest.mark.parametrize("basis", BASES)
def test_order_of_differentiation_does_not_matter(basis):
    np.testing.assert_allclose(
        basis.partial(STATES, 0, 3, 1), basis.partial(STATES, 1, 0, 3), rtol=1e-10
    )


def test_features_add_up_to_the_squared_exponential_kernel():
    inputs, centre = RNG.normal(size=(2, 4)) / 2, RNG.normal(size=4)
    x = (STATES - centre) @ inputs.T
    kernel = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2) / 4.0)
    errors = []
    for degree in (4, 12, 24):
        features = WeightSpace(degree, 2.0, inputs, centre).partial(STATES)
        errors.append(abs(features @ features.T - kernel).max())
    assert errors[0] > 10 * errors[1] > errors[2]
    assert errors[2] < 1e-12


def test_multi_indices_are_all_of_them_in_lexicographic_order():
    found = [tuple(row) for row in multi_indices(3, 4, lexicographic=True)]
    assert found == sorted(set(found)) and len(found) == 35
    assert max(map(sum, found)) == 4


def test_features_do_not_see_a_cyclic_coordinate():
    inputs, centre = scaled_inputs(RNG.normal(size=(50, 4)), cyclic=(1,))
    basis = WeightSpace(4, 1.0, inputs, centre)
    assert not basis.partial(STATES, 1).any()
    assert basis.partial(STATES, 3).any()


def test_scaled_inputs_fill_the_cube():
    states = RNG.normal(size=(50, 4)) * [1, 10, 0.1, 3] + 5
    inputs, centre = scaled_inputs(states)
    x = (states - centre) @ inputs.T
    np.testing.assert_allclose([x.min(axis=0), x.max(axis=0)], [[-1] * 4, [1] * 4])


@pytest.mark.parametrize("dof", [1, 2])
def test_derivatives_of_a_sum_of_radial_functions_are_sums_of_theirs(dof):
    basis = RadialBasis(RNG.normal(size=(9, 2 * dof)), 1.7)
    b, states = RNG.normal(size=9), RNG.uniform(-1, 1, (70, 2 * dof))
    expected = [
        basis.partial(states, *axes) @ b
        for total in range(5)
        for axes in combinations_with_replacement(range(2 * dof), total)
    ]
    found = basis.derivatives(states, b, 4)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
