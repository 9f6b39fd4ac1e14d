"""What a stationary density in detailed balance tells, and what it does not.

Then p = exp(−κ H), and damping and noise are known up to a common factor only. Algebra
says so for the structure of a model (:attr:`StationaryEquation.detailed_balance`); data
may look like it where the structure does not.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.gram_estimate import positions
from leastaction.densities.stationary_solution import (
    Solution,
    Solver,
    replaced,
    standard_errors,
)

# Score above which the data tell the common factor.
TOLD = 3.0


def scale_score(products: np.ndarray) -> float:
    """Score of a common factor of damping and noise, about standard normal without any.

    In detailed balance the conservative part of the equation alone leaves no residual:
    nothing fixes the scale of the rest. Its residuals in independent batches have then
    products with mean zero; the score is their sum over its standard error.

    Parameters
    ----------
    products
        Of the residuals of the conservative part in each two batches, (batch, batch).
    """
    pairs = products[np.triu_indices(len(products), 1)]
    return float(pairs.sum() / np.sqrt((pairs**2).sum()))


def ratios(solution: Solution, thermal: np.ndarray) -> dict[str, tuple]:
    """Damping and volatility in units of the first squared volatility."""
    values = np.where(thermal, solution.values, np.nan)
    std = np.where(thermal, standard_errors(solution), np.nan)
    dims = ("equation_term",)
    return {
        "ratio_estimate": (
            dims,
            values,
            "mixed",
            "coefficient over that of the first squared volatility",
        ),
        "ratio_std": (dims, std, "mixed", "its standard error"),
    }


def explanation(
    equations: xr.Dataset,
    solution: Solution,
    unknown: np.ndarray,
    first: int,
    balanced: bool,
    score: float,
) -> str:
    """Which coefficients stay unknown, why, and what is known of them.

    Parameters
    ----------
    equations
        As in :func:`level_set`.
    solution
        With the squared volatility `first` set to one.
    unknown
        Coefficients that the density does not determine, shape (term,).
    first
        Position of that squared volatility.
    balanced
        Whether algebra says so; otherwise the data do, with that `score`.
    """
    labels = [str(name) for name in equations["equation_term"].values]
    errors = standard_errors(solution)
    told = ", ".join(
        f"{labels[i]} / {labels[first]} = {solution.values[i]:.6g}"
        + (f" +- {errors[i]:.2g}" if errors[i] > 0 else "")
        for i in np.flatnonzero(unknown)
        if i != first
    )
    names = ", ".join(labels[i] for i in np.flatnonzero(unknown))
    why = (
        "damping and noise are in detailed balance, the density is exp(-kappa H), and "
        "a common factor of both leaves it unchanged"
        if balanced
        else "within its noise, this one looks like one in detailed balance (score "
        f"{score:.2g}, {TOLD:g} is needed), which a common factor of damping and noise "
        "leaves unchanged"
    )
    return (
        f"a stationary density does not determine {names} together: {why}. What it "
        f"determines is the level set {told}. Give one of the coefficients in "
        "library.known"
    )


def level_set(
    equations: xr.Dataset, settings: Mapping, solve: Solver
) -> dict[str, tuple]:
    """Damping as a function of the volatility, for given coefficients of L.

    Yoshida and Yamanaka (2020), section 4.1.2.

    Parameters
    ----------
    equations
        As in :func:`stationary_estimate`; one volatility, one term of damping.
    settings
        `volatility`, values a at which the coefficient c of the damping is estimated;
        `given`, coefficients of L by term.
    solve
        The method.

    Returns
    -------
    dict
        Arrays `level_volatility`, `level_dissipation_estimate` and ``..._std``.
    """
    given = equations.variables
    kind, known = given["kind"].values, given["known"].values
    noise = np.flatnonzero((kind == "volatility") & (known != 0))
    damping = np.flatnonzero((kind == "dissipation") & (known != 0))
    if len(noise) != 1 or len(damping) != 1:
        raise ValueError(
            f"level_set: it is a curve for one term of the damping and one of the "
            f"squared volatility, not for {len(damping)} and {len(noise)}; leave it out"
        )
    terms = [str(term) for term in given["term"].values]
    of_lagrangian = np.flatnonzero(kind == "lagrangian")
    places = given["position"].values[of_lagrangian]
    coordinates = [str(name) for name in given["dof"].values]
    for text, value in settings["given"].items():
        (place,) = positions([text], terms, coordinates)
        (i,) = of_lagrangian[places == place]
        known = replaced(known, i, value)
    volatility = np.array(settings["volatility"])
    at = np.tile(replaced(known, damping[0], np.nan), (volatility.size, 1))
    at[:, noise[0]] = volatility**2
    solution = solve(at)
    damping_values = solution.values[:, damping[0]]
    std = standard_errors(solution)[:, damping[0]]
    level = ("level",)
    return {
        "level_volatility": (
            level,
            volatility,
            "mixed",
            "given volatility",
        ),
        "level_dissipation_estimate": (
            level,
            damping_values,
            "mixed",
            "coefficient of the damping with the same density",
        ),
        "level_dissipation_std": (level, std, "mixed", "its standard error"),
    }
