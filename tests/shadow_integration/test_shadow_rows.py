"""Scorecard of Lagrangians that were learned from snapshots."""

import re

import numpy as np
import pytest
from synthetic_shadow import config, flow_rollout, model, noisy, rollout

from leastaction_papers.configuration.example import publish_problems
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.scorecard import COLUMNS, example_rows

TARGETS = {
    "misalignment_h2": 2e-4,
    "misalignment_h4": 2e-6,
    "position_error": 1e-5,
    "energy_drift": 1e-9,
    "horizon_error": 1e-5,
    "failures": 0,
    "potential_error": 2e-6,
    "saddle_margin": 0.0,
    "survived_steps": 100,
}
PRINTED = {
    "item": "Figure 4",
    "quantity": "band",
    "unit": "units of L",
    "printed": 1e-4,
    "ours": {"estimator": "recommended", "rollout": "energy_band", "order": 2},
    "target": {"between": [5e-5, 2e-4]},
}


def scored(found=None, estimator="recommended", **publish):
    publish = publish or {"targets": TARGETS}
    found = rollout() if found is None else found
    shadow = None if np.isnan(found["misalignment"]).all() else 1
    given = {estimator: model(shadow)}
    frame = example_rows("p", Panel("e", config(**publish), given, {estimator: found}))
    assert tuple(frame.columns) == COLUMNS
    return frame.set_index("quantity")


def with_landscape(margins=(1e-6, 2e-6), error=1e-6, steps=(100.0, 100.0)):
    orders = ("replicate", "order")
    return rollout().assign(
        potential_error=(orders, [[error] * 3]),
        saddle_margin=((*orders, "saddle"), [[margins] * 3]),
        saddle_margin_true=(("saddle",), [6e-7, 6e-7]),
        survival_steps=(("replicate", "survival_start"), [steps]),
        survival_censored=(
            ("replicate", "survival_start"),
            [[float(s >= 100) for s in steps]],
        ),
    )


def test_a_good_estimate_meets_every_limit():
    frame = scored(with_landscape())
    judged = frame["verdict"][frame["target"] != ""]
    assert len(judged) == len(TARGETS) + 1 and set(judged) == {"meets"}


@pytest.mark.parametrize(
    ("found", "quantity"),
    [
        (rollout(misalignment=(1e-2, 3e-4, 1e-6)), "misalignment of H^[[2]]"),
        (rollout(misalignment=(1e-2, 1e-4, 3e-6)), "misalignment of H^[[4]]"),
        (rollout(error=1e-3), "largest error of a position, 40 steps"),
        (rollout(done=39), "steps of the long rollout"),
        (with_landscape((1e-6, -1e-7)), "smallest margin of a saddle over the start"),
        (
            with_landscape(error=3e-6),
            "largest error of the potential inside the level",
        ),
        (with_landscape(steps=(40.0, 100.0)), "steps before escape"),
    ],
)
def test_a_bad_one_misses_what_it_misses(found, quantity):
    frame = scored(found)
    assert frame.loc[quantity, "verdict"] == "misses"
    assert (frame["verdict"] == "misses").sum() <= 2


def test_a_start_that_failed_is_counted_and_worst():
    found = rollout()
    found["horizon_error"][0, :6] = np.nan
    frame = scored(found)
    failed = frame.loc["starts that failed before 10 s"]
    assert (failed["ours_median"], failed["verdict"]) == (6.0, "misses")
    median = frame.loc["largest error of a position up to 10 s, median of 10 starts"]
    assert np.isinf(median["ours_median"]) and median["verdict"] == "misses"
    assert median["target"] == "median <= 1e-05 rad"


def test_only_ours_is_judged_and_a_flow_has_no_energy():
    assert set(scored(estimator="published")["verdict"]) == {""}
    flow = scored(flow_rollout(), estimator="published_gp_flow")
    assert not flow.index.str.startswith(("misalignment", "band")).any()
    assert "drift of the true energy, size" in flow.index


def test_a_momentum_is_judged_where_the_truth_conserves_it():
    assert not scored().index.str.startswith("range of the momentum").any()
    free = config(targets={"momentum_range": 1e-9})
    free["system"]["lagrangian"] = "m*thdot**2/2"
    given, found = {"recommended": model()}, {"recommended": rollout()}
    frame = example_rows("p", Panel("e", free, given, found)).set_index("quantity")
    row = frame.loc["range of the momentum of th over its size"]
    assert row["ours_median"] == pytest.approx(6.0) and row["verdict"] == "misses"


def test_a_printed_number_stands_beside_ours_in_its_own_units():
    unscaled = PRINTED | {"ours": PRINTED["ours"] | {"unscaled": True}}
    for entry, ours, said in ((PRINTED, 2e-4, "meets"), (unscaled, 1e-4, "meets")):
        row = scored(rows=[entry]).loc["band"]
        assert row["ours_median"] == pytest.approx(ours) and row["verdict"] == said
    missed = PRINTED | {"target": {"between": [1e-6, 2e-6]}}
    assert scored(rows=[missed]).loc["band", "verdict"] == "misses"
    rank = PRINTED | {"ours": {"estimator": "recommended", "model": "rank"}}
    assert scored(rows=[rank | {"target": {}}]).loc["band", "ours_median"] == 5


def test_a_printed_number_that_nobody_computes_is_refused():
    wrong = {"estimator": "recommended", "rollout": "enrgy_band", "order": 2}
    with pytest.raises(ValueError, match="has no 'enrgy_band' in its rollout"):
        scored(rows=[PRINTED | {"ours": wrong}])


def test_each_level_of_noise_has_its_own_limits():
    one, two = rollout(), rollout(misalignment=(1e-2, 1e-3, 6e-4))
    limits = [{"noise_levels": [1e-3], "misalignment": 5e-4}]
    publish = {"targets": TARGETS | {"by_noise": limits}}
    frame = scored(noisy(one, two, levels=[0.0, 1e-3]), **publish)
    where = ", sigma = 0.001, independent noise"
    noise = frame.loc[f"misalignment of H^[[4]]{where}"]
    assert (noise["ours_median"], noise["verdict"]) == (6e-4, "misses")


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        ({"estimator": "recomended", "rollout": "scale"}, "unknown estimator"),
        ({"rollout": "scale"}, "give an estimator"),
        ({"estimator": "recommended", "order": 2}, "one of rollout and model"),
        (
            {"estimator": "recommended", "rollout": "scale", "order": 4},
            r"4 is not in validate.shadow.orders, which are \[0, 2\]",
        ),
    ],
)
def test_a_row_that_cannot_be_made_is_refused_before_any_job(ours, said):
    example = config(rows=[PRINTED | {"ours": ours}]) | {
        "estimators": {"recommended": {}},
        "validate": {"shadow": {"orders": [0, 2]}},
    }
    (problem, *_) = publish_problems(example)
    assert re.search(said, problem)
