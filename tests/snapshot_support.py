"""Motions for tests of Lagrangian Shadow Integration."""

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import parse
from leastaction.core.multi_index import multi_indices
from leastaction.core.simulation import halton_starts
from leastaction.snapshots.bases import Basis
from leastaction.snapshots.learned_model import LearnedLagrangian


def pendulum_rate(state):
    return np.stack([state[:, 1], -np.sin(state[:, 0])], axis=1)


def henon_heiles_rate(state):
    x, y = state[:, 0], state[:, 1]
    force = np.stack([-x - 1.6 * x * y, -y - 0.8 * (x**2 - y**2)], axis=1)
    return np.concatenate([state[:, 2:], force], axis=1)


def motion(rate, state, time_step, substeps, steps):
    """States (trajectory, time, state) by the classical Runge-Kutta method."""
    path, h = [state], time_step / substeps
    for _ in range(steps):
        for _ in range(substeps):
            k1 = rate(state)
            k2 = rate(state + h / 2 * k1)
            k3 = rate(state + h / 2 * k2)
            k4 = rate(state + h * k3)
            state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(state)
    return np.stack(path, axis=1)


def pendulum(trajectories=150, time_step=0.5):
    high = np.array([np.pi, 1.2])
    starts = halton_starts(4, -high, high, trajectories)
    return motion(pendulum_rate, starts, time_step, 60, 5)


def henon_heiles():
    high = np.full(4, 0.8)
    return motion(henon_heiles_rate, halton_starts(8, -high, high, 200), 0.1, 10, 4)


def observed(positions, time_step, names):
    dims = ("replicate", "trajectory", "time", "dof")
    about = {"units": "see coordinate_unit", "long_name": "generalised coordinate"}
    return xr.Dataset(
        {"q": (dims, positions[None], about)},
        coords={
            "replicate": [0],
            "time": np.arange(positions.shape[1]) * time_step,
            "dof": names,
        },
        attrs={"contract": "motion"},
    )


PUBLISHED = {
    "rule": "midpoint",
    "basis": {"kind": "radial", "length_scale": 5.0},
    "normalisation": "corner",
    "volume": 1.0,
    "whiten": False,
}
RECOMMENDED = {
    "rule": "midpoint",
    "basis": {"kind": "taylor"},
    "normalisation": "discrete_mass",
    "whiten": True,
}


def misalignment(lagrangian, order):
    """nu of the paper: mean sine of the angle of grad H^[k] with that of the truth."""
    q, v = np.meshgrid(np.linspace(-1.2, 1.2, 12), np.linspace(-0.6, 0.6, 12))
    states = np.column_stack([q.ravel(), v.ravel()])
    found = lagrangian.hamiltonian_derivatives(states, order, 1)[1:3]
    true = np.array([np.sin(states[:, 0]), states[:, 1]])
    area = np.abs(true[0] * found[1] - true[1] * found[0])
    sizes = np.linalg.norm(true, axis=0) * np.linalg.norm(found, axis=0)
    return (area / sizes).mean()


def partial_derivatives(
    lagrangian: sp.Expr, coordinates: Sequence[str], order: int
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Partial derivatives of an expression as backward error analysis wants them.

    Parameters
    ----------
    lagrangian
        L(q, q̇) without other symbols.
    coordinates
        Names of q.
    order
        Highest order.

    Returns
    -------
    Function of q and q̇, each (point, dof), that gives the array (index, point).
    """
    variables = (*symbols(coordinates), *symbols(velocity_names(coordinates)))
    found: dict[tuple, sp.Expr] = {}
    for index in map(tuple, multi_indices(len(variables), order)):
        last = max((i for i, k in enumerate(index) if k), default=None)
        if last is None:
            found[index] = sp.sympify(lagrangian)
        else:
            lower = (*index[:last], index[last] - 1, *index[last + 1 :])
            found[index] = sp.diff(found[lower], variables[last])
    function = sp.lambdify(variables, list(found.values()), "numpy", cse=True)

    def evaluated(q: np.ndarray, qdot: np.ndarray) -> np.ndarray:
        rows = function(*np.transpose(q), *np.transpose(qdot))
        return np.array([np.broadcast_to(row, len(q)) for row in rows], dtype=float)

    return evaluated


class Expressions(Basis):
    """Expressions in (q, q̇) as functions of a basis."""

    def __init__(self, names: Sequence[str], texts: Sequence[str]):
        self.variables = symbols([*names, *velocity_names(names)])
        self.dof, self.size = len(names), len(texts)
        self.functions = [parse(text, map(str, self.variables)) for text in texts]
        self.compiled: dict[tuple, Callable] = {}

    def __str__(self) -> str:
        return ", ".join(map(str, self.functions))

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Derivatives of all functions, (sample, function)."""
        if axes not in self.compiled:
            by = [self.variables[i] for i in axes]
            slopes = [sp.diff(f, *by) if by else f for f in self.functions]
            self.compiled[axes] = sp.lambdify(self.variables, slopes, "numpy")
        values = self.compiled[axes](*np.transpose(state))
        columns = [np.broadcast_to(value, len(state)) for value in values]
        return np.array(columns, dtype=float).T

    def jet(self, coefficients: np.ndarray):
        """No compiled rollouts."""
        raise NotImplementedError


def oscillators(stiffness: np.ndarray, rest: np.ndarray, time_step: float, **more):
    """Law q̈ = −K (q − rest) of unit masses, learned without an error."""
    names = [f"q{i}" for i in range(len(rest))]
    texts = [f"{v}**2/2" for v in velocity_names(names)]
    products = list(combinations_with_replacement(range(len(rest)), 2))
    texts += [f"{names[i]}*{names[k]}" for i, k in products] + names
    bends = [-stiffness[i, k] / (1 + (i == k)) for i, k in products]
    coefficients = np.array([*[1.0] * len(rest), *bends, *stiffness @ rest])
    basis = Expressions(names, texts)
    about = {"coordinates": tuple(names)} | more
    return LearnedLagrangian(basis, coefficients, time_step, "midpoint", **about)
