"""Objects of a notebook refuse what is wrong with one sentence."""

import copy
import pickle

import numpy as np
import pytest
import xarray as xr

import leastaction as la

TIME = np.arange(0, 4, 0.01)
SPRING = la.System("xdot**2/2 - 2*x**2")
SHAKEN = la.System("m*xdot**2/2 - x**2", {"m": 1.0, "s": None}, volatility={"x": "s"})
LIBRARY = {"reference": "xdot**2/2", "lagrangian": ["xdot**2", "x**2"]}
START = {"x": 1.0, "xdot": 0.0}


def motion():
    return {"x": np.cos(2 * TIME), "xdot": -2 * np.sin(2 * TIME)}


@pytest.fixture(scope="module")
def model():
    recipe = la.recipes.trajectories.recommended()
    return recipe.fit(motion(), LIBRARY, time=TIME, progress=False)


def test_arrays_are_fitted_with_their_times_or_their_step(model):
    recipe = la.recipes.trajectories.recommended()
    again = recipe.fit(motion(), LIBRARY, time=0.01, progress=False)
    assert again.support == model.support == ["xdot**2", "x**2"]
    assert model.score(SPRING).exact


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ([1.0, 2.0], [], [0, 1]),
            "q is .1.0, 2.0.; expected one number",
        ),
        (([[1.0]], [[0.0]], [0, 1]), "expected one number for each of x"),
        (([np.nan], [0.0], [0, 1]), "q is .nan."),
        (("a", [0.0], [0, 1]), "q is .'a'.; expected one number"),
        (([1.0], [0.0], 5.0), "time: expected two times or more"),
        (([1.0], [0.0], []), "time: expected two times or more"),
        (([1.0], [0.0], [1.0, 0.0, 0.5]), "in their order"),
        (([1.0], [0.0], [0.0, np.nan]), "in their order"),
        (([1.0], [0.0], [0, 1], 2.0), "force is float; expected a function of time"),
        (([1.0], [0.0], [0, 1], lambda t: [1, 2]), "force.0. is .1, 2.; expected one"),
        (([1.0], [0.0], [0, 1], lambda t: None), "force.0. is None; expected one"),
    ],
)
def test_a_prediction_from_what_is_no_state(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        model.predict(*arguments)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: m.simulate([1.0, 0.0], TIME), "simulate: .* 'time'; .*.q, qdot, t"),
        (lambda m: m.predict([1.0], [0.0], TIME, noise=1), "predict: .* 'noise'; exp"),
        (lambda m: m.score(), "score: missing .* 'truth'; expected score.truth.$"),
        (lambda m: m.coefficient(), "coefficient: missing .* expected coefficient.te"),
        (
            lambda _: SPRING.simulate([1, 0], TIME),
            "simulate: too many .*duration, ",
        ),
        (lambda _: la.recipes.trajectories.recommended().fit(), "fit: missing .*, lib"),
    ],
)
def test_a_call_with_other_arguments(model, call, message):
    with pytest.raises(TypeError, match=message):
        call(model)


def test_a_motion_is_followed_backwards(model):
    back = model.predict([1.0], [0.0], [0.0, -0.5, -1.0])
    np.testing.assert_allclose(back.q[:, 0], np.cos([0.0, -1.0, -2.0]), atol=1e-5)


@pytest.mark.parametrize(
    "truth, message",
    [
        ("xdot**2/2", "no leastaction.System with the coordinates x"),
        (la.System("ydot**2/2 - y**2"), "with the coordinates x"),
        (la.System("xdot**2/2 - k*x**2", {"k": None}), "k of the truth has no value"),
        (la.System("xdot**2/2 - exp(x)"), "cannot express the truth"),
    ],
)
def test_a_truth_that_cannot_be_compared(model, truth, message):
    with pytest.raises(ValueError, match=message):
        model.score(truth)


