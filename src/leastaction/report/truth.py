"""The truth of an example in the words of its library: L, D, and the volatility."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import sympy as sp

from leastaction.core.candidates import candidates
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
        Candidates D_i of L, or of the Lagrangian density of a field.
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
    if projection is None or not _same_drift(system, library):
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


def _same_drift(system: System, library: Library) -> bool:
    """Whether the calculus of the analysis, Itô or Stratonovich, keeps the drift."""
    if system.calculus == library.calculus:
        return True
    other = replace(system, calculus=library.calculus)
    return bool(sp.simplify(other.acceleration - system.acceleration).is_zero_matrix)


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


@dataclass(frozen=True)
class VolatilityLaw:
    """True S of one degree of freedom in the words of a library.

    Attributes
    ----------
    terms
        Candidates.
    square
        Coefficients of (S Sᵀ)_aa, shape (term,).
    root
        Coefficients of S, the first one positive, shape (term,); None if S is not in
        the span, or if several Wiener processes add up.
    """

    terms: tuple[sp.Expr, ...]
    square: np.ndarray
    root: np.ndarray | None


def volatility_law(config: Mapping, dof: int, scale: float) -> VolatilityLaw | None:
    """Law of one equation of motion; None if its candidates cannot express S².

    Parameters
    ----------
    config
        An example with the sections `system` and `library`.
    dof
        Degree of freedom.
    scale
        Factor from the Lagrangian of the system to the identified one.
    """
    system = System.from_config(config["system"])
    names = [symbol.name for symbol in system.state]
    terms = candidates(config["library"]["volatility"], names)
    row = [abs(scale) * entry for entry in system.evaluated(system.volatility.row(dof))]
    square = expansion(sum((entry**2 for entry in row), sp.Integer(0)), terms)
    if square is None:
        return None
    driven = [entry for entry in row if entry != 0]
    root = expansion(driven[0], terms) if len(driven) == 1 else None
    if root is not None and root.any():
        root = root * np.sign(root[np.flatnonzero(root)[0]])
    return VolatilityLaw(tuple(terms), square, root)


def expansion(expression: sp.Expr, terms: Sequence[sp.Expr]) -> np.ndarray | None:
    """Coefficients of an expression over candidates; None if it is not in their span.

    Parameters
    ----------
    expression
        In the state only: parameters have their values.
    terms
        Candidates.
    """
    coefficients = np.zeros(len(terms))
    for part in sp.Add.make_args(sp.expand(expression)):
        factor, rest = part.as_coeff_Mul()
        if factor == 0:
            continue
        if rest not in terms:
            return None
        coefficients[list(terms).index(rest)] += float(factor)
    return coefficients
