"""Gram matrix of the rates of candidate energies, for Lagrangian-SINDy."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.euler_lagrange import (
    symbols,
    total_derivative,
    velocity_names,
)
from leastaction.core.gauge import gauge_freedom
from leastaction.core.implicit_library import evaluator_of_motion
from leastaction.core.library import Library
from leastaction.trajectories.motion import states

CONTRACT = "energy_gram"


def energy_rate(term: sp.Expr, coordinates: Sequence[str]) -> tuple[sp.Expr, ...]:
    """Rate dφ/dt of a candidate along any motion."""
    return (sp.expand(total_derivative(term, coordinates)),)


def velocity_degree(term: sp.Expr, coordinates: Sequence[str]) -> int:
    """Degree of a candidate in q̇, −1 if it is not homogeneous."""
    scale = sp.Dummy("scale", positive=True)
    qdot = symbols(velocity_names(coordinates))
    scaled = term.subs({v: scale * v for v in qdot}, simultaneous=True)
    degrees = set()
    for part in sp.Add.make_args(sp.expand(scaled)):
        base, exponent = part.as_independent(scale)[1].as_base_exp()
        known = base in (scale, 1) and exponent.is_Integer
        degrees.add((int(exponent) if base == scale else 0) if known else -1)
    return degrees.pop() if len(degrees) == 1 else -1


@lru_cache(maxsize=32)
def _energies(terms: tuple, coordinates: tuple) -> tuple[list, list, Callable]:
    """Degree of every candidate, which ones are used, and their rates, compiled."""
    degrees = [velocity_degree(term, coordinates) for term in terms]
    fit = [k for k, degree in enumerate(degrees) if degree not in (-1, 1)]
    freedom = gauge_freedom([terms[k] for k in fit], coordinates, equations=energy_rate)
    used = [fit[i] for i in freedom.independent]
    rates = [energy_rate(terms[k], coordinates)[0] for k in used]
    return degrees, used, evaluator_of_motion(rates, coordinates)


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    r"""Products of the rates dφ_k/dt = ∂φ_k/∂q·q̇ + ∂φ_k/∂q̇·q̈, mean over samples.

    The candidates of L serve as candidates of the energy. Not used are those of degree
    one in q̇, which leave no trace in the energy, those that are not homogeneous in
    q̇, and those whose rate is zero or a combination of earlier rates.

    Parameters
    ----------
    observations
        One case, contract ``motion``.
    derivatives
        Contract ``rates``.
    settings
        Nothing but the method's name.
    library
        The `library` section of the example.

    Returns
    -------
    xr.Dataset
        Contract ``energy_gram``.
    """
    check(observations, "motion")
    check(derivatives, "rates")
    coordinates = [str(name) for name in observations["dof"].values]
    terms = Library.from_config(library, coordinates)
    degrees, used, evaluate = _energies(terms.terms, tuple(coordinates))
    motion = (
        channel.reshape(-1, len(coordinates))
        for channel in states(observations, derivatives)
    )
    rates = evaluate(*motion)
    count = len(terms.terms)
    gram = np.zeros((count, count))
    gram[np.ix_(used, used)] = rates.T @ rates / len(rates)
    of_term = {
        "status": (np.array(terms.status, dtype=object), "what algebra says of L"),
        "equivalent": (
            np.array(terms.freedom.equivalent, dtype=object),
            "equivalent of a removed candidate",
        ),
        "given": (terms.given, "coefficient given by the reference"),
        "degree": (np.array(degrees), "degree in the velocities"),
        "used": (
            np.isin(np.arange(count), used).astype("int8"),
            "whether the term is a candidate of the energy",
        ),
    }
    data = {
        name: ("term", values, {"units": "1", "long_name": meaning})
        for name, (values, meaning) in of_term.items()
    }
    data["gram"] = (
        ("replicate", "column", "column_other"),
        gram[None],
        {"units": "mixed", "long_name": "mean products of rates of energies"},
    )
    return xr.Dataset(
        data,
        coords={
            "replicate": observations["replicate"],
            "dof": coordinates,
            "term": terms.names,
            "column": terms.names,
            "column_other": terms.names,
        },
    )
