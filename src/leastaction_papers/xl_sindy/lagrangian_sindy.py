"""A conserved energy, and L from it: in the spirit of Lagrangian-SINDy."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import sympy as sp
import xarray as xr
from sympy.solvers.ode import homogeneous_order

from leastaction.core.compiled import evaluator
from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.euler_lagrange import symbols, total_derivative, velocity_names
from leastaction.core.gauge import gauge_freedom
from leastaction.core.library import Library
from leastaction.trajectories.joint_spline import states
from leastaction_papers.xl_sindy.contracts import CONTRACTS


def energy_rate(term: sp.Expr, coordinates: Sequence[str]) -> tuple[sp.Expr]:
    """Rate dφ/dt of a candidate along any motion."""
    return (sp.expand(total_derivative(term, coordinates)),)


def velocity_degree(term: sp.Expr, coordinates: Sequence[str]) -> int:
    """Degree of a candidate in q̇, −1 if it is not homogeneous."""
    qdot = symbols(velocity_names(coordinates))
    order = homogeneous_order(term, *qdot) if term.has(*qdot) else sp.Integer(0)
    return int(order) if order is not None and order.is_Integer else -1


@lru_cache(maxsize=32)
def _energies(terms: tuple, coordinates: tuple) -> tuple[list, list, Callable]:
    """Degree of every candidate, which ones are used, and their rates, compiled."""
    degrees = [velocity_degree(term, coordinates) for term in terms]
    fit = [k for k, degree in enumerate(degrees) if degree not in (-1, 1)]
    freedom = gauge_freedom([terms[k] for k in fit], coordinates, equations=energy_rate)
    used = [fit[i] for i in freedom.independent]
    rates = [energy_rate(terms[k], coordinates)[0] for k in used]
    return degrees, used, evaluator(rates, coordinates)


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
    """
    check(observations, "motion")
    check(derivatives, "rates")
    coordinates = [str(name) for name in observations["dof"].values]
    terms = Library.from_config(library, coordinates)
    degrees, used, evaluate = _energies(terms.terms, tuple(coordinates))
    motion = states(observations, derivatives)
    q, qdot, qddot = (channel.reshape(-1, len(coordinates)) for channel in motion)
    rates = evaluate(q, qdot, qddot=qddot)
    count = len(terms.terms)
    gram = np.zeros((count, count))
    gram[np.ix_(used, used)] = rates.T @ rates / len(rates)
    return CONTRACTS["energy_gram"].dataset(
        {
            "status": np.array(terms.status, dtype=object),
            "equivalent": np.array(terms.freedom.equivalent, dtype=object),
            "given": terms.fixed,
            "degree": np.array(degrees),
            "used": np.isin(np.arange(count), used).astype("int8"),
            "gram": gram,
        },
        {
            "replicate": observations["replicate"],
            "dof": coordinates,
            **dict.fromkeys(("term", "column", "column_other"), terms.names),
        },
    )


def sparse_null_vector(gram: np.ndarray, tolerance: float) -> tuple[np.ndarray, float]:
    """Smallest singular vector of unit columns, again on the entries that are large.

    Entries below `tolerance` times the largest are set to zero. Returns coefficients of
    the unscaled columns, and the smallest eigenvalue left: what does not cancel.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> columns = np.column_stack([x, x[:, 0] - 2 * x[:, 1]])
    >>> vector, left = sparse_null_vector(columns.T @ columns, 1e-6)
    >>> print((vector / vector[0]).round(6) + 0.0, left < 1e-12)
    [ 1. -2.  0. -1.] True
    """
    length = np.sqrt(np.diag(gram))
    active = np.flatnonzero(length > 0)
    vector, value = np.zeros(0), np.inf
    while active.size:
        scale = np.outer(length[active], length[active])
        values, vectors = np.linalg.eigh(gram[np.ix_(active, active)] / scale)
        value, vector = float(max(values[0], 0.0)), vectors[:, 0]
        large = np.abs(vector) >= tolerance * np.abs(vector).max()
        if large.all():
            break
        active = active[large]
    coefficients = np.zeros(len(gram))
    coefficients[active] = vector / length[active]
    return coefficients, value


def lagrangian_of_energy(energy: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """Legendre transform back: a term of degree k in q̇ is k − 1 times as large in E."""
    return energy / np.where(degree == 1, np.inf, degree - 1.0)


def identify(equations: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Identify the energy that one case conserves, and L by the Legendre transform.

    Paper: Chu and Hayashibe (2020) enumerate subsets of the null vector and accept one
    whose energy varies by less than 1e-13, which no noise passes. Here the subset
    comes from sequential thresholding with a relative tolerance. This is in the spirit
    of their passive method, not their method.

    The estimate is scaled to the reference if that is selected, and has no standard
    errors.
    """
    check(equations, "energy_gram")
    gram = equations["gram"].values[0]
    energy, left = sparse_null_vector(gram, settings["tolerance"])
    coefficients = lagrangian_of_energy(energy, equations["degree"].values)
    fixed = equations["given"].values
    reference = int(np.flatnonzero(fixed)[0])
    if coefficients[reference] != 0:
        coefficients *= fixed[reference] / coefficients[reference]
    dof = equations.sizes["dof"]
    return LagrangianEstimate(
        terms=[str(term) for term in equations["term"].values],
        coefficients=coefficients,
        std=np.full(coefficients.size, np.nan),
        status=list(equations["status"].values),
        equivalent=list(equations["equivalent"].values),
        noise_covariance=np.full((dof, dof), np.nan),
        noise_std=np.full((dof, dof), np.nan),
        diagnostics={
            "energy_residual": (left, "1", "share of the rates that does not cancel")
        },
    )
