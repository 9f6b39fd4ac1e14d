"""Where motions start, and what drives them: laws of draws and of forces."""

import numpy as np
import pytest
from support import system

from leastaction.core.initial_state import (
    ensemble_starts,
    initial_states,
    input_force,
    random_names,
)
from leastaction.core.simulation import first_index, halton_starts

SPRING = {"x": "a*k", "xdot": "2*a", "random": {"a": {"uniform": [1.0, 3.0]}}}


@pytest.fixture(scope="module")
def spring():
    return system("xdot**2/2 - k*x**2/2", ("x",), {"k": 4.0})


def test_states_are_expressions_of_what_is_drawn(spring):
    draw = initial_states(SPRING, spring)
    a = np.random.default_rng(5).uniform(1.0, 3.0)
    np.testing.assert_allclose(draw(np.random.default_rng(5)), [4 * a, 2 * a])
    fixed = initial_states({"x": 1.5, "xdot": "k/8"}, spring)
    first = fixed(None)
    np.testing.assert_array_equal(first, [1.5, 0.5])
    first[:] = 0.0  # of the caller alone
    np.testing.assert_array_equal(fixed(None), [1.5, 0.5])


@pytest.mark.parametrize(("random", "made"), [(True, [0, 1, 2]), (False, [0])])
def test_no_generator_is_made_that_nothing_is_drawn_from(spring, random, made):
    calls = []

    def generators(trajectory):
        calls.append(trajectory)
        return np.random.default_rng(trajectory)

    settings = SPRING if random else {"x": "k", "xdot": 0.0}
    starts = ensemble_starts(settings, spring, generators, 3)
    assert calls == made and starts.shape == (3, 2)
    assert len(np.unique(starts[:, 0])) == len(made)


def test_names_of_a_box_share_a_sequence():
    recipes = {
        "a": {"halton": [-1, 1]},
        "n": {"normal": [5.0, 1e-9]},
        "b": {"halton": [0, 4]},
    }
    draw = random_names({"random": recipes})
    for trajectory in (0, 3):
        drawn = draw(np.random.default_rng(0), trajectory)
        a, n, b = drawn.values()
        index = first_index(2) + trajectory
        np.testing.assert_array_equal([a, b], halton_starts(index, [-1, 0], [1, 4])[0])
        assert n == pytest.approx(5.0, abs=1e-7)
    with pytest.raises(ValueError, match="needs the number of its trajectory"):
        draw(np.random.default_rng(0))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"x": 1.0}, r"expected exactly \['x', 'xdot'\].*check \['xdot'\]"),
        ({"x": 1.0, "xdot": 0.0, "y": 1.0}, r"check \['y'\]"),
        ({**SPRING, "random": {"k": {"uniform": [0, 1]}}}, "'k' is a parameter"),
        ({"x": "b", "xdot": 0.0}, "initial_state.x"),
    ],
)
def test_a_start_that_is_none_is_refused(spring, settings, words):
    with pytest.raises(ValueError, match=words):
        initial_states(settings, spring)


def test_a_force_has_the_values_of_its_expression(spring):
    time = np.linspace(0, 2, 5)
    force = input_force(spring, {"x": "k*sin(time) + a"}, ["a"])
    np.testing.assert_allclose(force(time, (0.3,))[:, 0], 4 * np.sin(time) + 0.3)
    assert np.array_equal(input_force(spring, {}, ())(time, ()), np.zeros((5, 1)))
    with pytest.raises(ValueError, match=r"\['y'\] are not coordinates.*\['x'\]"):
        input_force(spring, {"y": "1"}, ())
