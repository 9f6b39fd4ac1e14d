"""Potential energy of a field at the nodes of its domain, with force and stiffness."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from leastaction.fields.domain import Domain, Operator


@dataclass(frozen=True)
class DiscretePotential:
    """Sum of a density V(u, u_x, u_xx) over the quadrature points of a domain.

    Every summand of V is evaluated at the points of its highest derivative.

    Attributes
    ----------
    density
        V with numbers for parameters, J/m.
    derivatives
        Symbols of (u, u_x, u_xx).
    domain
        Nodes, cells and operators.
    """

    density: sp.Expr
    derivatives: tuple[sp.Symbol, sp.Symbol, sp.Symbol]
    domain: Domain

    @property
    def is_quadratic(self) -> bool:
        """Whether V is a quadratic form, up to a constant."""
        if not self.density.is_polynomial(*self.derivatives):
            return False
        powers = sp.Poly(self.density, *self.derivatives).monoms()
        return {sum(each) for each in powers} <= {0, 2}

    @cached_property
    def _groups(self) -> list[tuple[sp.Expr, list[Operator]]]:
        """Summands that share their points, with the operators there."""
        grouped: dict[int, sp.Expr] = {}
        for term in sp.Add.make_args(sp.expand(self.density)):
            orders = [k for k, s in enumerate(self.derivatives) if term.has(s)]
            highest = max(orders, default=0)
            grouped[highest] = grouped.get(highest, sp.Integer(0)) + term
        return [
            (term, [self.domain.operator(k, highest) for k in range(highest + 1)])
            for highest, term in sorted(grouped.items())
        ]

    @cached_property
    def _functions(self) -> list:
        """(operators, function that returns V and its gradient) of each group."""
        found = []
        for term, operators in self._groups:
            used = self.derivatives[: len(operators)]
            gradient = [sp.diff(term, s) for s in used]
            found.append((operators, sp.lambdify(used, [term, *gradient], "numpy")))
        return found

    @cached_property
    def stiffness(self) -> np.ndarray:
        """Matrix of a quadratic form, shape (node, node).

        Raises
        ------
        ValueError
            If the density is not quadratic.
        """
        if not self.is_quadratic:
            names = ", ".join(map(str, self.derivatives))
            raise ValueError(
                f"the potential density {self.density} is not quadratic in ({names}), "
                "so it has no stiffness matrix and no modes; use method leapfrog"
            )
        return self.hessian(np.zeros(self.domain.nodes))

    def hessian(self, u: np.ndarray) -> np.ndarray:
        """Second derivatives of the energy at u of shape (node,): (node, node)."""
        hessian = np.zeros((self.domain.nodes, self.domain.nodes))
        for term, operators in self._groups:
            used = self.derivatives[: len(operators)]
            at_points = [operator.matrix @ u for operator in operators]
            for s, left in zip(used, operators, strict=True):
                for r, right in zip(used, operators, strict=True):
                    value = sp.lambdify(used, sp.diff(term, s, r), "numpy")(*at_points)
                    weighted = (value * left.weights)[:, None] * right.matrix
                    hessian += left.matrix.T @ weighted
        return (hessian + hessian.T) / 2

    def force(self, u: np.ndarray) -> np.ndarray:
        """Force on the nodes, −∂(energy)/∂u; u and result of shape (..., node)."""
        force = np.zeros(np.shape(u))
        for operators, function in self._functions:
            _, *gradient = function(*(u @ o.matrix.T for o in operators))
            for operator, slope in zip(operators, gradient, strict=True):
                force -= (operator.weights * slope) @ operator.matrix
        return force

    def energy(self, u: np.ndarray) -> np.ndarray:
        """Potential energy, J: shape (...) for u of shape (..., node)."""
        energy = np.zeros(np.shape(u)[:-1])
        for operators, function in self._functions:
            density = function(*(u @ o.matrix.T for o in operators))[0]
            energy = energy + (operators[-1].weights * density).sum(axis=-1)
        return energy
