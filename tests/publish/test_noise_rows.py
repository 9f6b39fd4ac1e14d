"""Scorecard of a sweep over noise: printed numbers, limits, and who is judged."""

import copy

import numpy as np
import pytest
from synthetic_sweep import PENDULUM, swept

from leastaction.publish.scorecard import verdict
from leastaction.publish.scorecard.collect import example_rows, pooled_rows

PUBLISH = {
    "lagrangians": [
        {
            "item": "Table I",
            "noise_level": 0.1,
            "error": 0.005,
            "replica": 0.05,
            "terms": [
                [1.0, "thdot**2"],
                [19.0, "cos(th)"],
                [0.3, "sin(th)"],
                [0.2, "thdot*sin(th)"],
            ],
        }
    ],
    "rows": [
        {
            "item": "III",
            "quantity": "largest noise, ours",
            "unit": "SI units",
            "printed": 0.1,
            "ours": {"largest_noise": "published", "noise_mode": "shared"},
            "target": {"minimum": 0.1},
        },
        {
            "item": "III",
            "quantity": "robustness",
            "unit": "1",
            "printed": 8,
            "ours": {
                "largest_noise": "published",
                "over": "sindy_pi",
                "noise_mode": "independent",
            },
            "note": "not like for like",
        },
    ],
    "targets": {
        "by_noise": [
            {"noise_levels": [0.001, 0.1], "exact_structure": 1.0},
            {"noise_levels": [0.1], "worst_error": 0.01, "coverage": [0.5, 1.0]},
        ]
    },
}


def rows(**models):
    config = copy.deepcopy(PENDULUM) | {"publish": copy.deepcopy(PUBLISH)}
    return example_rows("paper", "one", config, models, {})


def only(frame, text, estimator):
    chosen = frame["quantity"].str.contains(text, regex=False)
    found = frame[chosen & (frame["estimator"] == estimator)]
    assert len(found) == 1, found
    return found.iloc[0]


def failing(limit, **options):
    return swept(
        PENDULUM,
        wrong=lambda level: 1.0 if level > limit else 0.0,
        with_std=False,
        **options,
    )


@pytest.fixture(scope="module")
def frame():
    return rows(
        recommended=swept(PENDULUM), published=failing(0.01), sindy_pi=failing(0.0)
    )


def test_printed_coefficients_are_put_into_the_scale_of_the_library(frame):
    row = only(frame, "coefficient of cos(th), sigma = 0.1", "recommended")
    assert row["printed"] == pytest.approx(9.5)
    assert row["corrected"] == pytest.approx(9.81)
    assert row["ours_median"] == pytest.approx(9.81, rel=2e-3)
    assert row["verdict"] == "paper-in-error"
    row = only(frame, "coefficient of cos(th), sigma = 0.1", "published")
    assert row["verdict"] == ""
    assert "shared noise" in row["quantity"]


def test_a_printed_term_that_is_not_true_should_be_zero(frame):
    row = only(frame, "coefficient of sin(th), sigma = 0.1", "recommended")
    assert (row["corrected"], row["ours_median"]) == (0.0, 0.0)
    assert row["verdict"] == "paper-in-error"
    assert not frame["quantity"].str.contains("thdot*sin(th)", regex=False).any()


def test_the_replica_is_held_to_what_is_printed(frame):
    text = "deviation from the printed"
    assert only(frame, text, "published")["verdict"] == "misses"
    replica = failing(9.0)
    c = replica["coefficient_estimate"]
    c.loc[{"term": "cos(th)"}] = 9.5
    c.loc[{"term": "sin(th)"}] = 0.15
    assert only(rows(published=replica), text, "published")["verdict"] == "meets"
    assert not (frame["estimator"].eq("recommended") & frame["quantity"].eq(text)).any()


def test_the_printed_limit_is_that_of_its_own_estimator(frame):
    row = only(frame, "largest noise, ours", "published")
    assert (row["ours_median"], row["verdict"]) == (1e-3, "misses")
    row = only(frame, "largest noise with the right structure, indep", "recommended")
    assert row["ours_median"] == 0.1
    assert "the sweep ends there" in row["note"]
    row = only(frame, "largest noise with the right structure, shared", "sindy_pi")
    assert row["ours_median"] == 0.0


def test_robustness_is_what_equal_data_give():
    wider = rows(published=failing(1.0), sindy_pi=failing(0.01))
    row = only(wider, "robustness", "published")
    assert row["ours_median"] == row["corrected"] == pytest.approx(100.0)
    assert row["verdict"] == "paper-in-error"
    assert "not like for like" in row["note"]
    none = rows(published=failing(1.0), sindy_pi=failing(0.0))
    assert np.isinf(only(none, "robustness", "published")["ours_median"])
    assert only(none, "robustness", "published")["verdict"] == ""
    alone = rows(published=failing(1.0))
    assert not alone["quantity"].str.startswith("robustness").any()


def test_only_our_estimator_is_held_to_our_limits(frame):
    text = "right structure, sigma = 0.1, independent"
    assert only(frame, text, "recommended")["verdict"] == "meets"
    row = only(frame, text, "published")
    assert (row["ours_median"], row["verdict"]) == (0.0, "")
    wrong = rows(recommended=failing(0.01))
    assert only(wrong, text, "recommended")["verdict"] == "misses"
    text = "largest relative error of a coefficient, sigma = 0.1"
    assert only(frame, text, "recommended")["verdict"] == "meets"


def test_coverage_of_a_sweep_joins_the_pool(frame):
    text = "coverage of the 95 % interval: all coefficients, sigma = 0.1"
    assert only(frame, text, "recommended")["verdict"] == "meets"
    pooled = pooled_rows([frame]).iloc[0]
    assert pooled["replicates"] == 2 * only(frame, text, "recommended")["replicates"]


def test_a_median_is_judged_whatever_the_percentiles():
    assert verdict.keeps({"median": 0.1}, np.nan, (0.1, 0.0, 7.0))
    assert not verdict.keeps({"median": 0.1}, np.nan, (0.2, 0.0, 0.3))
    assert verdict.target_text({"median": 0.01}, "1") == "median <= 1 %"
