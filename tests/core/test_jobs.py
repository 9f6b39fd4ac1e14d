"""Which stages an estimator does itself, and which it reads of another."""

import copy

import pytest

from leastaction.core.jobs import (
    FILES,
    MODULES,
    SETTINGS,
    digests,
    jobs_of,
    maker,
    modules_of,
    shown,
    step_of,
    step_settings,
)

RECIPE = {"differentiate": 1, "assemble": 2, "identify": 3}
OF = {"setting": {"of": "first"}}
ESTIMATORS = {
    "first": RECIPE,
    "other": RECIPE | {"identify": 4},
    "last": RECIPE | OF | {"identify": 5},
    "middle": RECIPE | OF | {"assemble": 6},
    "same": RECIPE | OF,
    "alone": RECIPE | {"setting": {"of": "none"}},
}


@pytest.mark.parametrize(
    ("name", "makers"),
    [
        ("first", ["first"] * 3),
        ("other", ["other"] * 3),
        ("last", ["first", "first", "last"]),
        ("middle", ["first", "middle", "middle"]),
        ("same", ["first"] * 3),
        ("alone", ["alone"] * 3),
    ],
)
def test_a_reading_reads_what_does_not_differ(name, makers):
    assert [maker(ESTIMATORS, name, stage) for stage in RECIPE] == makers
    done = tuple(s for s, one in zip(RECIPE, makers, strict=True) if one == name)
    jobs = jobs_of(ESTIMATORS)
    assert jobs[makers[0]][name] == done


def test_readings_are_not_shown_and_have_no_job_of_their_own():
    assert shown(ESTIMATORS) == ["first", "other"]
    assert list(jobs_of(ESTIMATORS)) == ["first", "other", "alone"]


METHODS = {
    "differentiate": {"method": "joint_spline"},
    "assemble": {"method": "gram", "samples": 9},
    "identify": {"method": "null_vector"},
}
EXAMPLE = {
    "simulate": {"method": "runge_kutta"},
    "library": {"reference": "xdot**2/2", "lagrangian": [], "volatility": [1]},
    "estimators": {
        "ours": METHODS,
        "again": METHODS
        | {
            "identify": {"method": "null_vector", "largest": 3},
            "setting": {"of": "ours"},
        },
    },
    "validate": {"more": 1},
}


def test_a_stage_has_its_method_and_the_candidates_that_it_evaluates():
    library = EXAMPLE["library"]
    used = {k: library[k] for k in ("reference", "lagrangian")}
    assert step_settings("assemble", EXAMPLE, "ours") == {
        "assemble": METHODS["assemble"],
        "library": used,
    }
    assert step_settings("identify", EXAMPLE, "ours")["library"] == library
    assert step_settings("differentiate", EXAMPLE, "ours")["library"] == {}
    assert SETTINGS["assemble"](EXAMPLE, "ours")["library"] == used
    simulation = {"method": "runge_kutta", "time_step": 0.1, "duration": 1.0}
    simulation |= {"trajectories": 1, "initial_state": {"x": 0.0}}
    assert step_of("simulate", {"simulate": simulation}).name() == "runge_kutta"
    assert modules_of("identify", EXAMPLE, "ours") == [
        "leastaction.trajectories.null_vector"
    ]
    assert MODULES["assemble"](EXAMPLE, "ours") == ["leastaction.trajectories.gram"]


def changed(*path, to=7):
    example = copy.deepcopy(EXAMPLE)
    *inside, last = path
    section = example
    for key in inside:
        section = section[key]
    section[last] = to
    return example


@pytest.mark.parametrize(
    ("example", "same"),
    [
        (changed("validate"), ["derivatives", "library", "model"]),
        (changed("estimators", "ours", "identify", "largest"), FILES[:2]),
        (changed("estimators", "ours", "assemble", "samples"), FILES[:1]),
        (changed("library", "reference", to="x"), FILES[:1]),
        (changed("library", "volatility"), FILES[:2]),
        (changed("estimators", "ours", "differentiate", "trim"), []),
    ],
)
def test_a_digest_is_that_of_all_settings_behind_a_result(example, same):
    before = digests({"a": 1}, EXAMPLE, "ours", "rollout")
    after = digests({"a": 1}, example, "ours", "rollout")
    files = [*FILES, "rollout"]
    assert {*before} == {"observations", *(f"ours/{file}" for file in files)}
    for file in files:
        key = f"ours/{file}"
        assert (before[key] == after[key]) == (file in same), file
    assert before["observations"] == after["observations"]
    other = digests({"a": 2}, EXAMPLE, "ours", "rollout")
    assert all(other[key] != value for key, value in before.items())
    assert all(len(value) == 16 for value in before.values())


def test_a_reading_has_the_digests_of_what_it_reads():
    found = digests({}, EXAMPLE, "again", "library")
    assert {*found} == {
        *("observations", "ours/derivatives", "again/derivatives"),
        *("ours/library", "again/library"),
    }
    assert found["ours/library"] == found["again/library"]
    model = digests({}, EXAMPLE, "again", "model")
    assert "again/model" in model and "ours/model" not in model
    assert list(digests({}, EXAMPLE, "ours", "observations")) == ["observations"]
