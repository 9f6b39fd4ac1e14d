"""Noisy data: the right terms, honest errors, and what breaks without the lag."""

import numpy as np
import pytest
from noisy import Found, ensemble, replicated
from support import OSCILLATOR_LIBRARY, observe, oscillator, recommended, system

from leastaction.ensembles.moment_gmm import whitened

K = 25.0
SUPPORT = {"x**2", "xdot**2"}
RECIPES = [("q", "qdot"), ("q",)]


@pytest.mark.parametrize("channels", RECIPES)
def test_terms_and_errors_are_right(channels):
    found = replicated(channels)
    assert sum(one.support == SUPPORT for one in found) >= 11
    estimates, errors = np.array(
        [one.coefficient("x**2") for one in found if one.support == SUPPORT]
    ).T
    z = (estimates + K / 2) / errors
    assert 0.5 < np.sqrt(np.mean(z**2)) < 1.5
    assert abs(z.mean()) < 3.5 / np.sqrt(z.size)


@pytest.mark.parametrize("channels", RECIPES)
def test_j_is_chi_square(channels):
    found = replicated(channels)
    j = np.array([one.diagnostic("j_statistic") for one in found])
    degrees = np.array([one.diagnostic("j_degrees") for one in found])
    z = (j - degrees) / np.sqrt(2 * degrees)
    assert abs(z.mean()) < 4 / np.sqrt(z.size)


@pytest.mark.parametrize("channels", RECIPES)
def test_noise_costs_little_information(channels):
    """Errors of standard size, the noise-free ones, within a fifth."""
    clean = recommended(
        observe(oscillator(), trajectories=30, steps=2000), OSCILLATOR_LIBRARY
    )
    errors = [one.coefficient("x**2")[1] for one in replicated(channels)]
    assert np.mean(errors) < 1.2 * clean.coefficient("x**2")[1]


@pytest.mark.parametrize("channels", RECIPES)
def test_without_noise_the_answer_is_the_noise_free_one(channels):
    clean = observe(oscillator(), trajectories=30, steps=2000)
    plain = recommended(clean, OSCILLATOR_LIBRARY)
    found = Found(clean if "qdot" in channels else clean.drop_vars("qdot"))
    assert found.support == plain.support == SUPPORT
    (a, error), (b, other) = (one.coefficient("x**2") for one in (found, plain))
    assert abs(a - b) < 0.3 * error
    assert error == pytest.approx(other, rel=0.1)


def test_unlagged_pairs_are_wrong():
    """Lag 0 pairs an increment with its own sensor noise; J tells."""
    data = ensemble(0.1)
    lagged, paired = Found(data), Found(data, lag=0)
    estimate, error = lagged.coefficient("x**2")
    assert lagged.support == SUPPORT and abs(estimate + K / 2) < 4 * error
    assert lagged.diagnostic("j_p_value") > 1e-3
    assert paired.diagnostic("j_p_value") < 1e-6 or paired.support != SUPPORT


def test_coloured_noise_needs_its_lag():
    data = ensemble(0.1, correlation=4)
    found = Found(data)
    assert int(found.noise["lag"][0]) == 4
    estimate, error = found.coefficient("x**2")
    assert found.support == SUPPORT and abs(estimate + K / 2) < 4 * error
    white = Found(data, lag=1)
    assert white.diagnostic("j_p_value") < 1e-6 or white.support != SUPPORT


@pytest.mark.parametrize("channels", RECIPES)
def test_the_order_of_trajectories_changes_nothing(channels):
    data = ensemble(0.03, channels=channels)
    found = [Found(one) for one in (data, data.isel(trajectory=slice(None, None, -1)))]
    assert found[0].support == found[1].support
    first, second = (one.coefficient("x**2") for one in found)
    np.testing.assert_allclose(first, second, rtol=1e-6)
    sigmas = [one.volatility.volatility for one in found]
    np.testing.assert_allclose(*sigmas, rtol=1e-3)


@pytest.mark.parametrize("channels", RECIPES)
def test_several_degrees_of_freedom(channels):
    truth = system(
        "xdot**2/2 + ydot**2/2 - 10*x**2 - 15*(y - x)**2",
        coordinates=("x", "y"),
        volatility={"x": "1", "y": "0.5"},
    )
    library = {
        "reference": "xdot**2/2 + ydot**2/2",
        "lagrangian": [
            {
                "terms": ["xdot**2 + ydot**2", "x**2", "y**2", "(y - x)**2"]
                + ["x**3", "y**3", "(y - x)**3", "cos(y - x)"]
            }
        ],
        "volatility": [{"terms": [1]}],
    }
    data = ensemble(0.03, channels=channels, truth=truth, start={"y": 0.0})
    found = Found(data, library, max_terms=3)
    assert found.support == {"xdot**2 + ydot**2", "x**2", "(-x + y)**2"}
    for term, value in (("x**2", -10.0), ("(-x + y)**2", -15.0)):
        estimate, error = found.coefficient(term)
        assert abs(estimate - value) < 4.5 * error
    sigma, error = found.volatility.volatility, found.volatility.std
    assert (np.abs(sigma - [1.0, 0.5]) < 4.5 * error).all()
    correlation = found.volatility.covariance[0, 1] / np.prod(sigma)
    assert abs(correlation) < 0.3


def test_whitening_gives_the_moments_unit_covariance(rng):
    """Moments of a simulated moving average, against their scatter."""
    steps, dof = 300, 2
    z = np.cumsum(rng.standard_normal((steps, 2)), axis=0) / 10 + [1.0, 0.0]
    mix = np.array([[1.0, 0.3], [0.0, 0.7]])
    draws = []
    for _ in range(600):
        walk = rng.standard_normal((steps, dof)) @ mix.T
        r = walk + 2 * np.diff(rng.standard_normal((steps + 1, dof)), axis=0)
        draws.append(np.einsum("kp,ka->ap", z, r))
    gamma = np.array([mix @ mix.T + 8 * np.eye(dof), -4 * np.eye(dof)])
    products = np.array([z.T @ z, z[:-1].T @ z[1:]])
    columns, _ = whitened(np.moveaxis(draws, 0, -1), products, gamma)
    rows = columns.reshape(4, -1)
    np.testing.assert_allclose(rows @ rows.T / 600, np.eye(4), atol=0.2)
