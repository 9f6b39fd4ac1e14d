"""Laws of the configuration: merging, defaults, variants, all problems at once."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from leastaction.core.jobs import step_settings
from leastaction.core.recipe import recommended_settings
from leastaction.core.settings import ConfigError, complete
from leastaction.core.yaml_files import parse_yaml, read_yaml
from leastaction_papers.configuration import jobs
from leastaction_papers.configuration.checks import check_example
from leastaction_papers.configuration.config import (
    Project,
    check_label,
    check_overrides,
    check_references,
    data_key,
    merge,
    with_variants,
    without_data,
    without_examples,
)
from leastaction_papers.configuration.example import completed, with_recommended_methods

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "config/examples").glob("*/*.yaml"))


@pytest.fixture
def harmonic():
    path = ROOT / "config/examples/stochastic_lagrangian/harmonic.yaml"
    return read_yaml(path)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_and_variant_is_valid(path):
    for name, content in with_variants(path.stem, read_yaml(path)):
        content = with_recommended_methods(content)
        check_example(completed(content, name), name)


def test_completing_twice_changes_nothing(harmonic):
    once = completed(harmonic, "x")
    assert completed(once, "x") == once


def test_completing_leaves_the_given_config_alone(harmonic):
    before = yaml.safe_dump(harmonic)
    completed(harmonic, "x")
    assert yaml.safe_dump(harmonic) == before


def test_defaults_reach_through_references_and_methods(harmonic):
    recipe = completed(harmonic, "x")["estimators"]["recommended"]
    assert recipe["identify"]["volatility"]["max_terms"] == 3
    assert recipe["assemble"]["instrument_degree"] == 5


def test_all_problems_are_reported_at_once(harmonic):
    wrong = merge(
        harmonic,
        {"titel": "x", "simulate": {"time_step": "fast", "trajectories": 0}},
    )
    with pytest.raises(ConfigError) as caught:
        completed(wrong, "x")
    assert len(caught.value.problems) == 3


def test_all_semantic_problems_are_reported_at_once(harmonic):
    wrong = merge(
        harmonic,
        {
            "system": {"lagrangian": "m*xdot**2/2 - q*x"},
            "simulate": {"duration": 1.00005},
            "estimators": {"recommended": {"assemble": {"method": "ensemble_mean"}}},
        },
    )
    with pytest.raises(ConfigError) as caught:
        check_example(completed(wrong, "x"), "x")
    text = str(caught.value)
    assert "unknown name 'q'" in text
    assert "not a multiple" in text
    assert "needs differentiate method" in text


def test_merge_is_deep_and_leaves_its_arguments_alone():
    base = {"a": {"b": 1, "c": 2}, "d": [1]}
    merged = merge(base, {"a": {"b": 3}, "d": [2]})
    assert merged == {"a": {"b": 3, "c": 2}, "d": [2]}
    assert base == {"a": {"b": 1, "c": 2}, "d": [1]}


def test_variants_override_the_base_and_nothing_else(harmonic):
    found = dict(with_variants("harmonic", harmonic))
    base, zero = found["harmonic"], found["harmonic-zero_mean"]
    assert "variants" not in base
    assert zero["simulate"]["initial_state"] == {"x": 0.0, "xdot": 0.0}
    assert zero["simulate"]["time_step"] == base["simulate"]["time_step"]
    assert zero["system"] == base["system"]


@pytest.mark.parametrize("name", ["../evil", "two-words", "simulate", "", "7"])
def test_a_name_that_would_not_do_for_a_folder_is_refused(name):
    with pytest.raises(ConfigError, match="cannot name a"):
        check_label("example", name)


def test_a_misspelt_override_is_not_a_new_example(harmonic):
    written = {("p", "harmonic"): harmonic, ("p", "harmonc"): {"title": "x"}}
    with pytest.raises(ConfigError, match="did you mean 'harmonic'"):
        check_overrides("p", "harmonc", written["p", "harmonc"], written)


def test_names_of_studies_and_papers_must_exist():
    config = {
        "studies": {
            "volatility": {"figure": "level_set", "examples": {"p": ["harmonc"]}}
        },
        "papers": {"q": {}},
        "matrix": {"examples": {"p": ["harmonic", "damped"]}},
    }
    with pytest.raises(ConfigError) as caught:
        check_references(config, {("p", "harmonic")})
    assert len(caught.value.problems) == 3


def test_papers_keep_the_order_of_their_numbers():
    numbers = {"mine": None, "second": 2, "first": 1}
    some = {"figures": {}, "tables": {}, "title": "A paper"}
    papers = {name: {**some, "number": number} for name, number in numbers.items()}
    made = complete({"seed": 0, "papers": papers}, Project, "the configuration")
    assert list(made["papers"]) == ["first", "second", "mine"]


def test_an_unknown_figure_or_table_is_refused_with_the_nearest():
    study = {"figure": "sensr_study", "caption": "", "examples": {"p": ["e"]}}
    with pytest.raises(ConfigError) as caught:
        complete({"seed": 1, "studies": {"s": study}}, Project, "it")
    assert "studies.s.figure: unknown figure 'sensr_study'" in str(caught.value)
    assert "did you mean 'sensor_study'" in str(caught.value)
    paper = {"title": "", "figures": {}, "tables": {"table_1": {"shows": "lagrangan"}}}
    with pytest.raises(ConfigError, match="unknown table 'lagrangan'; did you mean"):
        complete({"seed": 1, "papers": {"p": paper}}, Project, "it")


def test_an_estimator_may_have_any_name_but_nearly_a_meaningful_one(harmonic):
    recipe = harmonic["estimators"]["recommended"]
    harmonic["estimators"]["my_own_7"] = recipe
    assert "my_own_7" in completed(harmonic, "x")["estimators"]
    for name, words in (("publishd", "did you mean 'published'"), ("../x", "letters")):
        wrong = {**harmonic, "estimators": {name: recipe}}
        with pytest.raises(ConfigError, match=words):
            completed(wrong, "x")


@pytest.fixture
def wave():
    path = ROOT / "config/examples/stochastic_lagrangian/wave.yaml"
    return read_yaml(path)


MARTINGALES = {
    "differentiate": {"method": "realised_variation"},
    "assemble": {"method": "martingale_moments"},
    "identify": {"method": "moment_gmm"},
}
PLANE = {
    "coordinates": {"x": {"unit": "m"}, "y": {"unit": "m"}},
    "parameters": {"b": {"value": 1.0, "unit": "N s^1.5/m"}},
    "lagrangian": "xdot**2/2 + ydot**2/2",
    "volatility": {"x": "b*ydot", "y": "b*xdot"},
}
HALTON = {"random": {"phase": {"halton": [0, 1]}}}
MEAN_SQUARE = {"method": "mean_square_lagrangian", "threshold": 0.1}
CHANGES = [
    ({"system": {"parameters": {"k": {"unit": "kN/m"}}}}, "'kN/m' is 1000"),
    ({"system": PLANE}, "Lévy areas|depends on a velocity"),
    ({"simulate": {"method": "modal"}}, "'modal' simulates a field"),
    ({"simulate": {"initial_state": HALTON}}, "'halton' is for method 'runge_kutta'"),
    (
        {"estimators": {"recommended": {"identify": {"volatility": MEAN_SQUARE}}}},
        "needs identify method 'stlsq'",
    ),
]


@pytest.mark.parametrize(("changes", "message"), CHANGES)
def test_what_coordinates_cannot_be_is_refused_at_the_door(harmonic, changes, message):
    if "lagrangian" in changes.get("system", {}):
        del harmonic["system"]
    with pytest.raises(ConfigError, match=message):
        checked(merge(harmonic, changes))


FIELD_CHANGES = [
    (
        {"simulate": {"method": "strong_taylor"}},
        "'strong_taylor' simulates coordinates",
    ),
    ({"simulate": {"method": "leapfrog", "time_step": 0.01}}, "leapfrog needs omega"),
    ({"simulate": {"initial_state": {"u": "1"}}}, "u is 1 at the left end"),
    ({"system": {"lagrangian": "u_t**2/2 + c**2*u_x**2"}}, "negative potential energy"),
    ({"system": {"lagrangian": "u_t**2/2 - c**2*u_x**4"}}, "not quadratic"),
    ({"system": {"domain": {"right": "loose"}}}, "system.domain.right: 'loose' is not"),
    ({"system": {"domain": {"nodes": 3}}}, "system.domain.nodes: 3 is less than"),
    ({"system": {"parameters": {"c": {"unit": "m"}}}}, "cannot be added"),
    ({"system": {"volatility": "c*sigma"}}, "volatility is in"),
    ({"system": {"coordinates": {"x": {"unit": "m"}}}}, "exactly one of the keys"),
    ({"system": {"dissipation": "u_t**2"}}, "unknown key 'dissipation'"),
    (
        {"estimators": {"recommended": MARTINGALES}},
        "cannot read what simulate method 'modal'",
    ),
    ({"library": {"lagrangian": [{"terms": ["u_t**2", "u*u_t**2"]}]}}, "depend on u_t"),
    (
        {"library": {"dissipation": [{"terms": ["u_t**2"]}]}},
        "dissipation: a field knows none",
    ),
    ({"library": {"inertia": "given"}}, "inertia: a field knows none"),
    ({"library": {"calculus": "stratonovich"}}, "calculus: a field knows none"),
]


@pytest.mark.parametrize(("changes", "message"), FIELD_CHANGES)
def test_what_a_field_cannot_be_is_refused_at_the_door(wave, changes, message):
    with pytest.raises(ConfigError, match=message):
        check_example(completed(merge(wave, changes), "x"), "x")


def test_a_system_without_coordinates_and_field_is_refused(wave):
    del wave["system"]["field"]
    with pytest.raises(ConfigError, match="or 'states', got neither"):
        completed(wave, "x")


def test_displacements_alone_need_a_method_without_velocities(harmonic):
    alone = merge(harmonic, {"simulate": {"sensor": {"channels": ["q"]}}})
    fits = completed({**alone, "estimators": {"recommended": {}}}, "x")
    check_example(fits, "x")
    recipe = {
        "differentiate": {"method": "realised_variation"},
        "assemble": {"method": "martingale_moments"},
        "identify": {"method": "moment_gmm"},
    }
    wrong = completed({**alone, "estimators": {"recommended": recipe}}, "x")
    with pytest.raises(ConfigError, match="needs velocities.*'modal_start'"):
        check_example(wrong, "x")


def test_null_in_a_variant_takes_away(harmonic):
    harmonic["variants"] = {"alone": {"estimators": {"published": None}}}
    found = dict(with_variants("harmonic", harmonic))
    assert set(found["harmonic"]["estimators"]) == {"published", "recommended"}
    assert set(found["harmonic-alone"]["estimators"]) == {"recommended"}


def test_a_sensor_is_filled_with_defaults(harmonic):
    assert "sensor" not in completed(harmonic, "x")["simulate"]
    noisy = merge(harmonic, {"simulate": {"sensor": {"noise": {"q": 0.1}}}})
    assert completed(noisy, "x")["simulate"]["sensor"] == {
        "noise": {"q": 0.1, "qdot": 0, "qddot": 0},
        "correlation": 1,
        "channels": ["q", "qdot"],
        "every": 1,
    }


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, "states"),
        ({"simulate": {"sensor": {"noise": {"q": 1e-3}}}}, "shaken measurements"),
        ({"system": {"field": {"name": "u"}}}, "field"),
    ],
)
def test_recommended_without_a_word_is_the_recipe_for_the_kind_of_data(changes, kind):
    content = {"estimators": {"recommended": {}, "other": {"identify": {}}}, **changes}
    found = with_recommended_methods(content)["estimators"]["recommended"]
    assert found == recommended_settings(kind)


def test_a_named_method_is_kept():
    identify = {"method": "stlsq", "threshold": 3.0}
    content = {"estimators": {"published": {"identify": identify}}}
    found = with_recommended_methods(content)["estimators"]["published"]
    assert found["identify"] == identify
    partial = {"estimators": {"recommended": {"identify": {"max_terms": 6}}}}
    found = with_recommended_methods(partial)["estimators"]["recommended"]
    assert found["identify"]["max_terms"] == 6
    assert found["identify"]["method"] == "moment_gmm"
    assert with_recommended_methods({"estimators": "none"})


@pytest.fixture
def snapshots():
    path = ROOT / "config/examples/shadow_integration/pendulum.yaml"
    return read_yaml(path)


def checked(example):
    example = with_recommended_methods(example)
    return check_example(completed(example, "x"), "x")


def test_without_a_library_the_recommended_methods_learn_without_candidates(snapshots):
    filled = with_recommended_methods(snapshots)["estimators"]["recommended"]
    assert [filled[s]["method"] for s in ("differentiate", "assemble", "identify")] == [
        "none",
        "discrete_euler_lagrange",
        "evidence_maximisation",
    ]
    listed = {"reference": "thdot**2/2", "lagrangian": [{"terms": ["cos(th)"]}]}
    filled = with_recommended_methods({**snapshots, "library": listed})
    assert filled["estimators"]["recommended"]["assemble"]["method"] == "gram"


def test_a_method_that_needs_candidates_names_them(harmonic):
    del harmonic["library"]
    with pytest.raises(ConfigError, match="needs candidates, but 'library' is missing"):
        checked(harmonic)


def test_even_starts_without_noise_have_no_replicates(snapshots):
    example = completed(snapshots, "x")
    assert not jobs.is_random(example)
    simulation = example["simulate"]
    noisy = {"noise": {**simulation["noise"], "levels": [0.0, 1e-3]}}
    assert jobs.is_random({"simulate": simulation | noisy})
    drawn = {"random": {"angle": {"uniform": [-3.0, 3.0]}}}
    assert jobs.is_random({"simulate": simulation | {"initial_state": drawn}})


def test_an_unrecorded_channel_is_found_before_any_job(snapshots):
    snapshots["simulate"]["noise"]["channels"] = ["q"]
    with pytest.raises(ConfigError, match="'halton_velocity' needs qddot"):
        checked(snapshots)


def test_a_kind_of_basis_is_chosen_like_a_method(snapshots):
    basis = snapshots["estimators"]["published"]["assemble"]["basis"]
    basis["kind"] = "radail"
    with pytest.raises(ConfigError, match="did you mean 'radial'"):
        checked(snapshots)
    basis.update(kind="radial", degree=3)
    with pytest.raises(ConfigError, match="unknown key 'degree'"):
        checked(snapshots)


def test_rollouts_are_checked_by_what_was_identified(snapshots):
    example = completed(snapshots, "x")
    example |= {"key": "p/pendulum", "seed": 1}
    kinds = {
        name: jobs.validate_settings(example, name)["kind"]
        for name in ("recommended", "published_gp_flow")
    }
    assert kinds == {
        "recommended": "learned_lagrangian",
        "published_gp_flow": "learned_flow",
    }
    assert step_settings("identify", example, "recommended")["library"] == {}


def test_a_rollout_of_the_wrong_size_is_refused(snapshots):
    shadow = snapshots["validate"]["shadow"]
    shadow["start"] = [0.3, 0.0, 0.0]
    shadow["box"]["low"] = [0.0, 0.0, 0.0]
    shadow["domain"] = {"low": [-1.0], "high": [1.0, 1.0]}
    recipe = snapshots["estimators"]["published_lgp_exact"]["differentiate"]
    recipe["low"] = [-1.2, -1.2]
    with pytest.raises(ConfigError) as caught:
        checked(snapshots)
    assert len(caught.value.problems) == 4
    del snapshots["validate"]
    with pytest.raises(ConfigError, match="needs 'validate.shadow'"):
        checked(snapshots)


def test_a_flow_map_through_two_positions_is_refused(snapshots):
    box = {"low": [-1.0, -0.5], "high": [1.0, 0.5], "steps": 5, "start": "positions"}
    snapshots["validate"]["shadow"]["horizon"] = box
    flow = {"method": "flow_gaussian_process", "variance": 10.0, "length_scale": 1.5}
    estimator = {name: {"method": "none"} for name in ("differentiate", "assemble")}
    snapshots["estimators"]["flow"] = estimator | {"identify": flow}
    with pytest.raises(ConfigError, match="learns a map of states; choose state"):
        checked(snapshots)


def test_an_example_that_is_left_out_is_named_nowhere():
    config = {
        "papers": {
            "p": {
                "figures": {
                    "figure_1": {"shows": "x", "examples": ["a", "b"]},
                    "figure_2": {"shows": "x", "examples": ["a"]},
                },
                "tables": {"table_1": {"shows": "y"}},
            }
        },
        "studies": {
            "s": {"examples": {"p": ["a", "a-loud", "b"]}},
            "t": {"examples": {"p": ["a"], "q": ["a"]}},
        },
        "matrix": {"examples": {"p": ["a"], "q": ["a", "b"]}},
    }
    others = {("p", "b"), ("q", "a"), ("q", "b")}
    left = without_examples({**config, "examples": {"p": {"a": None}}}, others)
    figures = left["papers"]["p"]["figures"]
    assert figures == {"figure_1": {"shows": "x", "examples": ["b"]}}
    assert left["studies"]["s"]["examples"] == {"p": ["b"]}
    assert left["studies"]["t"]["examples"] == {"q": ["a"]}
    assert left["matrix"]["examples"] == {"q": ["a", "b"]}
    assert config["studies"]["s"]["examples"]["p"] == ["a", "a-loud", "b"]
    both = {**config, "examples": {"p": {"a": None, "b": None}}}
    none = without_examples(both, {("q", "a"), ("q", "b")})
    assert none["papers"] == {} and list(none["studies"]) == ["t"]


def test_a_variant_that_leaves_the_data_alone_has_the_data_of_its_example(harmonic):
    harmonic["variants"] = {
        "alike": {"estimators": {"recommended": None}},
        "longer": {"simulate": {"duration": 2.0}},
    }
    found = dict(with_variants("harmonic", harmonic))
    base = found["harmonic"]
    keys = [data_key(name, content, base) for name, content in found.items()]
    assert keys == ["harmonic", "harmonic", "harmonic-longer"]


@pytest.mark.parametrize(
    "text",
    [
        *("&a [*a]", "a: &a {b: *a}", "[1.0e+400]", "{a: 2026-01-01}", "1: 2", "a: ["),
        *("a: !!timestamp x", "a: !!bool maybe", "a: !!int x", 'a: !!float ""'),
        *(r'a: "\0"', r'a: "\uD800"', r'"\x07": 1', "[" * 200 + "]" * 200),
    ],
)
def test_what_is_no_plain_data_is_refused(text):
    with pytest.raises(ConfigError):
        parse_yaml(text, "it")


def test_aliases_that_stand_for_more_than_a_memory_holds_are_refused():
    tenfold = [
        f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in pairwise("abcdefgh")
    ]
    with pytest.raises(ConfigError, match="more than"):
        parse_yaml("\n".join(["a: &a [x]", *tenfold]), "it")


def test_an_example_whose_data_are_not_there_is_left_out_with_the_reason(tmp_path):
    there = tmp_path / "x.npy"
    there.touch()
    files = {"states": str(there), "rates": str(tmp_path / "xdot.npy")}
    examples = {
        ("p", "a"): {"simulate": {}},
        ("p", "a-released"): {"simulate": {"motions": files}},
    }
    (key,), (reason,) = zip(*without_data(examples).items(), strict=True)
    assert key == ("p", "a-released")
    assert "xdot.npy, are not on this computer" in reason
    assert "x.npy and" not in reason
    tables = {"t": {"examples": ["a", "a-released"]}, "u": {"examples": ["a-released"]}}
    config = {
        "examples": {},
        "papers": {"p": {"tables": tables}},
        "studies": {},
        "matrix": {"examples": {}},
    }
    left = without_examples(config, {("p", "a")}, {key})
    assert left["papers"]["p"]["tables"] == {"t": {"examples": ["a"]}}
    (tmp_path / "xdot.npy").touch()
    assert not without_data(examples)
