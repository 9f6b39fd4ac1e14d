"""The truth of an example in the words of its library."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import sympy as sp

from leastaction.core.expressions import ExpressionError, parse
from leastaction.core.from_config import system_from_config
from leastaction.core.library import Library
from leastaction.core.system import System


@dataclass(frozen=True)
class Truth:
    """The truth in the words of a library.

    Attributes
    ----------
    library
        Candidates D_i of L.
    coefficients
        c of the Lagrangian Σ c_i D_i with the true equations of motion, shape (term,).
    scale
        Factor between that Lagrangian and the one of the system.
    volatility
        √(S Sᵀ)_aa times `scale`, shape (dof,); NaN where S depends on the state.
    covariance
        S Sᵀ times `scale`², shape (dof, dof); None where S depends on the state.
    dissipation
        d of the true Rayleigh function Σ d_j R_j times `scale`, shape (term of D,).
    """

    library: Library
    coefficients: np.ndarray
    scale: float
    volatility: np.ndarray
    covariance: np.ndarray | None = None
    dissipation: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def terms(self) -> list[int]:
        """Positions of the true terms whose coefficients are to be identified."""
        free = (self.coefficients != 0) & (self.library.given == 0)
        return [int(i) for i in np.flatnonzero(free)]

    @property
    def support(self) -> np.ndarray:
        """Whether a candidate is in the true Lagrangian, shape (term,)."""
        return self.coefficients != 0


def truth_of(config: Mapping) -> Truth | None:
    """Truth of an example; None if its library cannot express the system.

    Parameters
    ----------
    config
        An example with the sections `system` and `library`.

    Raises
    ------
    ValueError
        If the system or the library is not valid.
    """
    system = system_from_config(config["system"])
    library = system.library(config["library"])
    projection = library.projection(system)
    if projection is None or _reads_otherwise(system, library):
        return None
    coefficients, scale = projection
    damping = library.damping(system, scale)
    if damping is None:
        return None
    noise = system.noise_matrix
    volatility = abs(scale) * np.array(
        [_size(system, noise.row(a)) for a in range(noise.rows)]
    )
    square = system.evaluated(noise * noise.T)
    covariance = None
    if not square.free_symbols:
        covariance = scale**2 * np.array(square, dtype=float)
    return Truth(library, coefficients, scale, volatility, covariance, damping)


def _reads_otherwise(system, library) -> bool:
    """Whether the calculus of the analysis gives the system another drift."""
    if system.calculus == library.calculus:
        return False
    other = replace(system, calculus=library.calculus)
    return not sp.simplify(other.acceleration - system.acceleration).is_zero_matrix


def _size(system: System, row) -> float:
    value = system.evaluated(sp.sqrt(sum((entry**2 for entry in row), sp.Integer(0))))
    return np.nan if value.free_symbols else float(value)


def term_position(text: str, library: Library) -> int:
    """Position of a candidate, however it is written.

    Raises
    ------
    ValueError
        If `text` is no candidate of the library.
    """
    try:
        return library.terms.index(parse(text, library.variables))
    except ExpressionError as error:
        raise ValueError(f"coefficient {text!r}: {error}") from None
    except ValueError:
        raise ValueError(
            f"coefficient {text!r} is not a candidate of L; these are "
            f"{', '.join(library.names)}"
        ) from None
