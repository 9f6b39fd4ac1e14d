"""Residual of the stochastic Euler–Lagrange equation for given coefficients."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import sympy as sp

from leastaction.core.euler_lagrange import rates_along_motion
from leastaction.core.evaluator import evaluator
from leastaction.core.expressions import symbol
from leastaction.core.library import Library
from leastaction.ensembles.increments import step_increments


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
