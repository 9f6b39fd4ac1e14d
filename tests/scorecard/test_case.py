"""A row is written in one place, and its limit with it."""

import numpy as np
import pytest
from synthetic import config, model

from leastaction_papers.configuration.example import NoiseLimits, Ours, Targets
from leastaction_papers.scorecard.case import (
    Case,
    Row,
    Score,
    count,
    keys,
    make_row,
    rms,
    rows_of,
)
from leastaction_papers.scorecard.panel import Panel


def rows(*table, estimator="recommended", **targets):
    panel = Panel("one", config(targets=targets), {estimator: model()}, {})
    return list(rows_of(Case("paper", estimator, panel), table))


def test_a_row_of_a_table_is_a_row_of_the_scorecard_with_its_limit():
    error = Row("error", lambda case: np.full(4, 0.5), limit="mine")
    (row,) = rows(error, mine=0.4)
    assert (row["quantity"], row["ours_median"], row["replicates"]) == ("error", 0.5, 4)
    assert (row["target"], row["verdict"]) == ("<= 0.4", "misses")
    assert rows(error)[0]["verdict"] == ""
    assert rows(error, estimator="published", mine=0.4)[0]["verdict"] == ""


@pytest.mark.parametrize(
    ("summary", "limit", "ours", "target"),
    [(count, 0.75, 3.0, ">= 3"), (rms, 0.9, np.sqrt(0.75), "rms <= 90 %")],
)
def test_the_kind_of_a_limit_is_that_of_the_summary(summary, limit, ours, target):
    hit = np.array([1.0, 1.0, 0.0, 1.0])
    (row,) = rows(
        Row("hits", lambda case: hit, limit="mine", summary=summary), mine=limit
    )
    assert row["ours_median"] == pytest.approx(ours)
    assert (row["target"], row["verdict"]) == (target, "meets")


def test_a_function_may_document_several_things_or_none():
    def values(case):
        yield Score(np.zeros(2), "x", unit="m")
        yield Score(np.zeros(2), "y", note="seen")

    first, second = rows(Row("of {}", values))
    assert (first["quantity"], first["unit"]) == ("of x", "m")
    assert (second["quantity"], second["note"]) == ("of y", "seen")
    assert rows(Row("nothing", lambda case: None)) == []


def test_the_section_publish_knows_what_the_families_read():
    assert set(keys("LIMITS")) <= set(Targets.model_fields)
    assert set(keys("LIMITS_BY_NOISE")) <= set(NoiseLimits.model_fields)
    assert set(keys("PRINTED")) == set(Ours.model_fields)
    assert all(key.meaning for key in keys("LIMITS").values())


def test_another_processor_changes_neither_what_is_printed_nor_the_verdict():
    """The eleventh digit, of a number at its limit too."""

    def row(value):
        return rows(
            Row("error", lambda case: np.full(4, value), limit="mine"), mine=0.4
        )

    for value in (0.4, 0.123456789):
        assert row(value * (1 + 1e-10)) == row(value) == row(value * (1 - 1e-10))


def test_a_strict_limit_is_judged_to_its_digits():
    """Six digits of 0.26041605 would miss a limit of 1e-7."""
    head = {"paper": "p", "example": "e", "estimator": "recommended"}
    told = {"target": {"relative_error": 1e-7}, "printed": 0.26041605}
    told["corrected"] = 0.26041605
    row = make_row(head, "1", "energy", "J", (0.260416051, np.nan, np.nan), 1, **told)
    assert row["verdict"] == "meets"
    assert row["ours_median"] == 0.260416051
