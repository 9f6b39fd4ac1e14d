"""From coefficients of a stationary equation to a model, or to what is known of it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from leastaction.identify.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.identify.gram_estimate import lagrangian_estimate, positions

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Solution:
    """Coefficients of all terms.

    Attributes
    ----------
    values
        θ, given ones included; shape (term,).
    covariance
        Of `values`; zero for given ones, NaN where the method gives none.
    diagnostics
        Name to (value, unit, meaning).
    """

    values: np.ndarray
    covariance: np.ndarray
    diagnostics: Mapping[str, tuple]


# Coefficients for given ones: ``solve(known)``, NaN where one is to be estimated.
Solver = Callable[[np.ndarray], Solution]


def stationary_estimate(
    equations: xr.Dataset,
    settings: Mapping,
    solve: Solver,
    arrays: Mapping[str, tuple] | None = None,
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Estimate what the density determines, and say what it does not.

    With damping and noise in detailed balance, a common factor of both changes nothing
    in the density. If neither has a given coefficient, they stay unknown (NaN); their
    ratio is told instead, and the level set on which they lie.

    Parameters
    ----------
    equations
        Contract ``stationary_residual`` or ``generator_moments``.
    settings
        `level_set`: None, or the `volatility` at which the damping on the level set is
        told, and the coefficients of L that are `given` there.
    solve
        The method.
    arrays
        More arrays for the model (see `by_node` of :class:`LagrangianEstimate`).
    """
    known = equations["known"].values
    kind = equations["kind"].values
    balanced = bool(equations["detailed_balance"].values)
    thermal = np.isin(kind, ["dissipation", "volatility"])
    given = thermal & ~np.isnan(known) & (known != 0)
    arrays = dict(arrays or {})
    reason = ""
    if balanced and not given.any():
        first = int(np.flatnonzero(thermal & (kind == "volatility") & (known != 0))[0])
        solution = solve(_replaced(known, first, 1.0))
        reason = _reason(equations, solution, thermal & np.isnan(known), first)
        log.warning("%s", reason)
        arrays |= _ratios(solution, thermal)
        values = np.where(thermal & np.isnan(known), np.nan, solution.values)
        std = np.where(np.isnan(values), np.nan, _std(solution))
        solution = Solution(values, solution.covariance, solution.diagnostics)
    else:
        solution = solve(known)
        std = _std(solution)
    if settings["level_set"] and balanced:
        arrays |= level_set(equations, settings["level_set"], solve)
    arrays["identifiability"] = (
        (),
        np.array(reason, dtype=object),
        "1",
        "what the density does not determine, and why; empty if nothing",
    )
    volatility = _volatility(equations, solution, std)
    return _lagrangian(equations, solution, std, arrays), volatility


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
    kind, known = equations["kind"].values, equations["known"].values
    noise = np.flatnonzero((kind == "volatility") & (known != 0))
    damping = np.flatnonzero((kind == "dissipation") & (known != 0))
    if len(noise) != 1 or len(damping) != 1:
        raise ValueError(
            f"level_set: it is a curve for one term of the damping and one of the "
            f"squared volatility, not for {len(damping)} and {len(noise)}; leave it out"
        )
    terms = [str(term) for term in equations["term"].values]
    of_lagrangian = np.flatnonzero(kind == "lagrangian")
    places = equations["position"].values[of_lagrangian]
    coordinates = [str(name) for name in equations["dof"].values]
    for text, value in settings["given"].items():
        (place,) = positions([text], terms, coordinates)
        (i,) = of_lagrangian[places == place]
        known = _replaced(known, i, value)
    found = []
    for a in settings["volatility"]:
        at = _replaced(_replaced(known, noise[0], a**2), damping[0], np.nan)
        solution = solve(at)
        found.append((solution.values[damping[0]], _std(solution)[damping[0]]))
    damping_values, std = np.array(found).T
    level = ("level",)
    return {
        "level_volatility": (
            level,
            np.array(settings["volatility"]),
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


def nonnegative(solve: Callable[[np.ndarray], Solution], kind: np.ndarray) -> Solver:
    """Solver whose squared volatilities are not negative, by an active set."""

    def solver(known: np.ndarray) -> Solution:
        held = known.copy()
        while True:
            solution = solve(held)
            free = np.isnan(held) & (kind == "volatility")
            negative = free & (solution.values < 0)
            if not negative.any():
                return solution
            held[np.argmin(np.where(negative, solution.values, 0.0))] = 0.0

    return solver


def _std(solution: Solution) -> np.ndarray:
    return np.sqrt(np.clip(np.diag(solution.covariance), 0.0, None))


def _replaced(known: np.ndarray, place: int, value: float) -> np.ndarray:
    changed = known.copy()
    changed[place] = value
    return changed


def _ratios(solution: Solution, thermal: np.ndarray) -> dict[str, tuple]:
    """Damping and volatility in units of the first squared volatility."""
    values = np.where(thermal, solution.values, np.nan)
    std = np.where(thermal, _std(solution), np.nan)
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


def _reason(equations, solution: Solution, unknown: np.ndarray, first: int) -> str:
    labels = [str(name) for name in equations["equation_term"].values]
    errors = _std(solution)
    ratios = ", ".join(
        f"{labels[i]} / {labels[first]} = {solution.values[i]:.6g}"
        + (f" +- {errors[i]:.2g}" if errors[i] > 0 else "")
        for i in np.flatnonzero(unknown)
        if i != first
    )
    names = ", ".join(labels[i] for i in np.flatnonzero(unknown))
    return (
        f"a stationary density does not determine {names} together: damping and noise "
        "are in detailed balance, the density is exp(-kappa H), and a common factor of "
        f"both leaves it unchanged. What it determines is the level set {ratios}. Give "
        "one of the coefficients in library.known"
    )


def _lagrangian(equations, solution, std, arrays) -> LagrangianEstimate:
    counts = equations.sizes["term"], equations.sizes["dissipation_term"]
    values, errors = (np.zeros(sum(counts)) for _ in range(2))
    status = equations["status"].values
    kind, position = equations["kind"].values, equations["position"].values
    for i, name in enumerate(kind):
        if name in ("lagrangian", "dissipation"):
            place = position[i] + (counts[0] if name == "dissipation" else 0)
            values[place], errors[place] = solution.values[i], std[i]
    given = equations["reference_value"].values
    fixed = status == "reference"
    values[: counts[0]][fixed] = given[fixed]
    return lagrangian_estimate(
        equations, values, solution.diagnostics, arrays, std=errors
    )


def _volatility(equations, solution, std) -> VolatilityEstimate:
    """Volatility of each coordinate; a root mean square if it is no constant."""
    shape = (equations.sizes["dof"], equations.sizes["volatility_term"])
    beta, errors = np.zeros(shape), np.zeros(shape)
    mean_square = equations["mean_square"].values[0]
    covariance = np.zeros((shape[0], shape[1], shape[1]))
    noisy = np.flatnonzero(equations["kind"].values == "volatility")
    dof, position = equations["of_dof"].values, equations["position"].values
    for i in noisy:
        beta[dof[i], position[i]] = solution.values[i]
        errors[dof[i], position[i]] = std[i]
        for j in noisy:
            if dof[i] == dof[j]:
                covariance[dof[i], position[i], position[j]] = solution.covariance[i, j]
    square = (beta * mean_square).sum(axis=1)
    variance = np.einsum("ai,aij,aj->a", mean_square, covariance, mean_square)
    names = [str(name) for name in equations["volatility_term"].values]
    varying = np.array([name != "1" for name in names])
    with np.errstate(invalid="ignore", divide="ignore"):
        volatility = np.sqrt(square)
        spread = np.sqrt(np.clip(variance, 0.0, None)) / (2 * volatility)
    return VolatilityEstimate(
        volatility=volatility,
        std=np.where(np.isnan(volatility), np.nan, spread),
        terms=names,
        coefficients=beta,
        coefficient_std=errors,
        constant=(np.nan_to_num(beta[:, varying]) == 0).all(axis=1),
        covariance=np.diag(square),
    )
