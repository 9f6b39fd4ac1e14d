"""Euler–Lagrange columns of a library of candidates, compiled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

import numpy as np
import sympy as sp

from leastaction.core.compiled import assigned, assignments, evaluator, kernel
from leastaction.core.euler_lagrange import (
    acceleration_names,
    euler_lagrange,
    rayleigh_force,
    symbols,
    velocity_names,
)
from leastaction.core.library import Library
from leastaction.core.settings import CHANNELS

# Samples evaluated at a time: what fits the cache.
SAMPLES_PER_BATCH = 512
# Common subexpressions are evaluated once per sample, a column only if it is wanted.
# What is zero for every motion is not written. Rows of one axis compile faster than the
# arrays they belong to, and are filled in two thirds of the time.
KERNEL = """
@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def columns(q, qdot, qddot, place, massive, inertia, column):
    for n in range(q.shape[0]):
        {rows_of_columns}
        {state}
        {acceleration}
        {column_shared}
        {column}


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def mass_and_force(q, qdot, place, mass, force):
    for n in range(q.shape[0]):
        {rows_of_parts}
        {state}
        {part_shared}
        {part}
"""


@dataclass(frozen=True)
class LibraryEquations:
    """Left sides of the equations of motion that the candidates of L and D give.

    .. math::

        A_k = \\frac{d}{dt} ∂D_k/∂q̇ − ∂D_k/∂q = m_k(q, q̇)\\, q̈ + f_k(q, q̇), \\qquad
        A_j = ∂R_j/∂q̇

    of the candidates D_k of L, then R_j of the Rayleigh function; `active` selects
    columns by position (default: all), and only these are evaluated.
    """

    dof: int
    count: int  # of columns
    has_mass: np.ndarray  # whether m_k is not identically zero, (count,)
    # Arguments of abs and sign, where forces jump, (samples, switch), if there are any:
    # a function of q and q̇ of shape (samples, dof).
    switches: Callable | None
    _kernel: ModuleType

    def columns(
        self,
        q: np.ndarray,
        qdot: np.ndarray,
        qddot: np.ndarray,
        active: Sequence[int] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """A and its part m q̈, (samples, dof, active), of states (samples, dof)."""
        place, size = self._place(active)
        inertia = np.zeros((len(q), self.dof, size))
        columns = np.zeros((len(q), self.dof, size))
        motion = _double(q, qdot, qddot)
        self._kernel.columns(*motion, place, place, inertia, columns)
        return columns, inertia

    def mass_and_force(
        self, q: np.ndarray, qdot: np.ndarray, active: Sequence[int] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return m, shape (samples, dof, dof, active), and f, (samples, dof, active).

        The accelerations of L = Σ c_k D_k under the input Q are
        ``solve(mass @ c, Q - force @ c)``.
        """
        place, size = self._place(active)
        mass = np.zeros((len(q), self.dof, self.dof, size))
        force = np.zeros((len(q), self.dof, size))
        self._kernel.mass_and_force(*_double(q, qdot), place, mass, force)
        return mass, force

    def _place(self, active: Sequence[int] | None) -> tuple[np.ndarray, int]:
        active = np.arange(self.count) if active is None else np.asarray(active, int)
        place = np.full(self.count, -1)
        place[active] = np.arange(len(active))
        return place, len(active)


def library_equations(library: Library) -> LibraryEquations:
    """Compile the columns of all candidates of `library`; done once per library."""
    return _equations(library.terms, library.dissipation, library.coordinates)


