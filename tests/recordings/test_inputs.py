"""Recorded inputs: what they are between their rows, and how late they act."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy.interpolate import make_interp_spline

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
    between,
    changed,
    degree_of,
    has_unknown_gain,
    inputs_of,
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
        (np.append(np.sin(1 + np.arange(100)), np.zeros(900)), False),
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


@pytest.mark.parametrize(
    ("rows", "degree"), [(1, 0), (2, 1), (3, 1), (4, 3), (5, 3), (6, 5), (7, 5)]
)
def test_a_short_input_is_a_spline_of_a_lower_odd_degree(rows, degree, rng):
    """It passes through all samples, and is what SciPy makes of them."""
    when, values = np.arange(rows), rng.standard_normal(rows)
    curve = between(when, values, BAND_LIMITED)
    np.testing.assert_allclose(curve(when), values, atol=1e-12)
    fine = np.linspace(0, max(rows - 1, 0), 11)
    expected = make_interp_spline(when, values, degree)(fine)
    np.testing.assert_allclose(curve(fine), expected, atol=1e-12)
    straight = between(when, values, LINEAR)(fine)
    np.testing.assert_allclose(straight, np.interp(fine, when, values), atol=1e-12)


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        (np.repeat([0.0, 1, 2, 0, 3, 1], 3), 3),
        (np.repeat([0.0, 1, 1, 2, 0, 3, 3], 4), 4),
        (np.r_[np.zeros(5), np.repeat([1.0, 2, 3, 0, 1], 6)], 6),
        (np.repeat([0.0, 1.0, 0.0], [7, 8, 9]), 8),
        (np.r_[np.zeros(7), np.ones(8)], 1),
        (np.sin(np.arange(30.0)), 1),
    ],
)
def test_steps_of_a_held_input_are_multiples_of_rows(values, rows):
    assert recorded_input(values).hold.tolist() == [rows]


@pytest.mark.parametrize(("repeated", "held"), [(10, False), (11, True)])
def test_a_held_input_repeats_more_than_half_of_its_samples(repeated, held):
    """Of twenty steps, between which none repeats the most frequent value."""
    steps = np.r_[np.ones(20 - repeated), np.zeros(repeated)]
    values = 1 + np.cumsum(np.r_[0, np.random.default_rng(0).permutation(steps)])
    values = np.r_[np.zeros(30), values]
    # The step from rest to the first is one of 21.
    share = repeated / 21
    assert (degree_of(values) == HELD) == (share > 0.5) == held


@pytest.mark.parametrize("degree", [HELD, LINEAR, BAND_LIMITED])
def test_inputs_of_another_form_come_as_late_as_before(degree):
    """What is held acts half a row later; of those that are `delayed`."""
    inputs = replace(of_three(np.ones((9, 3))), lag=np.array([0.1, 0.2, 0.3]))
    moved = inputs.of_degree(degree, [0, 2])
    shift = -0.5 * (degree == HELD)
    np.testing.assert_allclose(moved.lag, [0.1 + shift, 0.2, 0.3 + shift])
    assert moved.degree == degree and moved.curves == {}
    np.testing.assert_allclose(moved.of_degree(BAND_LIMITED, [0, 2]).lag, inputs.lag)


def test_inputs_have_lags_and_constants_that_are_stated():
    stated = {
        "x": {"lag": 0.25, "time_constant": "unknown"},
        "z": {"lag": "unknown", "time_constant": 0.5, "gain": "unknown"},
    }
    data = described(**stated).assign_attrs(time_step=0.1)
    assert inputs_of(data) is None
    data["first_sample"] = "trajectory", [0, 4]
    data["sample_count"] = "trajectory", [4, 6]
    data = data.assign_attrs(inputs=json.dumps(stated), time_step=0.1)
    data["input"] = ("replicate", "sample", "dof"), np.arange(30.0).reshape(1, 10, 3)
    found = inputs_of(data)
    np.testing.assert_array_equal(found.lag, [0.25, 0, 0])
    np.testing.assert_array_equal(found.time_constant, [0, 0, 0.5])
    np.testing.assert_array_equal(found.recorded, np.arange(30.0).reshape(10, 3))
    assert found.parts == [slice(0, 4), slice(4, 10)] and found.dt == 0.1


def test_what_is_held_is_its_mean_at_a_step():
    """At the begin there is nothing before it."""
    values = np.repeat([1.0, 3.0, 2.0, 7.0], 4)
    force = recorded_input(values).at(np.arange(16), (0.0, 0.25)).reshape(16, 2)
    before = values[np.maximum(np.arange(16) - 1, 0)]
    np.testing.assert_allclose(force[:, 0], (values + before) / 2)
    np.testing.assert_allclose(force[:, 1], np.r_[values[:-1], values[-1]])


@pytest.mark.parametrize("constant", [1.5, 30.0])
def test_a_lag_of_first_order_of_a_ramp_is_a_delay(constant):
    """A straight line passes it as it is, later by T; zero changes nothing."""
    values = 2.0 + 3.0 * np.arange(50.0)
    late = recorded_input(values, dt=0.1, time_constant=0.1 * constant)
    expected = values - 3.0 * constant
    np.testing.assert_allclose(late.at(np.arange(50))[:, 0], expected, atol=1e-9)
    # A held input behind it is no longer held.
    steps = np.repeat([1.0, 3.0, 2.0, 7.0], 10)
    behind = recorded_input(steps, dt=0.1, time_constant=0.2)
    late = behind.at(np.arange(40), (0.0, 0.5))
    assert len(np.unique(late[20:30].round(6))) == 10


@pytest.mark.parametrize("lag", [0.0, 0.7])
def test_every_trajectory_has_an_input_of_its_own(lag, rng):
    """That of a row ahead, and at an end what it was there."""
    values, parts = rng.standard_normal((30, 2)), [slice(0, 12), slice(12, 30)]
    inputs = Inputs(values, parts, 0.5, np.array([0.0, 0.5 * lag]), np.zeros(2))
    rows = np.array([2, 3, 11, 12, 13, 20, 29])
    found = inputs.at(rows, (0.0, 1.0)).reshape(7, 2, 2)
    np.testing.assert_allclose(found[:, 0, 0], values[rows, 0], atol=1e-12)
    ahead = values[[3, 4, 11, 13, 14, 21, 29], 0]
    np.testing.assert_allclose(found[:, 1, 0], ahead, atol=1e-12)
    curves = [between(np.arange(p.stop - p.start), values[p, 1], 5) for p in parts]
    late = [curves[int(r >= 12)](max(r - 12 * (r >= 12) - lag, 0)) for r in rows]
    np.testing.assert_allclose(found[:, 0, 1], late, atol=1e-12)
    np.testing.assert_allclose(inputs.at(rows), found[:, 0], atol=1e-12)
