"""Laws of the process of a Hamiltonian with observed gradients."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from leastaction.core.gaussian_process import negative_log_likelihood
from leastaction.ports.hamiltonian_process import (
    GradientProcess,
    covariance,
    gradient_kernel,
    scaling,
)

fit = GradientProcess.fit
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def energy(x):
    """H = (1 + q²/2) p²/2 + cos q: not separable, not quadratic."""
    return (1 + 0.5 * x[:, 0] ** 2) * x[:, 1] ** 2 / 2 + np.cos(x[:, 0])


def energy_data(rng, samples, noise=0.0):
    x = rng.uniform(-1.5, 1.5, (samples, 2))
    by_q = 0.5 * x[:, 0] * x[:, 1] ** 2 - np.sin(x[:, 0])
    z = np.column_stack([by_q, (1 + 0.5 * x[:, 0] ** 2) * x[:, 1]])
    return x, z + noise * rng.standard_normal(z.shape)


def test_likelihood_and_gradient_are_those_of_the_dense_normal(rng):
    scaled, gradients = rng.standard_normal((2, 6, 3))
    logs = 0.5 * rng.standard_normal(9)
    given = gradient_kernel(scaled), gradients.T.ravel()
    value, slope = negative_log_likelihood(logs, *given)
    variance = np.exp(logs[3] + 2 * logs[:3].mean())
    matrix, _, _ = covariance(
        scaled, scaled, np.exp(logs[:3]), variance, *np.exp(logs[4:6])
    )
    matrix += np.diag(np.repeat(np.exp(logs[6:]), 6))
    dense = multivariate_normal(cov=matrix).logpdf(gradients.T.ravel())
    assert value == pytest.approx(-dense)
    for i, step in enumerate(1e-5 * np.eye(9)):
        up, down = (negative_log_likelihood(logs + s, *given)[0] for s in (step, -step))
        assert slope[i] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-7)


def test_covariance_is_the_mixed_derivative_of_the_kernel(rng):
    first, second = rng.standard_normal((2, 1, 3))
    length_scale = np.array([0.8, 1.1, 1.7])

    def kernel(a, b):
        inner = (a * b).sum()
        smooth = np.exp(-0.5 * (((a - b) / length_scale) ** 2).sum())
        return 0.9 * smooth + 0.3 * inner + 0.2 * inner**2

    found, _, _ = covariance(first, second, length_scale, 0.9, 0.3, 0.4)
    h = 1e-4 * np.eye(3)
    mixed = [
        [
            sum(
                s * r * kernel(first + s * a, second + r * b)
                for s in (1, -1)
                for r in (1, -1)
            )
            / 4e-8
            for b in h
        ]
        for a in h
    ]
    np.testing.assert_allclose(found, mixed, atol=1e-6)


def gradient_errors(rng, process):
    """Largest asymmetry of ∂z/∂x, and of H against the line integral of z."""
    points = rng.uniform(-1.5, 1.5, (30, 2))
    _, jacobian = process.linearised(points)
    misfit = []
    for first, last in zip(points[:-1], points[1:], strict=True):
        along = 0.5 * (NODES + 1)[:, None] * (last - first) + first
        work = 0.5 * WEIGHTS @ process.efforts(along) @ (last - first)
        change = np.diff(process.hamiltonian(np.array([first, last])))[0]
        misfit.append(abs(change - work))
    return abs(jacobian - jacobian.transpose(0, 2, 1)).max(), max(misfit)


def test_jacobian_is_symmetric_and_effort_a_gradient(rng):
    x, z = energy_data(rng, 40, noise=0.01)
    given = GradientProcess(
        x, z, np.array([1.2, 1.5]), 2.0, 0.3, 0.5, np.array([1e-4, 1e-4])
    )
    asymmetry, misfit = gradient_errors(rng, given)
    assert asymmetry == 0.0 and misfit < 1e-12
    points, h = rng.uniform(-1.5, 1.5, (5, 2)), 1e-4
    for i, step in enumerate(h * np.eye(2)):
        slope = (given.efforts(points + step) - given.efforts(points - step)) / (2 * h)
        _, jacobian = given.linearised(points)
        np.testing.assert_allclose(jacobian[:, :, i], slope, atol=1e-6)


def test_a_fit_is_a_gradient_up_to_rounding_of_its_sums(rng):
    found = fit(*energy_data(rng, 60), random=rng)
    asymmetry, misfit = gradient_errors(rng, found)
    assert asymmetry == 0.0 and misfit < 1e-7


def test_energy_is_learned_up_to_a_constant(rng):
    found = fit(*energy_data(rng, 60), random=rng)
    points, efforts = energy_data(rng, 300)
    assert np.sqrt(((found.efforts(points) - efforts) ** 2).mean()) < 1e-3
    assert np.std(found.hamiltonian(points) - energy(points)) < 1e-3
    assert found.hamiltonian(np.zeros((1, 2)))[0] == 0.0


def test_a_quadratic_energy_needs_as_many_samples_as_it_has_coefficients(rng):
    matrix = rng.standard_normal((4, 4))
    matrix = matrix @ matrix.T
    x = rng.standard_normal((6, 4))
    found = fit(x, x @ matrix + 0.3, random=rng)
    points = 3 * rng.standard_normal((20, 4))
    np.testing.assert_allclose(found.efforts(points), points @ matrix + 0.3, atol=2e-3)


def test_posterior_is_that_of_dense_conditioning(rng):
    x, z = energy_data(rng, 10)
    length_scale, noise = np.array([0.9, 1.4]), np.array([0.01, 0.02])
    given = GradientProcess(x, z, length_scale, 0.8, 0.3, 0.2, noise)
    points, (centre, h, at) = rng.standard_normal((3, 2)), scaling(x)
    scaled = (points - centre) / h

    def between(a, b):
        return covariance(a, b, length_scale / h, 0.8, 0.3, 0.2)[0]

    matrix = between(at, at) + np.diag(np.repeat(noise * h**2, 10))
    gain = between(scaled, at) @ np.linalg.inv(matrix)
    mean = (gain @ (z * h).T.ravel()).reshape(2, 3).T / h
    np.testing.assert_allclose(given.efforts(points), mean, atol=1e-10)
    left = np.diag(between(scaled, scaled) - gain @ between(at, scaled))
    expected = np.sqrt(left.reshape(2, 3).T) / h
    np.testing.assert_allclose(given.std(points), expected, rtol=1e-7)


def test_rebuilt_from_parameters_it_is_the_same(rng):
    x, z = energy_data(rng, 20)
    found = fit(x, z, random=rng)
    again = GradientProcess(x, z, **found.parameters)
    np.testing.assert_array_equal(again.efforts(x), found.efforts(x))
    np.testing.assert_array_equal(again.efforts(x[3:4])[0], found.efforts(x)[3])


def test_units_do_not_matter(rng):
    x, z = energy_data(rng, 30)
    units = np.array([1e-3, 50.0])
    once = fit(x, z, random=np.random.default_rng(1))
    scaled = fit(x * units, 7.0 * z / units, random=np.random.default_rng(1))
    np.testing.assert_allclose(
        scaled.efforts(x * units) * units / 7.0, once.efforts(x), atol=1e-4
    )


def test_bands_cover_random_noise(rng):
    points, truth = energy_data(rng, 200)
    inside = []
    for _ in range(10):
        found = fit(*energy_data(rng, 40, noise=0.02), random=rng, starts=1)
        inside.append(abs(found.efforts(points) - truth) < 1.96 * found.std(points))
    assert 0.85 < np.mean(inside) < 0.99


@pytest.mark.parametrize("samples", [1, 2])
def test_no_effort_is_found_where_there_is_none(rng, samples):
    x = rng.standard_normal((samples, 2))
    found = fit(x, np.zeros_like(x), random=rng)
    np.testing.assert_array_equal(found.efforts(x), 0.0)
    assert np.isfinite(found.std(x)).all()


def test_wrong_input_is_refused(rng):
    with pytest.raises(ValueError, match="equal tables"):
        fit(np.ones((3, 2)), np.ones((3, 1)), random=rng)
    with pytest.raises(ValueError, match="must be finite"):
        fit(np.ones((3, 1)), np.full((3, 1), np.nan), random=rng)
