"""Kalman filters: exact of linear laws, of second order of other Lagrangian systems.

A linear system is sampled evenly. Between samples dx = (A_c x + B w) dt + Γ dW is
integrated exactly, whatever the step: with Q_c = Γ Γᵀ (Van Loan 1978)

.. math::
    \\exp\\left(Δt \\begin{bmatrix} -A_c & Q_c \\\\ 0 & A_c^T \\end{bmatrix}\\right)
    = \\begin{bmatrix} · & G \\\\ 0 & A^T \\end{bmatrix} , \\qquad Q = A G .

The covariance of the state settles; from then on the gain is constant, and a sample
costs two products of a small matrix and a vector.

Of other laws the filter is a continuous–discrete extended one of second order. Its
state is x = (q, q̇, u, w): coordinates, velocities, coloured forces if there are
some, and the velocities at the sample before if accelerations are measured as means.
With M q̈ = F(q, q̇) + S u and J = ∂ẋ/∂x, mean m and covariance P follow, between two
samples, by Runge–Kutta of order 4,

.. math::  \\dot m = f(m) + \\tfrac12 \\sum_{ab} f_{,ab}(m) P_{ab} , \\qquad
           \\dot P = J P + P J^T + Γ Γ^T .

The term with second derivatives makes damping unbiased (Jazwinski 1970, chapter 9).
Sensors are independent of each other, so they are taken one after the other, and every
innovation and its variance is a number.

Derivatives of M⁻¹F follow from those of M and F, which are linear in the coefficients:
M f_{,a} = F_{,a} − M_{,a} f. One library is compiled once; coefficients are arguments.
"""

import warnings
from functools import lru_cache, partial
from types import ModuleType, SimpleNamespace

import numpy as np
import sympy as sp
from numba import njit
from scipy.linalg import LinAlgWarning, expm, solve_discrete_lyapunov

from leastaction.core.compiled import assigned, assignments, kernel
from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import symbol
from leastaction.core.library import Library

# The Riccati equation has settled if variances change by less over so many samples.
# Differences of the likelihood need it: 1e-9 leaves a jitter of 1e-4 in its logarithm.
SETTLED, SAMPLES_SETTLED = 1e-11, 20
# Decay over a step, in nepers, whose square an exponential loses as digits.
MOST_DECAY = 8.0
# Names of quantities in the kernel.
COEFFICIENT, ACCELERATION, SLOPE = "coefficient_{}", "found_{}", "slope_{}_{}"
WIDTH = "width_of_sliding"


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
        decay = (
            -np.linalg.eigvals(rates).real.min() if np.isfinite(rates).all() else 0.0
        )
        # e^(decay) is in the exponential: a shorter step, doubled, keeps its digits.
        doublings = max(0, int(np.ceil(np.log2(max(decay * dt / MOST_DECAY, 1.0)))))
        exponential = expm(dt / 2**doublings * block)
        transition = exponential[n:, n:].T
        covariance = transition @ exponential[:n, n:]
        for _ in range(doublings):
            covariance = covariance + transition @ covariance @ transition.T
            transition = transition @ transition
        return transition, covariance


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
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            return solve_discrete_lyapunov(transition, covariance)
        except (np.linalg.LinAlgError, LinAlgWarning):  # stable by less than rounding
            return None


@njit(cache=True, nogil=True, error_model="numpy")
def run(y, transition, covariance, drive, matrix, offset, noise, x, P, e, V):  # noqa: C901
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
    back = transition.T.copy()
    for k in range(len(y)):
        row = min(k, len(offset) - 1)
        complete = True
        for i in range(channels):
            complete = complete and not np.isnan(y[k, i])
        if not complete:
            settled = 0
        moving = settled < SAMPLES_SETTLED
        for i in range(channels):
            if np.isnan(y[k, i]):
                e[k, i], V[k, i] = 0.0, 1.0
                continue
            if moving:
                v = noise[i]
                K[:] = 0.0
                for t in range(size):
                    for s in range(size):
                        K[s] += P[t, s] * matrix[i, t]
                for s in range(size):
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
        # Innermost loops run along rows, without a sum, so that they are vectorised. An
        # array assigned to a part of another would take as long to compile as all this.
        for s in range(size):
            z[s] = drive[row, s]
        for t in range(size):
            for s in range(size):
                z[s] += back[t, s] * x[t]
        for s in range(size):
            x[s] = z[s]
        if not moving:
            continue
        for s in range(size):
            AP[s] = 0.0
            for r in range(size):
                for t in range(size):
                    AP[s, t] += transition[s, r] * P[r, t]
        same = True
        for s in range(size):
            for t in range(s + 1):
                z[t] = covariance[s, t]
            for r in range(size):
                for t in range(s + 1):
                    z[t] += AP[s, r] * back[r, t]
            for t in range(s + 1):
                P[s, t] = P[t, s] = z[t]
            same = same and abs(P[s, s] - old[s]) <= SETTLED * P[s, s]
            old[s] = P[s, s]
        settled = settled + 1 if same and complete else 0
    return True


