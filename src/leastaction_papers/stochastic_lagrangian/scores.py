"""Scorecard of laws that were found in an ensemble of randomly excited motions."""

from collections.abc import Iterator

import numpy as np

from leastaction_papers.scorecard import law_rows, scores
from leastaction_papers.scorecard.case import Case, Row, own_rows, rms, rows_of


def _over_std(case: Case) -> np.ndarray | None:
    """Of methods that maximise a likelihood, where some replicate is right."""
    if case.truth is None or "parameter_covariance" not in case.model:
        return None
    errors = scores.errors_over_std(case.model, case.truth)
    return np.abs(errors) if errors.size else None


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
