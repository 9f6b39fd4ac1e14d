"""Recipes: their settings by name, what they refuse, and methods that go together."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest

import leastaction as la
from leastaction.core.recipe import (
    Recipe,
    _undamped,
    _unrecorded,
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


class Stopped(Exception):
    """What reaches the steps of a recipe."""


def reached(monkeypatch, recipe, data, library, **more):
    """The replicate, the candidates and the bar of a fit."""

    def stop(self, one, library, advance):
        raise Stopped(one, library)

    @contextlib.contextmanager
    def bar(*arguments):
        bars.append(arguments)
        yield None

    bars = []
    monkeypatch.setattr(Recipe, "dataset", stop)
    monkeypatch.setattr("leastaction.core.progress.progress_bar", bar)
    with pytest.raises(Stopped) as caught:
        recipe.fit(data, library, **more)
    return *caught.value.args, bars


def test_a_fit_is_of_the_first_replicate_with_a_bar_of_three_steps(monkeypatch):
    truth = System("xdot**2/2 - 2*x**2")
    start = {"x": 1.0, "xdot": 0.0}
    data = truth.simulate(duration=1, time_step=0.1, initial_state=start, replicates=2)
    one, library, bars = reached(monkeypatch, motions(), data, LIBRARY)
    assert one.replicate.values.tolist() == [0] and bars == [(3, True)]
    assert "volatility" not in library
    one, *_, bars = reached(
        monkeypatch, motions(), data, LIBRARY, replicate=1, progress=False
    )
    assert one.replicate.values.tolist() == [1] and bars == [(3, False)]


@pytest.mark.parametrize(
    ("library", "volatility"),
    [(LIBRARY, [{"terms": [1]}]), (LIBRARY | {"volatility": ["x"]}, "x")],
)
def test_a_recipe_with_a_volatility_has_a_constant_one_by_default(
    monkeypatch, library, volatility
):
    ensemble = la.recipes.ensembles.recommended()
    _, found, _ = reached(monkeypatch, ensemble, MOTION, library, time=TIME)
    expected = volatility if volatility != "x" else [{"terms": ["x"]}]
    assert found["volatility"] == expected


@pytest.mark.parametrize(
    ("recipe", "data", "contract"),
    [
        (shaken, {"x": MOTION["x"]}, "displacements"),
        (la.recipes.ensembles.recommended, MOTION, "observations"),
    ],
)
def test_coordinates_alone_are_displacements(monkeypatch, recipe, data, contract):
    one, *_ = reached(monkeypatch, recipe(), data, LIBRARY, time=TIME)
    assert one.attrs["contract"] == contract
    np.testing.assert_array_equal(one["q"].values.ravel(), MOTION["x"])


def stub(name="stub", **attributes):
    return SimpleNamespace(name=lambda: name, **attributes)


@pytest.mark.parametrize(
    ("ignores", "uses", "dissipation", "said"),
    [
        (False, ("lagrangian",), ["xdot**2"], True),
        (True, ("lagrangian",), ["xdot**2"], False),
        (False, ("lagrangian", "dissipation"), ["xdot**2"], False),
        (False, ("lagrangian",), [], False),
        (False, ("lagrangian",), None, False),
    ],
)
def test_a_method_without_damping_says_so(ignores, uses, dissipation, said):
    method = stub(ignores_dissipation=ignores, uses=uses)
    found = [*_undamped(method, {"dissipation": dissipation})]
    assert len(found) == said
    if said:
        assert found[0].startswith("assemble method 'stub' knows no damping, but")
        assert "'gram'" in found[0].partition("; use ")[2]


@pytest.mark.parametrize(
    ("sensor", "noise", "velocities", "channels", "words"),
    [
        (None, {}, True, ("q", "qdot"), []),
        ({"channels": ["q"]}, {}, True, ("q",), ["'stub' needs velocities"]),
        ({"channels": ["q"]}, {}, False, ("q",), []),
        ({"channels": ["q", "qdot"]}, {}, True, ("q",), []),
        ({}, {}, True, ("q",), []),
        (None, {"channels": ["q"]}, True, ("q", "qdot"), ["needs q, qdot, but"]),
        (None, {"channels": ["q"]}, True, ("q",), []),
        (None, {"channels": None}, True, ("q", "qdot", "qddot"), []),
    ],
)
def test_a_method_says_which_channel_it_misses(
    sensor, noise, velocities, channels, words
):
    recipe = SimpleNamespace(
        assemble=stub(needs_velocities=velocities),
        differentiate=stub(needs_channels=channels),
    )
    found = [*_unrecorded(recipe, {"sensor": sensor, "noise": noise})]
    assert len(found) == len(words)
    for text, word in zip(found, words, strict=True):
        assert word in text


def test_a_method_that_knows_no_input_is_refused_one(monkeypatch):
    """Of recordings; that of an ensemble is part of its law."""
    driven, recipe = example(section(), input={"x": "cos(time)"}), motions()
    monkeypatch.setattr(type(recipe.identify), "knows_input", False)
    (text,) = recipe.problems(driven)
    assert "'null_vector' knows no input, but simulate.input drives x; use" in text
    assert [*recipe.problems(example(section()))] == []
    monkeypatch.setattr(type(recipe.identify), "knows_input", True)
    assert [*recipe.problems(driven)] == []
