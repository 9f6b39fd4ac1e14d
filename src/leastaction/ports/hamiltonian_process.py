"""Gaussian processes of a Hamiltonian with observed gradients.

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

An element such as a capacitance stores H(x) in one state. Its effort z(x) = H'(x) is a
scalar function with noise of variance σ² and the prior covariance

.. math::  k(x, x') = s^2 e^{-(w - w')^2/2ℓ^2} + b_0 + b_1 x x', \\qquad
    w(x) = \\operatorname{arsinh}(x/c) .

Far from x = 0 the coordinate w is logarithmic, near it linear. The scale c is learned:
a function with a singular derivative at zero, as √x, is smooth in w with c below all
samples, and with c above all samples w is x. H is the integral of the posterior mean of
z over x = c sinh(w).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numba import njit

from leastaction.core.gaussian_process import (
    Kernel,
    Posterior,
    most_likely,
    negative_log_likelihood,
)

# Bounds of the search, relative to the data: least and largest noise.
NOISE_RANGE, START_NOISE = (1e-9, 1e1), 1e-4
ITERATIONS = 200
# Several states: ℓ over the spread, s²/ℓ² and b over the mean square effort. A larger
# s² would cost digits: rounding errors of H and z are about 1e-16 s²/(ℓ² σ).
LENGTH_SCALE_RANGE, START_LENGTH_SCALE = (1e-2, 3e1), 2.0
EFFORT_RANGE, POLYNOMIAL_RANGE = (1e-12, 1e2), (1e-12, 1e5)
# One state: ℓ over the range of w, c over the largest state, and the prior variances
# over the mean square effort. A larger s² would gain little, and the sum over the
# samples would lose digits: H and z agree to 1e-10 with s²/σ² up to 1e9.
WARP_RANGE = 1e-6, 1e2
VARIANCE_RANGE, LINE_RANGE = (1e-12, 1.0), (1e-12, 1e4)
# Starts: w nearly linear, in between and logarithmic; more are drawn from the box.
START_WARPS, START_WARPED_LENGTH_SCALE = (1e1, 1e-1, 1e-3), 0.5
DRAWN_WARPS, DRAWN_LENGTH_SCALES = (1e-4, 10), (0.1, 2)
# Panels of an integral over w, in units of the smaller of 1 and ℓ, and their nodes.
PANEL_WIDTH = 0.5
PANEL_NODES, PANEL_WEIGHTS = np.polynomial.legendre.leggauss(16)


def process_of(block: Sequence[int]) -> "type[HamiltonianProcess]":
    """Class of the processes of a block of states."""
    return LocalProcess if len(block) == 1 else GradientProcess


@dataclass(frozen=True, eq=False)
class HamiltonianProcess:
    """Posterior of H and of z = ∂H/∂x, given the hyperparameters."""

    x: np.ndarray  # states (sample, state)
    z: np.ndarray  # their efforts (sample, state)

    @property
    def parameters(self) -> dict:
        """Hyperparameters by name."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)[2:]}

    def efforts(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of z, shape (point, state)."""
        return self.linearised(points)[0]


@dataclass(frozen=True, eq=False)
class GradientProcess(HamiltonianProcess):
    """Process of several states."""

    length_scale: np.ndarray  # ℓ (state,), in the units of the states
    variance: float  # s², in squared units of H, as b_1 and b_2
    linear: float
    quadratic: float
    noise: np.ndarray  # σ² (state,), in squared units of the efforts

    @cached_property
    def _scaling(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return scaling(self.x)

    @cached_property
    def _kernel(self) -> tuple:
        """Hyperparameters as :func:`covariance` takes them."""
        length_scale = self.length_scale / self._scaling[1]
        return length_scale, self.variance, self.linear, self.quadratic

    @cached_property
    def _posterior(self) -> Posterior:
        _, spread, scaled = self._scaling
        matrix, _, _ = covariance(scaled, scaled, *self._kernel)
        noise = np.repeat(self.noise * spread**2, len(self.x))
        matrix[np.diag_indices_from(matrix)] += noise
        return Posterior(matrix, (self.z * spread).T.ravel())

    @cached_property
    def _mean(self) -> tuple:
        """Arguments of :func:`_gradient_sums`: s² α/ℓ², and b·ξ + ξᵀPξ/2."""
        centre, spread, scaled = self._scaling
        weights = self._posterior.weights.reshape(self.z.shape[::-1]).T
        inverse = (spread / self.length_scale) ** 2
        outer = scaled.T @ weights
        return (
            centre,
            spread,
            np.ascontiguousarray(scaled),
            np.ascontiguousarray(self.variance * weights * inverse),
            inverse,
            self.linear * weights.sum(axis=0),
            self.quadratic * (outer + outer.T),
        )

    def linearised(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Posterior means of z and ∂z/∂x; the latter is symmetric."""
        return _gradient_sums(np.ascontiguousarray(points), *self._mean)[1:]

    def hamiltonian(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of H, zero at x = 0, shape (point,)."""
        both = np.vstack([points, np.zeros((1, points.shape[1]))])
        result = _gradient_sums(both, *self._mean)[0]
        return result[:-1] - result[-1]

    def std(self, points: np.ndarray) -> np.ndarray:
        """Posterior standard deviation of z without noise, shape (point, state)."""
        centre, spread, scaled = self._scaling
        standardised = (points - centre) / spread
        length_scale, variance, linear, quadratic = self._kernel
        cross, _, _ = covariance(standardised, scaled, *self._kernel)
        square = (standardised**2).sum(axis=1)[:, None] + standardised**2
        prior = (variance / length_scale**2 + linear + quadratic * square).T.ravel()
        left = self._posterior.variance(prior, cross).reshape(points.shape[::-1]).T
        return np.sqrt(left) / spread

    @classmethod
    def fit(cls, x, z, *, random: np.random.Generator, starts: int = 2):
        """Hyperparameters of the largest marginal likelihood.

        All starts but the first have random length scales.
        """
        x, z = _samples(x, z)
        _, spread, scaled = scaling(x)
        gradients = z * spread
        scale = np.sqrt((gradients**2).mean()) or 1.0
        size = z.shape[1]

        def start(i: int) -> np.ndarray:
            logs = np.zeros(2 * size + 3)
            logs[:size] = np.log(START_LENGTH_SCALE)
            if i:
                logs[:size] += random.uniform(-1.0, 1.0, size)
            logs[size + 3 :] = np.log(START_NOISE)
            return logs

        box = [LENGTH_SCALE_RANGE] * size + [EFFORT_RANGE] + [POLYNOMIAL_RANGE] * 2
        logs = most_likely(
            negative_log_likelihood,
            map(start, range(starts)),
            np.log([*box, *[NOISE_RANGE] * size]).T,
            (gradient_kernel(scaled), (gradients / scale).T.ravel()),
            iterations=ITERATIONS,
        )
        square = scale**2
        amplitude, linear, quadratic = np.exp(logs[size : size + 3]) * square
        return cls(
            x,
            z,
            length_scale=np.exp(logs[:size]) * spread,
            variance=float(amplitude * np.exp(2 * logs[:size].mean())),
            linear=float(linear),
            quadratic=float(quadratic),
            noise=np.exp(logs[size + 3 :]) * square / spread**2,
        )


def scaling(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and spread of the states, and ξ (sample, state)."""
    centre, spread = x.mean(axis=0), x.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return centre, spread, (x - centre) / spread


def covariance(first, second, length_scale, variance, linear, quadratic):
    """∂²k/∂ξ∂ξ', shape (state · first, state · second); its smooth and quadratic part.

    The parts have the shape (state, first, state, second).
    """
    size = first.shape[1]
    distance = [first[:, None, i] - second[None, :, i] for i in range(size)]
    slope = [d / ell**2 for d, ell in zip(distance, length_scale, strict=True)]
    square = sum(d * e for d, e in zip(distance, slope, strict=True))
    kernel = np.exp(-0.5 * square)
    smooth = np.empty((size, len(first), size, len(second)))
    curved = np.einsum("pj,qi->ipjq", first, second)
    inner = first @ second.T
    for i in range(size):
        along = kernel * slope[i]
        for j in range(i + 1):
            smooth[i, :, j, :] = smooth[j, :, i, :] = -along * slope[j]
        smooth[i, :, i, :] += kernel / length_scale[i] ** 2
        curved[i, :, i, :] += inner
    smooth *= variance
    curved *= quadratic
    result = smooth + curved
    for i in range(size):
        result[i, :, i, :] += linear
    return result.reshape(first.size, second.size), smooth, curved


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
        matrix, smooth, curved = covariance(
            scaled, scaled, length_scale, variance, linear, quadratic
        )
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
                diagonal = left[m, :, m, :] / length_scale[m] ** 2
                gradient[m] = (
                    (by_samples * distance[m] * slope[m]).sum()
                    + 2 * (near * (2 * mixed - diagonal)).sum()
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


@njit(cache=True, nogil=True)
def _gradient_sums(points, centre, spread, nodes, weights, inverse, slope, curvature):
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


@dataclass(frozen=True, eq=False)
class LocalProcess(HamiltonianProcess):
    """Process of one state."""

    length_scale: float  # ℓ, in units of w
    warp: float  # c, in units of the state
    variance: float  # s², in squared units of the effort, as b_0
    offset: float
    slope: float  # b_1, in squared units of effort over state
    noise: float  # σ², in squared units of the effort

    def _covariance(self, points: np.ndarray) -> np.ndarray:
        lag = np.arcsinh(points / self.warp) - np.arcsinh(self.x[:, 0] / self.warp)
        smooth = self.variance * np.exp(-0.5 * (lag / self.length_scale) ** 2)
        return smooth + self.offset + self.slope * points * self.x.T

    @cached_property
    def _posterior(self) -> Posterior:
        matrix = self._covariance(self.x)
        matrix[np.diag_indices_from(matrix)] += self.noise
        return Posterior(matrix, self.z[:, 0])

    @cached_property
    def _mean(self) -> tuple:
        """Arguments of :func:`_local_sums`: c, ℓ, w, s² α and the straight line."""
        weights, x = self._posterior.weights, self.x[:, 0]
        line = self.offset * weights.sum(), self.slope * (weights @ x)
        scales = self.warp, self.length_scale
        return *scales, np.arcsinh(x / self.warp), self.variance * weights, *line

    def linearised(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Posterior means of z, shape (point, 1), and dz/dx, shape (point, 1, 1)."""
        effort, slope = _local_sums(np.ascontiguousarray(points)[:, 0], *self._mean)
        return effort[:, None], slope[:, None, None]

    def hamiltonian(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of H, zero at x = 0, shape (point,).

        Gauss–Legendre panels of z dx = z c cosh(w) dw. There is a closed form, with the
        error function; its terms are larger than H by e^{ℓ²/2} and lose as many digits.
        """
        w = np.arcsinh(points[:, 0] / self.warp)
        width = PANEL_WIDTH * min(1.0, self.length_scale)
        number = np.floor(np.abs(w) / width).astype(int)
        side = np.where(w < 0, -1.0, 1.0)
        total = self._over(side * number * width, w)
        for sign in (1.0, -1.0):
            starts = sign * width * np.arange(number[side == sign].max(initial=0))
            sums = np.append(0.0, self._over(starts, starts + sign * width).cumsum())
            total += np.where(side == sign, sums[np.minimum(number, starts.size)], 0.0)
        return total

    def _over(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """∫ z dx from w = `first` to `last`, shape (panel,)."""
        half = 0.5 * (last - first)
        w = (first + half)[:, None] + half[:, None] * PANEL_NODES
        efforts = self.efforts((self.warp * np.sinh(w)).reshape(-1, 1))
        return half * (
            (efforts.reshape(w.shape) * self.warp * np.cosh(w)) @ PANEL_WEIGHTS
        )

    def std(self, points: np.ndarray) -> np.ndarray:
        """Posterior standard deviation of z without noise, shape (point, 1)."""
        prior = self.variance + self.offset + self.slope * points[:, 0] ** 2
        variance = self._posterior.variance(prior, self._covariance(points))
        return np.sqrt(variance)[:, None]

    @classmethod
    def fit(cls, x, z, *, random: np.random.Generator, starts: int = 4):
        """Hyperparameters of the largest marginal likelihood.

        The first three starts have given scales c, all others are drawn.
        """
        x, z = _samples(x, z)
        if x.shape[1] != 1:
            raise ValueError(f"x {x.shape} and z must be columns of one state")
        reach, scale = abs(x).max() or 1.0, np.sqrt((z**2).mean()) or 1.0

        def start(i: int) -> np.ndarray:
            warp, ratio = START_WARPS[i % len(START_WARPS)], START_WARPED_LENGTH_SCALE
            if i >= len(START_WARPS):
                box = np.log([DRAWN_WARPS, DRAWN_LENGTH_SCALES])
                warp, ratio = np.exp(random.uniform(*box.T))
            return np.log([ratio, warp, 1.0, 1.0, 1.0, START_NOISE])

        box = [LENGTH_SCALE_RANGE, WARP_RANGE, VARIANCE_RANGE, *[LINE_RANGE] * 2]
        logs = most_likely(
            negative_log_likelihood,
            map(start, range(starts)),
            np.log([*box, NOISE_RANGE]).T,
            (warped_kernel(x[:, 0] / reach), z[:, 0] / scale),
            iterations=ITERATIONS,
        )
        ratio, warp, variance, offset, slope, noise = np.exp(logs).tolist()
        width = np.arcsinh(abs(x / reach).max() / warp) or 1.0
        return cls(
            x,
            z,
            length_scale=float(ratio * width),
            warp=float(warp * reach),
            variance=float(variance * scale**2),
            offset=float(offset * scale**2),
            slope=float(slope * (scale / reach) ** 2),
            noise=float(noise * scale**2),
        )


@njit(cache=True, nogil=True)
def _local_sums(x, warp, length_scale, nodes, weights, offset, slope):
    """Effort z and dz/dx; `weights` hold s² α."""
    effort, jacobian = np.empty_like(x), np.empty_like(x)
    for p in range(x.size):
        w = np.arcsinh(x[p] / warp)
        value, by_w = 0.0, 0.0
        for j in range(nodes.size):
            lag = (w - nodes[j]) / length_scale
            term = weights[j] * np.exp(-0.5 * lag * lag)
            value += term
            by_w -= term * lag
        effort[p] = value + offset + slope * x[p]
        jacobian[p] = by_w / (length_scale * np.hypot(x[p], warp)) + slope
    return effort, jacobian


def warped_kernel(x: np.ndarray) -> Kernel:
    """Kernel of :mod:`leastaction.core.gaussian_process` of states, shape (sample,).

    Its hyperparameters are ℓ/W, c, s², b_0, b_1 and σ², with W the largest |w|.
    """
    outer = np.outer(x, x)

    def kernel(logs: np.ndarray):
        ratio, c, variance, offset, slope, noise = np.exp(logs)
        scaled = x / c
        w, by_c = np.arcsinh(scaled), -scaled / np.hypot(scaled, 1.0)
        largest = abs(w).argmax()
        unit = abs(w[largest]) or 1.0
        shrink = by_c[largest] / w[largest] if w[largest] else 0.0
        w, by_c = w / unit, (by_c - w * shrink) / unit
        lag, turn = w[:, None] - w, by_c[:, None] - by_c
        smooth = variance * np.exp(-0.5 * (lag / ratio) ** 2)
        matrix = smooth + offset + slope * outer
        matrix[np.diag_indices_from(matrix)] += noise

        def slopes(left: np.ndarray) -> np.ndarray:
            weighed = left * smooth
            gradient = [
                (weighed * lag**2).sum() / ratio**2,
                -(weighed * lag * turn).sum() / ratio**2,
                weighed.sum(),
                offset * left.sum(),
                slope * (left * outer).sum(),
                noise * np.trace(left),
            ]
            return np.array(gradient)

        return matrix, slopes

    return kernel


def _samples(x, z) -> tuple[np.ndarray, np.ndarray]:
    """States and efforts, checked."""
    x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
    if x.ndim != 2 or x.shape != z.shape or len(x) == 0:
        raise ValueError(
            f"x {x.shape} and z {z.shape} must be equal tables, one row per sample"
        )
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        raise ValueError("states and efforts must be finite; drop incomplete samples")
    return x, z