def test_a_candidate_that_is_none(model):
    with pytest.raises(ValueError, match="unknown candidate of L 'x'"):
        model.coefficient("x")
    with pytest.raises(ValueError, match="expected 1 as the last length"):
        model.function()([1.0, 2.0], [0.0])


@pytest.mark.parametrize(
    "text, more, message",
    [
        (5, {}, "lagrangian is 5; expected text"),
        ("xdot**2/2", {"calculus": "strato"}, "unknown calculus 'strato'"),
        ("xdot**2/2", {"volatility": "s"}, "expected one expression by coordinate"),
        ("k*xdot**2/2", {"parameters": {"k": "a"}}, "parameter k is 'a'"),
        ("xdot**2 - cos(thta)", {}, "unknown symbol 'thta'"),
        ("thetadot**2 + cos(thta)", {}, "'thta'; did you mean 'theta'"),
        ("xdot**2/2", {"inputs": ("y",)}, "unknown coordinate 'y'"),
        ("xdot**2/2", {"inputs": 5}, "inputs are '5'; expected names in a list"),
        ("k*xdot**2/2", {"parameters": {"k": "x" * 10**5}}, "'x{59}; expected a num"),
        ("k*xdot**2/2", {"parameters": [1]}, "expected values by name"),
        ("xdot**2/2", {"dissipation": "ydot**2"}, "each coordinate .x, y. needs"),
    ],
)
def test_a_system_that_is_none(text, more, message):
    with pytest.raises(ValueError, match=message):
        la.System(text, **more)


@pytest.mark.parametrize(
    "more, message",
    [
        ({}, "s has no value"),
        ({"s": "a"}, "parameter s is 'a'; expected a number"),
        ({"duration": -1}, "duration: -1 is not more than 0"),
        ({"duration": np.inf}, "duration inf s is not a multiple"),
        ({"trajectories": 1.5}, "trajectories: expected a whole number"),
        ({"initial_state": [1, 0]}, "initial_state: expected 'key: value'"),
        ({"steps": 4}, "unknown key 'steps'"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"units": "m"}, "units is 'm'"),
        ({"units": {"x": "metre per"}}, "units.x: 'metre per' is not a unit"),
        ({"units": {"y": "m"}}, "units: unknown coordinate 'y'"),
        ({"initial_state": {"x": "a", "xdot": 0}}, "initial_state.x: unknown name 'a'"),
        ({"method": "euler"}, "unknown simulate method 'euler'"),
    ],
)
def test_a_simulation_that_cannot_be(more, message):
    usual = {"duration": 0.1, "time_step": 0.01, "initial_state": START}
    usual |= {"s": 1.0} if more else {}
    with pytest.raises(ValueError, match=message) as error:
        SHAKEN.simulate(**(usual | more))
    assert "pydantic" not in str(error.value)


def test_numbers_of_numpy_are_numbers():
    start = {"x": np.int64(1), "xdot": np.float64(0)}
    SPRING.simulate(duration=0.1, time_step=np.float64(0.01), initial_state=start)


@pytest.mark.parametrize(
    "data, library, more, message",
    [
        (None, LIBRARY, {}, "observations are NoneType"),
        ({}, LIBRARY, {}, "there is no array"),
        (motion(), None, {}, "'library' is missing"),
        (motion(), "x**2", {}, "the library cannot be used"),
        (motion(), {"lagrangian": 5}, {}, "'reference' is missing"),
        (motion(), LIBRARY | {"lagrangian": ["y"]}, {}, "lagrangian: unknown name 'y'"),
        (motion(), LIBRARY, {"time": None}, "expected 400 times that increase"),
        (motion(), LIBRARY, {"time": TIME[::-1]}, "expected 400 times that increase"),
        (
            motion(),
            LIBRARY,
            {"replicate": 5},
            "replicate is 5; number of replicates, counted from 0: 1",
        ),
        ({"x": TIME * np.nan}, LIBRARY, {}, "x: 400 are not finite"),
        ({"x": [TIME, TIME[:9]]}, LIBRARY, {}, "have 400, 9 samples"),
        ({"x": TIME, "ydot": TIME}, LIBRARY, {}, "ydot: expected coordinates such"),
        (xr.Dataset({"x": ("time", TIME)}), LIBRARY, {}, "variable 'q' .* is missing"),
    ],
)
def test_data_that_no_recipe_can_use(data, library, more, message):
    recipe = la.recipes.trajectories.recommended()
    with pytest.raises(ValueError, match=message):
        recipe.fit(data, library, **{"time": TIME, "progress": False, **more})