def gram_matrices(
    equations: LibraryEquations,
    q: np.ndarray,
    qdot: np.ndarray,
    qddot: np.ndarray,
    force: np.ndarray | None = None,
    active: Sequence[int] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums AᵀA, (m q̈)ᵀ(m q̈) and AᵀQ over samples, in chunks that fit the cache.

    Motion and input Q (zero if omitted) have the shape (samples, dof), the sums
    (active, active), the same, and (active,).
    """
    place, size = equations._place(active)
    massive = np.flatnonzero(equations.has_mass & (place >= 0))
    massive_place, massive_size = equations._place(massive)
    gram, moment = np.zeros((size, size)), np.zeros(size)
    kinetic_gram = np.zeros((massive_size, massive_size))
    columns = np.zeros((min(SAMPLES_PER_BATCH, len(q)), equations.dof, size))
    inertia = np.zeros((*columns.shape[:2], massive_size))
    motion = _double(q, qdot, qddot)
    for start in range(0, len(q), SAMPLES_PER_BATCH):
        part = [values[start : start + SAMPLES_PER_BATCH] for values in motion]
        count = len(part[0])
        equations._kernel.columns(*part, place, massive_place, inertia, columns)
        rows = columns[:count].reshape(-1, size)
        kinetic = inertia[:count].reshape(-1, massive_size)
        gram += rows.T @ rows
        kinetic_gram += kinetic.T @ kinetic
        if force is not None:
            moment += rows.T @ force[start : start + SAMPLES_PER_BATCH].ravel()
    inertia_gram = np.zeros_like(gram)
    inertia_gram[np.ix_(place[massive], place[massive])] = kinetic_gram
    return gram, inertia_gram, moment


@lru_cache(maxsize=32)
def _equations(terms, dissipation, coordinates) -> LibraryEquations:
    dof = len(coordinates)
    accelerations = acceleration_names(coordinates)
    qddot = symbols(accelerations)
    left = [euler_lagrange(term, coordinates) for term in terms]
    left += [rayleigh_force(term, coordinates) for term in dissipation]
    columns, parts = [], []
    has_mass = np.zeros(len(left), dtype=bool)
    for k, equation in enumerate(left):
        for a, expression in enumerate(equation):
            mass = [sp.expand(expression).coeff(x) for x in qddot]
            inertia = sum((m * x for m, x in zip(mass, qddot, strict=True)), sp.S.Zero)
            force = sp.expand(expression - inertia)
            has_mass[k] |= inertia != 0
            columns.append((k, f"inertia_{a}[massive[{k}]]", inertia))
            columns.append((k, f"column_{a}[place[{k}]]", force))
            for b, m in enumerate(mass):
                parts.append((k, f"mass_{a}_{b}[place[{k}]]", m))
            parts.append((k, f"force_{a}[place[{k}]]", force))
    axes = range(dof)
    of_columns = [f"{x}_{a} = {x}[n, {a}]" for x in ("inertia", "column") for a in axes]
    of_parts = [f"force_{a} = force[n, {a}]" for a in axes]
    of_parts += [f"mass_{a}_{b} = mass[n, {a}, {b}]" for a in axes for b in axes]
    column_shared, column = _guarded(columns)
    part_shared, part = _guarded(parts)
    names = (*coordinates, *velocity_names(coordinates))
    places = [f"{array}[n, {a}]" for array in CHANNELS for a in range(dof)]
    module = kernel(
        KERNEL,
        {
            "rows_of_columns": "\n".join(of_columns),
            "rows_of_parts": "\n".join(of_parts),
            "state": assigned(names, places[: 2 * dof]),
            "acceleration": assigned(accelerations, places[2 * dof :]),
            "column_shared": column_shared,
            "column": column,
            "part_shared": part_shared,
            "part": part,
        },
    )
    atoms = {atom for e in left for f in e for atom in f.atoms(sp.Abs, sp.sign)}
    jumping = sorted({atom.args[0] for atom in atoms}, key=sp.default_sort_key)
    switches = evaluator(jumping, coordinates) if jumping else None
    return LibraryEquations(dof, len(left), has_mass, switches, module)


def _guarded(entries: Sequence[tuple[int, str, sp.Expr]]) -> tuple[str, str]:
    """Shared subexpressions, and assignments under ``if place[k] >= 0``."""
    entries = [entry for entry in entries if entry[2] != 0]
    targets, values = ([entry[i] for entry in entries] for i in (1, 2))
    lines = assignments(targets, values, "shared_").splitlines()
    shared = lines[: len(lines) - len(entries)]
    guarded: list[str] = []
    last, inertial = -1, ""
    for (k, target, _), line in zip(entries, lines[len(shared) :], strict=True):
        if k != last:
            guarded.append(f"if place[{k}] >= 0:")
            last = k
        if target.startswith("inertia"):
            column = target.replace("inertia", "column").replace("massive", "place")
            guarded += [f"    {line}", f"    {column} = {target}"]
            inertial = column
        else:
            rest = line.replace(" = ", " += ", 1) if target == inertial else line
            guarded.append(f"    {rest}")
    return "\n".join(shared), "\n".join(guarded)


def _double(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(array, dtype=float) for array in arrays]
