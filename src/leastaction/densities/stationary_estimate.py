"""From coefficients of a stationary equation to a model, or to what is known of it.

In detailed balance p = exp(−κ H), and damping and noise are known up to a common factor
only. For the structure of a model this follows by algebra
(:attr:`~leastaction.densities.fokker_planck.StationaryEquation.detailed_balance`); data
may look like it where the structure does not.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import xarray as xr

from leastaction.core.estimate import (
    NORMAL_QUANTILE,
    LagrangianEstimate,
    VolatilityEstimate,
    lagrangian_estimate,
    positions,
)
from leastaction.core.gmm import INDISTINGUISHABLE_CRITERIA
from leastaction.core.model import interval
from leastaction.core.sparse_regression import (
    PRICE_OF_GAIN,
    local_minimum,
    neighbours,
    term_price,
)

# Score, in standard errors, above which the data determine the common factor.
LEAST_SCORE_OF_SCALE = 3.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Solution:
    """Coefficients of all terms, or of all terms in many cases."""

    # θ, given ones included, shape (..., term).
    values: np.ndarray
    # Shape (..., term, term); zero for given ones, NaN where the method gives none.
    covariance: np.ndarray
    # Name to (value, unit, meaning).
    diagnostics: Mapping[str, tuple]
    # Name to (dimensions, values, unit, meaning).
    arrays: Mapping[str, tuple] = field(default_factory=dict)
    settled: bool = True

    @property
    def std(self) -> np.ndarray:
        """Standard errors, zero for given coefficients."""
        variance = np.diagonal(self.covariance, axis1=-2, axis2=-1)
        return np.sqrt(np.clip(variance, 0.0, None))


# Coefficients for given ones: ``solve(known)``, NaN where one is to be estimated. Cases
# that differ in their given values alone may be stacked, shape (..., term).
Solver = Callable[[np.ndarray], Solution]


def unknown(known: np.ndarray) -> np.ndarray:
    """Which coefficients are to be estimated in every case, shape (term,)."""
    return np.isnan(known.reshape(-1, known.shape[-1])[0])


def _nonnegative(solve: Solver, noisy: np.ndarray, known: np.ndarray) -> Solution:
    """Solution whose squared volatilities are not negative, by an active set.

    Stacked cases must have all of these given: their active sets would differ.
    """
    held = known.copy()
    while True:
        solution = solve(held)
        negative = np.isnan(held) & noisy & (solution.values < 0)
        if not negative.any():
            return solution
        held[np.argmin(np.where(negative, solution.values, 0.0))] = 0.0


def _replaced(known: np.ndarray, place: int, value: float) -> np.ndarray:
    """`known` with one coefficient given, or with NaN no longer."""
    changed = known.copy()
    changed[place] = value
    return changed


def stationary_estimate(
    equations: xr.Dataset,
    settings: Mapping,
    solve: Solver,
    arrays: Mapping[str, tuple] | None = None,
    products: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Estimate what the density determines, and report what it does not.

    Squared volatilities are not negative, and candidates that the density does not need
    are left out where the settings `select`. `arrays` are more of them for the model.
    ``products(coefficients)`` are those of the residuals of each two batches, shape
    (batch, batch), which test the data.
    """
    variables = equations.variables
    known, kind = variables["known"].values, variables["kind"].values

    def solver(known: np.ndarray) -> Solution:
        return _nonnegative(solve, kind == "volatility", known)

    thermal = np.isin(kind, ["dissipation", "volatility"])
    arrays, reason = dict(arrays or {}), ""
    solution = solver(known)
    values, std = solution.values, solution.std
    scaled = bool((thermal & ~np.isnan(known) & (known != 0)).any())
    least = 0.0 if scaled else LEAST_SCORE_OF_SCALE
    select = settings.get("select")
    if select and not scaled and not variables["detailed_balance"].values:
        # The common factor is an unknown as others are.
        least = max(least, np.sqrt(price_of(equations, solution)))
    if not scaled:
        fixed, reason, more = _without_scale(
            equations, solver, thermal, products, least
        )
        arrays |= more
        if reason:
            lost = thermal & np.isnan(known)
            solution = fixed
            values = np.where(lost, np.nan, fixed.values)
            std = np.where(lost, np.nan, fixed.std)
    choice = Choice(known)
    if select and not reason:
        choice = chosen(equations, solver, solution, least)
        known, solution = choice.known, solver(choice.known)
        values, std = solution.values, solution.std
        meaning = "candidates that the density does not need, with what each gains"
        arrays["left_out"] = ((), np.array(choice.left_out, dtype=object), "1", meaning)
    if not solution.settled:
        log.warning("the estimate did not settle")
    if settings["level_set"] and variables["detailed_balance"].values:
        arrays |= _level_set(equations, settings["level_set"], solver, known)
    meaning = "what the density does not determine, and why; empty if nothing"
    arrays["identifiability"] = ((), np.array(reason, dtype=object), "1", meaning)
    arrays |= solution.arrays
    lagrangian = _lagrangian(equations, values, std, solution.diagnostics, arrays)
    lagrangian = replace(lagrangian, alternatives=choice.alternatives)
    return lagrangian, _volatility(equations, values, std, solution.covariance)


