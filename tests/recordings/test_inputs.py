"""Recorded inputs: what they are between their rows, and how late they act."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from leastaction.core.expressions import parse
from leastaction.likelihood.covariance import spread
from leastaction.likelihood.horizons import Law, of_every
from leastaction.likelihood.iterated_smoother import begin_levels, fit, smooth_motion
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.likelihood.term_selection import Candidates
from leastaction.recordings import input_dynamics
from leastaction.recordings.inputs import (
    BAND_LIMITED,
    HELD,
    LINEAR,
    Inputs,
    Unknown,
    changed,
    degree_of,
    has_unknown_gain,
    unknowns_of,
)
from leastaction.recordings.recorded_problem import Problem
from leastaction.trajectories.variational_equations import variational_equations


def recorded_input(values, *, dt=1.0, lag=0.0, time_constant=0.0):
    """One trajectory of one input."""
    parts = [slice(0, len(values))]
    chain = np.array([lag]), np.array([time_constant])
    return Inputs(values[:, None], parts, dt, *chain)


@pytest.mark.parametrize(
    ("values", "held"),
    [
        (np.repeat([1.0, -1.0, 2.0, 0.0, 3.0], 20), True),
        (np.repeat([0.0, 1.0, 0.0, 1.0, 0.0, 0.0], 20), True),
        (np.append(np.zeros(900), np.sin(np.arange(100))), False),
        (np.maximum(np.sin(np.arange(1000) / 20) - 0.9, 0.0), False),
        (np.zeros(50), False),
    ],
)
def test_where_an_input_rests_it_is_not_held(values, held):
    assert (degree_of(values) == HELD) is held


@pytest.mark.parametrize("constant", [0.3, 2.0, -0.5])
def test_a_first_order_lag_of_a_tone_is_known(constant):
    """Amplitude 1/√(1 + ω²T²) and phase −arctan ωT, far from both ends."""
    time, omega = 0.01 * np.arange(4000), 7.0
    found = recorded_input(np.sin(omega * time), dt=0.01, time_constant=constant)
    middle = np.arange(1900, 2100)
    exact = np.imag(np.exp(1j * omega * time) / (1 + 1j * omega * constant))
    np.testing.assert_allclose(found.at(middle)[:, 0], exact[middle], atol=2e-3)


def test_a_lagging_input_of_one_trajectory_knows_nothing_of_another():
    values = np.concatenate([np.zeros(50), np.ones(50)])
    parts = [slice(0, 50), slice(50, 100)]
    inputs = Inputs(values[:, None], parts, 1.0, np.array([5.0]), np.zeros(1))
    np.testing.assert_allclose(inputs.at(np.arange(100))[:, 0], values, atol=1e-12)


def test_a_broadband_input_is_no_straight_line():
    """Half-way between its samples a band-limited input is met within 1 %."""
    rng = np.random.default_rng(0)
    row = np.arange(2000)
    tones = rng.uniform(0.05, 0.3, 30)
    phase = rng.uniform(0, 2 * np.pi, 30)

    def force(at):
        return np.cos(2 * np.pi * np.outer(at, tones) + phase).sum(axis=1)

    found = recorded_input(force(row)).nodes(row[100:-100], 1)(1)[:, 0]
    exact = force(100 + np.arange(2 * len(row[100:-100])) / 2)
    assert np.sqrt(np.mean((found - exact) ** 2)) < 0.05 * exact.std()


def test_a_held_input_acts_in_the_middle_of_its_row():
    """A pulse of row 5 by Simpson's rule, the last stage of RK4: at 5.5, not 5.33."""
    values = np.zeros(12)
    values[5] = 1.0
    held = replace(recorded_input(values), degree=HELD)
    force = held.nodes(np.arange(11), 1)(1)[:, 0]
    weights = np.tile([2, 4], 11) / 6
    at = np.arange(22) / 2
    np.testing.assert_allclose([weights @ force, weights @ (at * force)], [1, 5.5])


def test_a_tone_of_an_input_keeps_its_strength_between_rows():
    """At a ninth of the sampling rate; a cubic spline lowers it by 0.04 %."""
    row, omega = np.arange(2000), 2 * np.pi / 9
    found = recorded_input(np.cos(omega * row)).nodes(row[500:1490], 1)(16)[:, 0]
    at = 500 + np.arange(len(found)) / 32
    assert 2 * np.mean(found * np.cos(omega * at)) == pytest.approx(1, abs=3e-5)


@pytest.mark.parametrize("late", [0.0, 0.3, -0.3])
def test_a_delay_of_many_rows_is_known_before_the_law(late):
    """Several motions in one record; an input that comes in time has no lag."""
    dt, rng = 0.01, np.random.default_rng(5)
    omega, phase = rng.uniform(0.5, 4, 12), rng.uniform(0, 6, 12)

    def motion(time):
        wave = np.exp(1j * (np.outer(time, omega) + phase))
        return [np.imag((1j * omega) ** k * wave).sum(axis=1) for k in range(3)]

    time = dt * np.arange(3000)
    x = motion(time)[0] + 1e-3 * rng.standard_normal(len(time))
    then, speed, rate = motion(time + late)
    inputs = recorded_input(2 * rate + 0.5 * speed + 3 * then, dt=dt)
    found = input_dynamics.first_values(
        [Unknown("lag", (0,), False)],
        inputs,
        x[:, None],
        lambda *q: np.stack(q, axis=2),
        5.0,
    )
    assert found[0] == pytest.approx(late, abs=0.015)


