"""The likelihood in the sine basis is the Gaussian likelihood of the whole path."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from leastaction.ensembles.moving_average_likelihood import (
    autocovariance_of,
    cross_spectrum,
    fit_spectrum,
    fit_with_ends,
    frequencies,
    sine_transform,
)

N, PATHS = 40, 25
THETA = frequencies(N)
SHRINK = 4 * np.sin(THETA / 2) ** 2


def difference(size):
    """Rows [−1, 1]: increments of sensor noise of `size` samples."""
    return np.eye(size)[1:] - np.eye(size)[:-1]


def band(left, middle, count=N):
    """Rows [left, middle, left] over count + 2 samples."""
    rows = np.zeros((count, count + 2))
    for k in range(count):
        rows[k, k : k + 3] = left, middle, left
    return rows


def brute_force(samples, parts):
    """Maximum of the density of scipy over θ, Cov = Σ θ_a parts_a."""

    def negative(log_parameters):
        covariance = np.einsum("a,aij->ij", np.exp(log_parameters), parts)
        return -multivariate_normal(np.zeros(N), covariance).logpdf(samples).sum()

    start = np.log(np.mean(samples**2) / np.trace(parts, axis1=1, axis2=2) * N / 2)
    options = {"xatol": 1e-7, "fatol": 1e-9, "maxiter": 4000}
    return np.exp(minimize(negative, start, method="Nelder-Mead", options=options).x)


def draw(covariance, rng):
    return rng.standard_normal((PATHS, N)) @ np.linalg.cholesky(covariance).T


def power(samples):
    return np.mean(sine_transform(samples) ** 2, axis=0)


def test_white_sensor_noise(rng):
    noise = difference(N + 1) @ difference(N + 1).T
    parts = np.array([np.eye(N), noise])
    samples = draw(1.0 * parts[0] + 4.0 * parts[1], rng)
    shapes = np.array([np.ones(N), SHRINK])
    found = fit_spectrum(power(samples), PATHS, shapes, np.zeros(N)).parameters
    np.testing.assert_allclose(found, brute_force(samples, parts), rtol=1e-4)


def test_known_noise_of_the_force(rng):
    """Noise of the coordinates enters through the trapezoid, e_k + e_{k+1}."""
    noise = difference(N + 1) @ difference(N + 1).T
    through = np.abs(difference(N + 1)) @ np.abs(difference(N + 1)).T
    samples = draw(np.eye(N) + 2.0 * noise + 0.7 * through, rng)
    shapes = np.array([np.ones(N), SHRINK])
    found = fit_spectrum(power(samples), PATHS, shapes, 0.7 * (4 - SHRINK)).parameters

    def negative(log_parameters):
        walk, sensor = np.exp(log_parameters)
        covariance = walk * np.eye(N) + sensor * noise + 0.7 * through
        return -multivariate_normal(np.zeros(N), covariance).logpdf(samples).sum()

    options = {"xatol": 1e-7, "fatol": 1e-9}
    best = minimize(negative, [0.0, 0.0], method="Nelder-Mead", options=options)
    np.testing.assert_allclose(found, np.exp(best.x), rtol=1e-4)


@pytest.mark.parametrize("kappa", [0.0, 0.3])
def test_displacements_with_both_ends(kappa, rng):
    """Second differences plus κ by Numerov's rule: a squared matrix, and its ends."""
    walk = toeplitz(np.concatenate([[2 / 3, 1 / 6], np.zeros(N - 2)]))
    rows = band(1 + kappa / 12, -2 + 10 * kappa / 12)
    parts = np.array([walk, rows @ rows.T])
    samples = draw(parts[0] + 0.2 * parts[1], rng)
    shapes = np.array([1 - SHRINK / 6, (SHRINK - kappa * (1 - SHRINK / 12)) ** 2])
    ends = np.array([0.0, (1 + kappa / 12) ** 2])
    found = fit_with_ends(sine_transform(samples), shapes, ends, N)
    np.testing.assert_allclose(found.parameters, brute_force(samples, parts), rtol=2e-3)
    basis = sine_transform(np.eye(N))
    exact = np.diag(basis @ parts[1] @ basis.T)
    corner = ends[1] * 4 * np.sin(THETA) ** 2 / (N + 1)
    np.testing.assert_allclose(shapes[1] + corner, exact, rtol=1e-9, atol=1e-12)
    assert np.abs(shapes[1] / exact - 1).max() > 0.5


def test_errors_are_those_of_repeated_experiments(rng):
    shapes = np.array([np.ones(N), SHRINK])
    truth = np.array([1.0, 4.0])
    z = []
    for _ in range(200):
        drawn = rng.standard_normal((PATHS, N)) * np.sqrt(truth @ shapes)
        fit = fit_spectrum(np.mean(drawn**2, axis=0), PATHS, shapes, np.zeros(N))
        z.append((fit.parameters - truth) / np.sqrt(np.diag(fit.covariance)))
    z = np.array(z)
    assert (np.abs(z.mean(axis=0)) < 0.3).all()
    assert (np.abs(np.sqrt(np.mean(z**2, axis=0)) - 1) < 0.2).all()


def test_without_sensor_noise_its_estimate_ends_at_zero(rng):
    shapes = np.array([np.ones(N), SHRINK])
    found = fit_spectrum(np.ones(N) - 0.05 * SHRINK, PATHS, shapes, np.zeros(N))
    assert found.parameters[1] == 0
    assert np.isfinite(found.covariance).all()


def test_covariance_of_two_residuals_is_separated_from_their_noise(rng):
    common = rng.standard_normal((4000, N))
    each = [common + 0.5 * rng.standard_normal((4000, N)) for _ in range(2)]
    sensor = [np.diff(3 * rng.standard_normal((4000, N + 1)), axis=1) for _ in range(2)]
    spectra = [sine_transform(a + b) for a, b in zip(each, sensor, strict=True)]
    shapes = np.array([np.ones(N), SHRINK])
    variance = 1.25 + 9 * SHRINK
    found = cross_spectrum(
        np.mean(spectra[0] * spectra[1], axis=0),
        shapes,
        np.zeros(N),
        (variance, variance),
    )
    np.testing.assert_allclose(found, [1.0, 0.0], atol=0.1)


def test_autocovariance_from_the_spectrum(rng):
    noise = np.diff(rng.standard_normal((3000, N + 1)), axis=1)
    found = autocovariance_of(np.mean(sine_transform(noise) ** 2, axis=0), 3)
    np.testing.assert_allclose(found, [2, -1, 0, 0], atol=0.06)
