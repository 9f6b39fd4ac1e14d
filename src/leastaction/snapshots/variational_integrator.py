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
from leastaction.snapshots.discrete_lagrangian import (
    Basis,
    discrete_momenta,
    rule_points,
)
from leastaction.snapshots.jets import JETS, packed
from leastaction.snapshots.momentum_step import TEMPLATE

# Of the error of one evaluation, as a displacement; below it no correction means much.
ROUND_OFF_MARGIN = 8.0
REASONS = (
    "",
    "Newton's method did not converge",
    "the Newton matrix is singular",
    "the position left the domain",
    "the position is not finite",
)


@dataclass(frozen=True)
class Rollout:
    """A discrete motion; NaN after a failure.

    Attributes
    ----------
    positions, momenta
        Shape (sample, dof).
    steps
        Steps done.
    reason
        Why it stopped before its end; empty if it did not.
    iterations
        Newton corrections per step.
    """

    positions: np.ndarray
    momenta: np.ndarray
    steps: int
    reason: str
    iterations: float

    @property
    def complete(self) -> bool:
        """Whether no step failed."""
        return not self.reason


class VariationalIntegrator:
    """Compiled step of L = Σ b_i φ_i by a quadrature rule.

    Parameters
    ----------
    basis
        A basis with a compiled jet (:mod:`leastaction.snapshots.jets`).
    coefficients
        b, shape (function,).
    time_step
        h, s.
    rule
        ``midpoint`` or ``trapezoidal``.
    """

    def __init__(
        self, basis: Basis, coefficients: np.ndarray, time_step: float, rule: str
    ):
        self._compiled = kernel(TEMPLATE, {"jet": JETS[type(basis)](basis)})
        self._layout, self._values, self._work = packed(basis, coefficients)
        self._points = np.array(rule_points(rule))
        self._basis = basis
        self.coefficients = np.asarray(coefficients, dtype=float)
        self.dof, self.time_step, self._rule = basis.dof, float(time_step), rule

    def tolerance(self, position: np.ndarray, velocity: np.ndarray) -> float:
        """Smallest correction that means something, from the round-off of a gradient.

        A momentum is a sum of terms as large as Σ |b_i ∂φ_i|; its rounding error,
        divided by the mass over h, is a displacement.
        """
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
        size = 2 * self.dof
        gradients = np.empty((len(states), size))
        hessians = np.empty((len(states), size, size))
        self._compiled.jets(
            states, self._layout, self._values, self._work, gradients, hessians
        )
        return gradients, hessians

    def momentum(self, position: np.ndarray, following: np.ndarray) -> np.ndarray:
        """−∇₁L_d(q₀, q₁): the momentum with which the next position is `following`."""
        before, _ = discrete_momenta(
            self._basis, position[None], following[None], self.time_step, self._rule
        )
        return before[:, 0] @ self.coefficients

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
        """Motion from a position and its momentum.

        Parameters
        ----------
        position, momentum
            q₀ and p₀, shape (dof,). p₀ is ∂L^[k]/∂q̇ of the modified Lagrangian.
        steps
            How many, a multiple of `every`.
        velocity
            Rough q̇₀ for the start of the first Newton iteration.
        every
            Steps between two samples.
        low, high
            Box outside of which the motion counts as escaped.
        tolerance
            Largest correction of a converged step; by default just above the floor that
            round-off sets (:meth:`tolerance`).
        iterations
            Most corrections of a step.

        Raises
        ------
        ValueError
            If `steps` is not a multiple of `every`.
        """
        if steps % every:
            raise ValueError(f"steps {steps} is not a multiple of every = {every}")
        start = np.ascontiguousarray(position, dtype=float)
        velocity = np.ascontiguousarray(velocity, dtype=float)
        if tolerance is None:
            tolerance = self.tolerance(start, velocity)
        path = np.full((steps // every + 1, self.dof), np.nan)
        momenta, used = np.full_like(path, np.nan), np.zeros(1, dtype=np.int64)
        done, reason = self._compiled.integrate(
            start,
            np.ascontiguousarray(momentum, dtype=float),
            velocity,
            self.time_step,
            self._points,
            self._layout,
            self._values,
            self._work,
            tolerance,
            iterations,
            np.broadcast_to(np.asarray(low, dtype=float), start.shape).copy(),
            np.broadcast_to(np.asarray(high, dtype=float), start.shape).copy(),
            every,
            path,
            momenta,
            used,
        )
        text = f"step {done + 1}: {REASONS[reason]}" if reason else ""
        return Rollout(path, momenta, done, text, used[0] / max(done, 1))
