"""Multi-task Gaussian process behind a linear map, fitted by its structure.

Zaspel and Günther (2024), sections 3.2 and 3.3, with the separable kernel of Bonilla,
Chai and Williams (2008). The effort z has the prior covariance k(x, x') T between its
components, and samples of y = A z + ε are given, so that with C = A T Aᵀ

.. math::  K = K_x ⊗ C + I ⊗ S, \\qquad T = v v^T + \\mathrm{diag}(d), \\qquad
    S = \\mathrm{diag}(σ_j^2), \\qquad k = e^{-|x - x'|^2/2ℓ^2} .

Paper: T is printed as v vᵀ, of rank one, which no data with D > 1 outputs can meet;
the kernel of the software that the authors name has the diagonal d.

With K_x = Q diag(e) Qᵀ and S^{-1/2} C S^{-1/2} = U diag(λ) Uᵀ the matrix K has the
eigenvalues 1 + e_i λ_j up to S (Stegle et al. 2011; Rakitsch et al. 2013). A likelihood
with its gradient then costs O(N³ + D³) instead of O(N³D³).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from scipy.linalg.lapack import dpstrf

from leastaction.core.gaussian_process import most_likely, square_distances
from leastaction.ports.effort_data import (
    training_data,
    training_set,
    transform_of,
    with_training_data,
)
from leastaction_papers.port_hamiltonian.contracts import CONTRACTS, HYPERPARAMETERS

# Bounds of the search: ℓ over the spread of the inputs, d over the scale of the data.
LENGTH_SCALE_RANGE = 1e-3, 1e3
DIAGONAL_RANGE = 1e-14, 1e6
LARGEST_NOISE = 1e2
# ℓ of the starts, over the spread of the inputs, and noise over the mean square output.
START_LENGTH_SCALES, START_NOISE = (0.7, 2.0), 1e-2
# Iterations after which only the best start goes on.
ITERATIONS_OF_ALL_STARTS = 20
# L-BFGS-B: relative change of −log p that ends the search, and steps of a line search.
# Rounding errors of the likelihood make a closer search futile.
SEARCH_OPTIONS = {"ftol": 1e-6, "maxls": 8}
# Pivots of K_x below this are rounding error. With a larger share of them in use, the
# eigenvectors of K_x itself are cheaper.
SMALLEST_PIVOT = 1e-15
LARGEST_RANK_SHARE = 0.5


def low_rank_spectrum(kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues above rounding error and their eigenvectors, shape (sample, rank).

    A kernel with a long length scale has few of them, and a Cholesky factor with pivots
    with its singular values gives them sooner. What is cut off hardly changes the
    likelihood, but does change predictions, where T may be 1e14 times the noise.
    """
    factor, pivots, rank, _ = dpstrf(kernel, tol=SMALLEST_PIVOT)
    if rank > LARGEST_RANK_SHARE * len(kernel):
        return np.linalg.eigh(kernel)
    vectors, singular, _ = np.linalg.svd(np.triu(factor)[:rank].T, full_matrices=False)
    placed = np.empty_like(vectors)
    placed[pivots - 1] = vectors
    return singular**2, placed


class StructuredSpectra:
    """e, Q, λ and S^{-1/2} U of the module, and what follows from them.

    Outside the span of Q the kernel is zero: `rest` is what the outputs hold there,
    zero and not rounding error if Q is square. `spectrum` gives the eigenvalues and
    eigenvectors of K_x: all of them, or :func:`low_rank_spectrum`.
    """

    def __init__(
        self,
        square: np.ndarray,
        outputs: np.ndarray,
        transform: np.ndarray,
        length_scale: float,
        task_covariance: np.ndarray,
        noise: np.ndarray,
        spectrum: Callable = np.linalg.eigh,
    ):
        self.outputs, self.noise = outputs, noise
        self.kernel = np.exp(-0.5 / length_scale**2 * square)
        self.covariance = transform @ task_covariance @ transform.T
        root = np.sqrt(noise)
        tasks, turn = np.linalg.eigh(self.covariance / np.outer(root, root))
        values, self.vectors = spectrum(self.kernel)
        self.values, self.tasks = np.maximum(values, 0.0), np.maximum(tasks, 0.0)
        self.turn = turn / root[:, None]
        self.inverse = 1.0 / (1.0 + np.outer(self.values, self.tasks))
        self.rotated = self.vectors.T @ outputs @ self.turn
        self.rest = np.zeros_like(outputs)
        if len(values) < len(outputs):
            self.rest = outputs @ self.turn - self.vectors @ self.rotated
        inside = self.vectors @ (self.rotated * self.inverse)
        self.weights = (inside + self.rest) @ self.turn.T  # K⁻¹ Y

    @property
    def value(self) -> float:
        """−log p(Y)."""
        square = (self.rotated**2 * self.inverse).sum() + (self.rest**2).sum()
        log = len(self.outputs) * np.log(2 * np.pi * self.noise).sum()
        return 0.5 * float(square + log - np.log(self.inverse).sum())


