"""Ensembles: shape, initial states, and what cannot be simulated."""

import numpy as np
import pytest
from support import observe, oscillator, system

from leastaction.core.contracts import problems
from leastaction.core.initial_state import initial_states
from leastaction.core.simulation import DivergenceError, step_count


def test_observations_honour_their_contract(observations):
    assert problems(observations, "observations") == []
    assert dict(observations.sizes) == {
        "replicate": 1,
        "trajectory": 20,
        "time": 2001,
        "dof": 1,
    }
    assert (observations["q"].isel(time=0) == 1.0).all()
    assert (observations["qdot"].isel(time=0) == 0.0).all()
    assert observations["time"].values[-1] == pytest.approx(2.0)


def test_values_that_are_not_finite_are_counted_and_the_first_is_placed(observations):
    q = observations["q"].copy(deep=True)
    q[0, 3, 40:42, 0] = [np.nan, np.inf]
    (found,) = problems(observations.assign(q=q), "observations")
    where = {"replicate": 0, "trajectory": 3, "time": 40, "dof": 0}
    assert "2 values that are not finite" in found and str(where) in found


def test_the_velocity_is_the_rate_of_the_coordinate(observations):
    dt = 1e-3
    rate = np.diff(observations["q"].values, axis=2) / dt
    middle = observations["qdot"].values
    middle = (middle[:, :, 1:] + middle[:, :, :-1]) / 2
    assert np.abs(rate - middle).max() < 10 * np.sqrt(dt / 12)


def test_a_path_that_leaves_the_numbers_is_reported_with_its_time():
    falling = system("xdot**2/2 + x**6", volatility={"x": "1"})
    with pytest.raises(DivergenceError, match=r"t = [0-9.]+ s.*reduce"):
        observe(falling, trajectories=1, steps=1000, time_step=0.1)


@pytest.mark.parametrize(("duration", "dt"), [(1.0, 0.3), (1.0, 1.0), (0.1, 1.0)])
def test_a_duration_must_be_whole_steps(duration, dt):
    with pytest.raises(ValueError, match="not a multiple"):
        step_count(duration, dt)


@pytest.mark.parametrize(("duration", "dt", "n"), [(1.0, 1e-4, 10_000), (0.3, 0.1, 3)])
def test_rounding_does_not_spoil_a_whole_number_of_steps(duration, dt, n):
    assert step_count(duration, dt) == n


def test_initial_states_follow_their_expressions(rng):
    truth = oscillator(k=4.0)
    draw = initial_states(
        {"x": 0.5, "xdot": "-x_0*sqrt(k)", "random": {"x_0": {"uniform": [2.0, 2.0]}}},
        truth,
    )
    found = draw(rng)
    np.testing.assert_allclose(found, [0.5, -4.0])


def test_random_phases_are_drawn_for_every_trajectory():
    recipe = {
        "x": "cos(phase)",
        "xdot": "-sqrt(k)*sin(phase)",
        "random": {"phase": {"uniform": [0.0, 6.283185307179586]}},
    }
    paths = observe(oscillator(), trajectories=400, steps=2, start=recipe)
    q, v = paths["q"].values[0, :, 0, 0], paths["qdot"].values[0, :, 0, 0]
    np.testing.assert_allclose(q**2 + v**2 / 25.0, 1.0)
    assert abs(q.mean()) < 4 * np.sqrt(0.5 / 400)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"x": 1.0}, "check \\['xdot'\\]"),
        ({"x": 1.0, "xdot": 0.0, "y": 0.0}, "check \\['y'\\]"),
        ({"x": "phase", "xdot": 0.0}, "unknown name 'phase'"),
        (
            {"x": "k", "xdot": 0.0, "random": {"k": {"uniform": [0, 1]}}},
            "'k' is a parameter",
        ),
    ],
)
def test_an_unusable_initial_state_is_refused(recipe, message):
    with pytest.raises(ValueError, match=message):
        initial_states(recipe, oscillator())
