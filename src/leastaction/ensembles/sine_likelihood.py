"""Gaussian likelihood of moving averages by the discrete sine transform.

N samples of an MA(1) process have a tridiagonal Toeplitz covariance matrix, and the
sine transform DST-I diagonalises every such matrix exactly, with the eigenvalues
γ_0 + 2 γ_1 cos θ_j, θ_j = πj/(N + 1). So the exact likelihood is a sum over independent
coefficients I_j with the variance

.. math::  V_j = Σ_a θ_a A_{aj} + C_j ,

the same on every path. For a second difference of white noise the covariance is the
*square* of such a matrix plus b²s² at both ends; that part has rank one on even and on
odd j, and the Sherman–Morrison formula keeps the likelihood exact.
"""

from dataclasses import dataclass

import numpy as np
from scipy.fft import dst
from scipy.optimize import minimize, nnls

MOST_ITERATIONS = 100
TOLERANCE = 1e-10


def sine_transform(residual: np.ndarray) -> np.ndarray:
    """Orthonormal DST-I along the last axis."""
    return dst(residual, type=1, norm="ortho", axis=-1)


def frequencies(count: int) -> np.ndarray:
    """θ_j = πj/(N + 1), j = 1 ... N."""
    return np.pi * np.arange(1, count + 1) / (count + 1)


@dataclass(frozen=True)
class Fit:
    """Maximum of a likelihood.

    Attributes
    ----------
    parameters
        θ ≥ 0, shape (parameter,).
    covariance
        Inverse of the information, shape (parameter, parameter).
    variance
        V_j, shape (frequency,).
    """

    parameters: np.ndarray
    covariance: np.ndarray
    variance: np.ndarray


def fit_spectrum(
    power: np.ndarray, paths: int, shapes: np.ndarray, known: np.ndarray
) -> Fit:
    """Maximum likelihood of V = Σ θ_a A_a + C by Fisher scoring.

    For a variance that is linear in θ a scoring step is a least-squares fit with the
    weights 1/V²; the constraint θ ≥ 0 makes it a non-negative one.

    Parameters
    ----------
    power
        Mean over the paths of the squared coefficients, shape (frequency,).
    paths
        Their number.
    shapes, known
        A, shape (parameter, frequency), and C, shape (frequency,).
    """
    variance = np.full(power.shape, power.mean()) + known
    for _ in range(MOST_ITERATIONS):
        scale = np.linalg.norm(shapes / variance, axis=1)
        columns = (shapes / variance).T / scale
        found, _ = nnls(columns, (power - known) / variance)
        new = np.maximum(found / scale @ shapes + known, TOLERANCE * power.mean())
        change = np.max(np.abs(new / variance - 1))
        variance = new
        if change < TOLERANCE:
            break
    return Fit(found / scale, _information_inverse(shapes, variance, paths), variance)


def fit_with_ends(
    coefficients: np.ndarray, shapes: np.ndarray, ends: np.ndarray, count: int
) -> Fit:
    """Maximum likelihood of V = Σ θ_a A_a with Σ θ_a B_a added at both ends of a path.

    Parameters
    ----------
    coefficients
        DST-I of the residual at the first frequencies, shape (path, frequency).
    shapes
        A, shape (parameter, frequency).
    ends
        B, shape (parameter,).
    count
        N, samples of a path.
    """
    paths, size = coefficients.shape
    theta = frequencies(count)[:size]
    power = np.mean(np.square(coefficients), axis=0)
    on_diagonal = shapes + ends[:, None] * 4 * np.sin(theta) ** 2 / (count + 1)
    start = fit_spectrum(power, paths, on_diagonal, np.zeros(size))
    lowest = TOLERANCE * power.mean() / on_diagonal.mean(axis=1)
    first = np.log(np.maximum(start.parameters, lowest))
    edge = np.sqrt(2 / (count + 1)) * np.sin(theta)
    parities = (slice(0, None, 2), slice(1, None, 2))
    pieces = [np.ascontiguousarray(coefficients[:, one]) for one in parities]

    def minus_two_log(log_parameters):
        values = np.exp(log_parameters)
        variance = values @ shapes
        total = paths * np.sum(np.log(variance) + power / variance)
        for one, piece in zip(parities, pieces, strict=True):
            weight = edge[one] / variance[one]
            corner = 1 + 2 * (values @ ends) * (edge[one] @ weight)
            total += paths * np.log(corner)
            total -= 2 * (values @ ends) / corner * np.sum(np.square(piece @ weight))
        return total

    step = np.sqrt(np.diag(start.covariance)) / np.exp(first)
    step = np.clip(step, 1e-4, 0.5)
    simplex = np.vstack([first, first + np.diag(step)])
    best = minimize(
        minus_two_log,
        first,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "xatol": 1e-5, "fatol": 1e-4},
    ).x
    curvature = _hessian(minus_two_log, best, step / 4) / 2
    jacobian = np.diag(np.exp(best))
    covariance = jacobian @ np.linalg.pinv(curvature) @ jacobian
    return Fit(np.exp(best), covariance, np.exp(best) @ shapes)


def cross_spectrum(
    power: np.ndarray,
    shapes: np.ndarray,
    known: np.ndarray,
    variances: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Covariances θ of two residuals, Σ θ_a A_a + C, by weighted least squares.

    Parameters
    ----------
    power
        Mean over the paths of the product of the coefficients, shape (frequency,).
    variances
        V of each residual.
    """
    weight = 1 / np.sqrt(variances[0] * variances[1])
    solution, *_ = np.linalg.lstsq(
        (shapes * weight).T, (power - known) * weight, rcond=None
    )
    return solution


def autocovariance_of(power: np.ndarray, lags: int) -> np.ndarray:
    """Residual autocovariance at 0 ... `lags` from the mean power of the DST-I."""
    theta = frequencies(len(power))
    return np.array([np.mean(power * np.cos(h * theta)) for h in range(lags + 1)])


def _information_inverse(shapes, variance, paths) -> np.ndarray:
    scaled = shapes / variance
    size = np.linalg.norm(scaled, axis=1)
    scaled = scaled / size[:, None]
    inverse = np.linalg.pinv(scaled @ scaled.T, hermitian=True)
    return 2 / paths * inverse / np.outer(size, size)


def _hessian(function, point, step) -> np.ndarray:
    count = len(point)
    result = np.empty((count, count))
    for a in range(count):
        for b in range(count):
            da, db = step[a] * np.eye(count)[a], step[b] * np.eye(count)[b]
            result[a, b] = (
                function(point + da + db)
                - function(point + da - db)
                - function(point - da + db)
                + function(point - da - db)
            ) / (4 * step[a] * step[b])
    return result
