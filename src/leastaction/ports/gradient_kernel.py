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
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from scipy.linalg import cho_factor, cho_solve

from leastaction.ports.gradient_likelihood import Blocks, gradient_search


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
    def _factor(self):
        blocks = self._blocks
        matrix = blocks.covariance(
            blocks.scaled,
            blocks.scaled,
            self.length_scale / blocks.spread,
            self.variance,
            self.linear,
            self.quadratic,
        )
        noise = np.repeat(self.noise * blocks.spread**2, len(self.x))
        matrix[np.diag_indices_from(matrix)] += noise
        return cho_factor(matrix, lower=True)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the gradients by ξ, shape (sample, state)."""
        scaled = (self.z * self._blocks.spread).T.ravel()
        return cho_solve(self._factor, scaled).reshape(self.z.shape[::-1]).T

    @cached_property
    def _polynomial(self) -> tuple[np.ndarray, np.ndarray]:
        """B and P of the part b·ξ + ξᵀPξ/2."""
        outer = self._blocks.scaled.T @ self.weights
        return self.linear * self.weights.sum(axis=0), self.quadratic * (
            outer + outer.T
        )

    @cached_property
    def _tables(self) -> tuple:
        """What :func:`_evaluated` reads."""
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
        """Z and ∂z/∂x at one point, for the inner loop of a simulation."""
        _, effort, jacobian = _evaluated(point[None], *self._tables)
        return effort[0], jacobian[0]

    def std(self, points: np.ndarray) -> np.ndarray:
        """Posterior standard deviation of z without noise, shape (point, state)."""
        blocks, points = self._blocks, _points(points)
        scaled = (points - blocks.centre) / blocks.spread
        given = (
            self.length_scale / blocks.spread,
            self.variance,
            self.linear,
            self.quadratic,
        )
        cross = blocks.covariance(scaled, blocks.scaled, *given)
        explained = np.einsum("ij,ji->i", cross, cho_solve(self._factor, cross.T))
        prior = blocks.variances(scaled, *given)
        left = np.maximum(prior - explained, 0.0).reshape(points.shape[::-1]).T
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
    found = gradient_search(
        Blocks.of(x), z, random, noise_floor, starts, iterations, polynomial
    )
    return GradientProcess(x, z, **found)


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
