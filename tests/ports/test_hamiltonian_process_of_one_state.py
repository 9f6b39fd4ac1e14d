"""Laws of the scalar process of an effort and its Hamiltonian."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from leastaction.core.gaussian_process import negative_log_likelihood
from leastaction.ports.hamiltonian_process import LocalProcess, warped_kernel

fit = LocalProcess.fit
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def root_data(rng, samples, noise=0.0):
    """z = √(2x) of a capacitance, x down to 0.003."""
    x = np.exp(rng.uniform(np.log(3e-3), np.log(2.0), (samples, 1)))
    return x, np.sqrt(2 * x) + noise * rng.standard_normal((samples, 1))


def test_likelihood_and_gradient_are_those_of_the_dense_normal(rng):
    x, z = rng.standard_normal((2, 7))
    logs = np.log([0.6, 0.3, 0.8, 0.4, 0.5, 0.05])
    given = warped_kernel(x), z
    value, gradient = negative_log_likelihood(logs, *given)
    w = np.arcsinh(x / 0.3)
    width = 0.6 * abs(w).max()
    covariance = 0.8 * np.exp(-0.5 * ((w[:, None] - w) / width) ** 2)
    covariance += 0.4 + 0.5 * np.outer(x, x) + 0.05 * np.eye(7)
    assert value == pytest.approx(-multivariate_normal(cov=covariance).logpdf(z))
    for i, step in enumerate(1e-5 * np.eye(6)):
        up, down = (negative_log_likelihood(logs + s, *given)[0] for s in (step, -step))
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-7)


def test_posterior_is_that_of_dense_conditioning(rng):
    x, z = rng.standard_normal((2, 8, 1))
    given = LocalProcess(x, z, 1.2, 0.7, 0.9, 0.3, 0.2, 0.01)
    points = rng.standard_normal((4, 1))

    def kernel(first, second):
        lag = np.arcsinh(first / 0.7) - np.arcsinh(second / 0.7).T
        return 0.9 * np.exp(-0.5 * (lag / 1.2) ** 2) + 0.3 + 0.2 * first * second.T

    gain = kernel(points, x) @ np.linalg.inv(kernel(x, x) + 0.01 * np.eye(8))
    np.testing.assert_allclose(given.efforts(points), gain @ z, rtol=1e-9)
    variance = np.diag(kernel(points, points) - gain @ kernel(x, points))
    np.testing.assert_allclose(given.std(points)[:, 0], np.sqrt(variance), rtol=1e-8)


def line_integral(process, first, last):
    half = 0.5 * (last - first)
    points = (half * NODES + 0.5 * (first + last))[:, None]
    return half * WEIGHTS @ process.efforts(points)[:, 0]


@pytest.mark.parametrize("warp", [1e-2, 1.0, 1e3])
def test_effort_is_the_gradient_of_the_hamiltonian(rng, warp):
    x, z = rng.standard_normal((2, 8, 1))
    given = LocalProcess(x, z, 2.0 / warp, warp, 0.9, 0.3, 0.2, 0.01)
    for first, last in ((-2.0, -1.0), (0.1, 0.3), (0.7, 1.9)):
        change = np.diff(given.hamiltonian(np.array([[first], [last]])))[0]
        assert change == pytest.approx(line_integral(given, first, last), abs=1e-10)
    assert given.hamiltonian(np.zeros((1, 1)))[0] == 0.0
    point, h = np.array([[0.4]]), 1e-5
    slope = np.diff(given.efforts(point + [[-h], [h]])[:, 0]) / (2 * h)
    assert given.linearised(point)[1][0, 0] == pytest.approx(slope, rel=1e-7)


def test_a_fitted_effort_is_a_gradient_to_ten_digits(rng):
    found = fit(*root_data(rng, 128), random=rng)
    edges = np.geomspace(3e-3, 2.0, 12)
    for first, last in zip(edges[:-1], edges[1:], strict=True):
        change = np.diff(found.hamiltonian(np.array([[first], [last]])))[0]
        assert change == pytest.approx(line_integral(found, first, last), abs=1e-10)


def test_a_singular_derivative_is_learned(rng):
    """√x to 1e-4 from 64 samples; on a coordinate without warp it is 1e-2."""
    x, z = root_data(rng, 64)
    points, truth = root_data(rng, 300)
    found = fit(x, z, random=rng)
    plain = LocalProcess(x, z, 0.3 / 1e3, 1e3, 1.0, 1.0, 1.0, 1e-9)
    error, of_plain = (
        np.sqrt(((p.efforts(points) - truth) ** 2).mean()) for p in (found, plain)
    )
    assert error < 1e-4 < 1e-3 < of_plain


def test_a_straight_line_needs_two_samples(rng):
    x = np.array([[0.3], [1.1]])
    found = fit(x, 2.5 * x, random=rng)
    points = np.linspace(-3, 3, 7)[:, None]
    np.testing.assert_allclose(found.efforts(points), 2.5 * points, atol=1e-6)
    np.testing.assert_allclose(
        found.hamiltonian(points), 1.25 * points[:, 0] ** 2, atol=1e-6
    )


def test_rebuilt_from_parameters_it_is_the_same(rng):
    x, z = root_data(rng, 16)
    found = fit(x, z, random=rng)
    again = LocalProcess(x, z, **found.parameters)
    np.testing.assert_array_equal(again.efforts(x), found.efforts(x))
    np.testing.assert_array_equal(again.efforts(x[3:4])[0], found.efforts(x)[3])


def test_units_do_not_matter(rng):
    x, z = root_data(rng, 24)
    once = fit(x, z, random=np.random.default_rng(1))
    scaled = fit(1e-6 * x, 1e3 * z, random=np.random.default_rng(1))
    np.testing.assert_allclose(
        scaled.efforts(1e-6 * x) / 1e3, once.efforts(x), atol=1e-5
    )


def test_bands_cover_random_noise(rng):
    points, truth = root_data(rng, 200)
    inside = []
    for _ in range(20):
        found = fit(*root_data(rng, 64, noise=0.02), random=rng, starts=2)
        inside.append(abs(found.efforts(points) - truth) < 1.96 * found.std(points))
    assert 0.88 < np.mean(inside) < 0.99


@pytest.mark.parametrize("samples", [1, 2])
def test_no_effort_is_found_where_there_is_none(rng, samples):
    x = rng.standard_normal((samples, 1))
    found = fit(x, np.zeros_like(x), random=rng)
    np.testing.assert_array_equal(found.efforts(x), 0.0)
    assert np.isfinite(found.hamiltonian(x)).all() and np.isfinite(found.std(x)).all()


def test_wrong_input_is_refused(rng):
    with pytest.raises(ValueError, match="columns of one state"):
        fit(np.ones((3, 2)), np.ones((3, 2)), random=rng)
    with pytest.raises(ValueError, match="must be finite"):
        fit(np.ones((3, 1)), np.full((3, 1), np.nan), random=rng)
