"""Multi-task Gaussian process behind a linear map, by structured eigen-decomposition.

Zaspel and Günther (2024), sections 3.2 and 3.3, with the separable kernel of Bonilla,
Chai and Williams (2008). The effort z has the prior covariance k(x, x') T between its
components, and samples of y = A z + ε are given, so that with C = A T Aᵀ

.. math::  K = K_x ⊗ C + I ⊗ S, \\qquad T = v v^T + \\mathrm{diag}(d), \\qquad
    S = \\mathrm{diag}(σ_j^2), \\qquad k = e^{-|x - x'|^2/2ℓ^2} .

With K_x = Q diag(e) Qᵀ and S^{-1/2} C S^{-1/2} = U diag(λ) Uᵀ the matrix K has the
eigenvalues 1 + e_i λ_j up to S (Stegle et al. 2011; Rakitsch et al. 2013). A
likelihood with its gradient then costs O(N³ + D³) instead of O(N³D³).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize

# Bounds of the search: ℓ over the spread of the inputs, d over the scale of the data.
LENGTH_SCALE_RANGE = 1e-3, 1e4
DIAGONAL_RANGE = 1e-14, 1e6
NOISE_CEILING = 1e2


def square_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """|x − x'|² of two sets of points, shape (point, point)."""
    return ((first[:, None, :] - second[None, :, :]) ** 2).sum(axis=2)


