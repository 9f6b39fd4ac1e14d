"""Rows of a law whose terms were candidates: what ensembles and fields have in common.

A count has no percentiles. The low and high of a root mean square are those of the
error of a single replicate.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import numpy as np

from leastaction_papers.scorecard import scores
from leastaction_papers.scorecard.case import (
    COVERAGE,
    Case,
    Key,
    Printed,
    Row,
    Score,
    count,
    coverage,
    printed_rows,
    rms,
    rows_of,
    share,
)
from leastaction_papers.scorecard.scores import term_position, volatility_law


def _error(quantity: str, values: Callable, limit: str) -> Row:
    note = "all replicates, wrong supports included"
    return Row(quantity, values, limit=limit, summary=rms, note=note)


def _together(of: Callable) -> Callable:
    """Error of all numbers of a kind, if there are any."""

    def values(case: Case) -> np.ndarray | None:
        estimates = of(case.model, case.truth)
        return estimates.error if estimates.truth.size else None

    return values


def _each(of: Callable, numbers: Callable) -> Callable:
    """Numbers of everything of a kind that is not zero or unknown in truth."""

    def values(case: Case) -> Iterator[Score]:
        estimates = of(case.model, case.truth)
        columns = numbers(estimates)
        for i in () if columns is None else np.flatnonzero(np.abs(estimates.truth) > 0):
            yield Score(columns[:, i], estimates.names[i])

    return values


def _covered(quantity: str, of: Callable) -> Row:
    """Coverage of each number of a kind, of methods with standard errors."""
    values = _each(of, lambda ours: ours.covered if ours.has_std else None)
    return coverage(f"{COVERAGE}{quantity} {{}}", values)


def _noise_correlation(case: Case) -> Iterator[Score]:
    truth, names = case.truth, case.truth.library.coordinates
    if truth.covariance is None or len(truth.covariance) < 2:
        return
    exact = scores.noise_correlation(truth.covariance)
    estimate = scores.noise_correlation(case.model["noise_covariance"].values)
    for a, b in itertools.combinations(range(len(names)), 2):
        if np.isfinite(exact[a, b]):
            yield Score(
                np.abs(estimate[:, a, b] - exact[a, b]),
                f"{names[a]} and {names[b]}: deviation from {exact[a, b]:g}",
            )


# Of a model whose library can express the truth.
RECOVERY = (
    Row(
        "exact supports",
        lambda case: scores.exact_support(case.model, case.truth),
        limit="exact_support",
        summary=count,
    ),
    _error(
        "relative error of the coefficients, rms",
        _together(scores.coefficients),
        "coefficient_rms",
    ),
    _error(
        "relative error of the damping, rms",
        _together(scores.dissipation),
        "dissipation_rms",
    ),
    _error(
        "relative error of the volatility of {}, rms",
        _each(scores.volatilities, lambda ours: ours.errors),
        "volatility_rms",
    ),
    Row(
        "noise correlation of {}",
        _noise_correlation,
        limit="noise_correlation",
        note="from the covariance S S^T of the identified noise",
    ),
    _covered("coefficient of", scores.coefficients),
    _covered("damping", scores.dissipation),
    _covered("volatility of", scores.volatilities),
)


def _rollout_error(name: str) -> Callable:
    def values(case: Case) -> list[Score]:
        if case.rollout is None:
            return []
        rollout = case.rollout
        lost = int(rollout["diverged"].sum()) if "diverged" in rollout else 0
        note = f"; {lost} trajectories diverged" if lost else ""
        error = scores.rollout_errors(rollout)[name]
        of = "over its rms in the ensemble; " if name.startswith("mean") else ""
        return [Score(error, note=f"{of}common random numbers{note}")]

    return values


FIT_AND_ROLLOUT = (
    coverage(
        "Hansen J test: share of p > 0.05",
        lambda case: (
            case.model["j_p_value"].values > 0.05 if "j_p_value" in case.model else None
        ),
    ),
    Row(
        "relative error of the mean path, training window",
        _rollout_error("mean_error_training"),
        limit="rollout_training",
    ),
    Row(
        "relative error of the mean path, prediction window",
        _rollout_error("mean_error_prediction"),
        limit="rollout_prediction",
    ),
    Row(
        "relative error of the standard deviation of the path",
        _rollout_error("std_error"),
        limit="rollout_std",
    ),
)

CONSTANT = Row(
    "volatility is the constant alone",
    lambda case: scores.constant_volatility(case.model),
    limit="volatility_constant",
    summary=count,
    note="an additive noise is a constant; its integral is the Wiener potential",
)
# Of a volatility that depends on the state: values are given.
STATE_DEPENDENT = Row(
    "exact terms of S^2 of {}", list, limit="volatility_support", summary=count
)
ROOT_ERROR = _error("relative error of the {}, rms", list, "volatility_rms")
ROOT_COVERAGE = coverage(f"{COVERAGE}{{}}", list)

LIMITS = (*RECOVERY, CONSTANT, STATE_DEPENDENT, *FIT_AND_ROLLOUT)


def _volatility_terms(case: Case) -> Iterator[dict]:
    truth = case.truth
    if truth is None or (truth.volatility > 0).all():
        yield from rows_of(case, [CONSTANT])
        return
    if "volatility_root_estimate" not in case.model:
        return
    for a, name in enumerate(truth.library.coordinates):
        law = volatility_law(case.config, a, truth.scale)
        if not np.isnan(truth.volatility[a]) or law is None:
            continue
        hit = scores.exact_volatility_terms(case.model, law, a)
        yield from rows_of(case, [STATE_DEPENDENT], [Score(hit, name)])
        if law.root is None:
            continue
        roots = scores.volatility_roots(case.model, law, a)
        for i, term in enumerate(roots.names):
            what = f"volatility of {name}, coefficient of {term}"
            yield from rows_of(case, [ROOT_ERROR], [Score(roots.errors[:, i], what)])
            if roots.has_std:
                hit = roots.covered[:, i]
                yield from rows_of(case, [ROOT_COVERAGE], [Score(hit, what)])


def added_rows(case: Case, special: Callable | None = None) -> Iterator[dict]:
    """Rows that no paper prints; those of `special(case)`, of a family, among them."""
    if case.truth is not None:
        yield from rows_of(case, RECOVERY)
    if special is not None:
        yield from special(case)
    yield from _volatility_terms(case)
    yield from rows_of(case, FIT_AND_ROLLOUT)


def printed_law_rows(
    case: Case, entries: list[Mapping], kinds: tuple[Key, ...]
) -> Iterator[dict]:
    """Printed numbers; draws with the right terms alone, where that is known."""
    right = None
    if case.truth is not None and "noise_level" not in case.model.dims:
        right = scores.exact_support(case.model, case.truth)
    yield from printed_rows(case, entries, kinds, right)


def _coefficient(case: Case, ours: Mapping):
    i = term_position(ours["coefficient"], case.panel.library)
    factor = float(ours.get("factor", 1))
    values = case.model["coefficient_estimate"].transpose("replicate", "term").values
    truth = case.truth
    exact = None if truth is None else factor * float(truth.coefficients[i])
    return factor * values[:, i], exact


def _volatility(case: Case, ours: Mapping):
    a = _dof(case, ours["volatility"])
    exact = np.nan if case.truth is None else float(case.truth.volatility[a])
    factor = float(ours.get("factor", 1))
    values = case.model["volatility_estimate"].transpose("replicate", "dof").values
    return factor * values[:, a], None if np.isnan(exact) else factor * exact


def _parameter_error(case: Case, ours: Mapping) -> np.ndarray:
    one = ours["parameter_error"]
    dof = None if one is True else _dof(case, one)
    factor = float(ours.get("factor", 1))
    return scores.parameter_error(case.model, case.panel.law, dof, factor)


def _relative_error(case: Case, ours: Mapping) -> np.ndarray:
    if ours["relative_error"] == "coefficient":
        return 100 * scores.coefficients(case.model, case.panel.law).error
    return 100 * scores.volatilities(case.model, case.panel.law).errors.max(axis=1)


def library_size(size: Callable[[Case, str], int]) -> Printed:
    """Number of candidates, counted by `size(case, of)`; of implicit equations none."""

    def values(case: Case, ours: Mapping) -> np.ndarray | None:
        if "term" not in case.model.dims:
            return None
        number = float(size(case, ours["library_size"]))
        return np.full(case.model.sizes["replicate"], number)

    meaning = "Number of candidates: lagrangian or volatility."
    kinds = Literal["lagrangian", "volatility"]
    return Printed("library_size", meaning, kinds, values=values, fact=True)


def candidates(case: Case, of: str) -> int:
    """Number of candidates of ``lagrangian`` or ``volatility``."""
    return case.model.sizes[{"lagrangian": "term", "volatility": "volatility_term"}[of]]


def _dof(case: Case, coordinate: str) -> int:
    names = case.panel.library.coordinates
    if coordinate not in names:
        raise ValueError(
            f"volatility {coordinate!r} is not a coordinate; these are {list(names)}"
        )
    return names.index(coordinate)


PRINTED = (
    Printed(
        "exact_support",
        "Share of the replicates with exactly the right terms.",
        Literal[True],
        values=lambda case, ours: scores.exact_support(case.model, case.panel.law),
        summary=share,
        fact=True,
    ),
    Printed("coefficient", "A term of L.", str, values=_coefficient),
    Printed("volatility", "A coordinate.", str, values=_volatility),
    Printed(
        "parameter_error",
        "All equations of motion, or that of one coordinate.",
        bool | str,
        values=_parameter_error,
    ),
    Printed(
        "relative_error",
        "In per cent, of all true coefficients, or the largest of a volatility.",
        Literal["coefficient", "volatility"],
        values=_relative_error,
    ),
    Key("factor", "Multiplies it.", default=1),
)
