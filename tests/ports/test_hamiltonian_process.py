"""Laws of the process of a Hamiltonian with observed gradients, of one state too."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from leastaction.core.gaussian_process import negative_log_likelihood
from leastaction.ports.hamiltonian_process import (
    GradientProcess,
    LocalProcess,
    covariance,
    gradient_kernel,
    scaling,
    warped_kernel,
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


def root_data(rng, samples, noise=0.0):
    """z = √(2x) of a capacitance, x down to 0.003."""
    x = np.exp(rng.uniform(np.log(3e-3), np.log(2.0), (samples, 1)))
    return x, np.sqrt(2 * x) + noise * rng.standard_normal((samples, 1))


def test_likelihood_of_one_state_is_that_of_the_dense_normal(rng):
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


def test_posterior_of_one_state_is_that_of_dense_conditioning(rng):
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


def integral_of_one(process, first, last):
    half = 0.5 * (last - first)
    points = (half * NODES + 0.5 * (first + last))[:, None]
    return half * WEIGHTS @ process.efforts(points)[:, 0]


@pytest.mark.parametrize("warp", [1e-2, 1.0, 1e3])
def test_effort_of_one_state_is_the_gradient_of_the_hamiltonian(rng, warp):
    x, z = rng.standard_normal((2, 8, 1))
    given = LocalProcess(x, z, 2.0 / warp, warp, 0.9, 0.3, 0.2, 0.01)
    for first, last in ((-2.0, -1.0), (0.1, 0.3), (0.7, 1.9)):
        change = np.diff(given.hamiltonian(np.array([[first], [last]])))[0]
        assert change == pytest.approx(integral_of_one(given, first, last), abs=1e-10)
    assert given.hamiltonian(np.zeros((1, 1)))[0] == 0.0
    point, h = np.array([[0.4]]), 1e-5
    slope = np.diff(given.efforts(point + [[-h], [h]])[:, 0]) / (2 * h)
    assert given.linearised(point)[1][0, 0] == pytest.approx(slope, rel=1e-7)


def test_a_fitted_effort_is_a_gradient_to_ten_digits(rng):
    found = LocalProcess.fit(*root_data(rng, 128), random=rng)
    edges = np.geomspace(3e-3, 2.0, 12)
    for first, last in zip(edges[:-1], edges[1:], strict=True):
        change = np.diff(found.hamiltonian(np.array([[first], [last]])))[0]
        assert change == pytest.approx(integral_of_one(found, first, last), abs=1e-10)


def test_a_singular_derivative_is_learned(rng):
    """√x to 1e-4 from 64 samples; on a coordinate without warp it is 1e-2."""
    x, z = root_data(rng, 64)
    points, truth = root_data(rng, 300)
    found = LocalProcess.fit(x, z, random=rng)
    plain = LocalProcess(x, z, 0.3 / 1e3, 1e3, 1.0, 1.0, 1.0, 1e-9)
    error, of_plain = (
        np.sqrt(((p.efforts(points) - truth) ** 2).mean()) for p in (found, plain)
    )
    assert error < 1e-4 < 1e-3 < of_plain


def test_a_straight_line_needs_two_samples(rng):
    x = np.array([[0.3], [1.1]])
    found = LocalProcess.fit(x, 2.5 * x, random=rng)
    points = np.linspace(-3, 3, 7)[:, None]
    np.testing.assert_allclose(found.efforts(points), 2.5 * points, atol=1e-6)
    np.testing.assert_allclose(
        found.hamiltonian(points), 1.25 * points[:, 0] ** 2, atol=1e-6
    )


# Process, its data, units of x and z, and the tolerance where these change.
PROCESSES = {
    "several states": (GradientProcess, energy_data, [1e-3, 50.0], 7.0, 1e-4),
    "one state": (LocalProcess, root_data, [1e-6], 1e-3, 1e-5),
}
of_each = pytest.mark.parametrize("name", PROCESSES)


@of_each
def test_rebuilt_from_parameters_it_is_the_same(rng, name):
    process, data, *_ = PROCESSES[name]
    x, z = data(rng, 20)
    found = process.fit(x, z, random=rng)
    again = process(x, z, **found.parameters)
    np.testing.assert_array_equal(again.efforts(x), found.efforts(x))
    np.testing.assert_array_equal(again.efforts(x[3:4])[0], found.efforts(x)[3])


@of_each
def test_units_do_not_matter(rng, name):
    """x in `units`, energies over `joule`: efforts are energies over x."""
    process, data, units, joule, tolerance = PROCESSES[name]
    x, z = data(rng, 30)
    factor = joule / np.array(units)
    once = process.fit(x, z, random=np.random.default_rng(1))
    scaled = process.fit(x * units, z * factor, random=np.random.default_rng(1))
    back = scaled.efforts(x * units) / factor
    np.testing.assert_allclose(back, once.efforts(x), atol=tolerance)


@pytest.mark.parametrize(
    ("name", "draws", "samples", "starts", "least"),
    [("several states", 10, 40, 1, 0.85), ("one state", 20, 64, 2, 0.88)],
)
def test_bands_cover_random_noise(rng, name, draws, samples, starts, least):
    process, data, *_ = PROCESSES[name]
    points, truth = data(rng, 200)
    inside = []
    for _ in range(draws):
        found = process.fit(*data(rng, samples, 0.02), random=rng, starts=starts)
        inside.append(abs(found.efforts(points) - truth) < 1.96 * found.std(points))
    assert least < np.mean(inside) < 0.99


@of_each
@pytest.mark.parametrize("samples", [1, 2])
def test_no_effort_is_found_where_there_is_none(rng, samples, name):
    process, data, *_ = PROCESSES[name]
    x = rng.standard_normal((samples, data(rng, 1)[0].shape[1]))
    found = process.fit(x, np.zeros_like(x), random=rng)
    np.testing.assert_array_equal(found.efforts(x), 0.0)
    assert np.isfinite(found.hamiltonian(x)).all() and np.isfinite(found.std(x)).all()


@pytest.mark.parametrize(
    ("process", "shapes", "message"),
    [
        (GradientProcess, ((3, 2), (3, 1)), "equal tables"),
        (LocalProcess, ((3, 2), (3, 2)), "columns of one state"),
    ],
)
def test_wrong_input_is_refused(rng, process, shapes, message):
    with pytest.raises(ValueError, match=message):
        process.fit(*map(np.ones, shapes), random=rng)
    with pytest.raises(ValueError, match="must be finite"):
        process.fit(np.ones((3, 1)), np.full((3, 1), np.nan), random=rng)
