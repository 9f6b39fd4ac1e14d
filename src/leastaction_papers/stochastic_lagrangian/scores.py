"""Scorecard of laws that were found in an ensemble of randomly excited motions."""

from collections.abc import Iterator

import numpy as np

from leastaction_papers.scorecard import law_rows, scores
from leastaction_papers.scorecard.case import Case, Found, Row, own_rows, rms, rows_of


def _over_std(case: Case) -> np.ndarray | None:
    """Of methods that maximise a likelihood, where some replicate is right."""
    if case.truth is None or "parameter_covariance" not in case.model:
        return None
    found = scores.errors_over_std(case.model, case.truth)
    return np.abs(found) if found.size else None


ERROR_OVER_STD = Row(
    "error of coefficients and damping over their standard errors, rms",
    _over_std,
    limit="error_over_std",
    summary=rms,
    note="replicates with the right terms; the standard errors of a maximum of the "
    "likelihood are the Cramér–Rao bound",
)
LIMITS = (*law_rows.LIMITS, ERROR_OVER_STD)
PRINTED = (*law_rows.PRINTED, law_rows.library_size(law_rows.candidates))


def rows(case: Case) -> Iterator[dict]:
    """Printed numbers, recovery of the terms, errors, coverage, and the rollout."""
    yield from law_rows.printed_law_rows(case, own_rows(case), PRINTED)
    yield from law_rows.added_rows(case)
    yield from rows_of(case, [ERROR_OVER_STD])
    if case.truth is not None and "volatility_of_lagrangian" in case.model:
        for a, sigma in enumerate(case.truth.volatility):
            if sigma > 0:
                yield from rows_of(case, PUBLISHED_VOLATILITY, (case, a))


def _of_lagrangian(subject: tuple[Case, int]) -> Iterator[Found]:
    """How the printed volatilities came about."""
    case, a = subject
    name = case.truth.library.coordinates[a]
    exact = scores.exact_support(case.model, case.truth)
    if not exact.any():
        return
    values = case.model["volatility_of_lagrangian"].values[exact, a]
    about = (r for r in case.panel.printed if r["ours"].get("volatility") == name)
    entry = next(about, {})
    printed = float(entry.get("printed", np.nan))
    distance = abs(np.median(values) / printed - 1)
    yield Found(
        values,
        name,
        unit=entry.get("unit", "(units of qddot) s^0.5"),
        corrected=case.truth.volatility[a],
        note="half the root of dt E[L^2] regressed on q^2; it hardly depends on "
        "sigma. Replicates with the exact support"
        + ("" if np.isnan(printed) else f"; {distance:.1%} off the printed"),
    )


def _written_formula(subject: tuple[Case, int]) -> list[Found]:
    case, a = subject
    ratio = case.model["volatility_estimate"].values[:, a] / case.truth.volatility[a]
    return [Found(ratio, case.truth.library.coordinates[a])]


PUBLISHED_VOLATILITY = (
    Row("volatility of {} from the value of L", _of_lagrangian),
    Row(
        "volatility of {} over the truth, equation (20)",
        _written_formula,
        note="low by sqrt(1/2) = 0.7071: one central difference averages two "
        "independent increments, so that dt E[R^2] tends to sigma^2/2",
        about={"corrected": 1.0},
    ),
)
