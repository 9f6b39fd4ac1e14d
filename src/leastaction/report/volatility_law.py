"""Scores of a volatility that depends on the state: S² term by term, and its root."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.candidates import candidates
from leastaction.core.system import System
from leastaction.report.scores import NORMAL_95


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


def law_of(config: Mapping, dof: int, scale: float) -> VolatilityLaw | None:
    """Law of an example; None if its candidates cannot express S².

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


def exact_terms(model: xr.Dataset, law: VolatilityLaw, dof: int) -> np.ndarray:
    """Whether S² has exactly the true terms, shape (replicate,)."""
    found = model["volatility_support"].isel(dof=dof).values.astype(bool)
    return (found == (law.square != 0)).all(axis=1)


def root_error(model: xr.Dataset, law: VolatilityLaw, dof: int) -> np.ndarray:
    """Relative error |ρ̂ − ρ|/|ρ| of the true terms of S, shape (replicate, term).

    Infinite where no root was found.
    """
    true = law.root[law.root != 0]
    found = model["volatility_root_estimate"].isel(dof=dof).values[:, law.root != 0]
    error = np.abs(found - true) / np.abs(true)
    return np.where(np.isfinite(error), error, np.inf)


def root_coverage(model: xr.Dataset, law: VolatilityLaw, dof: int) -> np.ndarray:
    """Whether ρ̂ ± 1.96 SE covers ρ, shape (replicate, true term)."""
    chosen = law.root != 0
    found, std = (
        model[f"volatility_root_{kind}"].isel(dof=dof).values[:, chosen]
        for kind in ("estimate", "std")
    )
    return np.abs(found - law.root[chosen]) <= NORMAL_95 * std
