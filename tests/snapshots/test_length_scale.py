"""The length scale that positions make most probable."""

import numpy as np
import pytest
import snapshot_support as support

from leastaction.snapshots.constrained_rows import constrained
from leastaction.snapshots.discrete_euler_lagrange import (
    most_probable_basis,
    weight_space,
)
from leastaction.snapshots.discrete_lagrangian import (
    discrete_euler_lagrange,
    mass_conditions,
    positions_of,
)
from leastaction.snapshots.learned_model import LearnedLagrangian


def fitted(positions, time_step, degree, scale):
    features = weight_space(positions, time_step, degree, scale)
    rows = discrete_euler_lagrange(features, positions, time_step, "midpoint", True)
    conditions = mass_conditions(features, positions, time_step, "midpoint")
    return features, constrained(rows.reshape(-1, features.size), *conditions)


def canonical(positions):
    return positions_of(support.observed(positions, 1.0, ["q"] * positions.shape[-1]))


@pytest.mark.parametrize(("degree", "sigma"), [(6, 0.0), (12, 1e-3)])
def test_no_neighbour_is_more_probable_on_all_rows(degree, sigma):
    """Where something is left over: by too few features, or by noise."""
    positions = support.pendulum(400)[..., :1]
    draw = np.random.default_rng(3).standard_normal(positions.shape)
    positions = canonical(positions + sigma * draw)
    found = most_probable_basis(positions, 0.5, "midpoint", degree).length_scale
    low, best, high = (
        fitted(positions, 0.5, degree, factor * found)[1].most_probable()[1]
        for factor in (0.5, 1.0, 2.0)
    )
    assert best >= low and best >= high


def test_the_small_search_is_enough_where_the_features_resolve_the_motion():
    """Hénon–Heiles: other length scales give the same Hamiltonian."""
    positions = canonical(support.henon_heiles()[..., :2])
    chosen = most_probable_basis(positions, 0.1, "midpoint")
    states = np.random.default_rng(1).uniform(-0.6, 0.6, (50, 4))
    energies = []
    for scale in (chosen.length_scale, chosen.length_scale / 2):
        features, system = fitted(positions, 0.1, chosen.degree, scale)
        b = system.coefficients(system.most_probable()[0])
        learned = LearnedLagrangian(features, b, 0.1, "midpoint")
        energy = learned.hamiltonian(states, 2)
        energies.append(energy - energy.mean())
    np.testing.assert_allclose(*energies, atol=3e-6)
