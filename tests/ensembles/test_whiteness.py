"""Whiteness of innovations: as many rejections as there should be."""

import numpy as np
import pytest

from leastaction.ensembles.innovations_estimate import ljung_box
from leastaction.ensembles.whittle import BandedStateSpace, _tapered


def coefficients(rng):
    """Real and imaginary parts as the likelihood of a band has them, of white noise."""
    found = _tapered(rng.standard_normal((3600, 1)))[1:-1:2]
    return np.concatenate([found.real, found.imag]) * np.sqrt(2)


@pytest.mark.parametrize("kind", ["white", "coefficients"])
def test_p_values_are_uniform(kind, rng):
    rho = BandedStateSpace.correlation_of_neighbours if kind != "white" else 0.0
    found = []
    for _ in range(400):
        one = rng.standard_normal((1800, 1)) if kind == "white" else coefficients(rng)
        found.append(ljung_box([one], 200, rho))
    for level in (0.02, 0.1, 0.5):
        share = np.mean(np.array(found) < level)
        assert abs(share - level) < 4 * np.sqrt(level * (1 - level) / 400)


def test_a_line_that_is_missing_is_seen(rng):
    one = rng.standard_normal((1800, 1)) + 0.5 * np.cos(np.arange(1800))[:, None]
    assert ljung_box([one], 200) < 1e-6
