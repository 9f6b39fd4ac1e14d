"""Scalar Gaussian process of an effort that depends on its own state.

A port-Hamiltonian element such as a capacitance stores H(x) in one state, and its
effort z(x) = H'(x) is a scalar function. It has the prior covariance

.. math::  k(x, x') = s^2 e^{-(w - w')^2/2ℓ^2} + b_0 + b_1 x x', \\qquad
    w(x) = \\operatorname{arsinh}(x/c)

and noise of variance σ². Far from x = 0 the coordinate w is logarithmic, near it
linear. The scale c is learned: a function with a singular derivative at zero, as √x, is
smooth in w with c below all samples, and with c above all samples w is x. H is the
integral of the posterior mean of z over x = c sinh(w).
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

# Bounds of the search: ℓ over the range of w, c over the largest state, and the prior
# variances over the mean square effort. A larger s² would gain little, and the sum over
# the samples would lose digits: H and z agree to 1e-10 with s²/σ² up to 1e9.
LENGTH_SCALE_RANGE = 1e-2, 3e1
WARP_RANGE = 1e-6, 1e2
VARIANCE_RANGE, LINE_RANGE = (1e-12, 1.0), (1e-12, 1e4)
LARGEST_NOISE = 1e1
# Starts: w nearly linear, in between and logarithmic; more are drawn from the box.
START_WARPS, START_LENGTH_SCALE, START_NOISE = (1e1, 1e-1, 1e-3), 0.5, 1e-4
DRAWN_WARPS, DRAWN_LENGTH_SCALES = (1e-4, 10), (0.1, 2)
# Panels of an integral over w, in units of the smaller of 1 and ℓ, and their nodes.
PANEL_WIDTH = 0.5
PANEL_NODES, PANEL_WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True, eq=False)
class LocalProcess:
    """Posterior of z and of H, given the hyperparameters.

    Attributes
    ----------
    x, z
        State and effort, shape (sample, 1).
    length_scale
        ℓ, in units of w.
    warp
        c, in units of the state.
    variance, offset
        s² and b_0, in squared units of the effort.
    slope
        b_1, in squared units of effort over state.
    noise
        σ², in squared units of the effort.
    """

    x: np.ndarray
    z: np.ndarray
    length_scale: float
    warp: float
    variance: float
    offset: float
    slope: float
    noise: float

    @classmethod
    def from_parameters(cls, x, z, parameters) -> "LocalProcess":
        """Rebuild from samples and :attr:`parameters`."""
        return cls(np.asarray(x, float), np.asarray(z, float), **parameters)

    @property
    def parameters(self) -> dict:
        """Hyperparameters by name."""
        names = "length_scale", "warp", "variance", "offset", "slope", "noise"
        return {name: getattr(self, name) for name in names}

    def _covariance(self, points: np.ndarray) -> np.ndarray:
        lag = np.arcsinh(points / self.warp) - self._tables[2]
        smooth = self.variance * np.exp(-0.5 * (lag / self.length_scale) ** 2)
        return smooth + self.offset + self.slope * points * self.x.T

    @cached_property
    def _posterior(self) -> Posterior:
        matrix = self._covariance(self.x)
        matrix[np.diag_indices_from(matrix)] += self.noise
        return Posterior(matrix, self.z[:, 0])

    @cached_property
    def _tables(self) -> tuple:
        """c, ℓ and w of the samples."""
        return self.warp, self.length_scale, np.arcsinh(self.x[:, 0] / self.warp)

    @cached_property
    def _mean(self) -> tuple:
        """Arguments of :func:`_evaluated`: tables, s² α and the straight line."""
        weights = self._posterior.weights
        line = self.offset * weights.sum(), self.slope * (weights @ self.x[:, 0])
        return *self._tables, self.variance * weights, *line

    def efforts(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of z, shape (point, 1)."""
        return _evaluated(_flat(points), *self._mean)[0][:, None]

    def jacobian(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of dz/dx, shape (point, 1, 1)."""
        return _evaluated(_flat(points), *self._mean)[1][:, None, None]

    def hamiltonian(self, points: np.ndarray) -> np.ndarray:
        """Posterior mean of H, zero at x = 0, shape (point,).

        Gauss–Legendre panels of z dx = z c cosh(w) dw. There is a closed form, with the
        error function; its terms are larger than H by e^{ℓ²/2} and lose as many digits.
        """
        c, ell, _ = self._tables
        w = np.arcsinh(_flat(points) / c)
        width = PANEL_WIDTH * min(1.0, ell)
        number = np.floor(np.abs(w) / width).astype(int)
        side = np.where(w < 0, -1.0, 1.0)
        total = self._over(side * number * width, w)
        for sign in (1.0, -1.0):
            starts = sign * width * np.arange(number[side == sign].max(initial=0))
            whole = np.append(0.0, self._over(starts, starts + sign * width).cumsum())
            total += np.where(side == sign, whole[np.minimum(number, starts.size)], 0.0)
        return total

    def _over(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """∫ z dx from w = `first` to `last`, shape (panel,)."""
        half = 0.5 * (last - first)
        w = (first + half)[:, None] + half[:, None] * PANEL_NODES
        efforts = self.efforts((self.warp * np.sinh(w)).reshape(-1, 1))
        return half * (
            (efforts.reshape(w.shape) * self.warp * np.cosh(w)) @ PANEL_WEIGHTS
        )

    def at(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Effort z and dz/dx at one point, for the inner loop of a simulation."""
        effort, jacobian = _evaluated(point, *self._mean)
        return effort, jacobian[:, None]

    def std(self, points: np.ndarray) -> np.ndarray:
        """Posterior standard deviation of z without noise, shape (point, 1)."""
        points = _flat(points)[:, None]
        prior = self.variance + self.offset + self.slope * points[:, 0] ** 2
        variance = self._posterior.variance(prior, self._covariance(points))
        return np.sqrt(variance)[:, None]


@njit(cache=True, nogil=True)
def _evaluated(x, warp, length_scale, nodes, weights, offset, slope):
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


def fit(
    x: np.ndarray,
    z: np.ndarray,
    *,
    random: np.random.Generator,
    noise_floor: float = 1e-9,
    starts: int = 4,
    iterations: int = 200,
) -> LocalProcess:
    """Hyperparameters of the largest marginal likelihood.

    Parameters
    ----------
    x, z
        State and effort, shape (sample, 1).
    random
        Draws the starts beyond the third, which begin at three scales c.
    noise_floor
        Least σ² over the mean square effort.
    starts, iterations
        Number of starts of L-BFGS-B, and most iterations of each.

    Raises
    ------
    ValueError
        If the shapes are not (sample, 1) or a value is not finite.
    """
    x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
    if x.ndim != 2 or x.shape[1] != 1 or x.shape != z.shape or len(x) == 0:
        raise ValueError(
            f"x {x.shape} and z {z.shape} must be columns of one state and its effort"
        )
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        raise ValueError("state and effort must be finite; drop incomplete samples")
    reach, scale = abs(x).max() or 1.0, np.sqrt((z**2).mean()) or 1.0
    low, high = np.log(
        [
            LENGTH_SCALE_RANGE,
            WARP_RANGE,
            VARIANCE_RANGE,
            *[LINE_RANGE] * 2,
            (noise_floor, LARGEST_NOISE),
        ]
    ).T

    def start(i: int) -> np.ndarray:
        warp, ratio = START_WARPS[i % len(START_WARPS)], START_LENGTH_SCALE
        if i >= len(START_WARPS):
            box = np.log([DRAWN_WARPS, DRAWN_LENGTH_SCALES])
            warp, ratio = np.exp(random.uniform(*box.T))
        return np.log([ratio, warp, 1.0, 1.0, 1.0, START_NOISE])

    logs = most_likely(
        negative_log_likelihood,
        map(start, range(starts)),
        (low, high),
        (warped_kernel(x[:, 0] / reach), z[:, 0] / scale),
        iterations=iterations,
    )
    ratio, warp, variance, offset, slope, noise = np.exp(logs).tolist()
    width = np.arcsinh(abs(x / reach).max() / warp) or 1.0
    return LocalProcess(
        x,
        z,
        float(ratio * width),
        float(warp * reach),
        float(variance * scale**2),
        float(offset * scale**2),
        float(slope * (scale / reach) ** 2),
        float(noise * scale**2),
    )


def _flat(points: np.ndarray) -> np.ndarray:
    """States, shape (point,), from (point, 1)."""
    return np.ascontiguousarray(np.atleast_2d(points)[:, 0], dtype=float)
