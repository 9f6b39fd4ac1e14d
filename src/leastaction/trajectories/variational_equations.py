"""Variational equations of a linear family of Lagrangians, compiled once for all.

For L = Σ c_k D_k and a Rayleigh function Σ d_j R_j the equations of motion are
Σ c_k E_k(q, q̇, q̈) = 0 with E_k = d/dt ∂D_k/∂q̇ − ∂D_k/∂q (∂R_j/∂q̇ for damping). With
the residual r = Σ c_k E_k, the mass matrix M = ∂r/∂q̈ and s any initial value or
coefficient,

    M ∂q̈/∂s = −(∂r/∂q ∂q/∂s + ∂r/∂q̇ ∂q̇/∂s + ∂r/∂s) .

A recorded input Q(t) stands on the right of r = Q and depends on neither.

The code covers the whole library; terms with coefficient zero are skipped at run time,
so another structure needs no compilation (Bock 1983; Hairer, Nørsett and Wanner 1993,
section I.14).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import sympy as sp

from leastaction.core.compiled import assignments, kernel, unpack
from leastaction.trajectories.polynomial_table import (
    PolynomialTable,
    polynomial_table,
)
from leastaction.trajectories.shooting_kernel import KERNEL


@dataclass(frozen=True)
class VariationalEquations:
    """Motions of L = Σ c_k D_k and their sensitivities, for every c of a library.

    Attributes
    ----------
    coordinates
        Names of q.
    table
        Equations of motion of all candidates: those of L, then the Rayleigh function's.
    functions
        Compiled module.
    """

    coordinates: tuple[str, ...]
    table: PolynomialTable
    functions: ModuleType

    def rollout(
        self,
        start: np.ndarray,
        c: np.ndarray,
        dt: float,
        samples: int,
        steps: int = 1,
        force: np.ndarray | None = None,
        first: np.ndarray | None = None,
        length: np.ndarray | None = None,
    ) -> np.ndarray:
        """Motions (q, q̇) from states `start`, by RK4 with `steps` per sample.

        Parameters
        ----------
        start
            Shape (motion, 2 dof).
        c
            Shape (count,).
        dt
            Time between samples, s.
        samples
            Number of samples, the start included.
        force
            Input, see :meth:`normal_equations`; from the start on, if `first` is None.
        first, length
            First row of each motion in `force` and its samples; those beyond are NaN.

        Returns
        -------
        ndarray of shape (motion, samples, 2 dof); not finite where a motion escapes.
        """
        path = np.full((len(start), samples, start.shape[1]), np.nan)
        rows = np.empty((0, 0))
        self._shoot(
            rows,
            np.zeros(len(start)) if first is None else first,
            np.full(len(start), samples) if length is None else length,
            start,
            c,
            None,
            np.ones(start.shape[1] // 2),
            dt,
            steps,
            path,
            force,
        )
        return path

    def normal_equations(
        self,
        q: np.ndarray,
        first: np.ndarray,
        length: np.ndarray,
        start: np.ndarray,
        c: np.ndarray,
        active: np.ndarray | None,
        weight: np.ndarray,
        dt: float,
        steps: int = 1,
        force: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gauss–Newton equations of segments of motion fitted to positions.

        Parameters
        ----------
        q
            Measured positions, shape (row, dof).
        first, length
            First row and number of rows of each segment.
        start
            State (q, q̇) at the first row of each segment, shape (segment, 2 dof).
        c
            Shape (count,).
        active
            Coefficients with a sensitivity. None: no derivatives at all.
        weight
            1/σ² of each coordinate, shape (dof,) or (segment, dof).
        force
            Input Q at the begin and the middle of every step, shape
            (2 · steps · row, dof); None if there is none.

        Returns
        -------
        h, g, square
            JᵀWJ, shape (segment, m, m), and JᵀWe, shape (segment, m), with the
            m = 2 dof + active unknowns (state, coefficients) of each segment, both
            empty without derivatives; Σ e² by coordinate, shape (segment, dof),
            infinite where a motion escapes.
        """
        nowhere = np.empty((0, 0, 0))
        return self._shoot(
            q, first, length, start, c, active, weight, dt, steps, nowhere, force
        )

    def _shoot(
        self, q, first, length, start, c, active, weight, dt, steps, path, force=None
    ):
        sensitive = active is not None
        c = self._coefficients(c)
        plain = self.table.contract(c, None)
        full = self.table.contract(c, active) if sensitive else plain
        dof, count = len(self.coordinates), len(first)
        width = 2 * dof + (len(active) if sensitive else 0)
        kept = count if sensitive else 0
        h, g = np.empty((kept, width, width)), np.empty((kept, width))
        square = np.empty((count, dof))
        self.functions.shoot(
            plain,
            full,
            q,
            np.empty((0, dof)) if force is None else np.ascontiguousarray(force),
            np.ascontiguousarray(first, dtype=np.int64),
            np.ascontiguousarray(length, dtype=np.int64),
            np.ascontiguousarray(start, dtype=float),
            width - 2 * dof,
            np.full((count, dof), weight, dtype=float),
            float(dt),
            int(steps),
            sensitive,
            h,
            g,
            square,
            path,
        )
        return h, g, square

    def _coefficients(self, c: np.ndarray) -> np.ndarray:
        if np.shape(c) != (self.table.count,):
            raise ValueError(
                f"{np.shape(c)} coefficients given, ({self.table.count},) expected: "
                "one for each candidate of L, then of the Rayleigh function"
            )
        return np.ascontiguousarray(c, dtype=float)


def variational_equations(
    terms: Sequence[sp.Expr],
    coordinates: Sequence[str],
    dissipation: Sequence[sp.Expr] = (),
) -> VariationalEquations:
    """Compile the equations of all candidates and their derivatives.

    Parameters
    ----------
    terms
        Candidates D_k(q, q̇) of L.
    coordinates
        Names of q.
    dissipation
        Candidates R_j(q, q̇) of the Rayleigh function.
    """
    table = polynomial_table(terms, coordinates, dissipation)
    dof = len(coordinates)
    base = 1 + 2 * dof
    kinds = ("position", "velocity")
    names = [f"{kind}_{a}" for kind in kinds for a in range(dof)]
    targets = [f"m[{base + i}]" for i in range(len(table.functions))]
    blocks = {
        "constants": (
            f"N = {dof}\nMASS = {dof * dof}\nPLAIN = {dof * dof + dof}\n"
            f"BASE = {base + len(table.functions)}"
        ),
        "state": unpack(names, "x"),
        "functions": assignments(targets, list(table.functions), "shared_"),
    }
    functions = kernel(KERNEL, blocks)
    return VariationalEquations(tuple(coordinates), table, functions)