def price_of(equations: xr.Dataset, full: Solution) -> float:
    """Rise of J that a term has to be worth: log T/τ + 2 log m of m candidates.

    Energy is renewed in τ = 2 E q̇² / E S², the time in which the random force feeds in
    the kinetic energy of the slowest coordinate: 1/c of a linear oscillator. E S² is
    that of the `full` solution, with all candidates.
    """
    variables = equations.variables
    power = _squares(equations, full.values)
    time = float((2 * variables["velocity_square"].values[0] / power).max())
    count = np.count_nonzero(unknown(variables["known"].values))
    return term_price(float(variables["duration"].values[0]) / time, count)


@dataclass(frozen=True)
class Choice:
    """Coefficients that are `known` once terms are chosen: zero of those left out.

    Names of these with what J + price would change by, and other sets that fit as well.
    """

    known: np.ndarray
    left_out: str = ""
    alternatives: str = ""


def chosen(
    equations: xr.Dataset, solve: Solver, full: Solution, least_score: float
) -> Choice:
    """The candidates S with the least J(S) + |S| (log T/τ + 2 log m), from all m on.

    In rounds of the best single removal or addition, then of the best exchange of one
    for one or two. T/τ counts independent samples (:func:`price_of`); a loss that feeds
    energy in has the price of two terms more.
    """
    variables = equations.variables
    known = variables["known"].values
    free = np.flatnonzero(unknown(known))
    noisy, lost = (variables["kind"].values == k for k in ("volatility", "dissipation"))
    count, price = len(free), price_of(equations, full)

    def reduced(subset: Sequence[int]) -> np.ndarray:
        held = known.copy()
        held[np.delete(free, subset)] = 0.0
        return held

    @cache
    def solved(subset: tuple[int, ...]) -> tuple[float, float]:
        """J and the criterion; infinite without any noise, which moments need.

        And where no damping or noise is known to so many standard errors as the common
        factor has to be: a law in detailed balance is for data that are.
        """
        solution = solve(reduced(subset))
        thermal = solution.values[noisy | lost], solution.std[noisy | lost]
        if not (thermal[0] != 0)[noisy[noisy | lost]].any():
            return np.inf, np.inf
        if not np.any(np.abs(thermal[0]) > least_score * thermal[1]):
            return np.inf, np.inf
        j = float(solution.diagnostics["j_statistic"][0])
        gains = np.count_nonzero(lost & (solution.values < 0))
        return j, j + price * (len(subset) + PRICE_OF_GAIN * gains)

    def score(subsets: Sequence[Sequence[int]]) -> list[float]:
        return [solved(tuple(subset))[1] for subset in subsets]

    def fewer_or_more(subset: Sequence[int]) -> list[list[int]]:
        return neighbours(subset, count, 1, 0) + neighbours(subset, count, 0, 1)

    def exchanged(subset: Sequence[int]) -> list[list[int]]:
        return neighbours(subset, count, 1, 1) + neighbours(subset, count, 2, 1)

    best = local_minimum(score, range(count), (fewer_or_more, exchanged))
    names = [str(name) for name in variables["equation_term"].values[free]]
    others = [i for i in range(count) if i not in best]
    least, close = solved(tuple(best))[0], neighbours(best, count, 1, 1)
    gains = [least - solved(tuple(sorted([*best, i])))[0] for i in others]
    lines = [
        f"{names[i]} ({max(x, 0.0):.1f})" for i, x in zip(others, gains, strict=True)
    ]
    lines += [f"the threshold is {price:.1f}"] * bool(others)
    margin = least + INDISTINGUISHABLE_CRITERIA
    close = [s for s in close if solved(tuple(s))[0] < margin]
    rivals = "; ".join(" + ".join(names[i] for i in s) for s in close)
    return Choice(reduced(best), ", ".join(lines), rivals)


