"""Laws of settings that a paper leaves open: what a sweep makes, what it shares."""

import copy

import pytest
from project import ROOT

from leastaction.core.jobs import maker, shown
from leastaction.core.settings import ConfigError
from leastaction.core.yaml_files import read_yaml
from leastaction_papers.configuration import jobs
from leastaction_papers.configuration.checks import check_example
from leastaction_papers.configuration.config import with_all_listed, with_variants
from leastaction_papers.configuration.example import completed
from leastaction_papers.configuration.sweep import with_sweeps


@pytest.fixture
def harmonic():
    path = ROOT / "config/examples/stochastic_lagrangian/harmonic.yaml"
    content = read_yaml(path)
    content["estimators"]["published"]["sweep"] = {
        "identify.threshold": {"values": [450, 7.5e-3], "name": "λ", "unit": "N/m"},
    }
    return content


def test_a_swept_estimator_differs_in_one_value(harmonic):
    made = with_sweeps(harmonic["estimators"])
    swept, given = copy.deepcopy(made["published_threshold_7_5e_3"]), made["published"]
    setting = {"name": "λ", "value": 7.5e-3, "unit": "N/m", "of": "published"}
    assert swept.pop("setting") == setting
    assert swept["identify"].pop("threshold") == 7.5e-3
    given["identify"].pop("threshold")
    assert swept == {key: value for key, value in given.items() if key != "sweep"}


def noisy(**sweep):
    section = {"simulate": {"replicates": 2}, "sweep": sweep}
    return {"system": {}, "simulate": {"sensor": {}}, "variants": {"noisy": section}}


def test_a_swept_variant_is_one_of_each_value_and_of_what_changes_together():
    values = {"values": [1e-3, 0.5], "together": {"publish.targets.rms": [3.0, 4.0]}}
    example = noisy(**{"simulate.sensor.noise.q": values})
    before = copy.deepcopy(example)
    made = dict(with_variants("cart", example))
    assert list(made) == ["cart", "cart-noisy_1e_3", "cart-noisy_0_5"]
    for name, value, limit in (("1e_3", 1e-3, 3.0), ("0_5", 0.5, 4.0)):
        assert made[f"cart-noisy_{name}"] == {
            "system": {},
            "simulate": {"replicates": 2, "sensor": {"noise": {"q": value}}},
            "publish": {"targets": {"rms": limit}},
        }
    assert example == before


def test_a_swept_variant_with_a_name_is_a_reading_of_its_example():
    swept = {"values": [2e-5], "name": "sampling interval", "unit": "s"}
    made = dict(with_variants("beam", noisy(**{"simulate.time_step": swept})))
    setting = {"name": "sampling interval", "value": 2e-5, "unit": "s", "of": "beam"}
    assert made["beam-noisy_2e_5"]["setting"] == setting


@pytest.mark.parametrize(
    ("sweep", "about"),
    [
        ({"a.b": "many"}, "a.b"),
        ({"a.b": {"values": [1, 2], "together": {"c": [3]}}}, "one for each value"),
        ({"a.b": []}, "fewer than 1"),
        ([1], "sweep"),
    ],
)
def test_a_sweep_of_a_variant_that_is_none_names_what_is_wrong(sweep, about):
    example = noisy()
    example["variants"]["noisy"]["sweep"] = sweep
    with pytest.raises(ConfigError) as caught:
        list(with_variants("cart", example))
    assert "example cart, variant noisy" in str(caught.value)
    assert about in str(caught.value)


def test_a_pattern_lists_all_variants_of_a_sweep_in_their_order():
    examples = [
        ("p", "a"),
        ("p", "a-noisy_1e_3"),
        ("p", "a-noisy_0_5"),
        ("q", "a-noisy_2"),
    ]
    study = {"examples": {"p": ["a-noisy_*", "a", "a-none_*"]}}
    config = {"papers": {}, "studies": {"s": study}, "matrix": {"examples": {}}}
    listed = with_all_listed(config, examples)["studies"]["s"]["examples"]["p"]
    assert listed == ["a-noisy_1e_3", "a-noisy_0_5", "a", "a-none_*"]
    assert study["examples"]["p"][0] == "a-noisy_*"


def test_a_file_is_made_again_only_after_the_swept_step(harmonic):
    harmonic["estimators"]["published"]["sweep"] = {
        "identify.threshold": [450],
        "assemble.remove_null_candidates": {"values": [1]},
    }
    recipes = with_sweeps(harmonic["estimators"])
    of_library = "published_remove_null_candidates_1"
    assert maker(recipes, "published_threshold_450", "assemble") == "published"
    assert maker(recipes, of_library, "differentiate") == "published"
    assert maker(recipes, of_library, "assemble") == of_library
    assert maker(recipes, "published_threshold_450", "identify") != "published"


def test_figures_show_no_readings_and_they_are_not_rolled_out(harmonic):
    example = completed(harmonic, "harmonic")
    check_example(example, "harmonic")
    usual = ["published", "recommended"]
    assert (
        shown(example["estimators"]) == jobs.panel(example, ())["estimators"] == usual
    )
    scored = jobs.scored(example)
    assert len(scored["estimators"]) == 4
    assert scored["rolled_out"] == usual
    example["validate"]["estimators"] = ["published", "published_threshold_450"]
    assert len(jobs.scored(example)["rolled_out"]) == 2
    assert jobs.rolled_out(example) == ["published"]


def test_a_setting_of_the_whole_example_makes_no_reading_of_another_estimator(harmonic):
    harmonic["setting"] = {"name": "samples", "value": 1e9, "of": "shorter"}
    settings = jobs.scored(completed(harmonic, "harmonic"))["settings"]
    assert settings["published"]["of"] == "published"
    assert settings["recommended"] == {**settings["published"], "of": "recommended"}
    assert settings["published_threshold_450"]["of"] == "published"


def test_a_variant_is_not_swept_by_itself(harmonic):
    for name, content in with_variants("harmonic", harmonic):
        assert ("sweep" in content["estimators"]["published"]) == (name == "harmonic")
        if name != "harmonic":
            break


@pytest.mark.parametrize("key", ["threshold", "identify", "simulate.time_step"])
def test_a_key_outside_the_steps_is_refused(harmonic, key):
    harmonic["estimators"]["published"]["sweep"] = {key: [1.0]}
    with pytest.raises(ConfigError, match=r"no setting of a step|unknown key"):
        completed(harmonic, "harmonic")


def test_authors_numbers_stand_beside_the_terms(harmonic):
    entry = {"item": "Table I", "noise_level": 0.0, "terms": [[1.0, "x"], [2.0, "1"]]}
    harmonic["publish"]["lagrangians"] = [entry | {"authors": [1.0, None]}]
    example = completed(harmonic, "harmonic")
    check_example(example, "harmonic")
    example["publish"]["lagrangians"][0]["authors"].pop()
    with pytest.raises(ConfigError, match="1 numbers for 2 terms"):
        check_example(example, "harmonic")


def test_a_sweep_of_a_section_that_is_none_is_left_to_the_checks():
    recipe = {"identify": "a text", "sweep": {"identify.threshold": [400]}}
    made = with_sweeps({"published": recipe})["published_threshold_400"]
    assert made["identify"] == "a text"
