"""Covariance of gradients of a Gaussian process, and its marginal likelihood.

States are taken from their mean and over their spread, ξ, so that one unit serves all.
Vectors of gradients hold all samples of the first state, then those of the second.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize

# Bounds of the search: ℓ over the spread, s²/ℓ² and b over the mean square effort. A
# larger s² would cost digits: rounding errors of H and z are about 1e-16 s²/(ℓ² σ).
LENGTH_SCALE_RANGE = 1e-2, 3e1
EFFORT_RANGE, POLYNOMIAL_RANGE = (1e-12, 1e2), (1e-12, 1e5)
NOISE_CEILING = 1e1
START_LENGTH_SCALE, START_NOISE = 2.0, 1e-4
# Value of a likelihood that cannot be evaluated in floating point.
REFUSED = 1e30


@dataclass(frozen=True, eq=False)
class Blocks:
    """Scaled states and the blocks of their gradient covariance.

    Attributes
    ----------
    centre, spread
        Mean and standard deviation of the states, shape (state,).
    scaled
        ξ, shape (sample, state).
    """

    centre: np.ndarray
    spread: np.ndarray
    scaled: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> "Blocks":
        """Scale states, shape (sample, state)."""
        centre, spread = x.mean(axis=0), x.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        return cls(centre, spread, (x - centre) / spread)

    @staticmethod
    def covariance(
        first: np.ndarray,
        second: np.ndarray,
        length_scale: np.ndarray,
        variance: float,
        linear: float,
        quadratic: float,
    ) -> np.ndarray:
        """∂²k/∂ξ∂ξ', shape (state · first, state · second)."""
        parts = exponential(first, second, length_scale)
        found = variance * parts + quadratic * quadratic_part(first, second)
        for i in range(first.shape[1]):
            found[i, :, i, :] += linear
        return found.reshape(first.size, second.size)

    @staticmethod
    def variances(
        points: np.ndarray,
        length_scale: np.ndarray,
        variance: float,
        linear: float,
        quadratic: float,
    ) -> np.ndarray:
        """Diagonal of :meth:`covariance`, shape (state · point,)."""
        square = (points**2).sum(axis=1)[:, None] + points**2
        return (variance / length_scale**2 + linear + quadratic * square).T.ravel()


def exponential(first, second, length_scale) -> np.ndarray:
    """∂²/∂ξ∂ξ' of exp(−|ξ − ξ'|²/2), lengths over ℓ, (state, first, state, second)."""
    size = first.shape[1]
    distance = [first[:, None, i] - second[None, :, i] for i in range(size)]
    slope = [d / ell**2 for d, ell in zip(distance, length_scale, strict=True)]
    square = sum(d * e for d, e in zip(distance, slope, strict=True))
    kernel = np.exp(-0.5 * square)
    found = np.empty((size, len(first), size, len(second)))
    for i in range(size):
        along = kernel * slope[i]
        for j in range(i + 1):
            found[i, :, j, :] = found[j, :, i, :] = -along * slope[j]
        found[i, :, i, :] += kernel / length_scale[i] ** 2
    return found


def quadratic_part(first, second) -> np.ndarray:
    """∂²/∂ξ∂ξ' of (ξ·ξ')²/2, shape (state, first, state, second)."""
    found = np.einsum("pj,qi->ipjq", first, second)
    inner = first @ second.T
    for i in range(first.shape[1]):
        found[i, :, i, :] += inner
    return found


