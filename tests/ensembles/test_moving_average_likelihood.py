"""Volatility through sensor noise: unbiased, with honest errors."""

import numpy as np
import pytest
from noisy import Found, ensemble, replicated
from support import OSCILLATOR_LIBRARY, oscillator, system

from leastaction.core.estimate import model_dataset
from leastaction.ensembles import squared_increments

RECIPES = [("q", "qdot"), ("q",)]


@pytest.mark.parametrize("level", [0.01, 0.1])
def test_the_naive_bias_is_seen_and_removed(level):
    data = ensemble(level)
    found = Found(data)
    ratio = float(found.diagnostic("noise_ratio")[0])
    clean_rms = np.sqrt(np.mean(data["qdot"].values ** 2) / (1 + level**2))
    assert ratio == pytest.approx(level * clean_rms / np.sqrt(1e-3), rel=0.1)
    residual = squared_increments.Residual(OSCILLATOR_LIBRARY, ["x"])
    pairs = zip(data["q"].values[0], data["qdot"].values[0], strict=True)
    rows = [
        residual.increments(x, v, 1e-3, found.lagrangian.coefficients) for x, v in pairs
    ]
    naive = np.sqrt(np.mean(np.square(rows)) / 1e-3)
    assert naive == pytest.approx(np.sqrt(1 + 2 * ratio**2), rel=0.02)
    (sigma,), (error,) = found.volatility.volatility, found.volatility.std
    assert abs(sigma - 1) < 4 * error < 0.2


@pytest.mark.parametrize("channels", RECIPES)
@pytest.mark.parametrize("sigma", [0.1, 3.0])
def test_the_volatility_is_followed(channels, sigma):
    found = Found(ensemble(0.01, channels=channels, truth=oscillator(sigma=sigma)))
    (estimate,), (error,) = found.volatility.volatility, found.volatility.std
    assert abs(estimate - sigma) < 4 * error
    assert error < 0.2 * sigma


@pytest.mark.parametrize("channels", RECIPES)
def test_intervals_cover_the_truth(channels):
    z, s = [], []
    for found in replicated(channels):
        v = found.volatility
        z.append((v.volatility[0] - 1) / v.std[0])
        s.append(found.diagnostic("position_noise_estimate")[0])
    assert 0.5 < np.sqrt(np.mean(np.square(z))) < 1.5
    assert abs(np.mean(z)) < 3.5 / np.sqrt(len(z))
    assert np.std(s) < 0.05 * np.mean(s)


def test_coloured_noise_is_told_and_taken_at_low_frequencies():
    found = Found(ensemble(0.03, correlation=4))
    assert int(found.diagnostic("noise_memory")[0]) == 4
    (sigma,), (error,) = found.volatility.volatility, found.volatility.std
    assert abs(sigma - 1) < 4 * error < 0.5


def test_common_noise_of_two_masses_is_found():
    truth = system(
        "xdot**2/2 + ydot**2/2 - 10*x**2 - 15*y**2",
        coordinates=("x", "y"),
        volatility=[["1"], ["0.5"]],
    )
    library = {
        "reference": "xdot**2/2 + ydot**2/2",
        "lagrangian": [{"terms": ["xdot**2 + ydot**2", "x**2", "y**2", "x*y"]}],
        "volatility": [{"terms": [1]}],
    }
    found = Found(ensemble(0.01, truth=truth), library)
    covariance = found.volatility.covariance
    correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert correlation > 0.9


def test_the_model_holds_the_noise_and_its_by_products():
    data = ensemble(0.03)
    found = Found(data)
    model = model_dataset(data, found.lagrangian, found.volatility)
    np.testing.assert_array_equal(
        model["noise_covariance"][0], found.volatility.covariance
    )
    for name in ("position_noise_estimate", "velocity_noise_estimate", "noise_ratio"):
        assert model[name].dims == ("replicate", "dof")
        assert float(model[name][0, 0]) > 0
