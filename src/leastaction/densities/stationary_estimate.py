"""From coefficients of a stationary equation to a model, or to what is known of it."""

import logging
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.gram_estimate import lagrangian_estimate
from leastaction.densities.detailed_balance import (
    TOLD,
    explanation,
    level_set,
    ratios,
    scale_score,
)
from leastaction.densities.stationary_solution import (
    Solution,
    Solver,
    replaced,
    standard_errors,
)

log = logging.getLogger(__name__)


def stationary_estimate(
    equations: xr.Dataset,
    settings: Mapping,
    solve: Solver,
    arrays: Mapping[str, tuple] | None = None,
    products: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Estimate what the density determines, and say what it does not.

    With damping and noise in detailed balance, a common factor of both changes nothing
    in the density. If neither has a given coefficient, they stay unknown (NaN); their
    ratio is told instead, and the level set on which they lie. The same holds if the
    equation could tell the factor, but these data cannot.

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
    products
        ``products(coefficients)``: products of the residuals of each two batches, shape
        (batch, batch). None leaves the data unasked.
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
        first = int(np.flatnonzero(thermal & (kind == "volatility") & (known != 0))[0])
        fixed = solve(replaced(known, first, 1.0))
        score = np.inf
        if products is not None and not balanced:
            score = scale_score(products(np.where(thermal, 0.0, fixed.values)))
            arrays["scale_score"] = (
                (),
                score,
                "1",
                "whether the data tell a common factor of damping and noise",
            )
        if balanced or score < TOLD:
            unknown = thermal & np.isnan(known)
            reason = explanation(equations, fixed, unknown, first, balanced, score)
            log.warning("%s", reason)
            arrays |= ratios(fixed, thermal)
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
