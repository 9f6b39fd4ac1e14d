"""Verdicts on a paper's own recipe: it is asked for the printed number."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from synthetic import SIGMA, STIFFNESS, config, model, rollout

from leastaction.core.settings import ConfigError
from leastaction_papers.configuration.example import completed
from leastaction_papers.scorecard import verdict
from leastaction_papers.scorecard.case import make_row
from leastaction_papers.scorecard.pages import results_page, scorecard_page
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.recovery import is_replica
from leastaction_papers.scorecard.scorecard import example_rows, scorecard

ROOT = Path(__file__).parents[2]
ROW = {
    "item": "Table 2",
    "quantity": "stiffness",
    "unit": "1/s^2",
    "printed": 9.31,
    "corrected": 9.0,
    "ours": {"coefficient": "x**2", "factor": -2},
    "target": {"relative_error": 0.001},
}
TARGETS = {
    "exact_support": 1.0,
    "coefficient_rms": 0.001,
    "volatility_rms": 0.001,
    "volatility_constant": 1.0,
    "rollout_training": 0.001,
    "rollout_prediction": 0.001,
    "rollout_std": 0.001,
}


def spread(low, high, wrong=0):
    """Draws of the stiffness; `wrong` others have a term too many and are far off."""
    found = [[k / -2, 0.5, 0.0, 0.0] for k in np.linspace(low, high, 21)]
    return model(found + [[50.0 * (-1) ** i, 0.5, 1.0, 0.0] for i in range(wrong)])


def row(found, estimator="published", **more):
    frame = example_rows(
        "p", Panel("one", config(rows=[ROW | more]), {estimator: found}, {})
    )
    return frame[frame["quantity"] == "stiffness"].iloc[0]


def test_names_of_replicas():
    assert all(map(is_replica, ("published", "published_lgp")))
    assert not any(map(is_replica, ("recommended", "publishedness", "my_published")))


@pytest.mark.parametrize(
    ("low", "high", "errata", "wanted"),
    [
        (8.995, 9.005, [], "not-reproduced"),  # ours is right, and that is not printed
        (8.995, 9.005, [3], "paper-errs"),
        (8.9, 9.4, [], "meets"),  # the printed number may be one of its draws
        (8.9, 9.4, [3], "meets"),
        (9.5, 9.6, [], "not-reproduced"),
        (9.5, 9.6, [3], "not-reproduced"),
    ],
)
def test_a_replica_publishes_the_printed_number(low, high, errata, wanted):
    more = {"erratum": errata} if errata else {}
    assert row(spread(low, high), **more)["verdict"] == wanted


@pytest.mark.parametrize(("low", "high"), [(8.9, 9.4), (9.4, 9.6)])
def test_nothing_of_this_is_for_our_own_estimators(low, high):
    assert row(spread(low, high), "recommended", erratum=[3])["verdict"] == "misses"


def test_the_cause_is_reported():
    assert row(spread(9.5, 9.6), erratum=[9, 19])["cause"] == "see errata 9, 19"
    assert row(spread(9.5, 9.6), reason="other data")["cause"] == "other data"
    found = row(spread(8.9, 9.4), erratum=[9, 19], note="as printed")
    interval = "95 % prediction interval 8.81881 to 9.48119"
    assert found["note"] == f"as printed; reproduced: {interval}"
    assert found["cause"] == ""
    missed = row(spread(9.5, 9.6, wrong=1))
    assert missed["note"].startswith(
        "95 % prediction interval 9.48376 to 9.61624 (21 of 22 have"
    )
    assert missed["cause"] == "we do not know why"
    ours = row(spread(9.0, 9.0), "recommended", erratum=[3])
    assert (ours["verdict"], ours["cause"]) == ("paper-errs", "see erratum 3")
    assert row(spread(9.0, 9.0), "recommended")["verdict"] == "inaccurate"


def test_draws_with_wrong_terms_reproduce_nothing():
    wide = spread(9.5, 9.6, wrong=10)
    assert row(wide)["ours_low"] < 9.31 < row(wide)["ours_high"]
    assert row(wide)["verdict"] == "not-reproduced"
    found = row(spread(8.9, 9.4, wrong=10))
    assert found["verdict"] == "meets"
    assert found["note"].endswith("(21 of 31 have the right terms)")
    never = model([[STIFFNESS, 0.5, 1.0, 0.0]] * 5)
    assert row(never, printed=9.0, corrected=9.0)["verdict"] == "meets"
    lost = row(never, printed=9.0, target={"maximum": 1.0})
    assert lost["verdict"] == "not-reproduced"
    assert lost["note"].startswith("none of 5 draws has the right terms")


def test_half_a_printed_digit_is_allowed_and_no_more():
    assert verdict.reproduces(0.11, np.array([0.1149, 0.1149, 0.1149]))
    assert not verdict.reproduces(0.11, np.array([0.1152, 0.1152, 0.1152]))
    assert not verdict.reproduces(1.0, np.array([]))
    assert not verdict.reproduces(1.0, np.array([0.0, np.inf, np.inf]))
    assert not verdict.reproduces(np.nan, np.array([0.0, 1.0, 2.0]))


def test_four_draws_hold_what_their_percentiles_exclude():
    draws = [1000.069, 999.971, 999.932, 1000.115]
    low, high = verdict.prediction_interval(draws)
    assert (round(low, 2), round(high, 2)) == (999.72, 1000.32)
    assert verdict.reproduces(1000.12, draws)
    with pytest.raises(ValueError, match="at least 3"):
        verdict.prediction_interval(draws[:2])


def test_the_interval_holds_nineteen_of_twenty_further_draws(rng):
    held = [
        low <= more <= high
        for *draws, more in rng.normal(50.0, 1.0, (2000, 5))
        for low, high in [verdict.prediction_interval(draws)]
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_positive_draws_over_decades_are_compared_by_their_logarithms():
    low, high = verdict.prediction_interval([0.3, 3.0, 30.0, 300.0])
    assert 0 < low < 0.3 and high > 300
    assert not verdict.reproduces(1e-9, [0.3, 3.0, 30.0, 300.0])


def test_a_single_draw_may_be_off_by_the_limit():
    kind = {"paper": "p", "example": "e", "estimator": "published"}

    def verdict(value, limit):
        summary = (value, np.nan, np.nan)
        return make_row(
            kind, "1", "q", "1", summary, 1, target={"relative_error": limit},
            printed=2.0, corrected=1.0, draws=np.array([value]),
        )["verdict"]  # fmt: skip

    assert verdict(2.09, 0.1) == "meets"
    assert verdict(2.09, 0.01) == "not-reproduced"


def test_a_band_about_the_printed_number_is_not_widened():
    def word(value, printed):
        target = {"between": [-0.2, 0.2]}
        draws = np.array([value])
        usual = verdict.MEETS if abs(value) <= 0.2 else verdict.MISSES
        return verdict.replica_verdict(usual, target, printed, draws, 1)[0]

    assert word(0.1, -0.15) == "meets"
    assert word(0.3, 0.15) == "not-reproduced"
    assert word(-1.15, -1.169) == "meets"  # a band about the truth tells how near
    assert word(-1.5, -1.169) == "not-reproduced"


def test_our_limits_are_not_those_of_a_replica():
    example = config(targets=TARGETS)
    found = model([[1.1 * STIFFNESS, 0.5, 0.1, 0.0]] * 5, sigma=[2 * SIGMA] * 5)
    both = {"published": found, "recommended": found}
    frame = example_rows(
        "p", Panel("one", example, both, {k: rollout(0.5) for k in both})
    )
    frame = frame[~frame["quantity"].str.startswith("coverage")]
    verdicts = frame.groupby("estimator")["verdict"].agg(set)
    assert verdicts["published"] == {""}
    assert "misses" in verdicts["recommended"]
    assert (frame["estimator"] == "published").sum() >= len(TARGETS)


def test_references_to_the_errata_are_links():
    explained = config(rows=[ROW | {"erratum": [9, 19], "note": "a <b>"}])
    panel = Panel("one", explained, {"published": spread(9.5, 9.6)}, {})
    frame = scorecard([example_rows("p", panel)])
    page = scorecard_page(frame)
    link = '<a href="../docs/errata.md">see errata 9, 19</a>'
    assert link in page and "a &lt;b&gt;; 95" in page
    assert "[see errata 9, 19](errata.md)" in results_page(frame)
    assert (ROOT / "results" / ".." / "docs" / "errata.md").exists()


def _rows():
    for path in sorted((ROOT / "config" / "examples").glob("*/*.yaml")):
        publish = yaml.safe_load(path.read_text()).get("publish") or {}
        for entry in publish.get("rows") or []:
            if "erratum" in entry:
                yield path.stem, entry


def test_every_erratum_that_a_row_names_is_in_the_list():
    text = (ROOT / "docs" / "errata.md").read_text()
    listed = [int(number) for number in re.findall(r"^\| (\d+) \|", text, re.M)]
    assert len(listed) == len(set(listed))
    named = [number for _, entry in _rows() for number in entry["erratum"]]
    assert named and set(named) <= set(listed)


@pytest.mark.parametrize("wrong", [[], [0], [9, 9], ["9"], 9])
def test_what_is_no_list_of_errata_is_refused(wrong):
    example = yaml.safe_load(
        (ROOT / "config/examples/stochastic_lagrangian/harmonic.yaml").read_text()
    )
    example["publish"]["rows"][0]["erratum"] = wrong
    with pytest.raises(ConfigError, match="erratum"):
        completed(example, "harmonic")
