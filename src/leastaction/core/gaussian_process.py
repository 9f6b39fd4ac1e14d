"""Gaussian processes: marginal likelihood, search for hyperparameters, posterior.

A method brings its kernel, all other work is here. For samples y with the covariance
K(θ), noise included (Rasmussen and Williams 2006, eqs. 2.25, 2.26, 5.8 and 5.9),

.. math::

    -\\log p(y) = \\tfrac12 y^T K^{-1} y + \\tfrac12 \\log\\det K
                 + \\tfrac n2 \\log 2π, \\qquad
    \\frac{∂(-\\log p)}{∂K} = \\tfrac12 (K^{-1} - α α^T), \\quad α = K^{-1} y .
"""

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

# −log p where K is not positive definite in floating point: a search turns back.
VALUE_WITHOUT_FACTOR = 1e30
# Corrections that L-BFGS-B keeps: more than there are hyperparameters.
CORRECTIONS = 20

# ``kernel(logs)`` at logarithms of the hyperparameters: K with its noise, shape
# (sample, sample), and ``slopes(left)``, the gradient Σ left_ij ∂K_ij/∂logs.
Kernel = Callable[[np.ndarray], tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]]


def square_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """|x − x'|² of two sets of points, shape (point, point)."""
    return ((first[:, None, :] - second[None, :, :]) ** 2).sum(axis=2)


def negative_log_likelihood(
    logs: np.ndarray, kernel: Kernel, outputs: np.ndarray
) -> tuple[float, np.ndarray]:
    """−log p(y) and its gradient by the logarithms `logs` of the hyperparameters."""
    matrix, slopes = kernel(logs)
    factor, failed = dpotrf(matrix, lower=1, overwrite_a=1)
    if failed:
        return VALUE_WITHOUT_FACTOR, np.zeros_like(logs)
    alpha = cho_solve((factor, True), outputs)
    value = (
        0.5 * (outputs @ alpha + len(outputs) * np.log(2 * np.pi))
        + np.log(np.diag(factor)).sum()
    )
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return value, slopes(0.5 * (inverse - np.outer(alpha, alpha)))


def most_likely(
    objective: Callable,
    starts: Iterable[np.ndarray],
    bounds: tuple[np.ndarray, np.ndarray],
    arguments: tuple = (),
    *,
    iterations: int,
    race: int | None = None,
    **options,
) -> np.ndarray:
    """Hyperparameters of the least −log p, by L-BFGS-B from several `starts`.

    ``objective(x, *arguments)`` is −log p and its gradient; the starts are clipped to
    `bounds`, the earlier one wins a tie. After `race` iterations only the best goes on.
    `options` are further ones of L-BFGS-B.
    """
    from scipy.optimize import minimize  # slow to import, for a search alone

    low, high = bounds

    def search(start, most):
        how = {"method": "L-BFGS-B", "jac": True, "bounds": np.stack([low, high], 1)}
        how["options"] = {"maxiter": most, "maxcor": CORRECTIONS, **options}
        return minimize(objective, np.clip(start, low, high), arguments, **how)

    heat = iterations if race is None else min(race, iterations)
    result = min((search(start, heat) for start in starts), key=lambda one: one.fun)
    if iterations > heat:
        result = search(result.x, iterations - heat)
    return result.x


class Posterior:
    """Weights and variances given outputs y and their covariance K with its noise.

    y has the shape (sample,) or (sample, output). numpy.linalg.LinAlgError if K is not
    positive definite in floating point.
    """

    def __init__(self, matrix: np.ndarray, outputs: np.ndarray):
        self._factor = cho_factor(matrix, lower=True)
        self._outputs = outputs

    @cached_property
    def weights(self) -> np.ndarray:
        """α = K⁻¹ y, in the shape of y."""
        return cho_solve(self._factor, self._outputs)

    def variance(self, prior: np.ndarray, cross: np.ndarray) -> np.ndarray:
        """Variance at points, at least zero, shape (point,).

        From the `prior` variance (point,) and the covariance `cross` (point, sample).
        """
        explained = np.einsum("ij,ji->i", cross, cho_solve(self._factor, cross.T))
        return np.maximum(prior - explained, 0.0)
