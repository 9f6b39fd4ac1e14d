"""A system in words: Lagrangian, damping, equations of motion, Hamiltonian."""

import sympy as sp

from leastaction.core.euler_lagrange import acceleration_names, symbols
from leastaction.core.expressions import symbol
from leastaction.core.system import System

DIGITS = 6


def system_text(system: System) -> str:
    """Return what ``print(system)`` shows, numbers to six digits."""
    sense = " in the sense of Ito" if system.calculus == "stratonovich" else ""
    sections = {"Lagrangian": [_shown(system, system.lagrangian)]}
    if system.dissipation != 0:
        sections["Dissipation"] = [_shown(system, system.dissipation)]
    sections[f"Equations of motion{sense}"] = _equations(system)
    sections["Hamiltonian"] = [_shown(system, system.hamiltonian)]
    return "\n".join("\n  ".join([title, *lines]) for title, lines in sections.items())


def _equations(system: System) -> list[str]:
    """q̈ = ..., or M q̈ + ... = S Ẇ where M couples the coordinates."""
    if system.mass_matrix.is_diagonal():
        return [
            f"{eq.lhs} = {_shown(system, eq.rhs)}" for eq in system.equations_of_motion
        ]
    accelerations = sp.Matrix(symbols(acceleration_names(system.coordinates)))
    left = system.mass_matrix * accelerations - system.forces
    count = system.wiener_processes
    noise = sp.Matrix([symbol(f"Wdot_{j + 1}") for j in range(count)])
    right = system.volatility * noise if count else sp.zeros(system.dof, 1)
    return [
        f"{_shown(system, sp.expand(one))} = {_shown(system, other)}"
        for one, other in zip(left, right, strict=True)
    ]


def _shown(system: System, expression: sp.Expr) -> str:
    """`expression` with the parameter values."""
    value = system.evaluated(expression)
    return str(value.xreplace({x: sp.Float(x, DIGITS) for x in value.atoms(sp.Float)}))
