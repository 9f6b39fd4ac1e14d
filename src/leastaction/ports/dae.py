"""Port-Hamiltonian equation with efforts as numbers: of a truth, a model, or coupled.

.. math::  E \\dot x = (J - R)\\, z(x) + B u, \\qquad y = B^T z(x)

with E = diag(D, 0) up to the order of the states. Along a path the energy balance and
the dissipation inequality are

.. math::  H(t) - H(0) = \\int y^T u\\,dt - \\int z^T R z\\,dt \\le \\int y^T u\\,dt .
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from leastaction.core.expressions import parse, symbol

# Least over largest singular value of a Jacobian that counts as regular.
LEAST_REGULARITY = 1e-10
# Newton's method for algebraic states: steps at most, and the last one over the state.
MOST_NEWTON_STEPS, LAST_NEWTON_STEP = 30, 1e-12
# A Jacobian is kept while each step is below this share of the one before.
CONTRACTION_TO_KEEP_JACOBIAN = 0.1

# Step of a difference in a multiplier over 1 + |λ|: d²g/dt² is linear in it.
MULTIPLIER_STEP = 1e-3
# Excess over the largest energy that round-off explains.
ENERGY_ROUNDOFF = 1e-12


@dataclass(frozen=True, eq=False)
class ConstraintGeometry:
    """Constraints as functions of states.

    Attributes
    ----------
    texts
        g, one expression each.
    value, first, second
        g, ∂g and ∂²g of states (point, state), shape (point, constraint, ...).
    derivatives
        ∂g and ∂²g at one state (state,), without the dimension of points.
    """

    texts: tuple[str, ...]
    value: Callable[[np.ndarray], np.ndarray]
    first: Callable[[np.ndarray], np.ndarray]
    second: Callable[[np.ndarray], np.ndarray]
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

    @classmethod
    def from_text(
        cls, states: Sequence[str], texts: Sequence[str]
    ) -> "ConstraintGeometry":
        """Compile expressions in `states`.

        Raises
        ------
        ExpressionError
            If a text is not arithmetic over the states.
        """
        x = [symbol(name) for name in states]
        g = sp.Matrix([parse(text, states) for text in texts])
        shape = (len(texts), len(x))
        first = sp.lambdify([x], list(g.jacobian(x)), "numpy")
        hessians = [entry for e in g for entry in sp.hessian(e, x)]
        second = sp.lambdify([x], hessians, "numpy")

        def derivatives(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return (
                np.array(first(point), dtype=float).reshape(shape),
                np.array(second(point), dtype=float).reshape(*shape, len(x)),
            )

        return cls(
            texts=tuple(texts),
            value=_of_points(sp.lambdify([x], list(g), "numpy"), shape[:1]),
            first=_of_points(first, shape),
            second=_of_points(second, (*shape, len(x))),
            derivatives=derivatives,
        )


def _of_points(function: Callable, shape: tuple[int, ...]) -> Callable:
    def at(points: np.ndarray) -> np.ndarray:
        values = function(points.T)
        found = np.empty((len(points), len(values)))
        for i, value in enumerate(values):
            found[:, i] = value
        return found.reshape(len(points), *shape)

    return at


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
        """Outputs y = Bᵀ z, shape (point, port)."""
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
            step = MULTIPLIER_STEP * (1.0 + abs(x[i]))
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
        for _ in range(MOST_NEWTON_STEPS):
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
            if size < LAST_NEWTON_STEP * (1.0 + max(map(abs, x))):
                return x, speed, inverse
            if not size < CONTRACTION_TO_KEEP_JACOBIAN * last:
                inverse = None
            last = size
        raise SingularDaeError(
            "Newton's method for the algebraic states does not end in "
            f"{MOST_NEWTON_STEPS} steps at x = {x}"
        )

    def _check_regular(self, slope: np.ndarray, x: np.ndarray) -> None:
        size = np.linalg.svd(slope, compute_uv=False)
        if not np.isfinite(size).all() or size[-1] < LEAST_REGULARITY * max(
            1.0, size[0]
        ):
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


@dataclass(frozen=True)
class EnergyBalance:
    """Energies along a path, J, each of shape (time,).

    Attributes
    ----------
    stored
        H(t) − H(0).
    supplied, dissipated
        Integrals of yᵀu and zᵀRz by the trapezoidal rule.
    excess
        ΔH − ∫yᵀu over windows of two steps, J, shape (window,), by Simpson's rule:
        where the loss passes through zero, an error of third order would hide its
        sign.
    """

    stored: np.ndarray
    supplied: np.ndarray
    dissipated: np.ndarray
    excess: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """Residual of the balance, J; of second order in the time step."""
        return self.stored - self.supplied + self.dissipated

    @property
    def violations(self) -> int:
        """Windows over which more energy is stored than supplied."""
        scale = max(np.abs(self.stored).max(), np.abs(self.supplied).max()) or 1.0
        return int((self.excess > ENERGY_ROUNDOFF * scale).sum())


def energy_balance(
    system: PortDae, time: np.ndarray, x: np.ndarray, u: np.ndarray
) -> EnergyBalance:
    """Energies along states `x` (time, state) under inputs `u` (time, port)."""
    from scipy.integrate import cumulative_trapezoid  # slow to import

    z = system.efforts(x)
    power = ((z @ system.port) * u).sum(axis=1)
    loss = np.einsum("ti,ij,tj->t", z, system.dissipation, z)
    stored = system.hamiltonian(x)
    windows = 2 * ((time.size - 1) // 2)
    step = time[1] - time[0]
    simpson = power[:windows:2] + 4 * power[1:windows:2] + power[2 : windows + 1 : 2]
    return EnergyBalance(
        stored=stored - stored[0],
        supplied=cumulative_trapezoid(power, time, initial=0),
        dissipated=cumulative_trapezoid(loss, time, initial=0),
        excess=np.diff(stored[: windows + 1 : 2]) - step / 3 * simpson,
    )


def order_of(residual, steps) -> float:
    """Order p of a residual ~ hᵖ, from the two finest steps."""
    ratio = np.asarray(residual[-2], dtype=float) / residual[-1]
    return float(np.log(ratio) / np.log(steps[-2] / steps[-1]))
