import re

import numpy as np
import pandas as pd
import pytest
from synthetic import SIGMA, STIFFNESS, config, model, rollout

from leastaction_papers.scorecard import verdict
from leastaction_papers.scorecard.pages import scorecard_page
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.scorecard import (
    COLUMNS,
    EXTRA,
    FACTS,
    OURS,
    example_rows,
    from_csv,
    pooled_rows,
    scorecard,
    to_csv,
    verdict_counts,
    worth_reading,
)

STIFFNESS_ROW = {
    "item": "Table 2",
    "quantity": "stiffness",
    "unit": "1/s^2",
    "printed": 9.01,
    "corrected": 9.0,
    "ours": {"coefficient": "x**2", "factor": -2},
    "target": {"relative_error": 0.01},
    "note": "a <b>note</b> & more | text",
}
TARGETS = {
    "exact_support": 1.0,
    "coefficient_rms": 0.01,
    "volatility_rms": 0.01,
    "volatility_constant": 1.0,
}


def rows(example=None, found=None, **more):
    example = example or config(rows=[STIFFNESS_ROW | more], targets=TARGETS)
    found = model() if found is None else found
    return example_rows("paper", Panel("one", example, {"recommended": found}, {}))


def only(frame, text):
    found = frame[frame["quantity"].str.contains(text, regex=False)]
    assert len(found) == 1, found
    return found.iloc[0]


def test_a_perfect_model_meets_every_target():
    frame = rows()
    assert tuple(frame.columns) == COLUMNS
    assert only(frame, "stiffness")["ours_median"] == 9.0
    assert set(frame["verdict"]) == {"meets"}


def test_a_reading_has_the_printed_numbers_and_its_setting():
    given = config(rows=[STIFFNESS_ROW | {"authors": 9.02}], targets=TARGETS)
    setting = {"name": "λ", "value": 450, "unit": "N/m", "of": "published"}
    given["settings"] = {"published": None, "published_threshold_450": setting}
    other = model([[1.01 * STIFFNESS, 0.5, 0, 0]] * 5)
    models = {"published": model(), "published_threshold_450": other}
    frame = example_rows("paper", Panel("one", given, models, {}))
    assert (frame[frame["printed"].notna()]["authors"] == 9.02).all()
    read = frame[frame["estimator"] == "published_threshold_450"]
    assert read["printed"].notna().all()
    assert only(read, "stiffness")[["setting", "setting_value"]].tolist() == [
        "λ (N/m)",
        450,
    ]
    assert only(read, "stiffness")["ours_median"] == pytest.approx(1.01 * 9)
    rest = frame[frame["estimator"] == "published"]
    assert set(rest["setting"]) == {""}
    assert rest["setting_value"].isna().all()


def test_a_wrong_term_lowers_the_count():
    found = model([[STIFFNESS, 0.5, 0, 0]] * 4 + [[STIFFNESS, 0.5, 0.1, 0]])
    row = only(rows(found=found), "exact supports")
    assert (row["ours_median"], row["unit"], row["verdict"]) == (4.0, "of 5", "misses")


@pytest.mark.parametrize(
    ("printed", "factor", "wanted"),
    [
        (9.01, 1.0, "meets"),
        (9.05, 1.009, "meets"),
        (9.2, 1.0, "inaccurate"),
        (-9.0, 1.0, "inaccurate"),
        (9.2, 1.02, "misses"),
        (9.01, 1.02, "misses"),
    ],
)
def test_inaccurate_only_where_ours_meets(printed, factor, wanted):
    found = model([[factor * STIFFNESS, 0.5, 0, 0]] * 5)
    assert only(rows(found=found, printed=printed), "stiffness")["verdict"] == wanted


def test_one_bad_replicate_of_ten_moves_a_percentile_beyond_the_limit():
    found = model([[STIFFNESS, 0.5, 0, 0]] * 9 + [[1.2 * STIFFNESS, 0.5, 0, 0]])
    row = only(rows(found=found), "stiffness")
    assert row["ours_median"] == 9.0
    assert row["verdict"] == "misses"


