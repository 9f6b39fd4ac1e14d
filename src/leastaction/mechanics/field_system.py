"""A field with a Lagrangian density, discretised as a Lagrangian system.

.. math::

    \\frac{\\partial}{\\partial t}\\frac{\\partial\\mathcal L}{\\partial u_t}
    = \\frac{\\partial\\mathcal L}{\\partial u}
    - \\frac{\\partial}{\\partial x}\\frac{\\partial\\mathcal L}{\\partial u_x}
    + \\frac{\\partial^2}{\\partial x^2}\\frac{\\partial\\mathcal L}{\\partial u_{xx}}
    + S\\,\\dot W(x, t), \\qquad
    \\mathcal L = \\tfrac12\\rho\\,u_t^2 - V(u, u_x, u_{xx}).

The truth behind simulated data and the model identified from data are both a
:class:`FieldSystem`, as discrete systems are both a
:class:`~leastaction.mechanics.system.System`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from leastaction.mechanics.domain import Domain
from leastaction.mechanics.expressions import check_name, parse, symbol

RESERVED = ("x", "t", "length")
ROUNDING = 1e-10


class IllPosedError(ValueError):
    """A density without kinetic energy, or whose energy is not positive."""


def density_names(field: str) -> tuple[str, str, str, str]:
    """Names that a density is written in: ``u, u_t, u_x, u_xx``."""
    return (field, f"{field}_t", f"{field}_x", f"{field}_xx")


@dataclass(frozen=True)
class FieldSystem:
    """One-dimensional field with independent random forces at its nodes.

    Attributes
    ----------
    field
        Name of u.
    domain
        Interval, nodes and ends.
    parameters
        Value of each parameter (SI units).
    lagrangian
        Density of L in (u, u_t, u_x, u_xx), J/m.
    volatility
        Intensity S of the random force density, the unit of ρ u_tt times s^0.5.
        S/ρ is the volatility of the acceleration of a node with a full cell.
    """

    field: str
    domain: Domain
    parameters: Mapping[str, float]
    lagrangian: sp.Expr
    volatility: sp.Expr = sp.Integer(0)

    @classmethod
    def from_config(cls, config: Mapping) -> "FieldSystem":
        """System described by the `system` section of an example with a `field`.

        Raises
        ------
        ValueError
            If a name is unusable, an expression is not arithmetic over the declared
            names, the density is not ½ρu_t² − V(u, u_x, u_xx) with constant ρ > 0, its
            energy is not positive, or the ends do not suit its order.
        """
        field = config["field"]["name"]
        parameters = {
            name: float(entry["value"]) for name, entry in config["parameters"].items()
        }
        names = declared_names(field, parameters)
        system = cls(
            field=field,
            domain=Domain.from_config(config["domain"]),
            parameters=parameters,
            lagrangian=_read("lagrangian", config["lagrangian"], names),
            volatility=_read("volatility", config.get("volatility", "0"), parameters),
        )
        system.check()
        return system

    @property
    def names(self) -> tuple[str, str, str, str]:
        """Names of (u, u_t, u_x, u_xx)."""
        return density_names(self.field)

    @property
    def jet(self) -> tuple[sp.Symbol, sp.Symbol, sp.Symbol, sp.Symbol]:
        """Symbols of (u, u_t, u_x, u_xx)."""
        return tuple(symbol(name) for name in self.names)

    @property
    def coordinates(self) -> tuple[str]:
        """The one field, named as coordinates are."""
        return (self.field,)

    @property
    def dof(self) -> int:
        """Number of degrees of freedom, the nodes."""
        return self.domain.nodes

    @property
    def wiener_processes(self) -> int:
        """Number of independent Wiener processes: one per node."""
        return 0 if self.volatility == 0 else self.domain.nodes

    @cached_property
    def kinetic(self) -> sp.Expr:
        """ρ = ∂²L/∂u_t², mass per length."""
        return sp.expand(sp.diff(self.lagrangian, self.jet[1], 2))

    @cached_property
    def potential(self) -> sp.Expr:
        """V(u, u_x, u_xx), the density of potential energy, J/m."""
        return sp.expand(-self.lagrangian.subs(self.jet[1], 0))

    @cached_property
    def hamiltonian(self) -> sp.Expr:
        """Density of the energy, u_t ∂L/∂u_t − L."""
        u_t = self.jet[1]
        return sp.expand(u_t * sp.diff(self.lagrangian, u_t) - self.lagrangian)

    @cached_property
    def acceleration(self) -> sp.Expr:
        """u_tt without noise, in (u, u_x, u_xx, u_xxx, u_xxxx), from the density."""
        u, _, u_x, u_xx = self.jet
        bending = self._along(self._along(sp.diff(self.lagrangian, u_xx)))
        force = (
            sp.diff(self.lagrangian, u)
            - self._along(sp.diff(self.lagrangian, u_x))
            + bending
        )
        return sp.expand(force / self.kinetic)

    def _along(self, expression: sp.Expr) -> sp.Expr:
        """Total derivative along x."""
        jet = [symbol(self.field)]
        jet += [symbol(f"{self.field}_{'x' * k}") for k in range(1, 5)]
        return sum(
            (sp.diff(expression, low) * high for low, high in zip(jet, jet[1:])),
            sp.Integer(0),
        )

    @cached_property
    def equations_of_motion(self) -> tuple[sp.Eq]:
        """u_tt = acceleration + S/ρ Ẇ."""
        noise = self.volatility / self.kinetic * symbol("Wdot")
        return (
            sp.Eq(symbol(f"{self.field}_tt"), sp.expand(self.acceleration + noise)),
        )

    def evaluated(self, expression: sp.Expr) -> sp.Expr:
        """`expression` with the parameter values put in."""
        values = {symbol(name): value for name, value in self.parameters.items()}
        return sp.sympify(expression).subs(values)

    @cached_property
    def mass_density(self) -> float:
        """Value of ρ."""
        return float(self.evaluated(self.kinetic))

    @cached_property
    def mass(self) -> np.ndarray:
        """Lumped mass of each node, ρ times its cell, shape (node,)."""
        return self.mass_density * self.domain.cell

    @cached_property
    def sigma(self) -> np.ndarray:
        """Volatility of the acceleration of each node, shape (node,).

        S/ρ times sqrt(dx/cell): what space–time white noise gives a smaller cell. The
        noise of every mode Φ with ΦᵀMΦ = 1 is then independent, with intensity
        S/ρ · sqrt(ρ dx).
        """
        full = abs(float(self.evaluated(self.volatility))) / self.mass_density
        return full * np.sqrt(self.domain.dx / self.domain.cell)

    @cached_property
    def modal_sigma(self) -> float:
        """Intensity of the noise of every mode of unit mass, S/ρ · sqrt(ρ dx)."""
        full = abs(float(self.evaluated(self.volatility))) / self.mass_density
        return full * float(np.sqrt(self.mass_density * self.domain.dx))

    @cached_property
    def energy_growth(self) -> float:
        """Growth of E[H] by noise, ½ Σ m σ² = n (S/ρ)² ρ dx/2: Itô's formula."""
        return float((self.mass * self.sigma**2).sum() / 2)

    @property
    def is_quadratic(self) -> bool:
        """Whether V is a quadratic form (and a constant), so that modes exist."""
        variables = [self.jet[0], *self.jet[2:]]
        if not self.potential.is_polynomial(*variables):
            return False
        degrees = {
            sum(powers) for powers in sp.Poly(self.potential, *variables).monoms()
        }
        return degrees <= {0, 2}

    @cached_property
    def _terms(self) -> list[tuple[sp.Expr, int]]:
        """Summands of V with the order at whose points each is evaluated."""
        derivatives = (self.jet[0], *self.jet[2:])
        grouped = {}
        for term in sp.Add.make_args(self.evaluated(self.potential)):
            order = max(
                (k for k, s in enumerate(derivatives) if term.has(s)), default=0
            )
            grouped[order] = grouped.get(order, sp.Integer(0)) + term
        return [(term, order) for order, term in grouped.items()]

    @cached_property
    def stiffness(self) -> np.ndarray:
        """K = ∂²(potential energy)/∂u∂u, shape (node, node).

        Raises
        ------
        ValueError
            If the density is not quadratic.
        """
        if not self.is_quadratic:
            raise ValueError(
                f"the density {self.evaluated(self.lagrangian)} is not quadratic in "
                f"({', '.join(self.names)}), so it has no stiffness matrix and no "
                "modes; simulate it with method leapfrog"
            )
        derivatives = (self.jet[0], *self.jet[2:])
        stiffness = np.zeros((self.domain.nodes, self.domain.nodes))
        for term, points in self._terms:
            for a in range(points + 1):
                for b in range(points + 1):
                    value = float(sp.diff(term, derivatives[a], derivatives[b]))
                    if value:
                        left = self.domain.operator(a, points)
                        right = self.domain.operator(b, points)
                        weighted = left.weights[:, None] * right.matrix
                        stiffness += value * (left.matrix.T @ weighted)
        return (stiffness + stiffness.T) / 2

    @cached_property
    def _compiled(self) -> list:
        """Per group of summands: operators, V and its gradient as functions."""
        derivatives = (self.jet[0], *self.jet[2:])
        found = []
        for term, points in self._terms:
            used = derivatives[: points + 1]
            operators = [self.domain.operator(k, points) for k in range(points + 1)]
            gradient = [sp.diff(term, s) for s in used]
            functions = sp.lambdify(used, [term, *gradient], "numpy")
            found.append((operators, functions))
        return found

    def force(self, u: np.ndarray) -> np.ndarray:
        """Force on each node, −∂(potential energy)/∂u.

        Parameters
        ----------
        u
            Shape (..., node), m.
        """
        force = np.zeros(np.shape(u))
        for operators, functions in self._compiled:
            at_points = [u @ operator.matrix.T for operator in operators]
            _, *gradient = functions(*at_points)
            for operator, slope in zip(operators, gradient, strict=True):
                force -= (operator.weights * slope) @ operator.matrix
        return force

    def energy(self, u: np.ndarray, u_t: np.ndarray) -> np.ndarray:
        """Hamiltonian of states of shape (..., node), J: shape (...)."""
        energy = (self.mass / 2 * u_t**2).sum(axis=-1)
        for operators, functions in self._compiled:
            at_points = [u @ operator.matrix.T for operator in operators]
            density = functions(*at_points)[0]
            energy = energy + (operators[-1].weights * density).sum(axis=-1)
        return energy

    @cached_property
    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Angular frequencies and mode shapes, K Φ = M Φ ω², Φᵀ M Φ = 1.

        Returns
        -------
        omega, phi
            Shapes (mode,), rad/s, increasing, and (node, mode).

        Raises
        ------
        IllPosedError
            If ρ or an eigenvalue is negative.
        """
        if not self.mass_density > 0:
            raise IllPosedError(
                f"lagrangian: the coefficient of {self.names[1]}**2/2 is "
                f"{self.mass_density:g}; it must be positive"
            )
        root = np.sqrt(self.mass)
        values, vectors = np.linalg.eigh(self.stiffness / np.outer(root, root))
        largest = np.abs(values).max()
        if values[0] < -ROUNDING * largest:
            raise IllPosedError(
                f"lagrangian: {self.evaluated(self.lagrangian)} has negative potential "
                f"energy (lowest squared frequency {values[0]:.4g} rad^2/s^2), so its "
                "motion grows without bound; check the signs of the potential"
            )
        values = np.where(values < ROUNDING * largest / self.dof**4, 0.0, values)
        return np.sqrt(values), vectors / root[:, None]

    def check(self) -> None:
        """Refuse a density that this class cannot describe or whose motion explodes.

        Raises
        ------
        IllPosedError
        """
        u, u_t, u_x, u_xx = self.jet
        rest = sp.expand(self.lagrangian - self.kinetic * u_t**2 / 2)
        if self.kinetic == 0:
            raise IllPosedError(
                f"lagrangian: {self.lagrangian} has no kinetic energy; add a multiple "
                f"of {u_t}**2"
            )
        if self.kinetic.has(*self.jet) or rest.has(u_t):
            raise IllPosedError(
                f"lagrangian: {self.lagrangian} must be quadratic in {u_t}, a constant "
                f"times {u_t}**2 minus a potential in {u}, {u_x} and {u_xx}"
            )
        ends = (self.domain.left, self.domain.right)
        if "clamped" in ends and not self.potential.has(u_xx):
            raise IllPosedError(
                f"domain: a clamped end holds {u_x}, which needs {u_xx} in the "
                "lagrangian; write fixed"
            )
        if self.is_quadratic:
            _ = self.modes
        elif not self.mass_density > 0:
            raise IllPosedError(f"lagrangian: the mass {self.mass_density:g} <= 0")

    def __str__(self) -> str:
        (equation,) = self.equations_of_motion
        return (
            f"Lagrangian density\n  {self.evaluated(self.lagrangian)}\n"
            f"Equation of motion\n  {equation.lhs} = {self.evaluated(equation.rhs)}\n"
            f"Hamiltonian density\n  {self.evaluated(self.hamiltonian)}"
        )


def declared_names(field: str, parameters: Mapping) -> tuple[str, ...]:
    """Names that a density may use, checked for clashes."""
    names = (*density_names(field), *parameters)
    for name in names:
        check_name(name)
        if name in RESERVED:
            raise ValueError(f"{name!r} is reserved in a field; choose another name")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the names {twice} are declared twice")
    return names


def _read(where: str, text, names) -> sp.Expr:
    try:
        return parse(text, names)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