# Of a library is compiled what the loops below call by its address.
ACCELERATION_OF = """
@njit(cache=True, nogil=True, error_model="numpy")
def acceleration(x, c, width, order, P, push, M, W, F, D, C, f, J):
    n = {dof}
    {state}
    {covariance}
    {balance}
    # W = M^-1 by elimination, M being positive definite
    for a in range(n):
        for b in range(n):
            W[a, b] = 1.0 if a == b else 0.0
    for k in range(n):
        pivot = M[k, k]
        for b in range(n):
            M[k, b] /= pivot
            W[k, b] /= pivot
        for a in range(n):
            if a != k:
                factor = M[a, k]
                for b in range(n):
                    M[a, b] -= factor * M[k, b]
                    W[a, b] -= factor * W[k, b]
    for a in range(n):
        f[a] = 0.0
        for b in range(n):
            f[a] += W[a, b] * (F[b] + push[b])
    {accelerations}
    {slopes}
    for a in range(n):
        for s in range(2 * n):
            J[a, s] = 0.0
            for b in range(n):
                J[a, s] += W[a, b] * D[b, s]
    if order == 2:
        {jacobian}
        {curvature}
        for a in range(n):
            for b in range(n):
                f[a] += W[a, b] * C[b]
"""
# Arguments of either: v a vector, m a matrix.
VECTOR, MATRIX = "f8[::1]", "f8[:, ::1]"
CALLED = "v, v, f8, i8, m, v, m, m, v, m, v, v, m"
RUN = "m, m, v, f8, m, b1, v, f8, m, m, m, v, m, f8, i8, i8, m, m"
LOOPS = """
@njit("b1(FunctionType(void({called})), {run})", cache=True, nogil=True,
      error_model="numpy", no_cfunc_wrapper=True)
def run(acceleration, y, w, c, width, S, ground, noise, rate, Hx, Hf, Hu, x, P, dt,
        steps, order, e, V):
    n = {dof}
    size, columns, channels = len(x), S.shape[1], y.shape[1]
    coloured = rate > 0.0
    forces = columns if coloured else 0
    means = size - 2 * n - forces > 0
    M, W, D = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, 2 * n))
    F, C, f, push = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    J, G, g = np.zeros((n, 2 * n)), np.zeros((n, columns)), np.zeros(n)
    z, Z, dx, dP = np.zeros(size), np.zeros((size, size)), np.zeros(size), P.copy()
    sx, sP, h, K = np.zeros(size), P.copy(), np.zeros(size), np.zeros(size)
    part = dt / steps
    for k in range(len(y)):
        for i in range(channels):
            if np.isnan(y[k, i]):
                e[k, i], V[k, i] = 0.0, 1.0
                continue
            predicted = 0.0
            for s in range(size):
                h[s] = Hx[i, s]
                predicted += h[s] * x[s]
            seen = False
            for a in range(n):
                seen = seen or Hf[i, a] != 0.0
            if seen:
                for a in range(n):
                    push[a] = w[2 * k, a]
                acceleration(x, c, width, order, P, push, M, W, F, D, C, f, J)
                for a in range(n):
                    predicted += Hf[i, a] * f[a]
                    for s in range(2 * n):
                        h[s] += Hf[i, a] * J[a, s]
                    for j in range(forces):
                        value = S[a, j]
                        if not ground:
                            value = 0.0
                            for b in range(n):
                                value += W[a, b] * S[b, j]
                        h[2 * n + j] += Hu[i, a] * value
                        predicted += Hu[i, a] * value * x[2 * n + j]
            variance = noise[i]
            for s in range(size):
                K[s] = 0.0
                for t in range(size):
                    K[s] += P[s, t] * h[t]
                variance += h[s] * K[s]
            miss = y[k, i] - predicted
            if not (variance > 0.0 and abs(miss) < 1e150):
                return False
            e[k, i], V[k, i] = miss, variance
            for s in range(size):
                x[s] += K[s] * miss / variance
                for t in range(size):
                    P[s, t] -= K[s] * K[t] / variance
        if k == len(y) - 1:
            break
        if means:
            for a in range(n):
                x[size - n + a] = x[n + a]
            for a in range(n):
                for s in range(size):
                    P[size - n + a, s] = P[n + a, s]
            for a in range(n):
                for s in range(size):
                    P[s, size - n + a] = P[s, n + a]
        for step in range(steps):
            for s in range(size):
                sx[s] = z[s] = x[s]
                for t in range(size):
                    sP[s, t] = Z[s, t] = P[s, t]
            for stage in range(4):
                # input at the beginning, middle and end of a step
                place = 2 * k + (2 * step + (stage + 1) // 2) / steps
                low = min(int(place), len(w) - 2)
                share = place - low
                for a in range(n):
                    push[a] = (1 - share) * w[low, a] + share * w[low + 1, a]
                acceleration(z, c, width, order, Z, push, M, W, F, D, C, f, J)
                for a in range(n):
                    for j in range(columns):
                        G[a, j] = S[a, j] if ground else 0.0
                        if not ground:
                            for b in range(n):
                                G[a, j] += W[a, b] * S[b, j]
                for a in range(n):
                    dx[a], dx[n + a] = z[n + a], f[a]
                    for j in range(forces):
                        dx[n + a] += G[a, j] * z[2 * n + j]
                for s in range(2 * n, size):
                    dx[s] = -rate * z[s] if s < 2 * n + forces else 0.0
                for t in range(size):
                    for a in range(n):
                        dP[a, t] = Z[n + a, t]
                        value = 0.0
                        for s in range(2 * n):
                            value += J[a, s] * Z[s, t]
                        for j in range(forces):
                            value += G[a, j] * Z[2 * n + j, t]
                        dP[n + a, t] = value
                    for s in range(2 * n, size):
                        dP[s, t] = -rate * Z[s, t] if s < 2 * n + forces else 0.0
                weight = (1.0 if stage == 0 or stage == 3 else 2.0) * part / 6
                ahead = part if stage == 2 else part / 2
                for s in range(size):
                    x[s] += weight * dx[s]
                    z[s] = sx[s] + ahead * dx[s]
                    for t in range(s + 1):
                        value = dP[s, t] + dP[t, s]
                        if n <= t and s < 2 * n and not coloured:
                            for j in range(columns):
                                value += G[s - n, j] * G[t - n, j]
                        if s == t and 2 * n <= s < 2 * n + forces:
                            value += rate * rate
                        P[s, t] += weight * value
                        Z[s, t] = sP[s, t] + ahead * value
                        P[t, s] = P[s, t]
                        Z[t, s] = Z[s, t]
    return True
"""