def test_a_missing_estimate_misses():
    found = model([[np.nan, 0.5, 0, 0]] * 5)
    row = only(rows(found=found), "stiffness")
    assert row["verdict"] == "misses"
    assert np.isinf(row["ours_median"])


def test_rms_and_constant_volatility_are_judged():
    found = model(sigma=[SIGMA * 1.02] * 5, constant=False)
    frame = rows(found=found)
    assert only(frame, "volatility of x, rms")["ours_median"] == pytest.approx(0.02)
    assert only(frame, "volatility of x, rms")["verdict"] == "misses"
    assert only(frame, "constant alone")["verdict"] == "misses"
    assert only(frame, "coefficients, rms")["verdict"] == "meets"


def test_errors_are_judged_by_the_standard_errors_of_a_likelihood():
    found = model([[STIFFNESS + e, 0.5, 0, 0] for e in (0.02, -0.02, 0.02, -0.02, 0.9)])
    found["support"][4, 2] = 1
    example = config(targets=TARGETS | {"error_over_std": 1.3})
    quantity = "over their standard errors"
    assert not rows(example, found)["quantity"].str.contains(quantity).any()
    found["parameter_covariance"] = ("replicate", "p", "q"), np.ones((5, 1, 1))
    row = only(rows(example, found), quantity)
    # Of the four replicates with the right terms, two standard errors each.
    assert (row["ours_median"], row["verdict"]) == (2.0, "misses")
    assert only(rows(config(targets=TARGETS), found), quantity)["verdict"] == ""


def test_target_kinds():
    assert (
        verdict.target_text({"relative_error": 6e-4}, "m") == "<= 0.06 % of corrected"
    )
    assert verdict.target_text({"relative_error": 0.0}, "1") == "= corrected"
    assert verdict.target_text({"maximum": 0.2}, "%") == "<= 0.2 %"
    assert verdict.target_text(None, "m") == ""
    assert verdict.keeps({"maximum": 0.2}, np.nan, (0.1, 0.0, 0.19))
    assert not verdict.keeps({"maximum": 0.2}, np.nan, (0.1, 0.0, 0.21))
    assert not verdict.keeps({"minimum": 5}, np.nan, (4, np.nan, np.nan))
    assert verdict.keeps({"relative_error": 0.0}, 15, (15, 15, 15))
    assert not verdict.keeps({"relative_error": 0.0}, 15, (14, 15, 15))
    with pytest.raises(ValueError, match="must be one of"):
        verdict.target_text({"__class__": 1}, "m")


def test_half_a_printed_digit():
    assert verdict.half_digit(1.03) == pytest.approx(0.005)
    assert verdict.half_digit(15) == 0.5
    assert not verdict.printed_in_error(1.03, 1.026, {"relative_error": 0.0})
    assert verdict.printed_in_error(1.03, 1.024, {"relative_error": 0.0})
    assert not verdict.printed_in_error(0.0891, 0.0891, {"maximum": 0.4})
    assert verdict.printed_in_error(0.0116, 0.0124, {"maximum": 0.4})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ours": {"coefficient": "x**7"}}, "not a candidate"),
        ({"ours": {"volatility": "y"}}, "not a coordinate"),
        ({"ours": {"library_size": "other"}}, "other"),
        ({"ours": {"magic": 1}}, "must be one of"),
    ],
)
def test_a_row_that_contradicts_the_example_is_refused(change, message):
    with pytest.raises((ValueError, KeyError), match=message):
        rows(**change)


def test_a_printed_number_of_another_system_is_left_out_with_a_note(caplog):
    frame = rows(corrected=9.1)
    assert (frame["item"] == "added").all()
    assert "this system has 9 and not 9.1" in caplog.text


def test_an_example_without_printed_numbers_or_targets():
    frame = rows(example=config())
    assert (frame["item"] == "added").all()
    unjudged = frame[frame["target"] == ""]
    assert len(unjudged) >= 4
    assert set(unjudged["verdict"]) == {""}


def test_an_example_outside_its_library_reports_what_it_can():
    example = config()
    example["system"]["lagrangian"] += " - x**6"
    found = model().assign(j_p_value=("replicate", [0.5, 0.5, 0.01, 0.5, 0.5]))
    frame = rows(example=example, found=found)
    assert only(frame, "Hansen J")["ours_median"] == 0.8
    assert not frame["quantity"].str.contains("exact supports").any()


