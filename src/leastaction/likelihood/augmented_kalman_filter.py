"""Augmented Kalman filter (de Jong 1991) and fixed-interval smoother.

The linear model of deviations δx from a reference path, and of δc from coefficients,

.. math::

    δx_{k+1} = A_k δx_k + d_k + B_k δc + w_k, \\quad w_k \\sim N(0, Q_k), \\qquad
    y_k - h(\\bar x_k) = H δx_k + e_k, \\quad e_k \\sim N(0, R) ,

has innovations e⁰ + E δc that are linear in δc: the mean of the filter is a matrix,
column 0 driven by d, column j by B_j, all with the same gains. With their variances V,

.. math::

    ℓ(δc) = -\\tfrac12 Σ \\Bigl[\\frac{(e^0 + E δc)^2}{V} + \\log V\\Bigr], \\qquad
    g = -Σ \\frac{E e^0}{V}, \\quad G = Σ \\frac{E^T E}{V} .

P. de Jong, The diffuse Kalman filter, Ann. Stat. 19 (1991) 1073; the smoother without
inverses is G. J. Bierman's, Fixed interval smoothing with discrete measurements, Int.
J. Control 18 (1973) 65, after Bryson and Frazier.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from leastaction.core.compiled import kernel

KERNEL = """
@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def run(
    y, begin, block, A, B, d, Q, square, P0, R, of_R, moment, logs, kept, e, V, P, x,
):
    # Row k+1 of a trajectory follows from row k by A[k], B[k], d[k]; `begin` marks its
    # first rows. Sensor a sees state a; NaN is no measurement. The covariance of the
    # noise is sum_i square[i] Q[k, i]. moment[b] is the sum of (e, E)'(e, E) / V over
    # block b; logs is the sum of log V, of R / V, and the count.
    rows, sensors = y.shape
    n, wide = A.shape[1], B.shape[2] + 1
    C, F = np.zeros((n, n)), np.zeros((n, n))
    X, Y = np.zeros((n, wide)), np.zeros((n, wide))
    E, K = np.zeros(wide), np.zeros(n)
    for k in range(rows):
        if begin[k]:
            for a in range(n):
                for b in range(n):
                    C[a, b] = P0[a] if a == b else 0.0
                for j in range(wide):
                    X[a, j] = 0.0
        else:
            for a in range(n):
                for j in range(wide):
                    total = d[k - 1, a] if j == 0 else B[k - 1, a, j - 1]
                    for b in range(n):
                        total += A[k - 1, a, b] * X[b, j]
                    Y[a, j] = total
                for b in range(n):
                    total = 0.0
                    for i in range(n):
                        total += A[k - 1, a, i] * C[i, b]
                    F[a, b] = total
            for a in range(n):
                for j in range(wide):
                    X[a, j] = Y[a, j]
                for b in range(a + 1):
                    total = 0.0
                    for i in range(n):
                        total += F[a, i] * A[k - 1, b, i]
                    for i in range(square.size):
                        total += square[i] * Q[k - 1, i, a, b]
                    C[a, b] = total
                    C[b, a] = total
        if kept:
            for a in range(n):
                x[k, a] = X[a, 0]
                for b in range(n):
                    P[k, a, b] = C[a, b]
        for s in range(sensors):
            if np.isnan(y[k, s]):
                e[k, s] = np.nan
                V[k, s] = np.inf
                continue
            noise = R[s] * of_R[k, s]
            variance = C[s, s] + noise
            E[0] = y[k, s] - X[s, 0]
            for j in range(1, wide):
                E[j] = -X[s, j]
            for a in range(n):
                K[a] = C[a, s] / variance
            for a in range(n):
                for j in range(wide):
                    X[a, j] += K[a] * E[j]
            for a in range(n):
                F[a, 0] = C[s, a]
            for a in range(n):
                for b in range(n):
                    C[a, b] -= K[a] * F[b, 0]
            inverse = 1.0 / variance
            for j in range(wide):
                scaled = E[j] * inverse
                for i in range(j + 1):
                    moment[block[k], j, i] += scaled * E[i]
            logs[0] += np.log(variance)
            logs[1] += noise * inverse
            logs[2] += 1.0
            e[k, s] = E[0]
            V[k, s] = variance


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def smooth(begin, A, e, V, P, x):
    # x becomes the mean given all measurements: x - P l with the adjoint l.
    rows, sensors = e.shape
    n = A.shape[1]
    adjoint, moved = np.zeros(n), np.zeros(n)
    C, total_gain = np.zeros((sensors, n, n)), np.zeros((sensors, n))
    for k in range(rows - 1, -1, -1):
        if k == rows - 1 or begin[k + 1]:
            for a in range(n):
                adjoint[a] = 0.0
        else:
            for a in range(n):
                moved[a] = 0.0
                for b in range(n):
                    moved[a] += A[k, b, a] * adjoint[b]
            for a in range(n):
                adjoint[a] = moved[a]
        # Covariances before each sensor of this row, from that before the first.
        for s in range(sensors):
            for a in range(n):
                for b in range(n):
                    if s == 0:
                        C[0, a, b] = P[k, a, b]
                    elif np.isfinite(V[k, s - 1]):
                        gain = C[s - 1, a, s - 1] / V[k, s - 1]
                        C[s, a, b] = C[s - 1, a, b] - gain * C[s - 1, s - 1, b]
                    else:
                        C[s, a, b] = C[s - 1, a, b]
        for s in range(sensors - 1, -1, -1):
            if not np.isfinite(V[k, s]):
                continue
            along = 0.0
            for a in range(n):
                along += C[s, a, s] / V[k, s] * adjoint[a]
            adjoint[s] -= along + e[k, s] / V[k, s]
        for a in range(n):
            for b in range(n):
                x[k, a] -= P[k, a, b] * adjoint[b]