def negative_log_likelihood(parameters, square, outputs, transform):
    """−log p(Y) and its gradient by log ℓ, v, log d and log σ², given |x − x'|²."""
    size, length_scale = outputs.shape[1], np.exp(parameters[0])
    v = parameters[1 : 1 + size]
    d, noise = np.exp(parameters[1 + size :]).reshape(2, size)
    hyperparameters = length_scale, np.outer(v, v) + np.diag(d), noise
    spectra = StructuredSpectra(
        square, outputs, transform, *hyperparameters, low_rank_spectrum
    )
    q, e, turn, weights = spectra.vectors, spectra.values, spectra.turn, spectra.weights
    slope = spectra.kernel * square
    slope /= length_scale**2
    trace = np.einsum("ij,ij->j", q, slope @ q) @ spectra.inverse @ spectra.tasks
    by_length = 0.5 * (trace - np.sum((slope @ weights @ spectra.covariance) * weights))
    # ∂/∂C, from which those by v and d follow.
    fitted = spectra.rotated * spectra.inverse
    in_tasks = np.diag(e @ spectra.inverse) - fitted.T @ (e[:, None] * fitted)
    back = transform.T @ turn
    by_tasks = back @ in_tasks @ back.T
    share = spectra.inverse.sum(axis=0) + len(outputs) - len(e)
    by_noise = 0.5 * (turn**2 @ share - (weights**2).sum(axis=0))
    gradient = np.concatenate(
        [[by_length], by_tasks @ v, 0.5 * np.diag(by_tasks) * d, by_noise * noise]
    )
    return spectra.value, gradient


