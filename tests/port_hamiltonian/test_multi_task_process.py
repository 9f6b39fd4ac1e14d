"""Laws of the multi-task process: dense algebra is the judge."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from leastaction.core.gaussian_process import square_distances
from leastaction_papers.port_hamiltonian.multi_task_process import (
    StructuredProcess,
    fit,
    negative_log_likelihood,
)

NETWORK = np.array([[-1.0, 1.0, 0.0], [1.0, -1.0, 1.0], [0.0, -1.0, 0.0]])


def process(rng, samples=7, tasks=3, states=2, singular=False):
    transformation = rng.standard_normal((tasks, tasks))
    if singular:
        transformation[:, 0] = 0.0
    return StructuredProcess(
        rng.standard_normal((samples, states)),
        rng.standard_normal((samples, tasks)),
        transformation,
        1.3,
        rng.standard_normal(tasks),
        rng.uniform(0.1, 1.0, tasks),
        rng.uniform(0.05, 0.2, tasks),
    )


def parameters(given):
    return np.concatenate(
        [
            [np.log(given.length_scale)],
            given.task_vector,
            np.log(given.task_diagonal),
            np.log(given.noise),
        ]
    )


def mean(given, points):
    """Posterior mean of A z."""
    return given.effort(points) @ given.transformation.T


def kernel(given, first, second):
    return np.exp(-0.5 * square_distances(first, second) / given.length_scale**2)


def dense_covariance(given):
    between = given.transformation @ given.task_covariance @ given.transformation.T
    noise = np.kron(np.eye(len(given.x)), np.diag(given.noise))
    return np.kron(kernel(given, given.x, given.x), between) + noise


def network_data(rng, samples, noise=0.0):
    """Efforts (√(2 x1), x2, x3) of the network on a box, y = A z."""
    x = rng.uniform([0.1, 0.0, -1.0], [2.0, 2.0, 1.0], (samples, 3))
    z = np.column_stack([np.sqrt(2 * x[:, 0]), x[:, 1:]])
    return x, z @ NETWORK.T + noise * rng.standard_normal((samples, 3)), z


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("singular", [False, True])
def test_likelihood_is_that_of_the_dense_normal(rng, tasks, singular):
    given = process(rng, tasks=tasks, singular=singular)
    dense = multivariate_normal(cov=dense_covariance(given)).logpdf(given.y.ravel())
    assert given.log_likelihood == pytest.approx(dense, rel=1e-11)
    value, _ = negative_log_likelihood(
        parameters(given),
        square_distances(given.x, given.x),
        given.y,
        given.transformation,
    )
    assert value == pytest.approx(-dense, rel=1e-11)


@pytest.mark.parametrize("length_scale", [0.5, 200.0])
def test_gradient_is_that_of_finite_differences(rng, length_scale):
    """Short length scales use all eigenvectors, long ones a factor of low rank."""
    given = process(rng, samples=40)
    at = parameters(given)
    at[0] = np.log(length_scale)
    rest = square_distances(given.x, given.x), given.y, given.transformation
    _, gradient = negative_log_likelihood(at, *rest)
    for i, step in enumerate(1e-5 * np.eye(len(at))):
        up, down = (negative_log_likelihood(at + s, *rest)[0] for s in (step, -step))
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("singular", [False, True])
def test_posterior_is_that_of_dense_conditioning(rng, singular):
    given = process(rng, singular=singular)
    points = rng.standard_normal((4, 2))
    inverse = np.linalg.inv(dense_covariance(given))
    cross = given.task_covariance @ given.transformation.T
    efforts, covariance = given.effort(points), given.covariance(points)
    for i, row in enumerate(kernel(given, points, given.x)):
        gain = np.kron(row[None], cross)
        np.testing.assert_allclose(efforts[i], gain @ inverse @ given.y.ravel())
        expected = given.task_covariance - gain @ inverse @ gain.T
        np.testing.assert_allclose(covariance[i], expected, atol=1e-12)


def test_jacobian_is_that_of_finite_differences(rng):
    given = process(rng)
    point, h = rng.standard_normal((1, 2)), 1e-5
    for i, step in enumerate(h * np.eye(2)):
        slope = (mean(given, point + step) - mean(given, point - step)) / (2 * h)
        np.testing.assert_allclose(
            given.jacobian(point)[:, :, i], slope, rtol=1e-7, atol=1e-8
        )


def test_order_of_samples_and_units_do_not_matter(rng):
    x, y, _ = network_data(rng, 16, noise=0.01)
    points = network_data(rng, 5)[0]
    found = fit(x, y, NETWORK, random=np.random.default_rng(1))
    turned = fit(x[::-1], y[::-1], NETWORK, random=np.random.default_rng(1))
    scaled = fit(1e3 * x, 1e-6 * y, NETWORK, random=np.random.default_rng(1))
    np.testing.assert_allclose(mean(turned, points), mean(found, points), atol=1e-3)
    np.testing.assert_allclose(
        mean(scaled, 1e3 * points), 1e-6 * mean(found, points), atol=1e-9
    )


def test_smooth_efforts_are_learned_from_few_samples(rng):
    x, y, _ = network_data(rng, 64)
    points, _, z = network_data(rng, 200)
    found = fit(x, y, NETWORK, random=rng)
    error = np.sqrt(((found.effort(points) - z) ** 2).mean(axis=0))
    assert error[0] < 2e-2 and error[1] < 2e-3
    # z_2 = −y_3 exactly, whatever was learned.
    np.testing.assert_allclose(
        found.effort(points)[:, 1], -mean(found, points)[:, 2], atol=1e-9
    )


@pytest.mark.parametrize("samples", [1, 2, 8])
def test_outputs_that_are_zero_stay_zero(rng, samples):
    x, y, _ = network_data(rng, samples)
    y[:, 1] = 0.0
    found = fit(x, y, NETWORK, random=rng)
    assert np.isfinite(found.effort(x)).all() and np.isfinite(found.log_likelihood)
    nothing = fit(x, np.zeros((samples, 1)), np.eye(1), random=rng)
    np.testing.assert_array_equal(nothing.effort(x), 0.0)
    assert np.isfinite(nothing.covariance(x)).all()


def test_bands_cover_random_noise(rng):
    """95 % bands of A z at new points; efforts drawn from the prior."""
    exact, fitted = [], []
    for _ in range(25):
        x = rng.uniform(-1.5, 1.5, (60, 2))
        prior = replace(process(rng), x=x, transformation=NETWORK)
        root = np.linalg.cholesky(kernel(prior, x, x) + 1e-10 * np.eye(60))
        between = np.linalg.cholesky(prior.task_covariance)
        truth = root @ rng.standard_normal((60, 3)) @ between.T @ NETWORK.T
        y = truth + np.sqrt(prior.noise) * rng.standard_normal(truth.shape)
        known = replace(prior, x=x[:40], y=y[:40])
        found = fit(x[:40], y[:40], NETWORK, random=rng, starts=1)
        for given, inside in ((known, exact), (found, fitted)):
            covariance = NETWORK @ given.covariance(x[40:]) @ NETWORK.T
            variance = np.diagonal(covariance, axis1=1, axis2=2)
            error = abs(mean(given, x[40:]) - truth[40:])
            inside.append(error < 1.96 * np.sqrt(variance))
    assert 0.93 < np.mean(exact) < 0.97
    assert 0.88 < np.mean(fitted) < 0.98


def test_wrong_input_is_refused(rng):
    x, y, _ = network_data(rng, 4)
    with pytest.raises(ValueError, match="one row per sample"):
        fit(x[:3], y, NETWORK, random=rng)
    with pytest.raises(ValueError, match="square matrix"):
        fit(x, y, np.eye(2), random=rng)
    y[0, 0] = np.nan
    with pytest.raises(ValueError, match="y holds values that are not finite"):
        fit(x, y, NETWORK, random=rng)


def test_likelihood_is_that_of_gpytorch(rng):
    """An independent implementation; installed for benchmarks only."""
    torch = pytest.importorskip("torch")
    gpytorch = pytest.importorskip("gpytorch")
    given = process(rng)
    x = torch.tensor(given.x)
    base = gpytorch.kernels.RBFKernel().double()
    base.lengthscale = torch.tensor(given.length_scale, dtype=torch.double)
    data = base(x).to_dense().detach()
    between = given.transformation @ given.task_covariance @ given.transformation.T
    noise = torch.kron(torch.eye(len(x)).double(), torch.tensor(np.diag(given.noise)))
    joint = gpytorch.distributions.MultitaskMultivariateNormal(
        torch.zeros(given.y.shape).double(),
        torch.kron(data, torch.tensor(between)) + noise,
    )
    expected = joint.log_prob(torch.tensor(given.y)).item()
    assert given.log_likelihood == pytest.approx(expected, rel=1e-9)
