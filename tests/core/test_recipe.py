"""Recipes: their settings by name, what they refuse, and methods that go together."""

import numpy as np
import pytest

import leastaction as la
from leastaction.core.recipe import (
    Recipe,
    kind_of_data,
    raised,
    recommended,
    recommended_settings,
    with_recommended_methods,
)
from leastaction.core.system import System

TIME = np.arange(0, 4, 0.01)
MOTION = {"x": np.cos(2 * TIME), "xdot": -2 * np.sin(2 * TIME)}
LIBRARY = {"reference": "xdot**2/2", "lagrangian": ["xdot**2", "x**2", "x**4"]}
SIMULATE = {
    "method": "runge_kutta",
    "time_step": 0.01,
    "duration": 1.0,
    "trajectories": 2,
    "initial_state": {"x": 1.0, "xdot": 0.0},
}


def motions(**settings):
    return la.recipes.trajectories.recommended(**settings)


def shaken(**settings):
    return la.recipes.ensembles.recommended("shaken measurements", **settings)


def test_parameters_are_those_of_the_steps():
    recipe = motions()
    assert list(recipe.get_params(deep=False)) == [
        "differentiate",
        "assemble",
        "identify",
    ]
    deep = recipe.get_params()
    assert deep["identify__largest"] == 9 and deep["assemble__samples"] == 1000
    assert deep["identify"] is recipe.identify and deep["identify__method"]
    assert recipe.set_params(identify__largest=4, assemble__samples="all") is recipe
    assert (recipe.identify.largest, recipe.assemble.samples) == (4, "all")
    other = motions(largest=3).identify
    assert recipe.set_params(identify=other).identify.largest == 3
    with pytest.raises(ValueError, match="unknown setting 'identify__largst'; did you"):
        recipe.set_params(identify__largst=4)
    with pytest.raises(ValueError, match="identify cannot be used"):
        recipe.set_params(identify__largest=0)
    assert recipe.identify.largest == 3
    public = {"fit", "get_params", "predict", "set_params", "steps"}
    assert {*dir(recipe)} == public | {"differentiate", "assemble", "identify"}
    assert dir(recipe) == sorted(dir(recipe))


def test_stages_are_run_in_their_order_for_every_replicate():
    truth = System("xdot**2/2 - 2*x**2")
    start = {"x": 1.0, "xdot": 0.0}
    data = truth.simulate(duration=2, time_step=0.02, initial_state=start, replicates=2)
    seen, recipe = [], motions(trim=0)
    library = truth.library(LIBRARY)
    section = {"reference": "xdot**2/2", "inertia": "free"}
    section["lagrangian"] = [{"terms": LIBRARY["lagrangian"]}]
    made = recipe.dataset(data, section, seen.append)
    assert seen == ["differentiate", "assemble", "identify"] * 2
    assert made.replicate.values.tolist() == [0, 1]
    assert made.attrs["contract"] == "model" and len(library.terms) == 3
    model = recipe.fit(data, LIBRARY, replicate=1, progress=False)
    assert model.coefficient("x**2") == pytest.approx(-2.0, rel=1e-4)
    for replicate in (-1, 2):
        words = f"replicate is {replicate}; number of replicates, counted from 0: 2"
        with pytest.raises(ValueError, match=words):
            recipe.fit(data, LIBRARY, replicate=replicate)
    with pytest.raises(ValueError, match="the data are recordings; .* reads"):
        la.recipes.ensembles.recommended().fit(data, LIBRARY)


def test_a_fitted_recipe_moves_as_its_model_does():
    recipe = motions()
    start = [1.0], [0.0], [0.0, 0.5]
    with pytest.raises(ValueError, match="there is no model that moves; call fit"):
        recipe.predict(*start)
    model = recipe.fit(MOTION, LIBRARY, time=TIME, progress=False)
    found = recipe.predict(*start).q.values
    np.testing.assert_array_equal(found, model.predict(*start).q.values)
    np.testing.assert_allclose(found[:, 0], [1.0, np.cos(1.0)], atol=1e-4)


@pytest.mark.parametrize(
    ("data", "library", "words"),
    [
        (MOTION, None, "assemble method 'gram' needs candidates, but 'library'"),
        ([1.0], LIBRARY, "observations are list; expected a dataset, or arrays by"),
        (MOTION, {"reference": "x"}, "'lagrangian' is missing"),
    ],
)
def test_data_and_candidates_that_do_not_fit_are_refused(data, library, words):
    with pytest.raises(ValueError, match=words):
        motions().fit(data, library, time=TIME)


