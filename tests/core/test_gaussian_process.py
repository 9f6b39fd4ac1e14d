"""Laws of the Gaussian process engine: dense algebra is the judge."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from leastaction.core.gaussian_process import (
    Posterior,
    most_likely,
    negative_log_likelihood,
    square_distances,
)


def smooth_kernel(x):
    """Gaussian kernel with logarithms of length scale, variance and noise."""
    square = square_distances(x, x)

    def kernel(logs):
        length_scale, variance, noise = np.exp(logs)
        smooth = variance * np.exp(-0.5 * square / length_scale**2)

        def slopes(left):
            by_scale = (left * smooth * square).sum() / length_scale**2
            return np.array([by_scale, (left * smooth).sum(), noise * np.trace(left)])

        return smooth + noise * np.eye(len(x)), slopes

    return kernel


def test_likelihood_and_gradient_are_those_of_the_dense_normal(rng):
    x, y = rng.standard_normal((9, 2)), rng.standard_normal(9)
    logs, kernel = np.log([0.8, 1.3, 0.1]), smooth_kernel(x)
    value, gradient = negative_log_likelihood(logs, kernel, y)
    dense = multivariate_normal(cov=kernel(logs)[0]).logpdf(y)
    assert value == pytest.approx(-dense)
    for i, step in enumerate(1e-5 * np.eye(3)):
        up, down = (
            negative_log_likelihood(logs + s, kernel, y)[0] for s in (step, -step)
        )
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-7)


def test_a_matrix_that_is_not_definite_turns_the_search_back(rng):
    def kernel(logs):
        return np.diag([1.0, -1.0]), lambda left: np.ones(1)

    value, gradient = negative_log_likelihood(np.zeros(1), kernel, np.ones(2))
    assert value > 1e20 and not gradient.any()
    with pytest.raises(np.linalg.LinAlgError):
        Posterior(np.diag([1.0, -1.0]), np.ones(2))


@pytest.mark.parametrize("race", [None, 3])
def test_the_best_of_several_starts_is_found(rng, race):
    x = rng.uniform(-2, 2, (60, 1))
    truth = np.log([0.7, 1.5, 0.02])
    kernel = smooth_kernel(x)
    y = np.linalg.cholesky(kernel(truth)[0]) @ rng.standard_normal(60)
    bounds = np.log([1e-2, 1e-3, 1e-4]), np.log([1e2, 1e3, 1e1])
    starts = [np.log([50.0, 1.0, 5.0]), np.log([1.0, 1.0, 0.1]), np.full(3, 99.0)]
    found = most_likely(
        negative_log_likelihood, starts, bounds, (kernel, y), iterations=100, race=race
    )
    least, slope = negative_log_likelihood(found, kernel, y)
    assert least <= negative_log_likelihood(truth, kernel, y)[0]
    assert np.abs(slope).max() < 1e-2


def test_posterior_is_that_of_dense_conditioning(rng):
    x, y = rng.standard_normal((8, 2)), rng.standard_normal((8, 3))
    points = rng.standard_normal((4, 2))
    matrix = smooth_kernel(x)(np.log([1.1, 0.9, 0.05]))[0]
    cross = 0.9 * np.exp(-0.5 * square_distances(points, x) / 1.1**2)
    found = Posterior(matrix, y)
    np.testing.assert_allclose(found.weights, np.linalg.solve(matrix, y), atol=1e-10)
    expected = 0.9 - np.diag(cross @ np.linalg.inv(matrix) @ cross.T)
    variance = found.variance(np.full(4, 0.9), cross)
    np.testing.assert_allclose(variance, expected, atol=1e-12)