"""


@lru_cache(maxsize=1)
def _functions():
    return kernel(KERNEL, {})


class LinearModel(NamedTuple):
    """Deviations from a reference path, one row per sample; see the module.

    Entries of the last row of a trajectory are not used.
    """

    y: np.ndarray  # measured less reference, (row, sensor), NaN where nothing was
    begin: np.ndarray  # whether a row is the first of a trajectory
    block: np.ndarray  # stretch that a row belongs to
    A: np.ndarray  # (row, state, state)
    B: np.ndarray  # (row, state, coefficient)
    d: np.ndarray  # (row, state)
    Q: np.ndarray  # (row, noise, state, state), of noises of strength one
    P0: np.ndarray  # variances of the states of first rows
    relative_R: np.ndarray  # of R, (row, sensor)

    def shifted(self, change: np.ndarray) -> "LinearModel":
        """The model at coefficients that are changed, without columns for them."""
        return self._replace(d=self.d + self.B @ change, B=self.B[:, :, :0])


class Innovations(NamedTuple):
    """Likelihood of a linear model as a quadratic function of δc."""

    moment: np.ndarray  # Σ (e⁰, E)ᵀ(e⁰, E) / V by stretch, (stretch, 1 + m, 1 + m)
    log_variances: float  # Σ log V
    sensor_share: float  # Σ R / V: Σ e² / V of a motion without process noise
    count: int  # of measurements
    e: np.ndarray  # e⁰, (row, sensor)
    V: np.ndarray  # infinite where nothing was measured

    @property
    def value(self) -> float:
        """ℓ at δc = 0, without the constant."""
        return -0.5 * float(self.moment[:, 0, 0].sum() + self.log_variances)

    def standardised(self) -> Iterator[np.ndarray]:
        """e⁰ / √V of the measurements of every sensor, about their mean."""
        for e, V in zip(self.e.T, self.V.T, strict=True):
            measured = np.isfinite(V)
            z = e[measured] / np.sqrt(V[measured])
            yield z - z.mean()

    @property
    def correlation_length(self) -> float:
        """Rows τ = 1 + 2 Σ ρ_k that an innovation is correlated over; at least one.

        Over the lags up to the first that is not positive, of the sensor whose
        innovations are correlated longest (Geyer, Stat. Sci. 7 (1992) 473). Of N such
        innovations there are N/τ.
        """
        longest = 1.0
        for z in self.standardised():
            power = np.abs(np.fft.rfft(z, 2 * len(z))) ** 2
            covariance = np.fft.irfft(power)[: len(z)]
            # Below the resolution, where variances are those of the model, they are
            # as good as white.
            rho = covariance / max(covariance[0], len(z))
            last = int(np.argmax(rho <= 0)) or len(z)
            longest = max(longest, float(1 + 2 * rho[1:last].sum()))
        return longest

    @property
    def gradient(self) -> np.ndarray:
        """∂ℓ/∂c at δc = 0, shape (m,)."""
        return -self.moment[:, 0, 1:].sum(axis=0)

    @property
    def information(self) -> np.ndarray:
        """G, shape (m, m)."""
        return self.moment[:, 1:, 1:].sum(axis=0)


def augmented_filter(
    model: LinearModel, process: np.ndarray, sensor: np.ndarray
) -> Innovations:
    """One pass, for standard deviations of the process noises and of the sensors."""
    return _run(model, process, sensor, False)[0]


def _run(model, process, sensor, with_states):
    rows, sensors = model.y.shape
    states, columns = model.B.shape[1:]
    moment = np.zeros((int(model.block.max()) + 1, columns + 1, columns + 1))
    logs, e, V = np.zeros(3), np.empty((rows, sensors)), np.empty((rows, sensors))
    stored = rows if with_states else 0
    P, x = np.empty((stored, states, states)), np.empty((stored, states))
    _functions().run(
        model.y, model.begin, model.block, model.A, model.B, model.d, model.Q,
        np.square(process), model.P0, np.square(sensor), model.relative_R,
        moment, logs, with_states, e, V, P, x,
    )  # fmt: skip
    upper = np.swapaxes(np.tril(moment, -1), 1, 2)
    innovations = Innovations(moment + upper, logs[0], logs[1], int(logs[2]), e, V)
    return innovations, P, x


def smoothed(
    model: LinearModel, process: np.ndarray, sensor: np.ndarray
) -> tuple[np.ndarray, Innovations]:
    """Means of all states given all measurements, (row, state), and innovations."""
    run, P, x = _run(model.shifted(np.zeros(model.B.shape[2])), process, sensor, True)
    _functions().smooth(model.begin, model.A, run.e, run.V, P, x)
    return x, run
