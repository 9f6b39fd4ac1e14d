"""Variational integrator of a learned Lagrangian, in momentum form, compiled.

.. math::

    p_k = -∇_1 L_d(q_k, q_{k+1}), \\qquad p_{k+1} = ∇_2 L_d(q_k, q_{k+1}) .

The first equation is solved by Newton's method for q_{k+1}, the second gives the next
momentum from the same gradient. This equals the discrete Euler–Lagrange equations of
positions, but the momentum is carried and not recomputed, so a conserved one stays what
it is to round-off. The start of each solve is extrapolated from the last five
positions, and the matrix is that of the first iterate.
"""

from dataclasses import dataclass

import numpy as np

from leastaction.core.compiled import kernel
from leastaction.snapshots.bases import Basis
from leastaction.snapshots.discrete_lagrangian import rule_points

# Corrections of a converged step, over the round-off of one evaluation.
ROUND_OFF_MARGIN = 8.0
REASONS = (
    "",
    "Newton's method did not converge",
    "the Newton matrix is singular",
    "the position left the domain",
    "the position is not finite",
)

# The loops are compiled once: they call the jet of a basis by its address.
JET = (
    "FunctionType(void(f8[::1], i8[::1], f8[::1], f8[:, :, ::1], b1, f8[::1], "
    "f8[:, ::1]))"
)
BASIS = "i8[::1], f8[::1], f8[:, :, ::1]"
INTEGRATE = (
    f"({JET}, f8[::1], f8[::1], f8[::1], f8, f8[:, ::1], {BASIS}, f8, i8, f8[::1], "
    "f8[::1], i8, f8[:, ::1], f8[:, ::1], i8[::1])"
)
JETS = f"({JET}, f8[:, ::1], {BASIS}, f8[:, ::1], f8[:, :, ::1])"
LOOPS = '''
@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def solve(matrix, right):
    """Gaussian elimination with pivots, in place; False if singular."""
    n = right.size
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[best, k]):
                best = i
        if not abs(matrix[best, k]) > 0.0:
            return False
        if best != k:
            for j in range(n):
                matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
            right[k], right[best] = right[best], right[k]
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            for j in range(k + 1, n):
                matrix[i, j] -= factor * matrix[k, j]
            right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]
    return True


@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def discrete(jet, first, second, h, points, layout, values, work, second_order,
             before, after, slope_before, slope_after, state, gradient, hessian):
    """Momenta -D1 Ld and D2 Ld and, if asked, their derivatives by `second`."""
    n = first.size
    before[:] = 0.0
    after[:] = 0.0
    if second_order:
        slope_before[:] = 0.0
        slope_after[:] = 0.0
    for point in range(points.shape[0]):
        weight, theta = points[point, 0], points[point, 1]
        for i in range(n):
            state[i] = (1.0 - theta) * first[i] + theta * second[i]
            state[n + i] = (second[i] - first[i]) / h
        jet(state, layout, values, work, second_order, gradient, hessian)
        for i in range(n):
            before[i] += weight * (gradient[n + i] - (1.0 - theta) * h * gradient[i])
            after[i] += weight * (gradient[n + i] + theta * h * gradient[i])
            if not second_order:
                continue
            for j in range(n):
                by_momentum = theta * hessian[n + i, j] + hessian[n + i, n + j] / h
                by_force = theta * h * hessian[i, j] + hessian[i, n + j]
                slope_before[i, j] += weight * (
                    by_momentum - (1.0 - theta) * by_force)
                slope_after[i, j] += weight * (by_momentum + theta * by_force)


@njit("{integrate}", cache=True, nogil=True, no_cfunc_wrapper=True)
def integrate(jet, start, momentum, velocity, h, points, layout, values, work,
              tolerance, iterations, low, high, every, path, momenta, used):
    """Steps done, reason of failure (0: none). Sample k is step k * every."""
    n = start.size
    first = start.copy()
    p = momentum.copy()
    before, after, right, state, gradient = (
        np.empty(n), np.empty(n), np.empty(n), np.empty(2 * n), np.empty(2 * n))
    slope_before, slope_after = np.zeros((n, n)), np.zeros((n, n))
    matrix, hessian = np.empty((n, n)), np.empty((2 * n, 2 * n))
    past = np.empty((5, n))
    known = 1
    second = np.empty(n)
    for i in range(n):
        past[0, i], path[0, i], momenta[0, i] = first[i], first[i], p[i]
    steps = (path.shape[0] - 1) * every
    for step in range(1, steps + 1):
        for i in range(n):
            if known >= 5:
                second[i] = (5.0 * past[0, i] - 10.0 * past[1, i] + 10.0 * past[2, i]
                             - 5.0 * past[3, i] + past[4, i])
            elif known >= 3:
                second[i] = 3.0 * past[0, i] - 3.0 * past[1, i] + past[2, i]
            elif known == 2:
                second[i] = 2.0 * past[0, i] - past[1, i]
            else:
                second[i] = first[i] + h * velocity[i]
        size = 0.0
        converged = False
        last = 0.0
        for iteration in range(iterations):
            fresh = iteration == 0 or size > 0.1 * last
            last = size if iteration else 0.0
            discrete(jet, first, second, h, points, layout, values, work, fresh,
                     before, after, slope_before, slope_after, state, gradient, hessian)
            for i in range(n):
                right[i] = p[i] - before[i]
                for j in range(n):
                    matrix[i, j] = slope_before[i, j]
            if not solve(matrix, right):
                return step - 1, 2
            size = 0.0
            for i in range(n):
                size = max(size, abs(right[i]))
                second[i] += right[i]
                for j in range(n):
                    after[i] += slope_after[i, j] * right[j]
            used[0] += 1
            if not np.isfinite(size):
                return step - 1, 4
            # What is left is about size * (size / last).
            if size <= tolerance or (iteration and size * size <= tolerance * last):
                converged = True
                break
        if not converged:
            return step - 1, 1
        for k in range(4, 0, -1):
            for i in range(n):
                past[k, i] = past[k - 1, i]
        for i in range(n):
            first[i] = second[i]
            p[i] = after[i]
            past[0, i] = second[i]
            if second[i] < low[i] or second[i] > high[i]:
                return step - 1, 3
        known = min(known + 1, 5)
        if step % every == 0:
            for i in range(n):
                path[step // every, i], momenta[step // every, i] = first[i], p[i]
    return steps, 0


@njit("{jets}", cache=True, nogil=True, no_cfunc_wrapper=True)
def jets(jet, states, layout, values, work, gradients, hessians):
    for k in range(states.shape[0]):
        jet(states[k], layout, values, work, True, gradients[k], hessians[k])
'''.replace("{integrate}", INTEGRATE).replace("{jets}", JETS)