def _without_scale(
    equations: xr.Dataset, solve: Solver, thermal: np.ndarray, products, least: float
) -> tuple[Solution, str, dict[str, tuple]]:
    """Solution for the first squared volatility one, as no coefficient gives a scale.

    Also why the density leaves the scale open (empty if it determines it), and arrays
    for the model.
    """
    variables = equations.variables
    known, kind = variables["known"].values, variables["kind"].values
    balanced = bool(variables["detailed_balance"].values)
    first = int(np.flatnonzero((kind == "volatility") & (known != 0))[0])
    fixed = solve(_replaced(known, first, 1.0))
    score, arrays = np.inf, {}
    if products is not None and not balanced:
        score = _scale_score(products(np.where(thermal, 0.0, fixed.values)))
        meaning = "whether the data tell a common factor of damping and noise"
        arrays["scale_score"] = ((), score, "1", meaning)
    if not (balanced or score < least):
        return fixed, "", arrays
    labels = [str(name) for name in variables["equation_term"].values]
    lost = np.flatnonzero(thermal & np.isnan(known))
    reason = _explanation(labels, fixed, lost, first, balanced, (score, least))
    log.warning("%s", reason)
    ratio, std = (np.where(thermal, x, np.nan) for x in (fixed.values, fixed.std))
    meaning = "coefficient over that of the first squared volatility"
    arrays["ratio_estimate"] = (("equation_term",), ratio, "mixed", meaning)
    arrays["ratio_std"] = (("equation_term",), std, "mixed", "its standard error")
    names = np.array(labels, dtype=object)
    arrays["ratio_name"] = (("equation_term",), names, "1", "what it is of")
    return fixed, reason, arrays


def _scale_score(products: np.ndarray) -> float:
    """Score of a common factor of damping and noise, about standard normal without any.

    In detailed balance the conservative part of the equation alone leaves no residual,
    and `products` of those of each two independent batches have mean zero.
    """
    pairs = products[np.triu_indices(len(products), 1)]
    return float(pairs.sum() / np.sqrt((pairs**2).sum()))


def _explanation(labels, solution, lost, first: int, balanced: bool, scores) -> str:
    """Which coefficients are `lost`, why, and what is known of them.

    The `solution` has the squared volatility `first` set to one. Detailed balance
    follows from the structure, or is a finding in the data, of a score and the one
    that is needed, `scores`.
    """
    errors = solution.std
    level = ", ".join(
        f"{labels[i]} / {labels[first]} = "
        f"{interval(solution.values[i], NORMAL_QUANTILE * errors[i])}"
        for i in lost
        if i != first
    )
    names = ", ".join(labels[i] for i in lost)
    why = (
        "damping and noise are in detailed balance, the density is exp(-kappa H), and "
        "a common factor of both leaves it unchanged"
        if balanced
        else "within its noise, this one looks like one in detailed balance (score "
        f"{scores[0]:.2g}, {scores[1]:.2g} is needed), which a common factor of "
        "damping and noise leaves unchanged"
    )
    return (
        f"a stationary density does not determine {names} together: {why}. What it "
        f"determines is the level set {level}. Give one of the coefficients in "
        "library.known"
    )


