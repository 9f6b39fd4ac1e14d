"""Residual of the identified Lagrangian on noisy data, with its mass and stiffness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from leastaction.core.candidates import candidates
from leastaction.core.euler_lagrange import (
    rates_along_motion,
    symbols,
    velocity_names,
)
from leastaction.core.evaluator import evaluator
from leastaction.core.expressions import symbol
from leastaction.ensembles.increments import step_increments

BLOCK = 2000
THINNED = 20_000


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
        every = max(1, len(q) // THINNED)
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
            for start in range(0, steps, BLOCK):
                window = slice(start, min(start + BLOCK, steps) + 1)
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
