"""The truth that a learned model is compared with: motion, energy, gradients."""

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from leastaction.core.evaluator import evaluator
from leastaction.core.multi_index import factors
from leastaction.core.runge_kutta import motion_of, substeps_of
from leastaction.core.system import System
from leastaction.snapshots import backward_error_numerical as backward


class Truth:
    """Motion and Hamiltonian H(q, q̇) of the system behind the data.

    Parameters
    ----------
    system
        The truth.
    simulation
        The `simulate` section: `time_step` h and `integration_step`.
    """

    def __init__(self, system: System, simulation: Mapping):
        self.dof, self.coordinates = system.dof, list(system.coordinates)
        self.time_step = float(simulation["time_step"])
        self._substeps = substeps_of(simulation)
        self._motion = motion_of(system)
        energy = system.hamiltonian
        functions = [energy, *(sp.diff(energy, s) for s in system.state)]
        functions += list(system.momenta)
        names = list(system.parameters)
        self._evaluate = evaluator(functions, system.coordinates, names)
        self._parameters = system.parameter_values
        self._system = system

    def path(self, state: np.ndarray, steps: int, between: int = 1) -> np.ndarray:
        """States (sample, 2 dof), h / `between` apart, by the method of the data."""
        step, substeps = self.time_step / between, -(-self._substeps // between)
        return self._motion.integrate(state, steps * between + 1, step, substeps)[0]

    def energy(self, states: np.ndarray) -> np.ndarray:
        """H of states (sample, 2 dof), J."""
        return self._values(states)[:, 0]

    def gradient(self, states: np.ndarray) -> np.ndarray:
        """Derivatives of H by (q, q̇), shape (2 dof, sample)."""
        return self._values(states)[:, 1 : 1 + 2 * self.dof].T

    def momentum(self, states: np.ndarray) -> np.ndarray:
        """∂L/∂q̇ of states, shape (sample, dof)."""
        return self._values(states)[:, 1 + 2 * self.dof :]

    def mass(self, state: np.ndarray) -> np.ndarray:
        """∂²L/∂q̇∂q̇ at a state, shape (dof, dof)."""
        names = list(self._system.state)
        values = dict(zip(names, map(float, state), strict=True))
        matrix = self._system.evaluated(self._system.mass_matrix).subs(values)
        return np.array(matrix.tolist(), dtype=float)

    def integrated(self, states: np.ndarray, orders: Sequence[int], rule: str):
        """H^[k] that a variational integrator of the true L conserves, k in `orders`.

        The level sets that its motion has, were L learned perfectly and not a shadow.

        Returns
        -------
        list
            For every order the value and the gradient, shape (1 + 2 dof, sample).
        """
        system, n = self._system, self.dof
        needed = factors(2 * n, backward.needed_order(max(orders), 2))
        functions = [
            sp.diff(system.lagrangian, *(system.state[i] for i in axes))
            if axes
            else system.lagrangian
            for axes in needed
        ]
        evaluate = evaluator(functions, system.coordinates, list(system.parameters))
        velocity = states[:, n:]
        given = evaluate(states[:, :n], velocity, self._parameters).T
        found = []
        for order in orders:
            lagrangian = given
            if order:
                lagrangian = backward.modified_lagrangian(
                    given, velocity, self.time_step, order, rule
                )
            found.append(backward.energy(lagrangian, velocity)[: 1 + 2 * n])
        return found

    def _values(self, states: np.ndarray) -> np.ndarray:
        n = self.dof
        return self._evaluate(states[:, :n], states[:, n:], self._parameters)


def misalignment(found: np.ndarray, true: np.ndarray) -> float:
    """Mean sine of the angle between gradients, ν of Ober-Blöbaum and Offen.

    Zero if both functions have the same level sets, whatever their scale and sign.
    Points where the true gradient vanishes have no angle and are left out.

    Parameters
    ----------
    found, true
        Shape (component, sample).
    """
    with np.errstate(all="ignore"):
        there = np.abs(true).max(axis=0) > 0
        a, b = (
            g[:, there] / np.linalg.norm(g[:, there], axis=0) for g in (found, true)
        )
        sine = np.linalg.norm(a - b * (a * b).sum(axis=0), axis=0)
    return float(sine.mean())


def slope(found: np.ndarray, true: np.ndarray) -> float:
    """Factor c with which `found` is closest to c · `true`, that of a learned H."""
    return float((found * true).sum() / (true**2).sum())
