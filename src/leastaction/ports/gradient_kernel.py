"""Gaussian process of a Hamiltonian with observed gradients.

The efforts of several states are the gradient of one function, z = ∂H/∂x, by
construction: H has the prior covariance

.. math::  k(x, x') = s^2 e^{-\\frac12 \\sum_i (x_i - x'_i)^2/ℓ_i^2}
    + b_1\\, ξ·ξ' + \\tfrac12 b_2\\, (ξ·ξ')^2

with ξ the states from their mean, over their spread, and the samples of z have the
covariance ∂²k/∂x∂x' (Solak et al. 2003; Wu et al. 2017) and noise of variance σ_i².
The second and third part are linear and quadratic functions of unknown coefficients
(Rasmussen and Williams 2006, section 2.7): what a linear system would have. Nine
samples of four states determine an energy that is quadratic, whatever its form. The
posterior mean of ∂z/∂x is a Hessian, hence symmetric, and H is known up to a constant.

Vectors of gradients hold all samples of the first state, then those of the second.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from leastaction.core.gaussian_process import (
    Kernel,
    Posterior,
    most_likely,
    negative_log_likelihood,
)

# Bounds of the search: ℓ over the spread, s²/ℓ² and b over the mean square effort. A
# larger s² would cost digits: rounding errors of H and z are about 1e-16 s²/(ℓ² σ).
LENGTH_SCALE_RANGE = 1e-2, 3e1
EFFORT_RANGE, POLYNOMIAL_RANGE = (1e-12, 1e2), (1e-12, 1e5)
LARGEST_NOISE = 1e1
START_LENGTH_SCALE, START_NOISE = 2.0, 1e-4


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


def gradient_kernel(scaled: np.ndarray) -> Kernel:
    """Kernel of :mod:`leastaction.core.gaussian_process` of states ξ (sample, state).

    Its hyperparameters are ℓ (state,), s²/ℓ̄², b_1, b_2 and σ² (state,), with ℓ̄ the
    geometric mean of ℓ.
    """
    samples, size = scaled.shape
    distance = scaled.T[:, :, None] - scaled.T[:, None, :]

    def kernel(logs: np.ndarray):
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

        def slopes(left: np.ndarray) -> np.ndarray:
            left = left.reshape(smooth.shape)
            weighed = left * smooth
            by_samples = weighed.sum(axis=(0, 2))
            total = weighed.sum()
            gradient = np.empty_like(logs)
            slope = distance / length_scale[:, None, None] ** 2
            near = variance * np.exp(-0.5 * (distance * slope).sum(axis=0))
            for m in range(size):
                mixed = (left[m].transpose(1, 0, 2) * slope).sum(axis=0) * slope[m]
                own = left[m, :, m, :] / length_scale[m] ** 2
                gradient[m] = (
                    (by_samples * distance[m] * slope[m]).sum()
                    + 2 * (near * (2 * mixed - own)).sum()
                    + 2 * total / size
                )
            of_state = [left[i, :, i, :] for i in range(size)]
            gradient[size] = total
            gradient[size + 1] = linear * sum(part.sum() for part in of_state)
            gradient[size + 2] = (left * curved).sum()
            gradient[size + 3 :] = noise * [np.trace(part) for part in of_state]
            return gradient

        return matrix, slopes

    return kernel


@dataclass(frozen=True, eq=False)
class GradientProcess:
    """Posterior of H and of z = ∂H/∂x, given the hyperparameters.

    Attributes
    ----------
    x, z
        States and their efforts, shape (sample, state).
    length_scale
        ℓ, shape (state,), in the units of the states.
    variance, linear, quadratic
        s², b_1 and b_2, in squared units of H.
    noise
        σ², shape (state,), in squared units of the efforts.
    """

    x: np.ndarray
    z: np.ndarray
    length_scale: np.ndarray
    variance: float
    linear: float
    quadratic: float
    noise: np.ndarray

    @classmethod
    def from_parameters(cls, x, z, parameters) -> "GradientProcess":
        """Rebuild from samples and :attr:`parameters`."""
        return cls(np.asarray(x, float), np.asarray(z, float), **parameters)

    @property
    def parameters(self) -> dict:
        """Hyperparameters by name."""
        names = "length_scale", "variance", "linear", "quadratic", "noise"
        return {name: getattr(self, name) for name in names}

    @cached_property
    def _blocks(self) -> Blocks:
        return Blocks.of(self.x)

    @cached_property
    def _kernel(self) -> tuple:
        """Hyperparameters as :meth:`Blocks.covariance` takes them."""
        length_scale = self.length_scale / self._blocks.spread
        return length_scale, self.variance, self.linear, self.quadratic

    @cached_property
    def _posterior(self) -> Posterior:
        blocks = self._blocks
        matrix = blocks.covariance(blocks.scaled, blocks.scaled, *self._kernel)
        noise = np.repeat(self.noise * blocks.spread**2, len(self.x))
        matrix[np.diag_indices_from(matrix)] += noise
        return Posterior(matrix, (self.z * blocks.spread).T.ravel())

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the gradients by ξ, shape (sample, state)."""
        return self._posterior.weights.reshape(self.z.shape[::-1]).T

    @cached_property
    def _polynomial(self) -> tuple[np.ndarray, np.ndarray]:
        """B and P of the part b·ξ + ξᵀPξ/2."""
        outer = self._blocks.scaled.T @ self.weights
        return self.linear * self.weights.sum(axis=0), self.quadratic * (
            outer + outer.T
        )

    @cached_property
    def _tables(self) -> tuple:
        """Arguments of :func:`_evaluated` beside the points."""
        blocks = self._blocks
        inverse = (blocks.spread / self.length_scale) ** 2
        return (
            blocks.centre,
            blocks.spread,
            np.ascontiguousarray(blocks.scaled),
            np.ascontiguousarray(self.variance * self.weights * inverse),
            inverse,
            *self._polynomial,
        )

    def efforts(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of z, shape (point, state)."""
        return _evaluated(_points(points), *self._tables)[1]

    def jacobian(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of ∂z/∂x, shape (point, state, state); symmetric."""
        return _evaluated(_points(points), *self._tables)[2]

    def hamiltonian(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of H, zero at x = 0, shape (point,)."""
        points = _points(points)
        both = np.vstack([points, np.zeros((1, points.shape[1]))])
        found = _evaluated(both, *self._tables)[0]
        return found[:-1] - found[-1]

    def at(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Effort z and ∂z/∂x at one point, for the inner loop of a simulation."""
        _, effort, jacobian = _evaluated(point[None], *self._tables)
        return effort[0], jacobian[0]

    def std(self, points: np.ndarray) -> np.ndarray:
        """Posterior standard deviation of z without noise, shape (point, state)."""
        blocks, points = self._blocks, _points(points)
        scaled = (points - blocks.centre) / blocks.spread
        cross = blocks.covariance(scaled, blocks.scaled, *self._kernel)
        prior = blocks.variances(scaled, *self._kernel)
        left = self._posterior.variance(prior, cross).reshape(points.shape[::-1]).T
        return np.sqrt(left) / blocks.spread


def fit(
    x: np.ndarray,
    z: np.ndarray,
    *,
    random: np.random.Generator,
    noise_floor: float = 1e-9,
    starts: int = 2,
    iterations: int = 200,
    polynomial: bool = True,
) -> GradientProcess:
    """Hyperparameters of the largest marginal likelihood.

    Parameters
    ----------
    x, z
        Shape (sample, state).
    random
        Draws the length scales of all starts but the first.
    noise_floor
        Least σ_i² over the mean square of the efforts, both over the spread of x.
    starts, iterations
        Number of starts of L-BFGS-B, and most iterations of each.
    polynomial
        Whether H has the linear and the quadratic part.

    Raises
    ------
    ValueError
        If the shapes differ or a value is not finite.
    """
    x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
    if x.ndim != 2 or x.shape != z.shape or len(x) == 0:
        raise ValueError(
            f"x {x.shape} and z {z.shape} must be equal tables, one row per sample"
        )
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        raise ValueError("states and efforts must be finite; drop incomplete samples")
    blocks = Blocks.of(x)
    gradients = z * blocks.spread
    scale = np.sqrt((gradients**2).mean()) or 1.0
    size = z.shape[1]

    def start(i: int) -> np.ndarray:
        logs = np.zeros(2 * size + 3)
        logs[:size] = np.log(START_LENGTH_SCALE)
        if i:
            logs[:size] += random.uniform(-1.0, 1.0, size)
        logs[size + 3 :] = np.log(START_NOISE)
        return logs

    logs = most_likely(
        negative_log_likelihood,
        map(start, range(starts)),
        _bounds(size, noise_floor, polynomial),
        (gradient_kernel(blocks.scaled), (gradients / scale).T.ravel()),
        iterations=iterations,
    )
    square = scale**2
    amplitude, linear, quadratic = np.exp(logs[size : size + 3]) * square
    return GradientProcess(
        x,
        z,
        length_scale=np.exp(logs[:size]) * blocks.spread,
        variance=float(amplitude * np.exp(2 * logs[:size].mean())),
        linear=float(linear),
        quadratic=float(quadratic),
        noise=np.exp(logs[size + 3 :]) * square / blocks.spread**2,
    )


def _bounds(size: int, noise_floor: float, polynomial: bool) -> np.ndarray:
    """Smallest and largest logarithms of the hyperparameters."""
    low, high = np.log(
        [
            *[LENGTH_SCALE_RANGE] * size,
            EFFORT_RANGE,
            *[POLYNOMIAL_RANGE] * 2,
            *[(noise_floor, LARGEST_NOISE)] * size,
        ]
    ).T
    if not polynomial:
        high[size + 1 : size + 3] = low[size + 1 : size + 3]
    return np.array([low, high])


def _points(points: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.atleast_2d(points), dtype=float)


@njit(cache=True, nogil=True)
def _evaluated(points, centre, spread, nodes, weights, inverse, slope, curvature):
    """H, z and ∂z/∂x; `weights` hold s² α/ℓ², all by ξ."""
    size = points.shape[1]
    energy = np.zeros(points.shape[0])
    effort = np.zeros((points.shape[0], size))
    jacobian = np.zeros((points.shape[0], size, size))
    place, distance = np.empty(size), np.empty(size)
    for p in range(points.shape[0]):
        for a in range(size):
            place[a] = (points[p, a] - centre[a]) / spread[a]
        for j in range(nodes.shape[0]):
            square, along = 0.0, 0.0
            for a in range(size):
                shift = place[a] - nodes[j, a]
                along += weights[j, a] * shift
                distance[a] = shift * inverse[a]
                square += shift * distance[a]
            kernel = np.exp(-0.5 * square)
            energy[p] += kernel * along
            for a in range(size):
                effort[p, a] += kernel * (weights[j, a] - along * distance[a])
                jacobian[p, a, a] -= kernel * along * inverse[a]
                for b in range(a + 1):
                    jacobian[p, a, b] += kernel * (
                        along * distance[a] * distance[b]
                        - weights[j, a] * distance[b]
                        - weights[j, b] * distance[a]
                    )
        for a in range(size):
            effort[p, a] += slope[a]
            energy[p] += slope[a] * place[a]
            for b in range(size):
                effort[p, a] += curvature[a, b] * place[b]
                energy[p] += 0.5 * place[a] * curvature[a, b] * place[b]
        for a in range(size):
            effort[p, a] /= spread[a]
            for b in range(a + 1):
                total = jacobian[p, a, b] + 0.5 * (curvature[a, b] + curvature[b, a])
                jacobian[p, a, b] = total / (spread[a] * spread[b])
                jacobian[p, b, a] = jacobian[p, a, b]
    return energy, effort, jacobian
