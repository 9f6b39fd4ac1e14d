"""Port-Hamiltonian equation with efforts as numbers: of a truth, a model, or coupled.

.. math::  E \\dot x = (J - R)\\, z(x) + B u, \\qquad y = B^T z(x)

with E = diag(D, 0) up to the order of the states.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from leastaction.ports.constraint_geometry import ConstraintGeometry

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
    at
        (z, ∂z/∂x) at one state (state,), for inner loops; from the other two if absent.
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
    at: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None

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
        set_(self, "_transformation", self.transformation)
        set_(self, "_inner", self.transformation[self._rows])
        if self.at is None:
            set_(
                self,
                "at",
                lambda x: (self.efforts(x[None])[0], self.jacobian(x[None])[0]),
            )

    @property
    def transformation(self) -> np.ndarray:
        """A = J − R."""
        return self.structure - self.dissipation

    def output(self, x: np.ndarray) -> np.ndarray:
        """Y = Bᵀ z, shape (point, port)."""
        return self.efforts(x) @ self.port

    def algebraic_jacobian(self, x: np.ndarray) -> np.ndarray:
        """Jacobian of the algebraic rows by all states, shape (point, row, state)."""
        rows = self.transformation[self.algebraic_rows]
        return np.einsum("rk,mks->mrs", rows, self.jacobian(x))

    def _evaluated(self, x, u) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ẋ_d, the residual of the algebraic states, and ∂z/∂x, at one state.

        The residual is that of the algebraic rows, or d²g/dt².
        """
        z, slopes = self.at(x)
        right = self._transformation @ z + self.port @ u
        speed = self._inner_inverse @ right[self._rows]
        if self.constraint is None:
            return speed, right[self.algebraic_rows], slopes
        d = self.differential
        along = self._inner_inverse @ (self._inner @ (slopes[:, d] @ speed))
        gradient, curvature = self.constraint.derivatives(x)
        bent = curvature[:, d][:, :, d] @ speed @ speed
        return speed, bent + gradient[:, d] @ along, slopes

    def _residual_slope(self, x, u, residual, slopes) -> np.ndarray:
        """Jacobian of the residual by the algebraic states."""
        a = self.algebraic
        if self.constraint is None:
            return self._transformation[self.algebraic_rows] @ slopes[:, a]
        columns = []
        for i in a:  # d²g/dt² is linear in the multipliers where H is
            step = 1e-3 * (1.0 + abs(x[i]))
            moved = x.copy()
            moved[i] += step
            columns.append((self._evaluated(moved, u)[1] - residual) / step)
        return np.column_stack(columns)

    def solved(
        self, x: np.ndarray, u: np.ndarray, inverse: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """State with the algebraic entries that the equation asks for, by Newton.

        Parameters
        ----------
        x
            State whose algebraic entries are first guesses.
        u
            Input.
        inverse
            Inverse Jacobian of a state nearby; it is used as long as it serves.

        Returns
        -------
        x, speed, inverse
            The state, its ẋ_d, and the inverse Jacobian that was used last.

        Raises
        ------
        SingularDaeError
            If the Jacobian is singular or Newton's method does not end.
        """
        x = x.copy()
        last = np.inf
        for _ in range(MOST_STEPS):
            speed, residual, slopes = self._evaluated(x, u)
            if not self.algebraic.size:
                return x, speed, None
            if inverse is None:
                slope = self._residual_slope(x, u, residual, slopes)
                self._check_regular(slope, x)
                inverse = np.linalg.inv(slope)
            step = inverse @ residual
            x[self.algebraic] -= step
            size = max(map(abs, step))
            if size < DONE * (1.0 + max(map(abs, x))):
                return x, speed, inverse
            if not size < SERVES * last:
                inverse = None
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
        x, k1, inverse = self.solved(np.array(start, dtype=float), given[0])
        states = [x]
        for k in range(substeps * (time.size - 1)):
            _, middle, end = given[2 * k : 2 * k + 3]
            x2, k2, inverse = self._moved(x, x, 0.5 * h * k1, middle, inverse)
            x3, k3, inverse = self._moved(x, x2, 0.5 * h * k2, middle, inverse)
            x4, k4, inverse = self._moved(x, x3, h * k3, end, inverse)
            by = h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            x, k1, inverse = self._moved(x, x4, by, end, inverse)
            if (k + 1) % substeps == 0:
                states.append(x)
        return np.array(states)

    def _moved(self, x, guess, by, u, inverse):
        """Solve at x_d + `by`, with algebraic states from `guess`."""
        there = guess.copy()
        d = self.differential
        there[d] = x[d] + by
        return self.solved(there, u, inverse)


def constraint_geometry(
    states: Sequence[str], texts: Sequence[str]
) -> ConstraintGeometry | None:
    """Geometry of known constraints; None without any."""
    return ConstraintGeometry.from_text(states, texts) if len(texts) else None
