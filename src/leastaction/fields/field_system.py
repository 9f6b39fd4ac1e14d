"""A field with a Lagrangian density, discretised as a Lagrangian system.

.. math::

    \\frac{\\partial}{\\partial t}\\frac{\\partial\\mathcal L}{\\partial u_t}
    = \\frac{\\partial\\mathcal L}{\\partial u}
    - \\frac{\\partial}{\\partial x}\\frac{\\partial\\mathcal L}{\\partial u_x}
    + \\frac{\\partial^2}{\\partial x^2}\\frac{\\partial\\mathcal L}{\\partial u_{xx}}
    + S\\,\\dot W(x, t), \\qquad
    \\mathcal L = \\tfrac12\\rho\\,u_t^2 - V(u, u_x, u_{xx}).

Truth and identified model are both a :class:`FieldSystem`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parsed, symbol
from leastaction.fields.domain import Domain, Potential, count_functions
from leastaction.fields.library import (
    FieldLibrary,
    declared_names,
    density_candidates,
    density_euler_lagrange,
    density_names,
    jet_symbol,
)

# Squared frequency, over the largest, that counts as zero.
RELATIVE_ROUNDOFF_OF_EIGENVALUES = 1e-10


class IllPosedError(ValueError):
    """A density without kinetic energy, or whose energy is not positive."""


@dataclass(frozen=True)
class FieldSystem:
    """One-dimensional field with independent random forces at its nodes.

    `parameters` are in SI units.
    """

    field: str  # name of u
    domain: Domain
    parameters: Mapping[str, float]
    lagrangian: sp.Expr  # density in (u, u_t, u_x, u_xx), J/m
    # Intensity S of the random force density, the unit of ρ u_tt times s^0.5.
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
            field,
            Domain.from_config(config["domain"]),
            parameters,
            parsed("lagrangian", config["lagrangian"], names),
            parsed("volatility", config.get("volatility", "0"), parameters),
        )
        system.check()
        return system

    @property
    def names(self) -> tuple[str, str, str, str]:
        """Names of (u, u_t, u_x, u_xx)."""
        return density_names(self.field)

    @property
    def state(self) -> tuple[sp.Symbol, ...]:
        """Symbols of the jet (u, u_t, u_x, u_xx), which candidates may use."""
        return tuple(symbol(name) for name in self.names)

    @property
    def coordinates(self) -> tuple[str]:
        """The one field, named as coordinates are."""
        return (self.field,)

    # A field has neither friction here, nor noise whose calculus matters.
    dissipation = sp.Integer(0)
    calculus = "ito"

    @property
    def initial_names(self) -> tuple[str, str]:
        """Names that an initial state gives."""
        return self.names[:2]

    @property
    def noise_matrix(self) -> sp.Matrix:
        """S, the same at every node, as a matrix."""
        return sp.Matrix([[self.volatility]])

    noise_names = ("volatility",)

    @property
    def rates(self) -> dict[str, tuple[str, int, int]]:
        """By name of a derivative, what is differentiated, how often by t and by x."""
        u, u_t, u_x, u_xx = self.names
        return {u_t: (u, 1, 0), u_x: (u, 0, 1), u_xx: (u, 0, 2)}

    @property
    def has_equations(self) -> bool:
        """Whether there is a kinetic energy."""
        return self.kinetic != 0

    def library(self, config: Mapping) -> FieldLibrary:
        """Candidates of the `library` section of an example with this system."""
        return FieldLibrary.from_config(config, self.field)

    def functions_over_nodes(self, recipe: Sequence[Mapping]) -> int:
        """Number of candidate functions over all nodes; ``pooled`` ones do not count.

        `recipe` is ``library.lagrangian`` or ``library.volatility`` of an example.
        """
        terms, strides = density_candidates(recipe, self.field)
        return count_functions(terms, strides, self.field, self.domain)

    @staticmethod
    def names_of(coordinates: Sequence[str]) -> tuple[str, ...]:
        """Names that the density of a field may use."""
        return density_names(*coordinates)

    @staticmethod
    def coordinates_of(model: xr.Dataset) -> tuple[str]:
        """Name of the field of an identified model."""
        return (str(model.attrs["field"]),)

    @classmethod
    def from_estimates(
        cls, model: xr.Dataset, lagrangian: sp.Expr, parameters: dict[str, float]
    ) -> "FieldSystem":
        """Field with an identified density; noise of the same intensity everywhere."""
        parameters["sigma"] = float(model["volatility_estimate"].values[0])
        domain = Domain.from_config(model.attrs, "domain_")
        (field,) = cls.coordinates_of(model)
        return cls(field, domain, parameters, lagrangian, symbol("sigma"))

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
        return sp.expand(sp.diff(self.lagrangian, self.state[1], 2))

    @cached_property
    def potential(self) -> sp.Expr:
        """V(u, u_x, u_xx), the density of potential energy, J/m."""
        return sp.expand(-self.lagrangian.subs(self.state[1], 0))

    @cached_property
    def hamiltonian(self) -> sp.Expr:
        """Density of the energy, u_t ∂L/∂u_t − L."""
        u_t = self.state[1]
        return sp.expand(u_t * sp.diff(self.lagrangian, u_t) - self.lagrangian)

    @cached_property
    def acceleration(self) -> sp.Expr:
        """u_tt without noise, in (u, u_x, u_xx, u_xxx, u_xxxx), from the density."""
        kinetic = self.kinetic * jet_symbol(self.field, 0, 2)
        (equation,) = density_euler_lagrange(self.lagrangian, self.coordinates)
        return sp.expand((kinetic - equation) / self.kinetic)

    @cached_property
    def equations_of_motion(self) -> tuple[sp.Eq]:
        """u_tt = acceleration + S/ρ Ẇ."""
        noise = self.volatility / self.kinetic * symbol("Wdot")
        u_tt = jet_symbol(self.field, 0, 2)
        return (sp.Eq(u_tt, sp.expand(self.acceleration + noise)),)

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
    def volatility_of_acceleration(self) -> float:
        """|S|/ρ: that of a node with a full cell."""
        return abs(float(self.evaluated(self.volatility))) / self.mass_density

    @cached_property
    def sigma(self) -> np.ndarray:
        """Volatility of the acceleration of each node, S/ρ · √(dx/cell), shape (node,).

        So that the noise of the modes is independent and equal, :attr:`modal_sigma`.
        """
        share = self.domain.dx / self.domain.cell
        return self.volatility_of_acceleration * np.sqrt(share)

    @property
    def modal_sigma(self) -> float:
        """Intensity of the noise of every mode with Φᵀ M Φ = 1, S/ρ · √(ρ dx)."""
        unit = np.sqrt(self.mass_density * self.domain.dx)
        return self.volatility_of_acceleration * float(unit)

    @cached_property
    def energy_growth(self) -> float:
        """Growth of E[H] by noise, ½ Σ m σ² = n (S/ρ)² ρ dx/2: Itô's formula."""
        return float((self.mass * self.sigma**2).sum() / 2)

    @cached_property
    def discrete_potential(self) -> Potential:
        """Potential energy as a function of the nodal values."""
        density = sp.expand(self.evaluated(self.potential))
        return Potential(density, self.field, self.domain)

    def energy(self, u: np.ndarray, u_t: np.ndarray) -> np.ndarray:
        """Hamiltonian of states of shape (..., node), J: shape (...)."""
        kinetic = (self.mass / 2 * u_t**2).sum(axis=-1)
        return kinetic + self.discrete_potential.energy(u)

    @cached_property
    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Angular frequencies and mode shapes, K Φ = M Φ ω², Φᵀ M Φ = 1.

        Shapes (mode,), rad/s, increasing, and (node, mode); IllPosedError if ρ or an
        eigenvalue is negative.
        """
        if not self.mass_density > 0:
            raise IllPosedError(
                f"lagrangian: the coefficient of {self.names[1]}**2/2 is "
                f"{self.mass_density:g}; it must be positive"
            )
        root, stiffness = np.sqrt(self.mass), self.discrete_potential.stiffness
        values, vectors = np.linalg.eigh(stiffness / np.outer(root, root))
        largest = np.abs(values).max()
        if values[0] < -RELATIVE_ROUNDOFF_OF_EIGENVALUES * largest:
            raise IllPosedError(
                f"lagrangian: {self.evaluated(self.lagrangian)} has negative potential "
                f"energy (lowest squared frequency {values[0]:.4g} rad^2/s^2), so its "
                "motion grows without bound; check the signs of the potential"
            )
        values[values < RELATIVE_ROUNDOFF_OF_EIGENVALUES * largest / self.dof**4] = 0.0
        return np.sqrt(values), vectors / root[:, None]

    def check(self) -> None:
        """IllPosedError for a density without a description or a stable motion."""
        u, u_t, u_x, u_xx = self.state
        rest = sp.expand(self.lagrangian - self.kinetic * u_t**2 / 2)
        if self.kinetic == 0:
            raise IllPosedError(
                f"lagrangian: {self.lagrangian} has no kinetic energy; add a multiple "
                f"of {u_t}**2"
            )
        if self.kinetic.has(*self.state) or rest.has(u_t):
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
        if self.discrete_potential.is_quadratic:
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
