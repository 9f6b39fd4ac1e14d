"""Spectral derivatives and projections are those of single waves."""

import numpy as np
import pytest

from leastaction.core.periodic_line import projection_on_waves, spectral_derivatives


@pytest.mark.parametrize("nodes", [7, 8])
@pytest.mark.parametrize("length", [1.0, 3.5])
def test_derivatives_of_every_wave_are_exact(nodes, length):
    x = np.arange(nodes) * length / nodes
    waves = [*range(1, (nodes + 1) // 2)]
    k = 2 * np.pi / length * np.array(waves)[:, None]
    u = np.array([np.cos(k * x), np.sin(k * x)])
    found = spectral_derivatives(u, length, 4)
    assert found.shape == (4, *u.shape)
    for order in range(1, 5):
        phase = order * np.pi / 2
        expected = k**order * np.array([np.cos(k * x + phase), np.sin(k * x + phase)])
        size = k.max() ** order
        np.testing.assert_allclose(found[order - 1], expected, atol=1e-12 * size)


def test_the_highest_wave_of_an_even_number_has_even_derivatives_alone():
    u = np.array([1.0, -1.0] * 3)
    found = spectral_derivatives(u, 6.0, 4)
    even = -(np.pi**2) * u, np.pi**4 * u
    np.testing.assert_allclose(found[[1, 3]], even, rtol=1e-12)
    np.testing.assert_allclose(found[[0, 2]], 0.0, atol=1e-12)


@pytest.mark.parametrize(("nodes", "highest"), [(7, 0), (7, 2), (8, 3), (8, 4), (7, 3)])
def test_a_projection_leaves_low_waves_and_removes_high_ones(nodes, highest):
    p, x = projection_on_waves(nodes, highest), 2 * np.pi * np.arange(nodes) / nodes
    np.testing.assert_allclose(p, p.T, atol=1e-14)
    for k in range(nodes // 2 + 1):
        u = np.cos(k * x)
        np.testing.assert_allclose(p @ u, u if k <= highest else 0.0, atol=1e-13)
