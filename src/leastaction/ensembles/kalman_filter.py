"""Exact Kalman filter of a linear system in continuous time, sampled evenly.

Between samples dx = (A_c x + B w) dt + Γ dW is integrated exactly, whatever the step:
with Q_c = Γ Γᵀ (Van Loan 1978)

.. math::
    \\exp\\left(Δt \\begin{bmatrix} -A_c & Q_c \\\\ 0 & A_c^T \\end{bmatrix}\\right)
    = \\begin{bmatrix} · & G \\\\ 0 & A^T \\end{bmatrix} , \\qquad Q = A G .

The covariance of the state settles; from then on the gain is constant, and a sample
costs two products of a small matrix and a vector.
"""

import numpy as np
from numba import njit
from scipy.linalg import expm, solve_discrete_lyapunov

# The Riccati equation has settled if variances change by less over so many samples.
# Differences of the likelihood need it: 1e-9 leaves a jitter of 1e-4 in its logarithm.
SETTLED, SAMPLES_SETTLED = 1e-11, 20


def discretised(rates: np.ndarray, diffusion: np.ndarray, dt: float):
    """Transition matrix A and covariance Q over one step, of A_c and Γ Γᵀ.

    Examples
    --------
    A Wiener process: A = 1 and Q = σ² dt.

    >>> discretised(np.zeros((1, 1)), np.array([[4.0]]), 0.5)
    (array([[1.]]), array([[2.]]))
    """
    n = len(rates)
    block = np.block([[-rates, diffusion], [np.zeros((n, n)), rates.T]])
    # Trial parameters may be unstable beyond all numbers.
    with np.errstate(all="ignore"):
        exponential = expm(dt * block)
        transition = exponential[n:, n:].T
        return transition, transition @ exponential[:n, n:]


def response(rates: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights of a force that is linear in time over one step, at its two ends."""
    n = len(rates)
    block = np.zeros((3 * n, 3 * n))
    block[:n, :n] = dt * rates
    block[:n, n : 2 * n] = block[n : 2 * n, 2 * n :] = np.eye(n)
    exponential = expm(block)
    end = dt * exponential[:n, 2 * n :]
    return dt * exponential[:n, n : 2 * n] - end, end


def stationary(transition: np.ndarray, covariance: np.ndarray) -> np.ndarray | None:
    """Covariance P = A P Aᵀ + Q of the state; None if it has none."""
    if not np.isfinite([transition, covariance]).all():
        return None
    if not np.abs(np.linalg.eigvals(transition)).max() < 1:
        return None
    try:
        return solve_discrete_lyapunov(transition, covariance)
    except np.linalg.LinAlgError:  # stable by less than rounding
        return None


@njit(cache=True, nogil=True, error_model="numpy")
def run(y, transition, covariance, drive, matrix, offset, noise, x, P, e, V):
    """Innovations `e` and their variances `V`, (time, channel), of samples `y`.

    The state follows x⁺ = A x + `drive`[k] with `covariance` Q; channel i sees
    `matrix`[i] x + `offset`[k, i] with variance `noise`[i]. The last row of either
    stands for those after it. Samples that are NaN are gaps: e is 0 and V is 1. `x` and
    `P` are the state at the first sample, and are overwritten. Returns whether all is
    finite.
    """
    size, channels = len(x), y.shape[1]
    gain, variance = np.zeros((channels, size)), np.zeros(channels)
    K, old, settled = np.zeros(size), np.zeros(size), 0
    z, AP = np.zeros(size), np.zeros((size, size))
    for k in range(len(y)):
        row = min(k, len(offset) - 1)
        whole = True
        for i in range(channels):
            whole = whole and not np.isnan(y[k, i])
        if not whole:
            settled = 0
        moving = settled < SAMPLES_SETTLED
        for i in range(channels):
            if np.isnan(y[k, i]):
                e[k, i], V[k, i] = 0.0, 1.0
                continue
            if moving:
                v = noise[i]
                for s in range(size):
                    K[s] = 0.0
                    for t in range(size):
                        K[s] += P[s, t] * matrix[i, t]
                    v += matrix[i, s] * K[s]
                variance[i] = v
                for s in range(size):
                    gain[i, s] = K[s] / v
                    for t in range(size):
                        P[s, t] -= K[s] * K[t] / v
            miss = y[k, i] - offset[row, i]
            for s in range(size):
                miss -= matrix[i, s] * x[s]
            if not (variance[i] > 0.0 and abs(miss) < 1e150):
                return False
            e[k, i], V[k, i] = miss, variance[i]
            for s in range(size):
                x[s] += gain[i, s] * miss
        row = min(k, len(drive) - 1)
        for s in range(size):
            z[s] = drive[row, s]
            for t in range(size):
                z[s] += transition[s, t] * x[t]
        for s in range(size):
            x[s] = z[s]
        if not moving:
            continue
        for s in range(size):
            for t in range(size):
                AP[s, t] = 0.0
                for r in range(size):
                    AP[s, t] += transition[s, r] * P[r, t]
        same = True
        for s in range(size):
            for t in range(s + 1):
                value = covariance[s, t]
                for r in range(size):
                    value += AP[s, r] * transition[t, r]
                P[s, t] = P[t, s] = value
            same = same and abs(P[s, s] - old[s]) <= SETTLED * P[s, s]
            old[s] = P[s, s]
        settled = settled + 1 if same and whole else 0
    return True
