"""The published volatility: wrong in a known way, and reproduced as such."""

import numpy as np
import pytest
from support import OSCILLATOR_LIBRARY, observe, oscillator, recommended

from leastaction_papers.stochastic_lagrangian.ensemble_mean import mean_square_residual


def published(sigma):
    paths = observe(oscillator(sigma=sigma), trajectories=10, steps=2000)
    estimate = recommended(paths, OSCILLATOR_LIBRARY).lagrangian
    return mean_square_residual(
        paths, estimate, {"threshold": 0.05}, OSCILLATOR_LIBRARY
    )


@pytest.fixture(scope="module")
def found():
    return {sigma: published(sigma) for sigma in (0.01, 0.5)}


@pytest.mark.parametrize("sigma", [0.01, 0.5])
def test_central_differences_see_the_root_of_one_half(found, sigma):
    error = 4.5 * np.sqrt(1.5 / 20_000)
    assert found[sigma].volatility[0] == pytest.approx(sigma / np.sqrt(2), rel=error)


def test_the_value_of_the_lagrangian_does_not_know_the_noise(found):
    """Noise fifty times as large hardly moves what the printed numbers come from."""
    small, large = (
        found[s].diagnostics["volatility_of_lagrangian"][0][0] for s in (0.01, 0.5)
    )
    assert large == pytest.approx(small, rel=0.1)


def test_the_library_of_the_paper_has_no_constant(found):
    terms = found[0.5].terms
    assert found[0.5].coefficients[0, terms.index("1")] == 0.0
    assert np.isnan(found[0.5].std).all()