@lru_cache(maxsize=16)
def compiled(library: Library):
    """Compiled filter of all candidates of a library.

    Returns
    -------
    functions
        ``run(y, w, c, width, S, ground, noise, rate, Hx, Hf, Hu, x, P, dt, steps,
        order, e, V)`` fills innovations `e` and variances `V` of the samples `y`,
        (time, channel), and returns whether they are finite. `w` are forces at samples
        and halfway, `c` coefficients of L and D, |v| is √(v² + width²), S the force or,
        if `ground`, its acceleration, `rate` 1/τ of its colour (0: white), `noise`
        variances of sensors, which see Hx x + Hf q̈ (without u) + Hu M⁻¹S u; `x` and `P`
        are the state at the first sample, and are overwritten.
    """
    n, names = len(library.coordinates), library.variables
    count = len(library.terms) + len(library.dissipation)
    balance, slopes, curvature = derivatives(library)
    pairs = [(a, b) for a in range(n) for b in range(n)]
    entries = [(a, s) for a in range(n) for s in range(2 * n)]
    lower = [(s, t) for s in range(2 * n) for t in range(s + 1)]
    functions = kernel(
        ACCELERATION_OF.replace("{dof}", str(n)),
        {
            "state": assigned(
                [*map(COEFFICIENT.format, range(count)), *names, WIDTH],
                [f"c[{i}]" for i in range(count)]
                + [f"x[{s}]" for s in range(2 * n)]
                + ["width"],
            ),
            "covariance": assigned(
                [_of_covariance(s, t).name for s, t in lower],
                [f"P[{s}, {t}]" for s, t in lower],
            ),
            "balance": assignments(
                [f"M[{a}, {b}]" for a, b in pairs] + [f"F[{a}]" for a in range(n)],
                balance,
                "balance_",
            ),
            "accelerations": assigned(
                [ACCELERATION.format(a) for a in range(n)],
                [f"f[{a}]" for a in range(n)],
            ),
            "slopes": assignments(
                [f"D[{a}, {s}]" for a, s in entries], slopes, "slopes_"
            ),
            "jacobian": assigned(
                [SLOPE.format(a, s) for a, s in entries],
                [f"J[{a}, {s}]" for a, s in entries],
            ),
            "curvature": assignments(
                [f"C[{a}]" for a in range(n)], curvature, "curvature_"
            ),
        },
    )
    run = partial(_loops(n).run, functions.acceleration)
    return SimpleNamespace(run=run, acceleration=functions.acceleration)


