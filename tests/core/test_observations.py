"""Arrays by name as observations: every shape that is one, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from leastaction.core.observations import (
    equal_lengths,
    observations,
    shape,
    simulate,
    system,
    trajectories,
)
from leastaction.core.system import System

TIME = np.linspace(0, 1, 6)
X, Y = np.cos(TIME), np.arange(12.0).reshape(2, 6)


@pytest.mark.parametrize(
    ("values", "lengths"),
    [
        (X, [6]),
        (list(X), [6]),
        (Y, [6, 6]),
        ([X, X[:4]], [6, 4]),
        (pd.Series([1, 2, None]), [3]),
        (pd.to_datetime(["2026-01-01", "2026-01-02"]), [2]),
    ],
)
def test_values_are_one_array_for_each_trajectory(values, lengths):
    parts = trajectories("x", values)
    assert [len(part) for part in parts] == lengths
    assert all(part.dtype == float for part in parts)
    if lengths == [2]:
        np.testing.assert_array_equal(parts[0], [0.0, 86400.0])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", "b"], "x holds"),
        (np.zeros((2, 2, 2)), r"x has a part of shape \(2, 2\)"),
        (3.0, r"x has a part of shape \(\)"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(values, words):
    with pytest.raises(ValueError, match=words):
        trajectories("x", values)


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([6], "6 samples"),
        ([6, 6], "2 trajectories of 6 samples"),
        ([6, 4, 5], "3 trajectories of 4 to 6 samples"),
        ([], "0 trajectories of 0 samples"),
    ],
)
def test_lengths_in_words(lengths, words):
    assert shape(lengths) == words


def test_arrays_have_equal_lengths():
    assert equal_lengths({"x": [X, X[:3]], "y": [X, X[:3]]}) == [6, 3]
    with pytest.raises(ValueError, match="y has 2 samples, x has 6 samples"):
        equal_lengths({"x": [X], "y": [X[:2]]})
    with pytest.raises(ValueError, match="no array"):
        equal_lengths({})


@pytest.mark.parametrize("time", [0.2, TIME, list(TIME)])
def test_channels_are_in_the_order_of_the_coordinates(time):
    arrays = {"ydot": 3 * Y, "x": Y, "xdot": 2 * Y, "y": -Y}
    data = observations(arrays, time)
    assert list(data["dof"].values) == ["x", "y"]
    np.testing.assert_allclose(data["time"], TIME)
    np.testing.assert_array_equal(data["q"].values[0, ..., 1], -Y)
    np.testing.assert_array_equal(data["qdot"].values[0, ..., 0], 2 * Y)
    np.testing.assert_array_equal(data["qdot"].values[0, ..., 1], 3 * Y)
    assert "qddot" not in data


def test_recordings_have_a_noise_of_zero():
    data = observations({"x": Y}, 0.2, "recordings")
    assert not data["noise_q"].any() and data["noise_level"].values == [0.0]
    assert data["noise_q"].shape[-3:] == (2, 6, 1)


WITH_RATE = {"x": X, "xdot": X}


@pytest.mark.parametrize(
    ("arrays", "time", "contract", "words"),
    [
        (WITH_RATE, TIME, "densities", "this recipe reads densities"),
        ({"x": X}, TIME, "observations", "this recipe reads xdot, too"),
        ({**WITH_RATE, "y": X}, TIME, "observations", "qdot: give it of every"),
        ({"x": X, "ydot": X}, TIME, "observations", "ydot: expected coordinates"),
        ({"xdot": X}, TIME, "observations", "expected coordinates"),
        ({"x": [X, X[:4]]}, TIME, "recordings", "6, 4 samples; expected as many"),
        ({"x": np.where(X > 0.9, np.inf, X)}, TIME, "recordings", "x: 3 are not fin"),
        ({"x": X}, TIME[::-1], "recordings", "6 times that increase"),
        ({"x": X}, TIME[:5], "recordings", "6 times that increase"),
        ({"x": X}, -0.1, "recordings", "6 times that increase"),
        ({"x": X}, True, "recordings", "6 times that increase"),
        ({"x": X}, "0.1", "recordings", "6 times that increase"),
    ],
)
def test_arrays_that_are_no_observations_are_refused(arrays, time, contract, words):
    with pytest.raises(ValueError, match=words):
        observations(arrays, time, contract)


HOW = {
    "method": "runge_kutta",
    "duration": 0.2,
    "time_step": 0.1,
    "trajectories": 1,
    "initial_state": {"x": 1.0, "xdot": 0.0},
}
SPRING = System("xdot**2/2 - 2*x**2")


@pytest.mark.parametrize(
    ("truth", "more", "words"),
    [
        ("xdot**2", {}, "system is 'xdot..2'; expected an object"),
        ({"lagrangian": "x"}, {}, "expected an object, such as"),
        (SPRING, {"seed": -1}, "seed is -1; expected a whole number, 0 or more"),
        (SPRING, {"seed": 0.5}, "seed is 0.5; expected a whole number"),
        (SPRING, {"units": ["m"]}, "units is .'m'.; expected units by name"),
        (SPRING, {"units": {"y": "m"}}, "units: unknown coordinate 'y'"),
        (SPRING, {"units": {"x": "km"}}, "units.x: 'km' is 1000"),
        (SPRING, {"duration": -1.0}, "the simulation cannot be used"),
        (SPRING, {"replicates": 0}, "less than the minimum of 1"),
    ],
)
def test_a_simulation_that_is_none_is_refused(truth, more, words):
    with pytest.raises(ValueError, match=words):
        simulate(truth, **HOW | more)


def test_a_simulation_has_the_units_and_the_replicates_that_were_named():
    motion = simulate(SPRING, units={"x": "m"}, replicates=2, **HOW)
    assert motion.coordinate_unit.values.tolist() == ["m"]
    assert motion.replicate.values.tolist() == [0, 1]
    assert motion.attrs["contract"] == "recordings"
    one = simulate(SPRING, **HOW)
    assert one.coordinate_unit.values.tolist() == ["1"] and one.sizes["replicate"] == 1
    assert one.equals(simulate(SPRING, seed=0, replicates=1, **HOW))
    np.testing.assert_allclose(one.q[0, 0, :, 0], np.cos(2 * one.time), atol=1e-9)


def test_a_section_describes_a_system():
    spring = {
        "coordinates": {"x": {"unit": "m"}},
        "parameters": {"k": {"value": 3.0, "unit": "N/m"}},
        "lagrangian": "xdot**2/2 - k*x**2/2",
    }
    assert system(spring).parameters == {"k": 3.0}
    with pytest.raises(ValueError, match="the system cannot be used"):
        system(spring | {"lagrangan": 1})
