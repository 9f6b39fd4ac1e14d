"""Multi-task Gaussian process behind a linear map, fitted by its structure.

Zaspel and Günther (2024), sections 3.2 and 3.3, with the separable kernel of Bonilla,
Chai and Williams (2008). The effort z has the prior covariance k(x, x') T between its
components, and samples of y = A z + ε are given, so that with C = A T Aᵀ

.. math::  K = K_x ⊗ C + I ⊗ S, \\qquad T = v v^T + \\mathrm{diag}(d), \\qquad
    S = \\mathrm{diag}(σ_j^2), \\qquad k = e^{-|x - x'|^2/2ℓ^2} .

Paper: T is printed as v vᵀ, of rank one, which no data with D > 1 outputs can meet;
the kernel of the software that the authors name has the diagonal d.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from leastaction.ports.structured_likelihood import (
    StructuredSpectra,
    negative_log_likelihood,
    square_distances,
    structured_spectra,
)

# Bounds of the search: ℓ over the spread of the inputs, d over the scale of the data.
LENGTH_SCALE_RANGE = 1e-3, 1e3
DIAGONAL_RANGE = 1e-14, 1e6
NOISE_CEILING = 1e2
# ℓ of the starts, over the spread of the inputs.
START_LENGTH_SCALES = 0.7, 2.0
# Iterations after which only the best start goes on.
RACE = 20
# L-BFGS-B: corrections kept, relative change of −log p that ends the search, steps of a
# line search. Rounding errors of the likelihood make a closer search futile.
MEMORY, CHANGE, LINE_SEARCH = 20, 1e-6, 8


@dataclass(frozen=True, eq=False)
class StructuredProcess:
    """Posterior of z and of y = A z, given the hyperparameters.

    Attributes
    ----------
    x
        Inputs, shape (sample, state).
    y
        Outputs, shape (sample, task).
    transformation
        A, shape (task, task): J − R for efforts of a port-Hamiltonian system.
    length_scale
        ℓ, in the units of the inputs.
    task_vector, task_diagonal
        v, in the units of z, and d, in their squares.
    noise
        Variances σ_j², in squared units of the outputs.
    """

    x: np.ndarray
    y: np.ndarray
    transformation: np.ndarray
    length_scale: float
    task_vector: np.ndarray
    task_diagonal: np.ndarray
    noise: np.ndarray

    @property
    def task_covariance(self) -> np.ndarray:
        """T, the prior covariance of z at one point."""
        return np.outer(self.task_vector, self.task_vector) + np.diag(
            self.task_diagonal
        )

    @cached_property
    def _spectra(self) -> StructuredSpectra:
        return structured_spectra(
            square_distances(self.x, self.x),
            self.y,
            self.transformation,
            self.length_scale,
            self.task_covariance,
            self.noise,
        )

    @property
    def weights(self) -> np.ndarray:
        """K⁻¹ Y, shape (sample, task)."""
        return self._spectra.weights

    @property
    def log_likelihood(self) -> float:
        """Marginal log likelihood of the outputs."""
        return -self._spectra.value

    def mean(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of A z, shape (point, task)."""
        return self.effort(points) @ self.transformation.T

    def effort(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of z, shape (point, task).

        Paper: step 6 conditions z on predicted A z and inverts a singular matrix. Both
        are jointly Gaussian with the data, so the mean of z follows at once, for a
        singular A as well.
        """
        return self._kernel(points) @ self._effort_weights

    def jacobian(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of ∂(A z)/∂x, shape (point, task, state)."""
        points = np.atleast_2d(points)
        slope = (
            (self.x[None] - points[:, None, :])
            * self._kernel(points)[:, :, None]
            / self.length_scale**2
        )
        weights = self._effort_weights @ self.transformation.T
        return np.einsum("pns,nt->pts", slope, weights)

    def covariance(self, points: np.ndarray) -> np.ndarray:
        """Posterior covariance of A z without noise, shape (point, task, task)."""
        covariance = self.effort_covariance(points)
        return self.transformation @ covariance @ self.transformation.T

    def effort_covariance(self, points: np.ndarray) -> np.ndarray:
        """Posterior covariance of z, shape (point, task, task).

        It takes the model for true: an error that is smooth in x, as that of a time
        discretisation, is no noise to the likelihood and is not in the band.
        """
        found = self._spectra
        rotated = self._kernel(points) @ found.vectors
        share = rotated**2 @ found.inverse
        cross = self.task_covariance @ self.transformation.T @ found.turn
        return self.task_covariance - np.einsum("pt,at,bt->pab", share, cross, cross)

    @property
    def _effort_weights(self) -> np.ndarray:
        return self.weights @ self.transformation @ self.task_covariance

    def _kernel(self, points: np.ndarray) -> np.ndarray:
        square = square_distances(np.atleast_2d(points), self.x)
        return np.exp(-0.5 * square / self.length_scale**2)


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

    Parameters
    ----------
    x
        Inputs, shape (sample, state).
    y
        Outputs, shape (sample, task).
    transformation
        A, shape (task, task).
    random
        Draws v of all starts but the first, whose v is the first principal direction.
    noise_floor
        Least σ_j² over the mean square of the largest output. An output that is zero
        throughout makes the likelihood unbounded without it.
    starts
        Number of starts. With few samples a start may end in the optimum that calls
        everything noise.
    iterations
        Most iterations of the search.

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
    low, high = _bounds(spread, noise_floor, tasks)

    def search(start, most):
        return minimize(
            negative_log_likelihood,
            np.clip(start, low, high),
            (square, scaled, transformation),
            method="L-BFGS-B",
            jac=True,
            bounds=np.stack([low, high], axis=1),
            options={
                "maxiter": most,
                "maxcor": MEMORY,
                "ftol": CHANGE,
                "maxls": LINE_SEARCH,
            },
        )

    race = [
        search(start, min(RACE, iterations))
        for start in _starts(scaled, transformation, spread, starts, random)
    ]
    best = min(race, key=lambda found: found.fun)
    if iterations > RACE:
        best = search(best.x, iterations - RACE)
    d, noise = np.exp(best.x[1 + tasks :]).reshape(2, tasks) * scale**2
    return StructuredProcess(
        x,
        y,
        transformation,
        float(np.exp(best.x[0])),
        best.x[1 : 1 + tasks] * scale,
        d,
        noise,
    )


def _bounds(spread: float, noise_floor: float, tasks: int) -> np.ndarray:
    """Smallest and largest log ℓ, v, log d and log σ²."""
    ends = [
        np.log(
            [
                spread * LENGTH_SCALE_RANGE[i],
                *[DIAGONAL_RANGE[i]] * tasks,
                *[(noise_floor, NOISE_CEILING)[i]] * tasks,
            ]
        )
        for i in range(2)
    ]
    limit = np.full(tasks, np.inf)
    return np.array(
        [
            np.concatenate([end[:1], sign * limit, end[1:]])
            for sign, end in zip((-1, 1), ends, strict=True)
        ]
    )


def _starts(y, transformation, spread, number, random):
    """Starts: T from the second moments of A⁺ y, a noise of 1 % of the outputs."""
    efforts = y @ np.linalg.pinv(transformation).T
    values, vectors = np.linalg.eigh(efforts.T @ efforts / len(efforts))
    size = np.sqrt(np.maximum(values[-1], 0.0))
    d = np.full(len(values), 0.5)
    with np.errstate(divide="ignore"):
        logs = np.log([d, 1e-2 * (y**2).mean(axis=0)])
    for i in range(number):
        v = vectors[:, -1] if i == 0 else random.standard_normal(len(values))
        length_scale = START_LENGTH_SCALES[i % len(START_LENGTH_SCALES)] * spread
        yield np.concatenate([[np.log(length_scale)], size * v, *logs])


def _check(
    x: np.ndarray, y: np.ndarray, transformation: np.ndarray, starts: int
) -> None:
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
