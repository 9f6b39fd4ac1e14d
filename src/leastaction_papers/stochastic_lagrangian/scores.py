"""Scorecard of laws that were identified in ensembles of motions, or of fields.

Of fields there are single nodes and the time scheme, besides the rows of a law.
"""

from collections.abc import Iterator

import numpy as np

from leastaction.fields.time_scheme import DISPERSION, right_scheme, true_scheme
from leastaction_papers.scorecard import law_rows, scores
from leastaction_papers.scorecard.case import (
    Case,
    Row,
    Score,
    count,
    own_rows,
    rms,
    rows_of,
)


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


def _scheme(case: Case) -> Iterator[Score]:
    if "scheme" in case.model:
        yield Score(right_scheme(case.model, case.config), true_scheme(case.config))


def _dispersion(case: Case) -> Iterator[Score]:
    """|ρ̂ − ρ| of the replicates whose modes show a dispersion."""
    if "scheme" not in case.model:
        return
    exact = DISPERSION[true_scheme(case.config)]
    used = case.model["dispersion_used"].values.astype(bool)
    if used.any():
        error = np.abs(case.model["dispersion"].values - exact)[used]
        yield Score(error, f"{exact:.4g}")


OF_FIELDS = (
    Row(
        "time scheme of the data is named: {}",
        _scheme,
        limit="time_scheme",
        summary=count,
        note="from the dispersion of fast modes, or else from the autocorrelation of "
        "the residual",
    ),
    Row(
        "dispersion of the data: deviation from {}",
        _dispersion,
        limit="dispersion",
        note="replicates whose modes are fast enough to show it",
    ),
)
LIMITS = (*law_rows.LIMITS, ERROR_OVER_STD, *OF_FIELDS)


def _size(case: Case, of: str) -> int:
    """Candidates of a law; of a field, functions over its nodes."""
    if case.panel.is_field:
        return case.panel.truth.functions_over_nodes(case.config["library"][of])
    return law_rows.candidates(case, of)


PRINTED = (*law_rows.PRINTED, law_rows.library_size(_size))


def rows(case: Case) -> Iterator[dict]:
    """Printed numbers, recovery of the terms, errors, coverage, and the rollout."""
    yield from law_rows.printed_law_rows(case, own_rows(case), PRINTED)
    if case.panel.is_field:
        yield from law_rows.added_rows(case, lambda case: rows_of(case, OF_FIELDS))
        return
    yield from law_rows.added_rows(case)
    yield from rows_of(case, [ERROR_OVER_STD])
