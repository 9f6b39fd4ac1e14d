"""What a section `publish` may ask for: nothing is lost without a word."""

import copy

import pytest

from leastaction_papers.configuration.example import publish_problems

EXAMPLE = {
    "simulate": {"noise": {"modes": ["independent"], "levels": [0.0, 0.1, 0.2]}},
    "estimators": {
        "recommended": {"differentiate": {"cases": {"levels": [0.0, 0.1]}}},
        "published": {"differentiate": {}},
    },
    "publish": {
        "rows": [
            {
                "ours": {"largest_noise": "published", "over": "recommended"},
                "target": {"factor": 3.0},
                "reason": "other data",
            }
        ],
        "targets": {"by_noise": [{"noise_levels": [0.1]}]},
    },
}


def problems(change=lambda example: None):
    example = copy.deepcopy(EXAMPLE)
    change(example)
    return list(publish_problems(example))


def test_what_can_be_done_is_no_problem():
    assert problems() == []
    assert problems(lambda e: e.pop("publish")) == []


@pytest.mark.parametrize("key", ["largest_noise", "over"])
def test_a_misspelt_estimator_is_named_with_those_that_exist(key):
    (found,) = problems(lambda e: e["publish"]["rows"][0]["ours"].update({key: "pub"}))
    assert f"rows[0].ours.{key}" in found
    assert "published" in found


def test_a_limit_at_a_level_that_the_estimator_leaves_out_is_refused():
    def also(level, **mode):
        entry = {"noise_levels": [level], **mode}
        return lambda e: e["publish"]["targets"]["by_noise"].append(entry)

    (found,) = problems(also(0.2))
    assert "leaves out independent noise of 0.2" in found
    assert problems(also(0.4)) == []  # not simulated: a row of the scorecard says so
    assert problems(also(0.2, noise_mode="shared")) == []


def test_a_band_needs_a_limit_of_noise():
    assert not problems(lambda e: e["publish"]["rows"][0]["ours"].pop("over"))
    found = problems(lambda e: e["publish"]["rows"][0]["ours"].pop("largest_noise"))
    assert len(found) == 2 and all("largest_noise" in one for one in found[:1])
    assert "limits of noise" in found[1]
