"""The volatility of one equation of motion in words, constant or not."""

from collections.abc import Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parse
from leastaction.report import readable
from leastaction.report.volatility_law import law_of


def true_volatility(config: Mapping, dof: int, scale: float, names: Mapping) -> str:
    """Text of the true S of one degree of freedom, or of √S² if only that is known.

    Parameters
    ----------
    config
        An example with the sections `system` and `library`.
    dof, scale
        As for :func:`~leastaction.report.volatility_law.law_of`.
    names
        How the state is written.
    """
    law = law_of(config, dof, scale)
    if law is None:
        return "sigma(q, q')"
    terms, none = law.terms, np.full(len(law.terms), np.nan)
    if law.root is not None:
        return f"({_sum(terms, law.root, none, names)})"
    return f"sqrt({_sum(terms, law.square, none, names)})"


def found_volatility(model: xr.Dataset, dof: int, names: Mapping) -> str:
    """Text of the identified S, medians over the replicates of `model`."""
    state = [symbol.name for symbol in names]
    terms = [parse(str(term), state) for term in model["volatility_term"].values]

    def median(name: str) -> np.ndarray:
        return np.median(model[name].isel(dof=dof).values, axis=0)

    root = median("volatility_root_estimate")
    if np.isfinite(root).all():
        return f"({_sum(terms, root, median('volatility_root_std'), names)})"
    square = median("volatility_coefficient_estimate")
    return f"sqrt({_sum(terms, square, median('volatility_coefficient_std'), names)})"


def _sum(terms: list[sp.Expr], values, errors, names: Mapping) -> str:
    return readable.linear_text(
        lambda term: term, terms, values, errors, names, whole=True
    )