def of_three(values):
    """One trajectory of the inputs of three coordinates."""
    return Inputs(values, [slice(0, len(values))], 1.0, np.zeros(3), np.zeros(3))


def described(count=3, **stated):
    names = ["x", "y", "z"][:count]
    return xr.Dataset(coords={"dof": names}, attrs={"inputs": json.dumps(stated)})


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({}, [("lag", (0, 2), False)]),
        ({"x": {"lag": 0.1}}, [("lag", (2,), False)]),
        (
            {"x": {"lag": "unknown"}, "z": {}},
            [("lag", (0,), True), ("lag", (2,), False)],
        ),
        (
            {"x": {"lag": "unknown", "time_constant": "unknown"}, "z": {"lag": 0.0}},
            [("lag", (0,), True), ("time_constant", (0,), True)],
        ),
        ({"z": {"gain": "unknown"}}, [("lag", (0, 2), False)]),
    ],
)
def test_a_delay_is_unknown_where_nothing_is_stated(stated, expected):
    """Of the inputs that act: that of y is zero."""
    inputs = of_three(np.tile([1.0, 0.0, 2.0], (5, 1)))
    unknowns = unknowns_of(described(**stated), inputs)
    assert [(u.name, u.coordinates, u.requested) for u in unknowns] == expected
    unknown_gain = "gain" in stated.get("z", {})
    assert has_unknown_gain(described(**stated)) == unknown_gain


def test_unknowns_change_their_inputs_alone():
    inputs = of_three(np.zeros((5, 3)))
    both = [Unknown("lag", (0, 2), False), Unknown("time_constant", (1,), True)]
    moved = changed(inputs, both, np.array([0.5, 0.25]))
    moved = changed(moved, both, np.array([0.5, -0.5]))
    np.testing.assert_array_equal(moved.lag, [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(moved.time_constant, [0.0, -0.25, 0.0])
    assert not inputs.lag.any() and not inputs.time_constant.any()


def test_nodes_lie_between_the_samples_that_are_used():
    """Of a straight line: every third row, two steps, at thirds and halves of them."""
    inputs = recorded_input(np.arange(20.0), dt=0.1)
    nodes = inputs.nodes(np.array([0, 3, 6]), 3)
    expected = np.arange(12) * 0.75
    np.testing.assert_allclose(nodes(2)[:, 0], expected, atol=1e-9)
    assert nodes(2) is nodes(2) and len(nodes(1)) == 6
    late = recorded_input(np.arange(20.0), dt=0.1, lag=0.2)
    np.testing.assert_allclose(late.at(np.array([0, 5, 19]))[:, 0], [0, 3, 17])
    early = recorded_input(np.arange(20.0), dt=0.1, lag=-0.2)
    np.testing.assert_allclose(early.at(np.array([0, 5, 19]))[:, 0], [2, 7, 19])


@pytest.fixture(scope="module")
def oscillator():
    names = ("x", "xdot")
    terms = [parse(term, names) for term in ("xdot**2", "x**2")]
    return variational_equations(terms, ("x",), [parse("xdot**2", names)])


def tones(time):
    """A force of tones up to a ninth of the sampling rate."""
    return sum(np.sin(omega * time + omega) for omega in (1.5, 3.1, 5.7, 8.9, 13.7))


@pytest.mark.parametrize(
    ("degree", "between"),
    [
        (HELD, lambda at, u: (u[at.astype(int)] + u[(at - 1e-9).astype(int)]) / 2),
        (LINEAR, lambda at, u: np.interp(at, np.arange(len(u)), u)),
        (BAND_LIMITED, lambda at, u: tones(0.05 * at)),
    ],
)
def test_the_form_of_an_input_is_that_of_its_generator(oscillator, degree, between):
    """Of a motion with a noise of .05 %, whose law is inside its intervals then."""
    truth, dt, rows, steps = np.array([0.65, -6.0, 0.075]), 0.05, 800, 32
    u = tones(dt * np.arange(rows))
    force = between(np.arange(2 * steps * rows) / (2 * steps), u)[:, None]
    start, first = np.array([[0.5, 0.0]]), np.zeros(1, dtype=int)
    path = oscillator.rollout(start, truth, dt, rows, steps, force, first)
    y = path[0, :, :1]
    y = y + 5e-4 * y.std() * np.random.default_rng(degree).standard_normal(y.shape)
    inputs = recorded_input(u, dt=dt)
    motion = MeasuredMotion(oscillator, y, inputs.parts, dt, 4)
    every, losses = [0, 1, 2], np.array([False, False, True])
    candidates = Candidates("abc", np.ones(3), every, every, losses, lambda s, c: [])
    about = [None, None, "abc", motion, candidates, inputs, {}, None, 0.01, 2.0, []]
    problem = Problem(*about, None).driven_by(inputs)
    states, noise = smooth_motion(motion, np.array([1e-9]))
    levels = begin_levels(*(np.array([x]) for x in (0.01, noise[0], 1e-9, 1e-9)), dt)
    states = np.hstack([states[:, 0], states[:, 1]])
    one = fit(problem.motion, truth, np.arange(3), states, levels)
    quadratic = of_every(candidates, one)
    law = Law(one, quadratic, quadratic.solve(every))
    problem, law = input_dynamics.of_likeliest_form(problem, law)
    assert problem.inputs.degree == degree
    std = np.sqrt((spread(law.fit.innovations).deviations ** 2).sum(axis=0))
    assert (np.abs(law.c - truth) < 4 * std).all()
