"""From coefficients of a stationary equation to a model, or to what is known of it.

In detailed balance p = exp(−κ H), and damping and noise are known up to a common factor
only. For the structure of a model this follows by algebra
(:attr:`~leastaction.densities.fokker_planck.StationaryEquation.detailed_balance`); data
may look like it where the structure does not.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from leastaction.core.estimate import (
    LagrangianEstimate,
    VolatilityEstimate,
    lagrangian_estimate,
    positions,
)

# Score, in standard errors, above which the data determine the common factor.
LEAST_SCORE_OF_SCALE = 3.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Solution:
    """Coefficients of all terms, or of all terms in many cases.

    Attributes
    ----------
    values
        θ, given ones included; shape (..., term).
    covariance
        Of `values`, shape (..., term, term); zero for given ones, NaN where the method
        gives none.
    diagnostics
        Name to (value, unit, meaning).
    """

    values: np.ndarray
    covariance: np.ndarray
    diagnostics: Mapping[str, tuple]


# Coefficients for given ones: ``solve(known)``, NaN where one is to be estimated. Cases
# that differ in their given values alone may be stacked, shape (..., term).
Solver = Callable[[np.ndarray], Solution]


def unknown(known: np.ndarray) -> np.ndarray:
    """Which coefficients are to be estimated in every case, shape (term,)."""
    return np.isnan(known.reshape(-1, known.shape[-1])[0])


def nonnegative(solve: Callable[[np.ndarray], Solution], kind: np.ndarray) -> Solver:
    """Solver whose squared volatilities are not negative, by an active set.

    Stacked cases must have all of these given: their active sets would differ.
    """

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


def standard_errors(solution: Solution) -> np.ndarray:
    """Standard errors of all coefficients, zero for given ones."""
    variance = np.diagonal(solution.covariance, axis1=-2, axis2=-1)
    return np.sqrt(np.clip(variance, 0.0, None))


def replaced(known: np.ndarray, place: int, value: float) -> np.ndarray:
    """`known` with one coefficient given, or with NaN no longer."""
    changed = known.copy()
    changed[place] = value
    return changed


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
        Whether detailed balance follows from the structure; otherwise it is a finding
        in the data, with that `score`.
    """
    labels = [str(name) for name in equations["equation_term"].values]
    errors = standard_errors(solution)
    level = ", ".join(
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
        f"{score:.2g}, {LEAST_SCORE_OF_SCALE:g} is needed), which a common factor of "
        "damping and noise leaves unchanged"
    )
    return (
        f"a stationary density does not determine {names} together: {why}. What it "
        f"determines is the level set {level}. Give one of the coefficients in "
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


def stationary_estimate(
    equations: xr.Dataset,
    settings: Mapping,
    solve: Solver,
    arrays: Mapping[str, tuple] | None = None,
    products: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Estimate what the density determines, and report what it does not.

    With damping and noise in detailed balance, a common factor of both changes nothing
    in the density. If neither has a given coefficient, both stay unknown (NaN); the
    model holds their ratio instead, and the level set on which they lie. The same
    holds if the equation determines the factor in principle, but these data do not.

    Parameters
    ----------
    equations
        Contract ``stationary_residual`` or ``generator_moments``.
    settings
        Its `level_set` is None, or holds values of the `volatility` and the
        coefficients of L that are `given` there.
    solve
        The method.
    arrays
        More arrays for the model (see `by_node` of :class:`LagrangianEstimate`).
    products
        ``products(coefficients)``: products of the residuals of each two batches, shape
        (batch, batch), which test whether the data determine the factor.
    """
    given = equations.variables
    known, kind = given["known"].values, given["kind"].values
    balanced = bool(given["detailed_balance"].values)
    thermal = np.isin(kind, ["dissipation", "volatility"])
    scaled = thermal & ~np.isnan(known) & (known != 0)
    arrays = dict(arrays or {})
    solution, reason = solve(known), ""
    std = standard_errors(solution)
    if not scaled.any():
        fixed, reason, more = _without_scale(equations, solve, thermal, products)
        arrays |= more
        if reason:
            unknown = thermal & np.isnan(known)
            values = np.where(unknown, np.nan, fixed.values)
            std = np.where(unknown, np.nan, standard_errors(fixed))
            solution = Solution(values, fixed.covariance, fixed.diagnostics)
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


def _without_scale(
    equations: xr.Dataset, solve: Solver, thermal: np.ndarray, products
) -> tuple[Solution, str, dict[str, tuple]]:
    """Solution for the first squared volatility one, as no coefficient gives a scale.

    Also why the density leaves the scale open (empty if it determines it), and arrays
    for the model.
    """
    given = equations.variables
    known, kind = given["known"].values, given["kind"].values
    balanced = bool(given["detailed_balance"].values)
    first = int(np.flatnonzero((kind == "volatility") & (known != 0))[0])
    fixed = solve(replaced(known, first, 1.0))
    score, arrays = np.inf, {}
    if products is not None and not balanced:
        score = scale_score(products(np.where(thermal, 0.0, fixed.values)))
        arrays["scale_score"] = (
            (),
            score,
            "1",
            "whether the data tell a common factor of damping and noise",
        )
    if not (balanced or score < LEAST_SCORE_OF_SCALE):
        return fixed, "", arrays
    unknown = thermal & np.isnan(known)
    reason = explanation(equations, fixed, unknown, first, balanced, score)
    log.warning("%s", reason)
    return fixed, reason, arrays | ratios(fixed, thermal)


def _lagrangian(equations, solution, std, arrays) -> LagrangianEstimate:
    given = equations.variables
    counts = given["term"].size, given["dissipation_term"].size
    values, errors = (np.zeros(sum(counts)) for _ in range(2))
    kind, position = given["kind"].values, given["position"].values
    for i, name in enumerate(kind):
        if name in ("lagrangian", "dissipation"):
            place = position[i] + (counts[0] if name == "dissipation" else 0)
            values[place], errors[place] = solution.values[i], std[i]
    fixed = given["status"].values == "reference"
    values[: counts[0]][fixed] = given["reference_value"].values[fixed]
    return lagrangian_estimate(
        equations, values, solution.diagnostics, arrays, std=errors
    )


def _volatility(equations, solution, std) -> VolatilityEstimate:
    """Volatility of each coordinate; a root mean square if it is no constant."""
    given = equations.variables
    shape = given["dof"].size, given["volatility_term"].size
    beta, errors = np.zeros(shape), np.zeros(shape)
    mean_square = given["mean_square"].values[0]
    covariance = np.zeros((shape[0], shape[1], shape[1]))
    noisy = np.flatnonzero(given["kind"].values == "volatility")
    dof, position = given["of_dof"].values, given["position"].values
    for i in noisy:
        beta[dof[i], position[i]] = solution.values[i]
        errors[dof[i], position[i]] = std[i]
        for j in noisy:
            if dof[i] == dof[j]:
                covariance[dof[i], position[i], position[j]] = solution.covariance[i, j]
    square = (beta * mean_square).sum(axis=1)
    variance = np.einsum("ai,aij,aj->a", mean_square, covariance, mean_square)
    names = [str(name) for name in given["volatility_term"].values]
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