@dataclass(frozen=True, eq=False)
class MultiTaskProcess:
    """Posterior of z and of y = A z, given the hyperparameters.

    Attributes
    ----------
    inputs
        X, shape (sample, state).
    outputs
        Y, shape (sample, task).
    transform
        A, shape (task, task): J − R for efforts of a port-Hamiltonian system.
    length_scale
        ℓ, in the units of the inputs.
    task_vector, task_diagonal
        v, in the units of z, and d, in their squares.
    noise_variance
        σ_j², in squared units of the outputs.
    """

    inputs: np.ndarray
    outputs: np.ndarray
    transform: np.ndarray
    length_scale: float
    task_vector: np.ndarray
    task_diagonal: np.ndarray
    noise_variance: np.ndarray

    @property
    def task_covariance(self) -> np.ndarray:
        """T, the prior covariance of z at one point."""
        return np.outer(self.task_vector, self.task_vector) + np.diag(
            self.task_diagonal
        )

    @cached_property
    def _factors(self) -> tuple[np.ndarray, ...]:
        """e, Q, λ and U of the module, the latter as S^{-1/2} U."""
        root = np.sqrt(self.noise_variance)
        covariance = self.transform @ self.task_covariance @ self.transform.T
        tasks, turn = eigh(covariance / np.outer(root, root))
        kernel = np.exp(
            -0.5 * square_distances(self.inputs, self.inputs) / self.length_scale**2
        )
        values, vectors = eigh(kernel)
        return (
            np.maximum(values, 0.0),
            vectors,
            np.maximum(tasks, 0.0),
            turn / root[:, None],
        )

    @cached_property
    def weights(self) -> np.ndarray:
        """K⁻¹ Y, shape (sample, task)."""
        values, vectors, tasks, turn = self._factors
        rotated = vectors.T @ self.outputs @ turn
        return vectors @ (rotated / (1.0 + np.outer(values, tasks))) @ turn.T

    @cached_property
    def log_likelihood(self) -> float:
        """Marginal log likelihood of the outputs."""
        values, vectors, tasks, turn = self._factors
        return -_value(values, tasks, vectors.T @ self.outputs @ turn) - 0.5 * len(
            self.inputs
        ) * float(np.log(self.noise_variance).sum())

    def transformed(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of A z, shape (point, task)."""
        return self.effort(points) @ self.transform.T

    def effort(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of z, shape (point, task).

        Paper: step 6 conditions z on predicted A z and inverts a singular matrix. Both
        are jointly Gaussian with the data, so the mean of z follows at once, for a
        singular A as well.
        """
        return self._kernel(points) @ self._effort_weights

    def effort_jacobian(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of ∂z/∂x, shape (point, task, state)."""
        points = np.atleast_2d(points)
        slope = (
            -(points[:, None, :] - self.inputs[None])
            * self._kernel(points)[:, :, None]
            / self.length_scale**2
        )
        return np.einsum("pns,nt->pts", slope, self._effort_weights)

    def transformed_covariance(self, points: np.ndarray) -> np.ndarray:
        """Posterior covariance of A z without noise, shape (point, task, task)."""
        covariance = self.effort_covariance(points)
        return self.transform @ covariance @ self.transform.T

    def effort_covariance(self, points: np.ndarray) -> np.ndarray:
        """Posterior covariance of z, shape (point, task, task).

        It takes the model for true: an error that is smooth in x, as that of a time
        discretisation, is no noise to the likelihood and is not in the band.
        """
        values, vectors, tasks, turn = self._factors
        rotated = (self._kernel(points) @ vectors) ** 2
        share = rotated @ (1.0 / (1.0 + np.outer(values, tasks)))
        cross = self.task_covariance @ self.transform.T @ turn
        return self.task_covariance - np.einsum("pt,at,bt->pab", share, cross, cross)

    @property
    def _effort_weights(self) -> np.ndarray:
        return self.weights @ self.transform @ self.task_covariance

    def _kernel(self, points: np.ndarray) -> np.ndarray:
        square = square_distances(np.atleast_2d(points), self.inputs)
        return np.exp(-0.5 * square / self.length_scale**2)


def _value(values: np.ndarray, tasks: np.ndarray, rotated: np.ndarray) -> float:
    """−log p without the term of det S, from rotated outputs."""
    ones = 1.0 + np.outer(values, tasks)
    return 0.5 * float(
        (rotated**2 / ones).sum() + np.log(ones).sum() + ones.size * np.log(2 * np.pi)
    )


def negative_log_likelihood(
    parameters: np.ndarray,
    square: np.ndarray,
    outputs: np.ndarray,
    transform: np.ndarray,
) -> tuple[float, np.ndarray]:
    """−log p(Y) and its gradient.

    Parameters
    ----------
    parameters
        log ℓ, v, log d, log σ², shape (1 + 3 task,).
    square
        |x − x'|², shape (sample, sample).
    outputs, transform
        As in :class:`MultiTaskProcess`.
    """
    size, number = outputs.shape[1], len(outputs)
    scale = np.exp(-2.0 * parameters[0])
    v = parameters[1 : 1 + size]
    d, noise = np.exp(parameters[1 + size :]).reshape(2, size)
    kernel = np.exp(-0.5 * scale * square)
    values, q = eigh(kernel, check_finite=False)
    values = np.maximum(values, 0.0)
    root = np.sqrt(noise)
    covariance = transform @ (np.outer(v, v) + np.diag(d)) @ transform.T
    tasks, turn = eigh(covariance / np.outer(root, root), check_finite=False)
    tasks, turn = np.maximum(tasks, 0.0), turn / root[:, None]
    rotated = q.T @ outputs @ turn
    inverse = 1.0 / (1.0 + np.outer(values, tasks))
    value = _value(values, tasks, rotated) + 0.5 * number * np.log(noise).sum()

    fitted = rotated * inverse
    alpha = q @ fitted @ turn.T
    slope = kernel * square
    slope *= scale
    shift = slope @ q
    by_values = np.einsum("ij,ij->j", q, shift)
    trace = by_values @ inverse @ tasks
    by_length = 0.5 * (trace - np.einsum("nt,tu,nu->", slope @ alpha, covariance, alpha))
    # ∂/∂C, from which those by v and d follow.
    in_tasks = np.diag(values @ inverse) - fitted.T @ (values[:, None] * fitted)
    by_tasks = transform.T @ turn @ in_tasks @ turn.T @ transform
    by_noise = 0.5 * ((turn**2) @ inverse.sum(axis=0) - (alpha**2).sum(axis=0))
    gradient = np.concatenate(
        [[by_length], by_tasks @ v, 0.5 * np.diag(by_tasks) * d, by_noise * noise]
    )
    return value, gradient


def structured_process(
    inputs: np.ndarray,
    outputs: np.ndarray,
    transform: np.ndarray,
    *,
    length_scales: Sequence[float] = (0.7, 2.0),
    noise_floor: float = 1e-10,
    iterations: int = 200,
    first: MultiTaskProcess | None = None,
) -> MultiTaskProcess:
    """Fit by the largest marginal likelihood, L-BFGS-B from several starts.

    Parameters
    ----------
    inputs
        Shape (sample, state).
    outputs
        Shape (sample, task).
    transform
        A, shape (task, task).
    length_scales
        ℓ of the starts, in units of the root mean square spread of the inputs. At few
        samples a start may end in the optimum that calls everything noise.
    noise_floor
        Least σ_j² over the mean square of the largest output. An output that is zero
        throughout makes the likelihood unbounded without it.
    iterations
        Most iterations of a start.
    first
        A process whose hyperparameters are one more start, such as that of a subset.

    Raises
    ------
    ValueError
        If the shapes do not fit, or a value is not finite.
    """
    inputs, outputs, transform = (
        np.asarray(a, dtype=float) for a in (inputs, outputs, transform)
    )
    _check(inputs, outputs, transform)
    square = square_distances(inputs, inputs)
    spread = np.sqrt(square.mean() / 2) or 1.0
    scale = np.sqrt((outputs**2).mean(axis=0).max()) or 1.0
    scaled, tasks = outputs / scale, outputs.shape[1]
    starts = [
        _start(scaled, transform, spread * ratio, noise_floor)
        for ratio in length_scales
    ]
    if first is not None:
        starts.append(_parameters(first, scale))
    log_range = np.log(
        [
            *[[spread * limit for limit in LENGTH_SCALE_RANGE]],
            *[DIAGONAL_RANGE] * tasks,
            *[(noise_floor, NOISE_CEILING)] * tasks,
        ]
    )
    bounds = np.vstack([log_range[:1], [[-np.inf, np.inf]] * tasks, log_range[1:]])
    best = min(
        (
            minimize(
                negative_log_likelihood,
                np.clip(start, bounds[:, 0], bounds[:, 1]),
                (square, scaled, transform),
                method="L-BFGS-B",
                jac=True,
                bounds=bounds,
                options={"maxiter": iterations, "maxcor": 20},
            )
            for start in starts
        ),
        key=lambda found: found.fun,
    )
    d, noise = np.exp(best.x[1 + tasks :]).reshape(2, tasks) * scale**2
    return MultiTaskProcess(
        inputs,
        outputs,
        transform,
        float(np.exp(best.x[0])),
        best.x[1 : 1 + tasks] * scale,
        d,
        noise,
    )


def _start(
    outputs: np.ndarray, transform: np.ndarray, length_scale: float, floor: float
) -> np.ndarray:
    """Start: T from the second moments of A⁺ y, noise a hundredth of the outputs."""
    efforts = outputs @ np.linalg.pinv(transform).T
    values, vectors = np.linalg.eigh(efforts.T @ efforts / len(efforts))
    d = np.full(len(values), 0.5)
    noise = np.maximum(1e-2 * (outputs**2).mean(axis=0), floor)
    v = vectors[:, -1] * np.sqrt(values[-1])
    return np.concatenate([[np.log(length_scale)], v, np.log(d), np.log(noise)])


def _parameters(process: MultiTaskProcess, scale: float) -> np.ndarray:
    return np.concatenate(
        [
            [np.log(process.length_scale)],
            process.task_vector / scale,
            np.log(process.task_diagonal / scale**2),
            np.log(process.noise_variance / scale**2),
        ]
    )


def _check(inputs: np.ndarray, outputs: np.ndarray, transform: np.ndarray) -> None:
    if inputs.ndim != 2 or outputs.ndim != 2 or len(inputs) != len(outputs):
        raise ValueError(
            f"inputs {inputs.shape} and outputs {outputs.shape} must be tables with one "
            "row per sample"
        )
    if transform.shape != (outputs.shape[1],) * 2:
        raise ValueError(
            f"transform has shape {transform.shape}; {outputs.shape[1]} outputs need a "
            "square matrix of that size"
        )
    for name, values in (("inputs", inputs), ("outputs", outputs)):
        if not np.isfinite(values).all():
            raise ValueError(
                f"{name} hold values that are not finite; drop samples without a "
                "derivative, such as the ends of a record"
            )
