"""Port-Hamiltonian equation with efforts as numbers: of a truth, a model, or coupled.

.. math::  E \\dot x = (J - R)\\, z(x) + B u, \\qquad y = B^T z(x)

with E = diag(D, 0) up to the order of the states.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from leastaction.mechanics.constraint_geometry import ConstraintGeometry

ROUNDING = 1e-10
# Newton's method for algebraic states: steps at most, and where it is done.
MOST_STEPS = 30
DONE = 1e-12
# A Jacobian serves on while a step is below this share of the last one.
SERVES = 0.1


class SingularDaeError(ValueError):
    """An equation that does not determine its algebraic states."""


@dataclass(frozen=True, eq=False)
class PortDae:
    """One equation.

    Attributes
    ----------
    states
        Names of x.
    flow, structure, dissipation, port
        E, J, R (state, state) and B (state, port).
    efforts, jacobian, hamiltonian
        z, ∂z/∂x and H of states (point, state); H is None if there is none.
    constraint
        Known constraints g(x_d) = 0 whose multipliers are algebraic states; with them
        the index is 3 and the multipliers follow from d²g/dt² = 0. Else it is 1.
    """

    states: tuple[str, ...]
    flow: np.ndarray
    structure: np.ndarray
    dissipation: np.ndarray
    port: np.ndarray
    efforts: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray]
    hamiltonian: Callable[[np.ndarray], np.ndarray] | None = None
    constraint: ConstraintGeometry | None = None

    def __post_init__(self):
        """Split differential and algebraic parts."""
        places, rows = self.flow.any(axis=0), self.flow.any(axis=1)
        set_ = object.__setattr__
        set_(self, "differential", np.flatnonzero(places))
        set_(self, "algebraic", np.flatnonzero(~places))
        set_(self, "_rows", np.flatnonzero(rows))
        set_(self, "algebraic_rows", np.flatnonzero(~rows))
        inner = self.flow[np.ix_(self._rows, self.differential)]
        set_(self, "_inner_inverse", np.linalg.inv(inner))

    @property
    def transformation(self) -> np.ndarray:
        """A = J − R."""
        return self.structure - self.dissipation

    def output(self, x: np.ndarray) -> np.ndarray:
        """y = Bᵀ z, shape (point, port)."""
        return self.efforts(x) @ self.port

    def speed(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """ẋ_d of one state under one input."""
        right = self.transformation @ self.efforts(x[None])[0] + self.port @ u
        return self._inner_inverse @ right[self._rows]

    def algebraic_jacobian(self, x: np.ndarray) -> np.ndarray:
        """Jacobian of the algebraic rows by all states, shape (point, row, state)."""
        rows = self.transformation[self.algebraic_rows]
        return np.einsum("rk,mks->mrs", rows, self.jacobian(x))

    def residual(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """What the algebraic states make zero: algebraic rows, or d²g/dt²."""
        if self.constraint is None:
            right = self.transformation @ self.efforts(x[None])[0] + self.port @ u
            return right[self.algebraic_rows]
        d = self.differential
        speed = self.speed(x, u)
        slope = self._inner_inverse @ (
            self.transformation[self._rows] @ self.jacobian(x[None])[0][:, d]
        )
        gradient, curvature = self.constraint.derivatives(x)
        bent = np.einsum("cij,i,j->c", curvature[:, d][:, :, d], speed, speed)
        return bent + gradient[:, d] @ (slope @ speed)

    def _residual_slope(self, x, u, base) -> np.ndarray:
        """Jacobian of :meth:`residual` by the algebraic states."""
        a = self.algebraic
        if self.constraint is None:
            return self.algebraic_jacobian(x[None])[0][:, a]
        columns = []
        for i in a:  # d²g/dt² is linear in the multipliers where H is
            step = 1e-3 * (1.0 + abs(x[i]))
            moved = x.copy()
            moved[i] += step
            columns.append((self.residual(moved, u) - base) / step)
        return np.column_stack(columns)

    def solved(
        self, x: np.ndarray, u: np.ndarray, slope: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """State with the algebraic entries that the equation asks for, by Newton.

        Parameters
        ----------
        x
            State whose algebraic entries are first guesses.
        u
            Input.
        slope
            Jacobian of a state nearby; it is used as long as it serves.

        Returns
        -------
        x, slope
            The state, and the Jacobian that was used last.

        Raises
        ------
        SingularDaeError
            If the Jacobian is singular or Newton's method does not end.
        """
        x = x.copy()
        if not self.algebraic.size:
            return x, None
        last = np.inf
        for _ in range(MOST_STEPS):
            base = self.residual(x, u)
            if slope is None:
                slope = self._residual_slope(x, u, base)
                self._check_regular(slope, x)
            step = np.linalg.solve(slope, base)
            x[self.algebraic] -= step
            size = np.abs(step).max()
            if size < DONE * (1.0 + np.abs(x).max()):
                return x, slope
            if self.constraint is not None or not size < SERVES * last:
                slope = None
            last = size
        raise SingularDaeError(
            f"Newton's method for the algebraic states does not end in {MOST_STEPS} "
            f"steps at x = {x}"
        )

    def _check_regular(self, slope: np.ndarray, x: np.ndarray) -> None:
        size = np.linalg.svd(slope, compute_uv=False)
        if not np.isfinite(size).all() or size[-1] < ROUNDING * max(1.0, size[0]):
            raise SingularDaeError(
                "the algebraic rows do not determine "
                f"{', '.join(self.states[i] for i in self.algebraic)} at x = {x}: the "
                f"singular values of their Jacobian are {size}"
            )

    def path(
        self, start: np.ndarray, time: np.ndarray, u: Callable, substeps: int = 1
    ) -> np.ndarray:
        """States at times, shape (time, state), by the classical Runge–Kutta scheme.

        Parameters
        ----------
        start
            First state; its algebraic entries are first guesses.
        time
            Uniform times, s.
        u
            Input (time, port) of times.
        substeps
            Steps between two times.

        Raises
        ------
        SingularDaeError
            If the algebraic states are not determined on the way.
        """
        h = (time[1] - time[0]) / substeps
        halves = time[0] + 0.5 * h * np.arange(2 * substeps * (time.size - 1) + 1)
        given = u(halves)
        d = self.differential
        x, slope = self.solved(np.array(start, dtype=float), given[0])
        states = [x]

        def moved(guess, by, u, slope):
            there = guess.copy()
            there[d] = x[d] + by
            return self.solved(there, u, slope)

        for k in range(substeps * (time.size - 1)):
            u0, u1, u2 = given[2 * k : 2 * k + 3]
            k1 = self.speed(x, u0)
            x2, slope = moved(x, 0.5 * h * k1, u1, slope)
            k2 = self.speed(x2, u1)
            x3, slope = moved(x2, 0.5 * h * k2, u1, slope)
            k3 = self.speed(x3, u1)
            x4, slope = moved(x3, h * k3, u2, slope)
            k4 = self.speed(x4, u2)
            x, slope = moved(x4, h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), u2, slope)
            if (k + 1) % substeps == 0:
                states.append(x)
        return np.array(states)


def constraint_geometry(
    states: Sequence[str], texts: Sequence[str]
) -> ConstraintGeometry | None:
    """Geometry of known constraints; None without any."""
    return ConstraintGeometry.from_text(states, texts) if len(texts) else None