def negative_log_likelihood(
    logs: np.ndarray, scaled: np.ndarray, gradients: np.ndarray
) -> tuple[float, np.ndarray]:
    """−log p and its gradient.

    Parameters
    ----------
    logs
        log ℓ (state,), log s²/ℓ̄², log b_1, log b_2 and log σ² (state,), with ℓ̄ the
        geometric mean of ℓ.
    scaled
        ξ, shape (sample, state).
    gradients
        ∂H/∂ξ, shape (sample, state).
    """
    samples, size = scaled.shape
    length_scale, noise = np.exp(logs[:size]), np.exp(logs[size + 3 :])
    amplitude, linear, quadratic = np.exp(logs[size : size + 3])
    variance = amplitude * np.exp(2 * logs[:size].mean())
    smooth = variance * exponential(scaled, scaled, length_scale)
    curved = quadratic * quadratic_part(scaled, scaled)
    matrix = (smooth + curved).reshape(scaled.size, scaled.size)
    for i in range(size):
        rows = slice(i * samples, (i + 1) * samples)
        matrix[rows, rows] += linear
    matrix[np.diag_indices_from(matrix)] += np.repeat(noise, samples)
    factor, failed = dpotrf(matrix, lower=1, overwrite_a=1)
    if failed:
        return REFUSED, np.zeros_like(logs)
    right = gradients.T.ravel()
    alpha = cho_solve((factor, True), right)
    value = (
        0.5 * (right @ alpha + len(right) * np.log(2 * np.pi))
        + np.log(np.diag(factor)).sum()
    )
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    left = (inverse - np.outer(alpha, alpha)).reshape(smooth.shape)

    weighed = left * smooth
    by_samples = weighed.sum(axis=(0, 2))
    total = weighed.sum()
    gradient = np.empty_like(logs)
    distance = scaled.T[:, :, None] - scaled.T[:, None, :]
    slope = distance / length_scale[:, None, None] ** 2
    kernel = variance * np.exp(-0.5 * (distance * slope).sum(axis=0))
    for m in range(size):
        mixed = (left[m].transpose(1, 0, 2) * slope).sum(axis=0) * slope[m]
        own = left[m, :, m, :] / length_scale[m] ** 2
        gradient[m] = (
            0.5 * (by_samples * distance[m] * slope[m]).sum()
            + (kernel * (2 * mixed - own)).sum()
            + total / size
        )
    gradient[size] = 0.5 * total
    gradient[size + 1] = 0.5 * linear * sum(left[i, :, i, :].sum() for i in range(size))
    gradient[size + 2] = 0.5 * (left * curved).sum()
    for i in range(size):
        gradient[size + 3 + i] = 0.5 * noise[i] * np.trace(left[i, :, i, :])
    return value, gradient


def gradient_search(
    blocks: Blocks,
    z: np.ndarray,
    random: np.random.Generator,
    noise_floor: float,
    starts: int,
    iterations: int,
    polynomial: bool,
) -> dict:
    """Hyperparameters of the largest marginal likelihood, in the units of x and z."""
    gradients = z * blocks.spread
    scale = np.sqrt((gradients**2).mean()) or 1.0
    size = z.shape[1]
    low, high = np.log(
        [
            *[LENGTH_SCALE_RANGE] * size,
            EFFORT_RANGE,
            *[POLYNOMIAL_RANGE] * 2,
            *[(noise_floor, NOISE_CEILING)] * size,
        ]
    ).T
    if not polynomial:
        high[size + 1 : size + 3] = low[size + 1 : size + 3]
    best = None
    for i in range(starts):
        start = np.zeros(2 * size + 3)
        start[:size] = np.log(START_LENGTH_SCALE)
        if i:
            start[:size] += random.uniform(-1.0, 1.0, size)
        start[size + 3 :] = np.log(START_NOISE)
        found = minimize(
            negative_log_likelihood,
            np.clip(start, low, high),
            (blocks.scaled, gradients / scale),
            method="L-BFGS-B",
            jac=True,
            bounds=np.stack([low, high], axis=1),
            options={"maxiter": iterations, "maxcor": 20},
        )
        if best is None or found.fun < best.fun:
            best = found
    logs, square = best.x, scale**2
    amplitude, linear, quadratic = np.exp(logs[size : size + 3]) * square
    return {
        "length_scale": np.exp(logs[:size]) * blocks.spread,
        "variance": float(amplitude * np.exp(2 * logs[:size].mean())),
        "linear": float(linear),
        "quadratic": float(quadratic),
        "noise": np.exp(logs[size + 3 :]) * square / blocks.spread**2,
    }
