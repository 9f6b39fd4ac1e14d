"""Residual of the stochastic Euler–Lagrange equation for given coefficients."""

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from leastaction.mechanics.euler_lagrange import (
    rates_along_motion,
)
from leastaction.mechanics.evaluator import evaluator
from leastaction.mechanics.expressions import symbol
from leastaction.mechanics.increments import step_increments
from leastaction.mechanics.library import Library


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
        rate = rates_along_motion(force, coordinates)
        value = sum(x * d for x, d in zip(c, terms.terms, strict=False))
        self._dof = len(coordinates)
        self._evaluate = evaluator([*combine, *force, *rate, value], coordinates, names)

    def increments(self, q, qdot, dt: float, coefficients) -> np.ndarray:
        """Δ(∂L/∂q̇) − ∫∂L/∂q dt of each step, shape (samples − 1, dof)."""
        momentum, force, rate, _ = self._parts(q, qdot, coefficients)
        return step_increments(momentum, force, rate, dt)

    def central(self, q, qdot, dt: float, coefficients) -> tuple[np.ndarray, ...]:
        """Euler–Lagrange residual by central difference, and L, at interior samples.

        Returns
        -------
        residual of shape (samples − 2, dof), Lagrangian of shape (samples − 2,)
        """
        momentum, force, _, value = self._parts(q, qdot, coefficients)
        rate = (momentum[2:] - momentum[:-2]) / (2 * dt)
        return rate - force[1:-1], value[1:-1, 0]

    def _parts(self, q, qdot, coefficients):
        values = self._evaluate(q, qdot, coefficients)
        n = self._dof
        return (
            values[:, :n],
            values[:, n : 2 * n],
            values[:, 2 * n : -1],
            values[:, -1:],
        )
