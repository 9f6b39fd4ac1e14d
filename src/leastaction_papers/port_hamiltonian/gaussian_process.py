"""E ẋ of a port-Hamiltonian system by derivatives of Gaussian processes in time.

Zaspel and Günther (2024), sections 2.3, 4.3 and 4.6: one process per state, on all
samples or on those of a training set alone. The samples are y_i = f(t_i) + ε_i with the
kernel s² exp(−τ²/2ℓ²) and noise of variance s² n ≥ σ²_min; ℓ and n have the largest
marginal likelihood (Rasmussen and Williams 2006, section 5.4), and with K = k/s² + n I

.. math::  s^2 = \\max(y^T K^{-1} y / N,\\; σ^2_{min} / n) .

The derivative of the posterior mean is

.. math::  \\dot f(t) = \\sum_j k'(t - t_j)\\, α_j , \\qquad α = (K + n I)^{-1} y .

On a uniform grid K is a Toeplitz matrix, and the recursion of Levinson and Durbin gives
the solution and the determinant in O(N²) (Golub and Van Loan 2013, section 4.7), where
SciPy's `solve_toeplitz` gives the solution alone.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
import xarray as xr
from numba import njit
from scipy.linalg import matmul_toeplitz
from scipy.optimize import minimize

from leastaction.core.contracts import time_step
from leastaction.ports.effort_data import flow_data

# A scan says where the search begins: ratios n up to the largest one, length scales
# over the range of the times, samples of a record.
NOISE_RATIO_RANGE = 1e-9, 1e2
LENGTH_SCALES_OF_SCAN = np.geomspace(3e-3, 3.0, 40)
NOISE_RATIOS_OF_SCAN = 60
SAMPLES_OF_SCAN = 200
# The search ends within these of log ℓ and log n and of the log likelihood: the
# derivative changes by less than its error.
LOG_TOLERANCE, LIKELIHOOD_TOLERANCE, MOST_EVALUATIONS = 1e-2, 0.1, 120


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """E ẋ at training and test samples, learned from all samples.

    That of the training samples is learned from each set alone, if `samples` says so.
    """
    x = observations["x"].sel(scheme=settings["scheme"]).values[0]
    flow_matrix = observations["flow_matrix"].values
    states = np.flatnonzero(flow_matrix.any(axis=0))
    least = settings["least_noise"]
    rates = np.zeros_like(x)
    for i in states:
        path = x[:, i].tobytes()
        rates[:, i] = _on_grid(path, time_step(observations), least)
    training = None
    if settings["samples"] == "training":
        index = observations["training_index"].values[0]
        time = observations["time"].values
        slopes = np.where(index[..., None] < 0, np.nan, np.zeros(x.shape[1]))
        for fit, chosen in enumerate(index):
            samples = chosen[chosen >= 0]
            for i in states:
                slope = derivative_on_subset(time[samples], x[samples, i], least)
                slopes[fit, : samples.size, i] = slope
        training = slopes @ flow_matrix.T
    return flow_data(observations, settings["scheme"], rates @ flow_matrix.T, training)


@lru_cache(maxsize=16)
def _on_grid(values: bytes, step: float, least_noise: float) -> np.ndarray:
    """Derivative of a path, once for all replicates, which share it."""
    return derivative_on_grid(np.frombuffer(values), step, least_noise)


def derivative_on_grid(
    values: np.ndarray, time_step: float, least_noise: float = 0.0
) -> np.ndarray:
    """Derivative of at least three samples on a uniform grid, shape (time,).

    The variance of the noise is at least `least_noise`, in squared units of the values.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) < 3:
        raise ValueError(
            f"values have shape {values.shape}; a grid needs at least three samples"
        )
    if not time_step > 0:
        raise ValueError(f"time_step is {time_step:g}; it must be positive")
    _check_finite(values)
    centred = values - values.mean()
    if not centred.any():
        return np.zeros_like(values)
    every = -(-len(values) // SAMPLES_OF_SCAN)
    lag = time_step * np.arange(len(values))

    def solved(length_scale: float, ratio: float):
        column = np.exp(-0.5 * (lag / length_scale) ** 2)
        column[0] += ratio
        return levinson(column, centred)

    start = _scan(lag[::every], centred[::every], least_noise)
    length_scale, weights = _most_likely(solved, start, len(values), least_noise)
    slope = _slope(lag, length_scale)
    return matmul_toeplitz((slope, -slope), weights)


def derivative_on_subset(
    time: np.ndarray, values: np.ndarray, least_noise: float = 0.0
) -> np.ndarray:
    """Derivative at samples of any times, in any order, shape (sample,).

    `least_noise` as for :func:`derivative_on_grid`.
    """
    time, values = np.asarray(time, dtype=float), np.asarray(values, dtype=float)
    if time.ndim != 1 or time.shape != values.shape:
        raise ValueError(f"time has shape {time.shape}, values have {values.shape}")
    _check_finite(time)
    _check_finite(values)
    if len(time) < 2 or np.ptp(time) == 0:
        raise ValueError("a derivative needs samples at two different times at least")
    centred = values - values.mean()
    if not centred.any():
        return np.zeros_like(values)
    lag = time[:, None] - time

    def solved(length_scale: float, ratio: float):
        e, q = np.linalg.eigh(np.exp(-0.5 * (lag / length_scale) ** 2))
        e, rotated = np.maximum(e, 0.0) + ratio, q.T @ centred
        return q @ (rotated / e), (rotated**2 / e).sum(), np.log(e).sum()

    start = _scan(time, centred, least_noise)
    length_scale, weights = _most_likely(solved, start, len(values), least_noise)
    return _slope(lag, length_scale) @ weights


def _slope(lag: np.ndarray, length_scale: float) -> np.ndarray:
    """k'(τ) over s²."""
    return -lag / length_scale**2 * np.exp(-0.5 * (lag / length_scale) ** 2)


@njit(cache=True, nogil=True)
def levinson(column, right):
    """T⁻¹ b, bᵀ T⁻¹ b and log det T of a symmetric Toeplitz matrix, by its column.

    NaN if T is not positive definite in floating point.
    """
    size = column.size
    solution, predictor = np.zeros(size), np.zeros(size)
    turned = np.zeros(size)
    error = column[0]
    solution[0] = right[0] / error
    log_determinant = np.log(error)
    for k in range(1, size):
        reflection, missing = -column[k], right[k]
        for i in range(k - 1):
            reflection -= column[i + 1] * predictor[k - 2 - i]
        for i in range(k):
            missing -= column[k - i] * solution[i]
        reflection /= error
        for i in range(k - 1):
            turned[i] = predictor[k - 2 - i]
        for i in range(k - 1):
            predictor[i] += reflection * turned[i]
        predictor[k - 1] = reflection
        error *= 1.0 - reflection * reflection
        if not error > 0.0:
            solution[:] = np.nan
            return solution, np.nan, np.nan
        log_determinant += np.log(error)
        share = missing / error
        for i in range(k):
            solution[i] += share * predictor[k - 1 - i]
        solution[k] = share
    return solution, np.dot(right, solution), log_determinant


def _negative_log_likelihood(square, log_determinant, size, ratio, least_noise):
    """−log p of the best s² up to a constant; `square` is yᵀ K⁻¹ y."""
    variance = np.maximum(square / size, least_noise / ratio)
    return 0.5 * (size * np.log(variance) + square / variance + log_determinant)


def _scan(time: np.ndarray, values: np.ndarray, least_noise: float) -> np.ndarray:
    """Best log ℓ and log n on a grid: one eigen-decomposition per ℓ."""
    square = (time[:, None] - time) ** 2
    ratios = np.geomspace(*NOISE_RATIO_RANGE, NOISE_RATIOS_OF_SCAN)
    best, optimum = np.inf, (0.0, 0.0)
    for length_scale in LENGTH_SCALES_OF_SCAN * np.ptp(time):
        e, q = np.linalg.eigh(np.exp(-0.5 * square / length_scale**2))
        spectrum = np.maximum(e, 0.0) + ratios[:, None]
        squares = ((q.T @ values) ** 2 / spectrum).sum(axis=1)
        fits = _negative_log_likelihood(
            squares, np.log(spectrum).sum(axis=1), len(time), ratios, least_noise
        )
        if fits.min() < best:
            best, optimum = fits.min(), (length_scale, ratios[fits.argmin()])
    return np.log(optimum)


def _most_likely(
    solved: Callable, start: np.ndarray, size: int, least_noise: float
) -> tuple[float, np.ndarray]:
    """ℓ of the largest likelihood near a start, and α.

    ``solved(ℓ, n)`` gives α, yᵀα and log det K. With the best s² the likelihood is a
    function of them; where K is not definite it is zero.
    """

    def negative_log_likelihood(logs: np.ndarray) -> float:
        length_scale, ratio = np.exp(logs)
        _, square, log_determinant = solved(length_scale, ratio)
        if not square > 0:
            return np.inf
        return _negative_log_likelihood(
            square, log_determinant, size, ratio, least_noise
        )

    optimum = minimize(
        negative_log_likelihood,
        start,
        method="Nelder-Mead",
        bounds=[(None, None), np.log(NOISE_RATIO_RANGE)],
        options={
            "xatol": LOG_TOLERANCE,
            "fatol": LIKELIHOOD_TOLERANCE,
            "maxfev": MOST_EVALUATIONS,
            "initial_simplex": start + np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.5]]),
        },
    )
    length_scale, ratio = np.exp(optimum.x)
    return length_scale, solved(length_scale, ratio)[0]


def _check_finite(values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise ValueError("values must be finite; fill or cut gaps before")