def test_channels_that_a_recipe_lacks_or_does_not_read():
    recipe = la.recipes.ensembles.recommended()
    with pytest.raises(ValueError, match="this recipe reads xdot, too"):
        recipe.fit({"x": TIME}, LIBRARY, time=TIME)
    with pytest.raises(ValueError, match="this recipe reads no xddot"):
        recipe.fit({**motion(), "xddot": TIME}, LIBRARY, time=TIME)


def test_steps_that_do_not_fit_each_other():
    with pytest.raises(ValueError, match="identify method 'ito_gmm' needs"):
        la.recipes.trajectories.recommended(identify={"method": "ito_gmm"})
    with pytest.raises(ValueError, match="identify is 5; expected settings by name"):
        la.recipes.trajectories.recommended(identify=5)


def test_a_coordinate_at_rest_is_not_randomly_excited():
    still = {"x": 0 * TIME, "xdot": 0 * TIME}
    with pytest.raises(ValueError, match="velocity of x does not fluctuate"):
        la.recipes.ensembles.recommended().fit(still, LIBRARY, time=TIME)


@pytest.mark.parametrize(
    "config, message",
    [
        ([1], "is empty or is not a list of 'key: value'"),
        ({}, "'coordinates' is missing"),
        ({"states": {"x": {"unit": "m"}}}, "'efforts' is missing"),
        ({"coordinates": {"x": {}}}, "coordinates.x: 'unit' is missing"),
    ],
)
def test_a_section_that_is_no_system(config, message):
    with pytest.raises(ValueError, match=message):
        la.system(config)


def test_what_is_simulated_has_a_class_and_a_method():
    with pytest.raises(ValueError, match="expected an object, such as leastaction.Sys"):
        la.simulate("xdot**2/2 - x**2")
    with pytest.raises(ValueError, match="simulate: method is missing; give one of"):
        la.simulate(SPRING, duration=1.0)


def test_states_of_a_symmetry_have_the_shape_of_samples(model):
    for q, qdot in (([1.0], [2.0]), ([[1.0, 2.0]], [[2.0]])):
        with pytest.raises(ValueError, match=r"expected \(sample, 1\) of both"):
            model.symmetries_on(q, qdot)


def test_a_file_without_cases_and_a_folder(model, tmp_path):
    model.save(tmp_path / "model.nc")
    with pytest.raises(ValueError, match="has no noise_mode 'shared'; leave it out"):
        la.load(tmp_path / "model.nc", noise_mode="shared")
    with pytest.raises(ValueError, match="is a folder; expected a file in it"):
        la.load(tmp_path)


def test_a_family_that_is_none():
    with pytest.raises(AttributeError, match="unknown family 'ensemble'; did you mean"):
        _ = la.recipes.ensemble


def test_objects_are_copied_and_pickled(model):
    for one in (model, SHAKEN, la.recipes.trajectories.recommended()):
        assert str(copy.deepcopy(one)) == str(pickle.loads(pickle.dumps(one)))


def test_formulas_of_a_notebook_keep_their_signs(model):
    assert r"\dot{x}^{2}" in model._repr_markdown_()
    data = model.dataset.assign_coords(term=["-xdot**2/2", "x**2 - x"])
    text = type(model)(data).latex_terms()
    assert r"\left(- \frac{\dot{x}^{2}}{2}\right)" in text
    assert r"\left(x^{2} - x\right)" in text