def test_rollouts_count_the_replicates():
    frame = example_rows(
        "paper", Panel("one", config(), {"a": model()}, {"a": rollout(0.02, n=7)})
    )
    row = only(frame, "mean path, prediction")
    assert (row["ours_median"], row["replicates"]) == (0.02, 7)


def test_coverage_is_pooled_over_examples():
    good = model([[STIFFNESS, 0.5, 0, 0]] * 60)
    bad = model([[STIFFNESS + 1, 0.5, 0, 0]] * 40)
    frames = [
        example_rows("paper", Panel(name, config(), {"a": found}, {}))
        for name, found in (("one", good), ("two", bad))
    ]
    row = only(pooled_rows(frames), "coverage")
    assert (row["example"], row["replicates"]) == ("all", 200)
    assert row["ours_median"] == pytest.approx(0.8)
    assert row["verdict"] == "misses"
    assert len(pooled_rows([])) == 0


def test_printed_numbers_ours_and_facts_are_counted_apart():
    entries = [
        STIFFNESS_ROW,
        STIFFNESS_ROW | {"quantity": "other", "printed": 9.5, "erratum": [3]},
        STIFFNESS_ROW | {"quantity": "seen", "item": "notebook"},
        {
            "item": "Figure 1",
            "quantity": "candidates",
            "unit": "1",
            "printed": 4,
            "ours": {"library_size": "lagrangian"},
        },
    ]
    frame = scorecard([rows(config(rows=entries, targets=TARGETS))])
    fact = only(frame, "candidates")
    assert (fact["ours_median"], fact["target"], fact["verdict"]) == (4, "fact", "")
    counts = verdict_counts(frame)
    assert list(counts.index.names) == ["paper", "kind"]
    printed, own, facts = (counts.loc["paper", kind] for kind in (OURS, EXTRA, FACTS))
    assert (printed["meets"], printed["paper-errs"], printed.sum()) == (1, 1, 2)
    assert (own["misses"], facts["no target"]) == (0, 1)
    assert own["meets"] >= 5 and counts.to_numpy().sum() == len(frame)
    assert verdict_counts(frame, by=()).loc[OURS, "meets"] == 1


def test_rows_that_nobody_judges_are_left_to_the_figures():
    frame = rows(config(rows=[STIFFNESS_ROW]))
    kept = worth_reading(frame)
    assert len(kept) < len(frame)
    assert (kept["printed"].notna() | (kept["target"] != "")).all()


def test_order_does_not_depend_on_the_input():
    frames = [
        example_rows("paper", Panel(name, config(), {"b": model(), "a": model()}, {}))
        for name in ("two", "one")
    ]
    forward, backward = scorecard(frames), scorecard(frames[::-1])
    assert to_csv(forward) == to_csv(backward)
    assert scorecard_page(forward) == scorecard_page(backward)
    assert forward["example"].is_monotonic_increasing


def test_csv_round_trips():
    frame = scorecard([rows(), rows(example=config())])
    frame.loc[0, "ours_high"] = 1 / 3
    frame.loc[1, "ours_high"] = np.inf
    pd.testing.assert_frame_equal(from_csv(to_csv(frame)), frame)
    items = config(rows=[STIFFNESS_ROW | {"item": "4.10"}])
    text = to_csv(rows(example=items))
    assert from_csv(text).loc[0, "item"] == "4.10"


def test_html_is_escaped_and_self_contained():
    named = {"paper": {"title": 'a "title" <script>alert(1)</script>'}}
    page = scorecard_page(scorecard([rows()]), named)
    assert "<b>note</b>" not in page
    assert "&lt;b&gt;note&lt;/b&gt; &amp; more" in page
    assert page.count("<script>") == 1
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", page)
    assert 'data-verdict="meets"' in page


def test_an_empty_scorecard_is_still_a_page():
    empty = scorecard([])
    assert tuple(empty.columns) == COLUMNS
    assert "<table>" in scorecard_page(empty)
    assert to_csv(empty).startswith("paper,item")
