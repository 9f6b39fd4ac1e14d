"""The library of an example, which has coordinates or a field."""

from collections.abc import Mapping

import sympy as sp

from leastaction.core.euler_lagrange import euler_lagrange, velocity_names
from leastaction.core.expressions import symbol
from leastaction.core.library import Library
from leastaction.core.system import System
from leastaction.fields.density import density_euler_lagrange, density_names
from leastaction.fields.density_library import DensityLibrary
from leastaction.fields.field_system import FieldSystem


def library_from_config(
    config: Mapping, system: System | FieldSystem
) -> Library | DensityLibrary:
    """Candidates of the `library` section of an example with that system.

    Raises
    ------
    ValueError
        See :meth:`Library.from_config` and :meth:`DensityLibrary.from_config`.
    """
    if isinstance(system, FieldSystem):
        return DensityLibrary.from_config(config, system.field)
    return Library.from_config(config, system.coordinates)


def variable_names(library: Library | DensityLibrary) -> tuple[str, ...]:
    """Names that the candidates are written in."""
    if isinstance(library, DensityLibrary):
        return density_names(library.field)
    return (*library.coordinates, *velocity_names(library.coordinates))


def equations_of(term: sp.Expr, library: Library | DensityLibrary) -> tuple:
    """Euler–Lagrange expressions of a candidate, one per coordinate."""
    if isinstance(library, DensityLibrary):
        return density_euler_lagrange(term, library.coordinates)
    return euler_lagrange(term, library.coordinates)


def legendre(term: sp.Expr, library: Library | DensityLibrary) -> sp.Expr:
    """Contribution of a candidate to the Hamiltonian, q̇ ∂D/∂q̇ − D."""
    if isinstance(library, DensityLibrary):
        velocities = [variable_names(library)[1]]
    else:
        velocities = velocity_names(library.coordinates)
    momenta = (symbol(v) * sp.diff(term, symbol(v)) for v in velocities)
    return sum(momenta, sp.Integer(0)) - term
