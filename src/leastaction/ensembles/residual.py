"""Euler–Lagrange expression over one step, and the residual of a known Lagrangian."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from leastaction.core.compiled import evaluator
from leastaction.core.euler_lagrange import (
    rates_along_motion,
    symbols,
    velocity_names,
)
from leastaction.core.expressions import symbol
from leastaction.core.library import Library, candidates

# So that what is made of them fits the processor's cache.
SAMPLES_PER_BATCH = 2000
# Samples at which mass and stiffness are averaged: enough for any average.
MOST_LINEARISED = 20_000


def step_increments(
    momentum: np.ndarray, force: np.ndarray, rate: np.ndarray, time_step: float
) -> np.ndarray:
    """Δ(∂D/∂q̇) − ∫∂D/∂q dt of each step, by the trapezoid with its end correction.

    ∫F dt ≈ dt/2 (F₀ + F₁) + dt²/12 (F₀' − F₁'), exact to O(dt⁵) if F' is known.

    Parameters
    ----------
    momentum, force, rate
        ∂D/∂q̇, F = ∂D/∂q and F' = ∂F/∂q q̇ at the samples, shape (samples, column).
    time_step
        dt, s.

    Returns
    -------
    np.ndarray
        Shape (samples − 1, column).
    """
    increments = np.diff(momentum, axis=0)
    increments -= (time_step / 2) * (force[1:] + force[:-1])
    increments += (time_step**2 / 12) * np.diff(rate, axis=0)
    return increments


class Residual:
    """Compiled residual of a library whose coefficients are given at run time.

    The coefficients are those of L, then those of the Rayleigh function. Terms that are
    not `chosen` are left out of the compiled code, whatever their coefficient.
    """

    def __init__(
        self,
        library: Mapping,
        coordinates: Sequence[str],
        chosen: Sequence[int] | None = None,
    ):
        terms = Library.from_config(library, coordinates)
        names = [f"c_{i}" for i in range(len(terms.momenta[0]))]
        c = [
            symbol(name) if chosen is None or i in chosen else sp.Integer(0)
            for i, name in enumerate(names)
        ]
        combine = [
            sum(x * d for x, d in zip(c, row, strict=True)) for row in terms.momenta
        ]
        force = [
            sum(x * d for x, d in zip(c, row, strict=True)) for row in terms.forces
        ]
        value = sum(x * d for x, d in zip(c, terms.terms, strict=False))
        self._dof = len(coordinates)
        self._momentum_and_force, self._value = [*combine, *force], value
        self._coordinates, self._names = coordinates, names

    @cached_property
    def _with_rates(self):
        """Compiled momenta, forces and rates of the forces."""
        forces = self._momentum_and_force[self._dof :]
        rates = rates_along_motion(forces, self._coordinates)
        return evaluator(
            [*self._momentum_and_force, *rates], self._coordinates, self._names
        )

    @cached_property
    def _with_value(self):
        """Compiled momenta, forces and L."""
        return evaluator(
            [*self._momentum_and_force, self._value], self._coordinates, self._names
        )

    def increments(self, q, qdot, dt: float, coefficients) -> np.ndarray:
        """Δ(∂L/∂q̇) − ∫∂L/∂q dt of each step, shape (samples − 1, dof)."""
        values = self._with_rates(q, qdot, coefficients)
        return step_increments(*np.split(values, 3, axis=1), dt)

    def central(self, q, qdot, dt: float, coefficients) -> tuple[np.ndarray, ...]:
        """Euler–Lagrange residual by central difference, and L, at interior samples.

        Returns
        -------
        residual of shape (samples − 2, dof), Lagrangian of shape (samples − 2,)
        """
        values = self._with_value(q, qdot, coefficients)
        momentum, force = values[:, : self._dof], values[:, self._dof : -1]
        rate = (momentum[2:] - momentum[:-2]) / (2 * dt)
        return rate - force[1:-1], values[1:-1, -1]


@dataclass(frozen=True)
class Linearised:
    """Mass and stiffness of the identified Lagrangian along the data.

    Attributes
    ----------
    mass
        Mean of M = ∂²L/∂q̇∂q̇, shape (dof, dof).
    slope, scatter
        Mean and variance of G = ∂²L/∂q∂q, shape (dof, dof).
    """

    mass: np.ndarray
    slope: np.ndarray
    scatter: np.ndarray


class NoisyResidual:
    """Residual of velocities, or of displacements alone, path by path.

    Parameters
    ----------
    library, coordinates
        The `library` section of the example and the names of q.
    coefficients
        c of the identified Lagrangian.
    """

    def __init__(self, library: Mapping, coordinates: Sequence[str], coefficients):
        coefficients = np.asarray(coefficients, dtype=float)
        selected = np.flatnonzero(coefficients)
        self._coefficients = coefficients[selected]
        state = (*coordinates, *velocity_names(coordinates))
        terms = candidates(library["lagrangian"], state)
        names = [f"c_{i}" for i in selected]
        lagrangian = sum(
            (symbol(c) * terms[i] for c, i in zip(names, selected, strict=True)),
            sp.Integer(0),
        )
        q, qdot = symbols(coordinates), symbols(velocity_names(coordinates))
        at_rest = dict.fromkeys(qdot, 0)
        self._dof = len(q)
        momenta = [sp.diff(lagrangian, v) for v in qdot]
        forces = [sp.diff(lagrangian, x) for x in q]
        rates = rates_along_motion(forces, coordinates)
        self._parts = evaluator([*momenta, *forces, *rates], coordinates, names)
        self._force = evaluator([f.subs(at_rest) for f in forces], coordinates, names)
        hessians = [
            sp.diff(lagrangian, a, b) for pair in (qdot, q) for a in pair for b in pair
        ]
        self._hessians = evaluator(hessians, coordinates, names)

    def linearised(self, q: np.ndarray, qdot: np.ndarray | None) -> Linearised:
        """Mass and stiffness over samples of all paths; at rest if q̇ is None."""
        q = q.reshape(-1, self._dof)
        every = max(1, len(q) // MOST_LINEARISED)
        v = np.zeros_like(q) if qdot is None else qdot.reshape(q.shape)
        values = self._hessians(q[::every], v[::every], self._coefficients)
        both = values.reshape(-1, 2, self._dof, self._dof)
        mean = both.mean(axis=0)
        return Linearised(mean[0], mean[1], both[:, 1].var(axis=0))

    def of_velocities(self, q: np.ndarray, qdot: np.ndarray, dt: float) -> np.ndarray:
        """Δ(∂L/∂q̇) − ∫∂L/∂q dt of each step, shape (dof, path, samples − 1)."""
        steps = q.shape[1] - 1
        result = np.empty((self._dof, len(q), steps))
        for i, (x, v) in enumerate(zip(q, qdot, strict=True)):
            for start in range(0, steps, SAMPLES_PER_BATCH):
                window = slice(start, min(start + SAMPLES_PER_BATCH, steps) + 1)
                values = self._parts(x[window], v[window], self._coefficients)
                parts = np.split(values, 3, axis=1)
                result[:, i, start : window.stop - 1] = step_increments(*parts, dt).T
        return result

    def of_displacements(
        self, q: np.ndarray, dt: float, mass: np.ndarray
    ) -> np.ndarray:
        """M Δ²q − dt² (F₊ + 10 F + F₋)/12, shape (dof, path, samples − 2).

        The force is that at rest: terms that depend on velocities are left out.
        """
        result = np.empty((self._dof, len(q), q.shape[1] - 2))
        for i, x in enumerate(q):
            force = self._force(x, np.zeros_like(x), self._coefficients)
            inner = force[1:-1]
            numerov = inner + np.diff(force, n=2, axis=0) / 12
            result[:, i] = (np.diff(x, n=2, axis=0) @ mass.T - dt**2 * numerov).T
        return result
