"""Marginal likelihood of K_x ⊗ C + I ⊗ S by eigen-decomposition of K_x and C.

With K_x = Q diag(e) Qᵀ and S^{-1/2} C S^{-1/2} = U diag(λ) Uᵀ the matrix K has the
eigenvalues 1 + e_i λ_j up to S (Stegle et al. 2011; Rakitsch et al. 2013). A likelihood
with its gradient then costs O(N³ + D³) instead of O(N³D³).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpstrf

# Pivots of K_x below this are rounding error; beyond this share of them in use, the
# eigenvectors of K_x itself are cheaper.
PIVOT = 1e-15
LOW_RANK = 0.5


def square_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """|x − x'|² of two sets of points, shape (point, point)."""
    return ((first[:, None, :] - second[None, :, :]) ** 2).sum(axis=2)


def low_rank_spectrum(kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues above rounding error and their eigenvectors, shape (sample, rank).

    A kernel with a long length scale has few of them, and a Cholesky factor with pivots
    with its singular values gives them sooner. What is cut off hardly changes the
    likelihood, but does change predictions, where T may be 1e14 times the noise.
    """
    factor, pivots, rank, _ = dpstrf(kernel, tol=PIVOT)
    if rank > LOW_RANK * len(kernel):
        return np.linalg.eigh(kernel)
    vectors, singular, _ = np.linalg.svd(np.triu(factor)[:rank].T, full_matrices=False)
    placed = np.empty_like(vectors)
    placed[pivots - 1] = vectors
    return singular**2, placed


@dataclass(frozen=True, eq=False)
class StructuredSpectra:
    """e, Q, λ and S^{-1/2} U of the module, and what follows from them.

    Outside the span of Q the kernel is zero: `rest` is what the outputs hold there.
    """

    kernel: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    tasks: np.ndarray
    turn: np.ndarray
    covariance: np.ndarray
    outputs: np.ndarray
    noise: np.ndarray

    @cached_property
    def inverse(self) -> np.ndarray:
        """1/(1 + e_i λ_j)."""
        return 1.0 / (1.0 + np.outer(self.values, self.tasks))

    @cached_property
    def rotated(self) -> np.ndarray:
        """Qᵀ Y S^{-1/2} U."""
        return self.vectors.T @ self.outputs @ self.turn

    @cached_property
    def rest(self) -> np.ndarray:
        """(1 − Q Qᵀ) Y S^{-1/2} U; zero, not rounding error, if Q is square."""
        if len(self.values) == len(self.outputs):
            return np.zeros_like(self.outputs)
        return self.outputs @ self.turn - self.vectors @ self.rotated

    @cached_property
    def weights(self) -> np.ndarray:
        """K⁻¹ Y."""
        return (self.vectors @ (self.rotated * self.inverse) + self.rest) @ self.turn.T

    @cached_property
    def value(self) -> float:
        """−log p(Y)."""
        square = (self.rotated**2 * self.inverse).sum() + (self.rest**2).sum()
        log = len(self.outputs) * np.log(2 * np.pi * self.noise).sum()
        return 0.5 * float(square + log - np.log(self.inverse).sum())


def structured_spectra(
    square: np.ndarray,
    outputs: np.ndarray,
    transform: np.ndarray,
    length_scale: float,
    task_covariance: np.ndarray,
    noise: np.ndarray,
    spectrum: Callable = np.linalg.eigh,
) -> StructuredSpectra:
    """Factors of K at given hyperparameters.

    Parameters
    ----------
    square
        |x − x'|², shape (sample, sample).
    outputs, transform
        Y, shape (sample, task), and A, shape (task, task).
    length_scale, task_covariance, noise
        ℓ, T and σ².
    spectrum
        Eigenvalues and eigenvectors of K_x: all of them, or :func:`low_rank_spectrum`.
    """
    kernel = np.exp(-0.5 / length_scale**2 * square)
    covariance = transform @ task_covariance @ transform.T
    root = np.sqrt(noise)
    tasks, turn = np.linalg.eigh(covariance / np.outer(root, root))
    values, vectors = spectrum(kernel)
    return StructuredSpectra(
        kernel,
        np.maximum(values, 0.0),
        vectors,
        np.maximum(tasks, 0.0),
        turn / root[:, None],
        covariance,
        outputs,
        noise,
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
        As in :func:`structured_spectra`.
    """
    size, length_scale = outputs.shape[1], np.exp(parameters[0])
    v = parameters[1 : 1 + size]
    d, noise = np.exp(parameters[1 + size :]).reshape(2, size)
    found = structured_spectra(
        square,
        outputs,
        transform,
        length_scale,
        np.outer(v, v) + np.diag(d),
        noise,
        low_rank_spectrum,
    )
    q, e, turn, weights = found.vectors, found.values, found.turn, found.weights
    slope = found.kernel * square
    slope /= length_scale**2
    trace = np.einsum("ij,ij->j", q, slope @ q) @ found.inverse @ found.tasks
    by_length = 0.5 * (trace - np.sum((slope @ weights @ found.covariance) * weights))
    # ∂/∂C, from which those by v and d follow.
    fitted = found.rotated * found.inverse
    in_tasks = np.diag(e @ found.inverse) - fitted.T @ (e[:, None] * fitted)
    back = transform.T @ turn
    by_tasks = back @ in_tasks @ back.T
    share = found.inverse.sum(axis=0) + len(outputs) - len(e)
    by_noise = 0.5 * (turn**2 @ share - (weights**2).sum(axis=0))
    gradient = np.concatenate(
        [[by_length], by_tasks @ v, 0.5 * np.diag(by_tasks) * d, by_noise * noise]
    )
    return found.value, gradient
