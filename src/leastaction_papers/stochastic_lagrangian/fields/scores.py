"""Scorecard of fields: single nodes and the time scheme, besides the rows of a law."""

from collections.abc import Iterator

import numpy as np

from leastaction.fields.time_scheme import DISPERSION, right_scheme, true_scheme
from leastaction_papers.scorecard import law_rows
from leastaction_papers.scorecard.case import Case, Row, Score, count, own_rows, rows_of


def rows(case: Case) -> Iterator[dict]:
    """Printed numbers, recovery of the terms, nodes and time scheme, the rollout."""
    yield from law_rows.printed_law_rows(case, own_rows(case), PRINTED)
    yield from law_rows.added_rows(case, lambda case: rows_of(case, OF_FIELDS))


def _functions_over_nodes(case: Case, of: str) -> int:
    return case.panel.truth.functions_over_nodes(case.config["library"][of])


PRINTED = (*law_rows.PRINTED, law_rows.library_size(_functions_over_nodes))


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
LIMITS = (*law_rows.LIMITS, *OF_FIELDS)
