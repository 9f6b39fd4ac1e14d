"""Implicit equations of motion identified by SINDy-PI: print, solve, simulate."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.contracts import check
from leastaction.core.euler_lagrange import (
    acceleration_names,
    symbols,
    velocity_names,
)
from leastaction.core.expressions import parse, symbol

RELATIVE_ROUNDOFF_OF_DETERMINANT = 1e-9


@dataclass(frozen=True)
class ImplicitModel:
    """Equations Σ c_k Θ_k(q, q̇, q̈) = 0, one per coordinate, affine in q̈.

    Attributes
    ----------
    dataset
        One case, contract ``implicit_model``, without a sweep.
    replicate
        Position of the replicate.
    """

    dataset: xr.Dataset
    replicate: int = 0

    def __post_init__(self):
        check(self.dataset, "implicit_model")

    @property
    def coordinates(self) -> list[str]:
        """Names of q."""
        return [str(name) for name in self.dataset["dof"].values]

    @cached_property
    def equations(self) -> tuple[sp.Expr, ...]:
        """Left sides Σ c_k Θ_k, one per coordinate, in `parameters`."""
        names = self.coordinates
        names = [*names, *velocity_names(names), *acceleration_names(names)]
        terms = [parse(str(t), names) for t in self.dataset["implicit_term"].values]
        return tuple(
            sum(
                (symbol(f"c_{a}_{k}") * terms[k] for k in np.flatnonzero(row)),
                sp.S.Zero,
            )
            for a, row in enumerate(self._rows)
        )

    @property
    def parameters(self) -> dict[str, float]:
        """Values of the coefficients: ``c_a_k`` of term k in equation a.

        Models with the same terms share what is compiled from them.
        """
        return {
            f"c_{a}_{k}": float(row[k])
            for a, row in enumerate(self._rows)
            for k in np.flatnonzero(row)
        }

    @property
    def _rows(self) -> np.ndarray:
        return self.dataset["coefficient_estimate"].values[self.replicate]

    @cached_property
    def slopes(self) -> sp.Matrix:
        """Matrix of ∂(equation)/∂q̈; where it is singular there is no acceleration."""
        return sp.Matrix(self.equations).jacobian(self._qddot)

    @cached_property
    def accelerations(self) -> tuple[sp.Expr, ...]:
        """Accelerations q̈ (q, q̇) that solve the equations.

        Raises
        ------
        ValueError
            If the equations do not determine the accelerations anywhere.
        """
        if self.slopes.det() == 0:
            raise ValueError(
                f"the equations do not determine the accelerations:\n{self}"
            )
        rest = sp.Matrix(self.equations).subs(dict.fromkeys(self._qddot, 0))
        return tuple(self.slopes.LUsolve(-rest))

    def singular(self, q: np.ndarray, qdot: np.ndarray) -> np.ndarray:
        """Whether a denominator vanishes between consecutive states of a motion.

        Parameters
        ----------
        q, qdot
            Shape (time, dof).

        Returns
        -------
        ndarray of bool, shape (time,): the determinant of `slopes` is zero there, or
        changes its sign before the next sample.
        """
        values = self.parameters
        evaluate = evaluator([self.slopes.det()], self.coordinates, list(values))
        determinant = evaluate(q, qdot, list(values.values()))[:, 0]
        scale = np.abs(determinant).max(initial=0.0)
        found = np.abs(determinant) <= RELATIVE_ROUNDOFF_OF_DETERMINANT * scale
        found[:-1] |= np.sign(determinant[:-1]) != np.sign(determinant[1:])
        return found

    @property
    def _qddot(self) -> tuple[sp.Symbol, ...]:
        return symbols(acceleration_names(self.coordinates))

    def __str__(self) -> str:
        left = self.dataset["left_hand_side"].values[self.replicate]
        rows = self._rows
        names = [str(t) for t in self.dataset["implicit_term"].values]
        lines = ["Implicit equations of motion"]
        for side, row in zip(left, rows, strict=True):
            rest = [
                f"{'+-'[bool(-row[k] < 0)]} {abs(row[k]):.6g} {names[k]}"
                for k in np.flatnonzero(row)
                if names[k] != side
            ]
            lines.append(f"  {side} = {' '.join(rest) or '0'}")
        return "\n".join(lines)