@dataclass(frozen=True, eq=False)
class StructuredProcess:
    """Posterior of z and of y = A z, given the hyperparameters."""

    x: np.ndarray  # inputs (sample, state)
    y: np.ndarray  # outputs (sample, task)
    transformation: np.ndarray  # A: J − R of a port-Hamiltonian system
    length_scale: float  # ℓ, in the units of the inputs
    task_vector: np.ndarray  # v, in the units of z, and d, in their squares
    task_diagonal: np.ndarray
    noise: np.ndarray  # variances σ_j², in squared units of the outputs

    @property
    def task_covariance(self) -> np.ndarray:
        """T, the prior covariance of z at one point."""
        v = self.task_vector
        return np.outer(v, v) + np.diag(self.task_diagonal)

    @cached_property
    def _spectra(self) -> StructuredSpectra:
        square = square_distances(self.x, self.x)
        hyperparameters = self.length_scale, self.task_covariance, self.noise
        return StructuredSpectra(square, self.y, self.transformation, *hyperparameters)

    @property
    def log_likelihood(self) -> float:
        """Marginal log likelihood of the outputs."""
        return -self._spectra.value

    def effort(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of z, shape (point, task).

        Paper: step 6 conditions z on predicted A z and inverts a singular matrix. Both
        are jointly Gaussian with the data, so the mean of z follows at once, for a
        singular A as well.
        """
        return self._kernel(points) @ self._effort_weights

    def jacobian(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of ∂(A z)/∂x, shape (point, task, state)."""
        away = self.x[None] - points[:, None, :]
        slope = away * self._kernel(points)[:, :, None] / self.length_scale**2
        weights = self._effort_weights @ self.transformation.T
        return np.einsum("pns,nt->pts", slope, weights)

    def covariance(self, points: np.ndarray) -> np.ndarray:
        """Posterior covariance of z, shape (point, task, task).

        It takes the model for true: an error that is smooth in x, as that of a time
        discretisation, is no noise to the likelihood and is not in the band.
        """
        result = self._spectra
        rotated = self._kernel(points) @ result.vectors
        share = rotated**2 @ result.inverse
        cross = self.task_covariance @ self.transformation.T @ result.turn
        return self.task_covariance - np.einsum("pt,at,bt->pab", share, cross, cross)

    @cached_property
    def _effort_weights(self) -> np.ndarray:
        return self._spectra.weights @ self.transformation @ self.task_covariance

    def _kernel(self, points: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * square_distances(points, self.x) / self.length_scale**2)


def fit(
    x: np.ndarray,
    y: np.ndarray,
    transformation: np.ndarray,
    *,
    random: np.random.Generator,
    noise_floor: float = 1e-9,
    starts: int = 2,
    iterations: int = 200,
) -> StructuredProcess:
    """Largest marginal likelihood, by L-BFGS-B from the best of several starts.

    Arguments x, y and A are those of :class:`StructuredProcess`. The first start has
    the first principal direction for v, `random` draws that of all others: with few
    samples a start may end in the optimum that calls everything noise. The
    `noise_floor`, the least σ_j² over the mean square of the largest output, bounds the
    likelihood where an output is zero throughout.

    Raises
    ------
    ValueError
        If the shapes do not fit, a value is not finite, or there is no start.
    """
    x, y, transformation = (np.asarray(a, dtype=float) for a in (x, y, transformation))
    _check(x, y, transformation, starts)
    square = square_distances(x, x)
    spread = np.sqrt(square.mean() / 2) or 1.0
    scale = np.sqrt((y**2).mean(axis=0).max()) or 1.0
    scaled, tasks = y / scale, y.shape[1]
    best = most_likely(
        negative_log_likelihood,
        _starts(scaled, transformation, spread, starts, random),
        _bounds(spread, noise_floor, tasks),
        (square, scaled, transformation),
        iterations=iterations,
        race=ITERATIONS_OF_ALL_STARTS,
        **SEARCH_OPTIONS,
    )
    length_scale, v = float(np.exp(best[0])), best[1 : 1 + tasks] * scale
    d, noise = np.exp(best[1 + tasks :]).reshape(2, tasks) * scale**2
    return StructuredProcess(x, y, transformation, length_scale, v, d, noise)


def _bounds(spread: float, noise_floor: float, tasks: int) -> np.ndarray:
    """Smallest and largest log ℓ, v, log d and log σ²."""
    length_scales = spread * np.array(LENGTH_SCALE_RANGE)
    noises = noise_floor, LARGEST_NOISE
    logs = np.log([length_scales, *[DIAGONAL_RANGE] * tasks, *[noises] * tasks]).T
    limit = np.full((tasks, 2), (-np.inf, np.inf)).T
    return np.hstack([logs[:, :1], limit, logs[:, 1:]])


def _starts(y, transformation, spread, number, random):
    """Starts: T from the second moments of A⁺ y, a noise of 1 % of the outputs."""
    efforts = y @ np.linalg.pinv(transformation).T
    values, vectors = np.linalg.eigh(efforts.T @ efforts / len(efforts))
    size = np.sqrt(np.maximum(values[-1], 0.0))
    d = np.full(len(values), 0.5)
    with np.errstate(divide="ignore"):
        logs = np.log([d, START_NOISE * (y**2).mean(axis=0)])
    for i in range(number):
        v = vectors[:, -1] if i == 0 else random.standard_normal(len(values))
        length_scale = START_LENGTH_SCALES[i % len(START_LENGTH_SCALES)] * spread
        yield np.concatenate([[np.log(length_scale)], size * v, *logs])


def _check(x, y, transformation: np.ndarray, starts: int) -> None:
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or len(x) == 0:
        raise ValueError(
            f"x {x.shape} and y {y.shape} must be tables with one row per sample"
        )
    if transformation.shape != (y.shape[1],) * 2:
        raise ValueError(
            f"transformation has shape {transformation.shape}; {y.shape[1]} outputs "
            "need a square matrix of that size"
        )
    if starts < 1:
        raise ValueError(f"starts is {starts}; a search needs at least one")
    for name, values in (("x", x), ("y", y)):
        if not np.isfinite(values).all():
            raise ValueError(
                f"{name} holds values that are not finite; drop samples without a "
                "derivative, such as the ends of a record"
            )


def multi_task_process(equations: xr.Dataset, settings: Mapping) -> xr.Dataset:
    """Efforts as one multi-task process behind J − R, as published (section 3.3).

    One for every training set.
    """
    options = {key: settings[key] for key in ("noise_floor", "starts", "iterations")}
    transform = transform_of(equations)
    result: dict[str, list] = {name: [] for name in HYPERPARAMETERS}
    for x, y in training_data(equations):
        random = np.random.default_rng(settings["seed"])
        process = fit(x, y, transform, random=random, **options)
        result["length_scale"].append(process.length_scale)
        result["task_vector"].append(process.task_vector)
        result["task_diagonal"].append(process.task_diagonal)
        result["noise_variance"].append(process.noise)
        result["log_likelihood"].append(process.log_likelihood)
    return with_training_data(CONTRACTS["effort_process"], equations, result)


class ProcessEfforts:
    """Efforts of one fit, rebuilt from a stored model."""

    def __init__(self, dataset: xr.Dataset, fit: int):
        of_fit = dataset.isel(replicate=0, fit=fit)
        x, y = training_set(dataset, fit)
        self._likelihood = float(of_fit["log_likelihood"])
        self._process = StructuredProcess(
            x=x,
            y=y,
            transformation=transform_of(dataset),
            length_scale=float(of_fit["length_scale"]),
            task_vector=of_fit["task_vector"].values,
            task_diagonal=of_fit["task_diagonal"].values,
            noise=of_fit["noise_variance"].values,
        )

    def linearised(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return z and ∂z/∂x of states."""
        inverse = np.linalg.inv(self._process.transformation)
        slopes = np.einsum("ij,pjs->pis", inverse, self._process.jacobian(x))
        return self._process.effort(x), slopes

    def covariance(self, x: np.ndarray) -> np.ndarray:
        """Covariance of z at each point."""
        return self._process.covariance(x)

    def lines(self) -> list[str]:
        """Lines of hyperparameters."""
        return [
            f"  one Gaussian kernel, length scale {self._process.length_scale:.4g}",
            f"  log likelihood {self._likelihood:.6g}",
            "  no Hamiltonian: E'z = grad H is not imposed",
        ]