def test_methods_that_do_not_follow_each_other_are_named():
    assert [*motions().misfits()] == [*shaken().misfits()] == []
    steps = motions(), la.recipes.ensembles.recommended()
    mixed = Recipe(
        differentiate=steps[0].differentiate,
        assemble=steps[0].assemble,
        identify=steps[1].identify,
    )
    (text,) = mixed.misfits()
    assert text.startswith("identify method 'moment_gmm' needs assemble method '")
    assert text.endswith("not 'gram'")
    with pytest.raises(ValueError, match="identify method 'moment_gmm' needs"):
        mixed.fit(MOTION, LIBRARY, time=TIME)
    other = mixed.model_copy(update={"assemble": steps[1].assemble})
    (text,) = other.misfits()
    assert text.startswith("assemble method 'martingale_moments' needs differentiate")


def example(library=None, **simulate):
    one = {"simulate": SIMULATE | simulate}
    return one | ({} if library is None else {"library": library})


def section(**more):
    terms = [{"terms": LIBRARY["lagrangian"]}]
    return {"reference": "xdot**2/2", "lagrangian": terms} | more


DAMPED = {"dissipation": [{"terms": ["xdot**2"]}]}
PROBLEMS = {
    "none": (motions(), example(section()), ()),
    "damped": (motions(), example(section(**DAMPED)), ()),
    "no candidates": (motions(), example(), ("'gram' needs candidates",)),
    "channels": (
        motions(),
        example(section(), noise={"channels": ["q", "qdot"]}),
        (),
    ),
    "a case": (
        motions(cases={"levels": [0.0, 0.5]}),
        example(section(), noise={"levels": [0.0, 0.1], "modes": ["independent"]}),
        (
            r"differentiate.cases.levels names [0.5], but simulate.noise.levels has "
            "[0.0, 0.1]",
        ),
    ),
    "a known case": (
        motions(cases={"levels": [0.1]}),
        example(section(), noise={"levels": [0.0, 0.1], "modes": ["independent"]}),
        (),
    ),
    "an ensemble": (
        la.recipes.ensembles.recommended(),
        example(section()),
        ("differentiate method 'realised_variation' cannot read what simulate method "
         "'runge_kutta' makes; choose 'joint_spline'",),
    ),
    "driven": (motions(), example(section(), input={"x": "cos(time)"}), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_would_stop_or_mislead_a_recipe_is_said(name):
    recipe, one, words = PROBLEMS[name]
    found = [*recipe.problems(one)]
    assert len(found) == len(words), found
    for text, word in zip(found, words, strict=True):
        assert word in text


def test_recommended_methods_are_those_of_the_kind():
    settings = recommended_settings("motions")
    assert settings == {
        "differentiate": {"method": "joint_spline"},
        "assemble": {"method": "gram"},
        "identify": {"method": "null_vector"},
    }
    assert recommended("motions") == motions()
    ensemble = recommended_settings("states")
    assert ensemble["identify"]["volatility"] == {"method": "squared_increments"}
    with pytest.raises(ValueError, match="unknown kind of data 'motion'; did you mean"):
        recommended_settings("motion")
    assert kind_of_data(example(section())) == "motions"
    assert kind_of_data({"simulate": {"method": "strong_taylor"}}) == "states"


def test_what_an_estimator_does_not_name_is_recommended():
    named = {"method": "stlsq", "threshold": 1.0}
    one = example(section(), method="strong_taylor") | {
        "estimators": {
            "ours": {},
            "theirs": {"identify": named},
            "part": {"identify": {"max_terms": 2, "volatility": None}},
            "word": "x",
        }
    }
    usual = recommended_settings("states")
    made = with_recommended_methods(one)
    assert made["estimators"]["ours"] == usual and made is not one
    assert made["estimators"]["theirs"] == usual | {"identify": named}
    assert made["estimators"]["part"] == usual | {
        "identify": usual["identify"] | {"max_terms": 2}
    }
    assert made["estimators"]["word"] == "x" and one["estimators"]["ours"] == {}
    assert with_recommended_methods({"a": 1}) == {"a": 1}
    assert with_recommended_methods([1]) == [1]
    assert with_recommended_methods({"estimators": [1]}) == {"estimators": [1]}


def test_an_error_becomes_a_sentence():
    def wrong(error):
        raise error

    assert [*raised("here", lambda: 1)] == []
    assert [*raised("here", lambda: wrong(ValueError("no")))] == ["here: no"]
    with pytest.raises(TypeError):
        [*raised("here", lambda: wrong(TypeError("no")))]
