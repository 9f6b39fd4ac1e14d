"""Port-Hamiltonian equation with efforts as numbers: of a truth, a model, or coupled.

.. math::  E \\dot x = (J - R)\\, z(x) + B u, \\qquad y = B^T z(x)

with E = diag(D, 0) up to the order of the states. Along a path the energy balance and
the dissipation inequality are

.. math::  H(t) - H(0) = \\int y^T u\\,dt - \\int z^T R z\\,dt \\le \\int y^T u\\,dt .
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

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


def compiled(arguments: Sequence, expressions: Iterable, shape: tuple = ()) -> Callable:
    """Function of tables (point, argument), one for each list of arguments.

    Its values are those of `expressions`, of shape (point, \\*shape). The numbers among
    them, most of a Jacobian, are computed once.
    """
    entries = [sp.sympify(e) for e in expressions]
    varying = [i for i, e in enumerate(entries) if e.free_symbols]
    numbers = [sp.S.Zero if e.free_symbols else e for e in entries]
    always = np.array(sp.lambdify([], numbers, "numpy")(), dtype=float)
    function = sp.lambdify(arguments, [entries[i] for i in varying], "numpy", cse=True)

    def at(*tables: np.ndarray) -> np.ndarray:
        result = np.empty((len(tables[0]), always.size))
        result[:] = always
        values = function(*(table.T for table in tables))
        for i, value in zip(varying, values, strict=True):
            result[:, i] = value
        return result.reshape(len(result), *shape)

    return at


def linearised(x: Sequence, efforts: Iterable, jacobian: Iterable) -> Callable:
    """Function of states as :class:`PortDae` has it, of expressions of z and ∂z/∂x."""
    size = len(x)
    both = compiled([x], [*efforts, *jacobian], (size + size**2,))

    def at(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = both(points)
        return values[:, :size], values[:, size:].reshape(len(points), size, size)

    return at


def runge_kutta_step(rates: Callable, x: np.ndarray, h: float, *u: np.ndarray):
    """State after a step h of the classical scheme; u at its start, middle, end."""
    k1 = rates(x, u[0])
    k2 = rates(x + h / 2 * k1, u[1])
    k3 = rates(x + h / 2 * k2, u[1])
    k4 = rates(x + h * k3, u[2])
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@dataclass(frozen=True, eq=False)
class Constraint:
    """g, ∂g and ∂²g of states (point, state), shape (point, constraint, ...)."""

    value: Callable[[np.ndarray], np.ndarray]
    first: Callable[[np.ndarray], np.ndarray]
    second: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, states: Sequence[str], texts: Sequence) -> "Constraint | None":
        """Compile expressions in `states`; None if there are no `texts`."""
        if not len(texts):
            return None
        x = [symbol(name) for name in states]
        g = sp.Matrix([parse(str(text), states) for text in texts])
        shape, hessians = g.jacobian(x).shape, [sp.hessian(e, x) for e in g]
        return cls(
            compiled([x], g, shape[:1]),
            compiled([x], g.jacobian(x), shape),
            compiled([x], [entry for h in hessians for entry in h], (*shape, len(x))),
        )


class SingularDaeError(ValueError):
    """An equation that does not determine its algebraic states."""


@dataclass(frozen=True, eq=False)
class PortDae:
    """One equation.

    With known constraints, whose multipliers are algebraic states, the index is 3 and
    the multipliers follow from d²g/dt² = 0. Else it is 1.
    """

    states: tuple[str, ...]  # names of x
    flow: np.ndarray  # E, J, R (state, state) and B (state, port)
    structure: np.ndarray
    dissipation: np.ndarray
    port: np.ndarray
    # z and ∂z/∂x of states (point, state); H of them, None if there is none.
    linearised: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    hamiltonian: Callable[[np.ndarray], np.ndarray] | None = None
    constraint: Constraint | None = None  # g(x_d) = 0

    @cached_property
    def differential(self) -> np.ndarray:
        """Places of the states that E differentiates."""
        return np.flatnonzero(self.flow.any(axis=0))

    @cached_property
    def algebraic(self) -> np.ndarray:
        """Places of all other states, and of the rows without a derivative."""
        return np.flatnonzero(~self.flow.any(axis=0))

    @cached_property
    def transformation(self) -> np.ndarray:
        """A = J − R."""
        return self.structure - self.dissipation

    @cached_property
    def _flow_inverse(self) -> np.ndarray:
        return np.linalg.inv(self.flow[np.ix_(self.differential, self.differential)])

    def efforts(self, x: np.ndarray) -> np.ndarray:
        """Efforts z, shape (point, effort)."""
        return self.linearised(x)[0]

    def output(self, x: np.ndarray) -> np.ndarray:
        """Outputs y = Bᵀ z, shape (point, port)."""
        return self.efforts(x) @ self.port

    def algebraic_jacobian(self, x: np.ndarray) -> np.ndarray:
        """Jacobian of the algebraic rows by all states, shape (point, row, state)."""
        rows = self.transformation[self.algebraic]
        return np.einsum("rk,mks->mrs", rows, self.linearised(x)[1])

    def _evaluated(self, x, u) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ẋ_d, the residual of the algebraic states, and ∂z/∂x, at one state.

        The residual is that of the algebraic rows, or d²g/dt².
        """
        z, slopes = (values[0] for values in self.linearised(x[None]))
        right = self.transformation @ z + self.port @ u
        d = self.differential
        speed = self._flow_inverse @ right[d]
        if self.constraint is None:
            return speed, right[self.algebraic], slopes
        turn = self.transformation[d] @ (slopes[:, d] @ speed)
        curvature = self.constraint.second(x[None])[0][:, d][:, :, d]
        gradient = self.constraint.first(x[None])[0][:, d]
        bent = curvature @ speed @ speed
        return speed, bent + gradient @ (self._flow_inverse @ turn), slopes

    def _residual_slope(self, x, u, residual, slopes) -> np.ndarray:
        """Jacobian of the residual by the algebraic states."""
        a = self.algebraic
        if self.constraint is None:
            return self.transformation[a] @ slopes[:, a]
        columns = []
        for i in a:  # d²g/dt² is linear in the multipliers where H is
            step = MULTIPLIER_STEP * (1.0 + abs(x[i]))
            moved = x.copy()
            moved[i] += step
            columns.append((self._evaluated(moved, u)[1] - residual) / step)
        return np.column_stack(columns)

    def _solved(self, x: np.ndarray, u: np.ndarray, inverse: np.ndarray | None = None):
        """State with the algebraic entries that the equation asks for, by Newton.

        Those of `x` are first guesses; an `inverse` Jacobian of a state nearby is used
        as long as it serves. Returns the state, its ẋ_d, and the last inverse.
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
        known = np.isfinite(slope).all()  # else it has no singular values
        size = np.linalg.svd(np.where(known, slope, 0.0), compute_uv=False)
        if size[-1] < LEAST_REGULARITY * max(1.0, size[0]):
            raise SingularDaeError(
                "the algebraic rows do not determine "
                f"{', '.join(self.states[i] for i in self.algebraic)} at x = {x}: the "
                f"singular values of their Jacobian are {size}"
            )

    def path(self, start: np.ndarray, time: np.ndarray, u: Callable) -> np.ndarray:
        """States (time, state) by the classical Runge–Kutta scheme.

        The times are uniform, `u` gives inputs (time, port) of times, and the algebraic
        entries of the `start` are first guesses.

        Raises
        ------
        SingularDaeError
            If the algebraic states are not determined on the way.
        """
        h = time[1] - time[0]
        inputs = u(time[0] + 0.5 * h * np.arange(2 * time.size - 1))
        x, k1, inverse = self._solved(np.array(start, dtype=float), inputs[0])
        states = [x]

        def moved(guess, by, u):
            """Solve at x_d + `by`, with algebraic states from `guess`."""
            state = guess.copy()
            state[self.differential] = x[self.differential] + by
            return self._solved(state, u, inverse)

        for k in range(time.size - 1):
            _, middle, end = inputs[2 * k : 2 * k + 3]
            x2, k2, inverse = moved(x, 0.5 * h * k1, middle)
            x3, k3, inverse = moved(x2, 0.5 * h * k2, middle)
            x4, k4, inverse = moved(x3, h * k3, end)
            x, k1, inverse = moved(x4, h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), end)
            states.append(x)
        return np.array(states)


def energy_balance(
    system: PortDae, time: np.ndarray, x: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, int]:
    """Residual of the energy balance, J, and windows that break the inequality.

    The residual (time,) is of second order in the step, as the trapezoidal rule. A
    window of two steps takes Simpson's rule: where the loss passes through zero, an
    error of third order would hide its sign.
    """
    from scipy.integrate import cumulative_trapezoid  # slow to import

    z = system.efforts(x)
    power = ((z @ system.port) * u).sum(axis=1)
    loss = np.einsum("ti,ij,tj->t", z, system.dissipation, z)
    energy = system.hamiltonian(x)
    stored = energy - energy[0]
    supplied = cumulative_trapezoid(power, time, initial=0)
    windows = 2 * ((time.size - 1) // 2)
    step = time[1] - time[0]
    simpson = power[:windows:2] + 4 * power[1:windows:2] + power[2 : windows + 1 : 2]
    excess = np.diff(energy[: windows + 1 : 2]) - step / 3 * simpson
    scale = max(np.abs(stored).max(), np.abs(supplied).max()) or 1.0
    residual = stored - supplied + cumulative_trapezoid(loss, time, initial=0)
    return residual, int((excess > ENERGY_ROUNDOFF * scale).sum())