@dataclass(frozen=True)
class Rollout:
    """A discrete motion; NaN after a failure."""

    positions: np.ndarray  # (sample, dof)
    momenta: np.ndarray  # (sample, dof)
    steps: int  # done
    reason: str  # why it stopped before its end; empty if it did not
    iterations: float  # Newton corrections per step

    @property
    def complete(self) -> bool:
        """Whether no step failed."""
        return not self.reason


class VariationalIntegrator:
    """Compiled step of L = Σ b_i φ_i by a quadrature rule."""

    def __init__(
        self, basis: Basis, coefficients: np.ndarray, time_step: float, rule: str
    ):
        self._points = np.array(rule_points(rule))
        self._basis = basis
        self.coefficients = np.asarray(coefficients, dtype=float)
        source, *self._arrays = basis.jet(self.coefficients)
        self._jet, self._loops = kernel(source, {}).jet, kernel(LOOPS, {})
        self.dof, self.time_step = basis.dof, float(time_step)

    def tolerance(self, position: np.ndarray, velocity: np.ndarray) -> float:
        """Smallest correction that means something: the round-off of a gradient."""
        # A momentum is a sum of terms as large as Σ |b_i ∂φ_i|; its rounding error,
        # divided by the mass over h, is a displacement.
        state = np.concatenate([position, velocity])[None]
        n, h = self.dof, self.time_step
        size = np.abs(self.coefficients)
        largest = max(
            (np.abs(self._basis.partial(state, i)) @ size)[0] * (1.0 if i >= n else h)
            for i in range(2 * n)
        )
        hessian = self.jet(state)[1][0]
        mass = np.linalg.svd(hessian[n:, n:], compute_uv=False).min()
        epsilon = np.finfo(float).eps
        floor = epsilon * largest * h / max(mass, np.finfo(float).tiny)
        return ROUND_OFF_MARGIN * max(floor, epsilon * np.abs(state).max(), epsilon)

    def jet(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (sample, 2 dof) and Hessian (sample, 2 dof, 2 dof) of L."""
        states = np.ascontiguousarray(states, dtype=float)
        gradients = np.empty_like(states)
        hessians = np.empty((*states.shape, states.shape[1]))
        self._loops.jets(self._jet, states, *self._arrays, gradients, hessians)
        return gradients, hessians

    def rollout(
        self,
        position: np.ndarray,
        momentum: np.ndarray,
        steps: int,
        velocity: np.ndarray,
        *,
        every: int = 1,
        low: np.ndarray | float = -np.inf,
        high: np.ndarray | float = np.inf,
        tolerance: float | None = None,
        iterations: int = 30,
    ) -> Rollout:
        """Motion from q₀ and p₀ = ∂L^[k]/∂q̇ of the modified Lagrangian, shape (dof,).

        The first Newton iteration starts from a rough velocity q̇₀. There are `every`
        steps between two samples (a ValueError if these do not divide `steps`). Outside
        of the box `low` to `high` the motion counts as escaped. A step has at most
        `iterations` corrections, the last within a `tolerance`, by default
        :meth:`tolerance`.
        """
        if steps % every:
            raise ValueError(f"steps {steps} is not a multiple of every = {every}")
        start = np.ascontiguousarray(position, dtype=float)
        velocity = np.ascontiguousarray(velocity, dtype=float)
        if tolerance is None:
            tolerance = self.tolerance(start, velocity)
        path = np.full((steps // every + 1, self.dof), np.nan)
        momenta, used = np.full_like(path, np.nan), np.zeros(1, dtype=np.int64)
        momentum = np.ascontiguousarray(momentum, dtype=float)
        box = [np.full(start.shape, side, dtype=float) for side in (low, high)]
        about = (self.time_step, self._points, *self._arrays, tolerance, iterations)
        done, reason = self._loops.integrate(
            self._jet,
            start,
            momentum,
            velocity,
            *about,
            *box,
            every,
            path,
            momenta,
            used,
        )
        text = f"step {done + 1}: {REASONS[reason]}" if reason else ""
        return Rollout(path, momenta, done, text, used[0] / max(done, 1))