def _level_set(
    equations: xr.Dataset, settings: Mapping, solve: Solver, known: np.ndarray
) -> dict[str, tuple]:
    """Damping as a function of the volatility, for given coefficients of L.

    Yoshida and Yamanaka (2020), section 4.1.2.
    """
    variables = equations.variables
    kind = variables["kind"].values
    noise = np.flatnonzero((kind == "volatility") & (known != 0))
    damping = np.flatnonzero((kind == "dissipation") & (known != 0))
    if len(noise) != 1 or len(damping) != 1:
        raise ValueError(
            f"level_set: it is a curve for one term of the damping and one of the "
            f"squared volatility, not for {len(damping)} and {len(noise)}; leave it out"
        )
    terms = [str(term) for term in variables["term"].values]
    coordinates = [str(name) for name in variables["dof"].values]
    for text, value in settings["coefficients"].items():
        (place,) = positions([text], terms, coordinates)
        of_text = (kind == "lagrangian") & (variables["position"].values == place)
        known = _replaced(known, np.flatnonzero(of_text)[0], value)
    volatility = np.array(settings["volatility"])
    at = np.tile(_replaced(known, damping[0], np.nan), (volatility.size, 1))
    at[:, noise[0]] = volatility**2
    solution = solve(at)
    values, std = solution.values[:, damping[0]], solution.std[:, damping[0]]
    level, same = ("level",), "coefficient of the damping with the same density"
    return {
        "level_volatility": (level, volatility, "mixed", "given volatility"),
        "level_dissipation_estimate": (level, values, "mixed", same),
        "level_dissipation_std": (level, std, "mixed", "its standard error"),
    }


def _lagrangian(
    equations, coefficients, std, diagnostics, arrays
) -> LagrangianEstimate:
    variables = equations.variables
    count = variables["term"].size
    kind, position = variables["kind"].values, variables["position"].values
    values, errors = np.zeros((2, count + variables["dissipation_term"].size))
    for name, start in (("lagrangian", 0), ("dissipation", count)):
        of_kind = kind == name
        values[start + position[of_kind]] = coefficients[of_kind]
        errors[start + position[of_kind]] = std[of_kind]
    fixed = variables["status"].values == "reference"
    values[:count][fixed] = variables["reference_value"].values[fixed]
    return lagrangian_estimate(equations, values, diagnostics, arrays, std=errors)


def _squares(equations: xr.Dataset, coefficients: np.ndarray) -> np.ndarray:
    """Mean squared volatility of each coordinate."""
    mean_square = equations.variables["mean_square"].values[0]
    return (
        coefficients[-mean_square.size :].reshape(mean_square.shape) * mean_square
    ).sum(1)


def _volatility(equations, coefficients, std, covariance) -> VolatilityEstimate:
    """Volatility of each coordinate; a root mean square if it is no constant."""
    variables = equations.variables
    names = [str(name) for name in variables["volatility_term"].values]
    # The terms of the volatility end the list, coordinate by coordinate.
    shape = variables["dof"].size, len(names)
    noisy = slice(len(coefficients) - shape[0] * shape[1], None)
    beta, errors = coefficients[noisy].reshape(shape), std[noisy].reshape(shape)
    blocks = covariance[noisy, noisy].reshape(*shape, *shape)
    mean_square = variables["mean_square"].values[0]
    square = _squares(equations, coefficients)
    variance = np.einsum("ai,aiaj,aj->a", mean_square, blocks, mean_square)
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
