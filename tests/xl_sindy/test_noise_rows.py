"""Scorecard of a sweep over noise: printed numbers, limits, and who is judged."""

import copy

import numpy as np
import pytest
from synthetic_sweep import PENDULUM, swept

from leastaction_papers.scorecard import verdict
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.scorecard import example_rows, pooled_rows

PUBLISH = {
    "lagrangians": [
        {
            "item": "Table I",
            "noise_level": 0.1,
            "error": 0.005,
            "terms": [
                [1.0, "thdot**2"],
                [19.001, "cos(th)"],
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
            "target": {"factor": 3.0},
            "reason": "not like for like",
        },
    ],
    "targets": {
        "by_noise": [
            {"noise_levels": [0.001, 0.1], "exact_structure": 1.0},
            {"noise_levels": [0.1], "worst_error": 0.01},
        ]
    },
}


def rows(**models):
    config = copy.deepcopy(PENDULUM) | {"publish": copy.deepcopy(PUBLISH)}
    return example_rows("paper", Panel("one", config, models, {}))


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
    assert row["printed"] == pytest.approx(9.501)
    assert row["corrected"] == pytest.approx(9.81)
    assert row["ours_median"] == pytest.approx(9.81, rel=2e-3)
    assert row["verdict"] == "inaccurate"
    row = only(frame, "coefficient of cos(th), sigma = 0.1", "published")
    assert row["verdict"] == "not-reproduced"
    assert "(2 of 4 have the printed terms)" in row["note"]
    assert "shared noise" in row["quantity"]


def test_a_printed_term_that_is_not_true_should_be_zero(frame):
    row = only(frame, "coefficient of sin(th), sigma = 0.1", "recommended")
    assert (row["corrected"], row["ours_median"]) == (0.0, 0.0)
    assert row["verdict"] == "inaccurate"
    assert not frame["quantity"].str.contains("thdot*sin(th)", regex=False).any()


def test_the_replica_is_held_to_what_is_printed(frame):
    cell = "coefficient of cos(th), sigma"
    replica = failing(9.0)
    c = replica["coefficient_estimate"]
    c.loc[{"term": "cos(th)"}] = [[[9.4]], [[9.5]], [[9.45]], [[9.6]]]
    c.loc[{"term": "sin(th)"}] = 0.15
    row = only(rows(published=replica), cell, "published")
    assert row["verdict"] == "meets"
    assert "reproduced: 95 %" in row["note"]
    c.loc[{"term": "cos(th)**2", "replicate": [0, 1, 2]}] = 0.01
    row = only(rows(published=replica), cell, "published")
    assert row["verdict"] == "not-reproduced"
    assert "1 of 4 have the printed terms" in row["note"]


def test_the_authors_lagrangian_is_put_into_the_same_scale():
    entry = copy.deepcopy(PUBLISH["lagrangians"][0])
    entry["authors"] = [2.0, 38.0, None, 0.1]
    config = copy.deepcopy(PENDULUM) | {"publish": PUBLISH | {"lagrangians": [entry]}}
    found = example_rows(
        "p", Panel("one", config, {"recommended": swept(PENDULUM)}, {})
    )
    row = only(found, "coefficient of cos(th), sigma", "recommended")
    assert row["authors"] == pytest.approx(9.5)
    row = only(found, "coefficient of sin(th), sigma", "recommended")
    assert np.isnan(row["authors"])


def test_printed_terms_are_compared_in_independent_candidates():
    entry = copy.deepcopy(PUBLISH["lagrangians"][0])
    entry["terms"] = [[1.0, "thdot**2"], [18.5, "cos(th)"], [0.5, "sin(th)**2"]]
    publish = PUBLISH | {"lagrangians": [entry | {"errata": {"cos(th)": [7]}}]}
    config = copy.deepcopy(PENDULUM) | {"publish": publish}
    panel = Panel("one", config, {"recommended": swept(PENDULUM)}, {})
    found = example_rows("paper", panel)
    row = only(found, "coefficient of cos(th), sigma", "recommended")
    assert (row["verdict"], row["cause"]) == ("paper-errs", "see erratum 7")


def test_the_printed_limit_is_that_of_its_own_estimator(frame):
    row = only(frame, "largest noise, ours", "published")
    assert (row["ours_median"], row["verdict"]) == (1e-3, "not-reproduced")
    row = only(frame, "largest noise, ours, independent", "recommended")
    assert (row["ours_median"], row["verdict"]) == (0.1, "meets")
    assert "the sweep ends there" in row["note"]


FINE = {"levels": (0.0, 1e-3, 1e-2, 1.1e-2, 1e-1, 1.1e-1)}


@pytest.mark.parametrize(
    ("mine", "theirs", "ratio", "word"),
    [
        (0.1, 0.01, 10.0, "meets"),
        (0.01, 0.01, 1.0, "not-reproduced"),
        (0.1, 0.001, 100.0, "not-reproduced"),  # or 10, as no level lies between
        (0.01, 0.2, 1 / 11, "not-reproduced"),
        (0.2, 0.01, 11.0, "not-reproduced"),  # or more: the sweep ends
        (0.1, 0.0, np.inf, "not-reproduced"),
        (0.01, 0.0, np.inf, "not-reproduced"),
    ],
)
def test_a_ratio_is_judged_by_what_the_levels_allow(mine, theirs, ratio, word):
    found = rows(published=failing(mine, **FINE), sindy_pi=failing(theirs, **FINE))
    row = only(found, "robustness", "published")
    assert row["ours_median"] == pytest.approx(ratio)
    assert np.isnan(row["corrected"])
    assert row["verdict"] == word
    assert row["cause"] == ("" if word == "meets" else "not like for like")


def test_a_ratio_without_both_limits_is_undefined():
    for mine, theirs in ((0.0, 0.0), (1.0, -1.0), (-1.0, 1.0)):
        found = rows(published=failing(mine), sindy_pi=failing(theirs))
        row = only(found, "robustness", "published")
        assert np.isnan(row["ours_median"]), (mine, theirs)
        assert row["verdict"] == "not-reproduced"
    row = only(
        rows(published=failing(1.0), sindy_pi=failing(1.0)), "robust", "published"
    )
    assert row["note"].count("the sweep ends there") == 2
    alone = rows(published=failing(1.0))
    assert not alone["quantity"].str.startswith("robustness").any()


def test_a_driven_example_is_compared_in_the_scale_that_was_measured():
    config = copy.deepcopy(PENDULUM) | {"publish": copy.deepcopy(PUBLISH)}
    config["simulate"]["input"] = {"th": "cos(time)"}
    config["system"]["parameters"]["m"]["value"] = 2.0
    models = {"recommended": swept(config, scale=2.0)}
    found = example_rows("paper", Panel("one", config, models, {}))
    row = only(found, "coefficient of cos(th), sigma = 0.1", "recommended")
    assert row["printed"] == 19.001
    assert row["corrected"] == pytest.approx(19.62)
    assert row["ours_median"] == pytest.approx(19.62, rel=2e-3)


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


def test_a_limit_that_a_run_cannot_judge_is_not_lost():
    short = rows(recommended=swept(PENDULUM, levels=(0.0, 1e-3)))
    row = only(short, "right structure, sigma = 0.1, independent", "recommended")
    assert np.isnan(row["ours_median"])
    assert row["verdict"] == ""
    assert "not judged" in row["note"]
    assert only(short, "right structure, sigma = 0.001", "recommended")["verdict"]


def test_coverage_is_pooled_by_kind_of_noise_and_channels():
    publish = copy.deepcopy(PUBLISH)
    publish["targets"]["by_noise"] += [{"noise_levels": [0.1], "noise_mode": "shared"}]
    config = copy.deepcopy(PENDULUM) | {"publish": publish}
    frames = [
        example_rows("paper", Panel("all", config, {"recommended": swept(config)}, {}))
    ]
    config["simulate"]["noise"]["channels"] = ["q"]
    frames += [
        example_rows("paper", Panel("q", config, {"recommended": swept(config)}, {}))
    ]
    pooled = pooled_rows(frames).set_index("quantity")
    kinds = [name.partition("volatilities")[2] for name in pooled.index]
    assert kinds == [
        ", independent noise",
        ", independent noise, recorded q",
        ", shared noise",
        ", shared noise, recorded q",
    ]
    assert (pooled["verdict"].str.len() > 0).tolist()[2:] == [False, False]


def test_acceleration_and_energy_of_rollouts_are_judged():
    config = copy.deepcopy(PENDULUM) | {"publish": copy.deepcopy(PUBLISH)}
    limits = {"acceleration_error": 0.01, "energy_drift": 0.01}
    config["publish"]["targets"]["by_noise"][0] |= limits
    model = swept(config)
    dims = ("replicate", "noise_mode", "noise_level")
    values = {
        "acceleration_error": 0.005,
        "energy_drift": 0.05,
    }
    cases = model[["noise_mode", "noise_level"]].assign_coords(replicate=[0])
    rollout = cases.assign(
        {k: (dims, np.full((1, 2, 3), v)) for k, v in values.items()}
    )
    found = example_rows(
        "paper", Panel("one", config, {"recommended": model}, {"recommended": rollout})
    )
    where = "sigma = 0.1, independent"
    for text, word in (
        ("relative error of the acceleration", "meets"),
        ("energy along the path", "misses"),
    ):
        chosen = found["quantity"].str.startswith(text)
        chosen &= found["quantity"].str.contains(where)
        assert found[chosen]["verdict"].tolist() == [word], text


def test_every_level_of_an_example_that_publishes_nothing_is_listed():
    model = swept(PENDULUM)
    config = copy.deepcopy(PENDULUM) | {"publish": {}}
    one = Panel("one", config, {"recommended": model}, {})
    found = example_rows("mine", one)
    for level in model["noise_level"].values:
        row = only(found, f"right structure, sigma = {level:g}, ind", "recommended")
        assert row["ours_median"] == row["replicates"] and row["verdict"] == ""