def _loops(dof: int) -> ModuleType:
    """What is compiled for a number of coordinates."""
    source = LOOPS.replace("{dof}", str(dof))
    for name, kinds in {"{called}": CALLED, "{run}": RUN}.items():
        kinds = kinds.replace("v", VECTOR).replace("m", MATRIX)
        source = source.replace(name, kinds)
    return kernel(source, {})


def derivatives(library: Library) -> tuple[list, list, list]:
    """Entries of (M, F), of M J and of M times the term of second order in ṁ."""
    n = len(library.coordinates)
    state = symbols(library.variables)
    count = len(library.terms) + len(library.dissipation)
    coefficients = symbols([COEFFICIENT.format(i) for i in range(count)])
    width = symbol(WIDTH)
    momenta, forces = (
        [
            _smooth(sum(c * e for c, e in zip(coefficients, row, strict=True)), width)
            for row in rows
        ]
        for rows in (library.momenta, library.forces)
    )
    mass = sp.Matrix(momenta).jacobian(state[n:])
    carried = sp.Matrix(momenta).jacobian(state[:n]) * sp.Matrix(state[n:])
    force = sp.Matrix(forces) - carried
    covariance = sp.Matrix(2 * n, 2 * n, lambda s, t: _of_covariance(s, t))
    f = sp.Matrix(symbols([ACCELERATION.format(a) for a in range(n)]))
    jacobian = sp.Matrix(n, 2 * n, lambda a, s: symbol(SLOPE.format(a, s)))
    slopes = force.jacobian(state)
    curvature = sp.zeros(n, 1)
    for s, one in enumerate(state):
        by_mass = mass.diff(one)
        slopes[:, s] -= by_mass * f
        for t, other in enumerate(state):
            part = force.diff(one).diff(other) - by_mass.diff(other) * f
            curvature += covariance[s, t] * (part / 2 - by_mass * jacobian[:, t])
    return [*mass, *force], list(slopes), list(curvature)


def _of_covariance(s: int, t: int) -> sp.Symbol:
    return symbol(f"covariance_{max(s, t)}_{min(s, t)}")


def _smooth(expression: sp.Expr, width: sp.Symbol) -> sp.Expr:
    """The expression with v/√(v² + width²) for the sign of v, which has slopes."""
    return expression.replace(sp.sign, lambda v: v / sp.sqrt(v**2 + width**2)).replace(
        sp.Abs, lambda v: sp.sqrt(v**2 + width**2)
    )
