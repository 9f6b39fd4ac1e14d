"""Delays and time constants of inputs: where the steps lead, and what they mean."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.core.euler_lagrange import symbols
from leastaction.likelihood.horizons import Law, of_every
from leastaction.likelihood.iterated_smoother import fit
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.likelihood.noise_levels import NoiseLevels
from leastaction.likelihood.term_selection import Candidates
from leastaction.recordings import input_dynamics
from leastaction.recordings.input_dynamics import (
    _smoothed,
    first_values,
    of_likeliest_form,
    with_input_dynamics,
    with_time_constants,
)
from leastaction.recordings.inputs import (
    BAND_LIMITED,
    HELD,
    LINEAR,
    Inputs,
    Unknown,
    changed,
)
from leastaction.recordings.recorded_problem import Problem
from leastaction.trajectories.variational_equations import variational_equations

ROW = 0.1


def inputs_of(*values, rows=200):
    recorded = np.random.default_rng(0).standard_normal((rows, 2))
    zeros = np.zeros(2)
    return Inputs(recorded, [slice(0, rows)], ROW, zeros, zeros.copy())


def problem_of(*unknowns, period=20.0, inputs=None):
    return SimpleNamespace(
        unknowns=list(unknowns),
        motion=SimpleNamespace(dt=ROW),
        inputs=inputs_of() if inputs is None else inputs,
        candidates=None,
        period=period,
        driven=True,
    )


@pytest.fixture
def newton(monkeypatch):
    """Steps to true values with such errors; the law is its number of fits."""

    def of(truth, error, slope=2.0):
        fits = []

        def steps(problem, law):
            now = input_dynamics.values_of(problem.inputs, problem.unknowns)
            count = len(problem.unknowns)
            return np.array(truth) - now, np.array(error), np.full((count, 3), slope)

        def refitted(problem, law, inputs):
            fits.append(inputs)
            return SimpleNamespace(**vars(problem) | {"inputs": inputs}), law

        monkeypatch.setattr(input_dynamics, "steps", steps)
        monkeypatch.setattr(input_dynamics, "refitted", refitted)
        monkeypatch.setattr(input_dynamics, "selected", lambda candidates, fit: LAW)
        return fits

    return of


LAW = SimpleNamespace(fit=SimpleNamespace(value=0.0), c=np.zeros(3))


def delay(requested=False, coordinates=(0, 1)):
    return Unknown("lag", coordinates, requested)


def test_a_law_without_unknowns_stays_as_it_is():
    problem = problem_of()
    same, law, dynamics = with_input_dynamics(problem, LAW)
    assert same is problem and law is LAW
    assert dynamics.std.shape == (0,) and dynamics.deviations.shape == (0, 3)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("rows", "fits"), [(3.9, 1), (9.0, 3), (100.0, 12)])
def test_a_step_is_four_rows_long_at_most(rows, fits, sign, newton):
    count = newton([sign * rows * ROW], [0.01])
    problem, _, dynamics = with_input_dynamics(problem_of(delay()), LAW)
    reached = sign * min(rows, 48.0) * ROW
    np.testing.assert_allclose(problem.inputs.lag, reached)
    assert len(count) == fits
    expected = np.hypot(0.01, 0.25 * ROW)
    np.testing.assert_allclose(dynamics.std, expected)
    # How an input is held widens its delay alone.
    np.testing.assert_allclose(dynamics.deviations, 2 * 0.01)


@pytest.mark.parametrize("requested", [True, False])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("beyond", "significant"), [(0.97, False), (1.03, True)])
def test_a_delay_counts_beyond_two_errors_and_a_row(
    beyond, significant, rows, requested, newton
):
    """One that was not requested; its coefficients may be off by half of it.

    Beyond all rows over which an input is held.
    """
    truth = beyond * (2 * 0.3 + ROW * rows)
    newton([truth], [0.3])
    inputs = inputs_of()
    inputs = replace(inputs, recorded=np.repeat(inputs.recorded, rows, axis=0)[:200])
    inputs = changed(inputs, [delay()], np.array([0.3]))
    problem = problem_of(delay(requested), inputs=inputs)
    problem, _, dynamics = with_input_dynamics(problem, LAW)
    found = problem.inputs.lag
    if significant or requested:
        np.testing.assert_allclose(found, min(truth, 0.3 + 4 * ROW * rows))
        assert dynamics.std[0] == pytest.approx(np.hypot(0.3, 0.25 * ROW))
    else:
        np.testing.assert_allclose(found, 0.0, atol=1e-12)
        assert np.isnan(dynamics.std[0])
        np.testing.assert_allclose(dynamics.deviations, truth / 2 * 2)


@pytest.mark.parametrize(("share", "fits"), [(0.48, 0), (0.52, 1)])
def test_the_last_step_is_half_a_standard_error(share, fits, newton):
    count = newton([share * 0.02], [0.02])
    with_input_dynamics(problem_of(delay(True)), LAW)
    assert len(count) == fits


def test_a_motion_that_no_law_follows_ends_the_steps(newton, monkeypatch):
    newton([2.0], [0.01])
    monkeypatch.setattr(input_dynamics, "refitted", lambda *about: None)
    problem, _, dynamics = with_input_dynamics(problem_of(delay()), LAW)
    assert not problem.inputs.lag.any() and np.isfinite(dynamics.std).all()


def likely(monkeypatch, value_of):
    """Fits whose likelihood is a function of the inputs."""

    def refitted(problem, law, inputs):
        fit = SimpleNamespace(value=value_of(inputs))
        other = SimpleNamespace(**vars(problem) | {"inputs": inputs})
        return other, SimpleNamespace(fit=fit)

    monkeypatch.setattr(input_dynamics, "refitted", refitted)
    monkeypatch.setattr(
        input_dynamics, "selected", lambda candidates, fit: SimpleNamespace(fit=fit)
    )


@pytest.mark.parametrize(
    ("truth", "period", "rows"),
    [(0.1, 20.0, 1), (0.45, 20.0, 4), (0.9, 20.0, 8), (9.0, 20.0, 16), (9.0, 3.0, 2)],
)
def test_time_constants_double_up_to_a_tenth_of_a_period(
    truth, period, rows, monkeypatch
):
    """The delay of the same input becomes shorter by as much."""
    likely(monkeypatch, lambda inputs: 10 - abs(inputs.time_constant[1] - truth))
    unknowns = delay(True, (0,)), delay(True, (1,))
    unknowns = *unknowns, Unknown("time_constant", (1,), True)
    problem = problem_of(*unknowns, period=period)
    found, law = with_time_constants(problem, LAW)
    np.testing.assert_allclose(found.inputs.time_constant, [0.0, rows * ROW])
    np.testing.assert_allclose(found.inputs.lag, [0.0, -rows * ROW])
    assert law.fit.value == pytest.approx(10 - abs(rows * ROW - truth))


@pytest.mark.parametrize("name", ["lag", "time_constant"])
def test_time_constants_are_tried_where_one_is_unknown(name, newton, monkeypatch):
    tried = []

    def with_constants(problem, law):
        tried.append(problem)
        return problem, law

    newton([0.0], [0.1])
    monkeypatch.setattr(input_dynamics, "with_time_constants", with_constants)
    with_input_dynamics(problem_of(Unknown(name, (0,), True)), LAW)
    assert len(tried) == (name == "time_constant")


def test_a_time_constant_that_is_less_likely_is_none(monkeypatch):
    likely(monkeypatch, lambda inputs: -inputs.time_constant[1])
    problem = problem_of(Unknown("time_constant", (1,), True))
    found, law = with_time_constants(problem, LAW)
    assert found is problem


@pytest.mark.parametrize(
    ("values", "degree"),
    [
        ({HELD: 2.9, LINEAR: 2.9}, BAND_LIMITED),
        ({HELD: 3.1, LINEAR: 2.9}, HELD),
        ({HELD: 3.1, LINEAR: 4.0}, LINEAR),
        ({HELD: 4.0, LINEAR: 3.1}, HELD),
    ],
)
@pytest.mark.parametrize("trial", [True, False])
def test_a_form_of_inputs_has_odds_of_twenty(values, degree, trial, monkeypatch):
    """log 20 is 2.996; what is less likely at once is not fitted."""
    likely(monkeypatch, lambda inputs: values[inputs.degree])
    monkeypatch.setattr(
        input_dynamics,
        "_driven_by",
        lambda problem, law, inputs: 9.0 if trial else 2.9,
    )
    problem = problem_of(delay())
    found, law = of_likeliest_form(problem, LAW)
    assert found.inputs.degree == (degree if trial else BAND_LIMITED)
    if found.inputs.degree == BAND_LIMITED:
        assert found is problem and law is LAW
    else:
        assert law.fit.value == values[degree]


def test_inputs_that_are_held_have_one_form(monkeypatch):
    steps_alone = inputs_of()
    steps_alone.recorded[:] = np.repeat([[1.0], [2.0], [0.5], [3.0]], 50, axis=0)
    problem = problem_of(inputs=steps_alone)
    assert of_likeliest_form(problem, LAW) == (problem, LAW)
    problem.driven = False
    assert of_likeliest_form(problem, LAW) == (problem, LAW)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_local_polynomials_of_fourth_degree_are_exact(order):
    """In each trajectory that is as long as the window, else zero."""
    t = ROW * np.arange(30)
    values = np.polynomial.Polynomial([1, -2, 0.5, 3, -1])
    parts = [slice(0, 11), slice(11, 21), slice(21, 30)]
    found = _smoothed(parts, 10 + 1, ROW, values(t)[:, None], order)
    exact = values.deriv(order)(t) if order else values(t)
    np.testing.assert_allclose(found[:11, 0], exact[:11], rtol=1e-6, atol=1e-6)
    assert not found[11:].any()


@pytest.mark.parametrize(("rows", "known"), [(87, False), (88, True)])
def test_a_lag_before_a_law_needs_ten_windows(rows, known):
    """Of eight rows at least; half of one at both ends has none."""
    time = ROW * np.arange(rows)
    recorded = np.sin(3 * (time - 0.2)) + np.cos(2 * (time - 0.2))
    zeros = np.zeros(1)
    inputs = Inputs(recorded[:, None], [slice(0, rows)], ROW, zeros, zeros)
    x = np.sin(3 * time) / -8 + np.cos(2 * time) / -3

    def forces(q, qdot, qddot):
        return np.stack([q, qddot], axis=2)

    found = first_values([Unknown("lag", (0,), False)], inputs, x[:, None], forces, 5.0)
    assert (found != 0).any() == known
    if known:
        assert found[0] == pytest.approx(-0.2, abs=0.06)


SENSOR = np.full(1, 1e-4)


def late_oscillator(rows_late, rows=1500):
    """A driven oscillator whose input acts so many rows after its record; its law."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x**2], ["x"], [v**2])
    c, dt = np.array([0.5, -8.0, 0.2]), 0.02
    rng = np.random.default_rng(4)
    w, phase = rng.uniform(1, 9, 6), rng.uniform(0, 6, 6)
    force = np.sin(np.multiply.outer(dt * np.arange(rows), w) + phase).sum(axis=1)
    parts = [slice(0, rows)]
    inputs = Inputs(force[:, None], parts, dt, np.zeros(1), np.zeros(1))
    acting = inputs.changed("lag", [0], rows_late * dt).nodes(np.arange(rows), 1)
    start = np.array([[0.1, 0.0]])
    path = equations.rollout(start, c, dt, rows, 4, acting(4))[0]
    y = path[:, :1] + SENSOR * rng.standard_normal((rows, 1))
    nodes = inputs.nodes(np.arange(rows), 1)
    motion = MeasuredMotion(equations, y, parts, dt, 4, nodes)
    known = Candidates(
        ["xdot**2", "x**2", "D xdot**2"], np.ones(3), (0, 1, 2), (0, 1, 2),
        np.zeros(3, bool), lambda *_: [],
    )  # fmt: skip
    unknown = [Unknown("lag", (0,), False)]
    about = None, np.arange(3), known.names, motion, known, inputs, {}, np.ones(3, int)
    problem = Problem(*about, 0.0, 1.5, unknown, None)
    levels = NoiseLevels(np.full(1, 0.1), SENSOR, np.full(1, 1e-7), 1e-2 * SENSOR)
    begun = fit(motion, c, np.arange(3), path, levels)
    quadratic = of_every(known, begun)
    return problem, Law(begun, quadratic, quadratic.solve(range(3))), c


@pytest.mark.parametrize("rows_late", [1.7, -2.3])
def test_a_delay_is_as_certain_as_its_data(rows_late):
    """Noise of 1e-4 leaves a thousandth of a row, and coefficients a ten-thousandth."""
    problem, law, truth = late_oscillator(rows_late)
    problem, law, dynamics = with_input_dynamics(problem, law)
    assert problem.inputs.lag == pytest.approx(rows_late * problem.motion.dt, abs=2e-5)
    by_noise = np.sqrt(np.diag(np.linalg.inv(law.fit.innovations.information)))
    std = np.hypot(by_noise, dynamics.deviations[0])
    assert (np.abs(law.c - truth) < 3 * std).all()
    assert (std < 1e-4 * np.abs(truth)).all()
    assert law.fit.levels.process < 1e-3  # of a force of 2, that of a row late is .1


def test_values_are_those_of_the_first_input_of_an_unknown():
    inputs = inputs_of()
    inputs.lag[:], inputs.time_constant[:] = [0.1, 0.2], [0.3, 0.4]
    unknowns = [delay(True, (1,)), delay(), Unknown("time_constant", (1,), True)]
    found = input_dynamics.values_of(inputs, unknowns)
    np.testing.assert_array_equal(found, [0.2, 0.1, 0.4])


@pytest.mark.parametrize("follows", [True, False])
def test_a_law_is_refitted_from_where_it_is(follows, monkeypatch):
    seen = []

    def fit(*start, rounds_of_starts):
        seen.append((*start, rounds_of_starts))
        return "trial" if follows else None

    monkeypatch.setattr(input_dynamics, "fit", fit)
    monkeypatch.setattr(input_dynamics, "replace", lambda law, fit: (law, fit))
    moved = SimpleNamespace(motion="motion")
    problem = SimpleNamespace(driven_by=lambda inputs: moved)
    one = SimpleNamespace(c="c", active="active", path="path", levels="levels")
    law = SimpleNamespace(fit=one)
    found = input_dynamics.refitted(problem, law, None)
    assert found == ((moved, (law, "trial")) if follows else None)
    assert seen == [("motion", "c", "active", "path", "levels", 1)]


def test_a_step_leads_to_the_likeliest_delay_and_its_error_is_half_a_log_unit():
    """Profiles of the likelihood by other fits; coefficients move as the slope says."""
    problem, law, _ = late_oscillator(0.2, 300)
    late, *_ = input_dynamics.steps(problem, law)
    assert late == pytest.approx(0.2 * problem.motion.dt, rel=0.05)
    inputs = problem.inputs.changed("lag", [0], 0.2 * problem.motion.dt)
    problem, law = input_dynamics.refitted(problem, law, inputs)
    late, error, slope = input_dynamics.steps(problem, law)
    ends = {}
    for part in (-2.0, 0.0, 2.0):
        inputs = problem.inputs.changed("lag", [0], late[0] + part * error[0])
        ends[part] = input_dynamics.refitted(problem, law, inputs)[1].fit
    falls = [ends[0.0].value - ends[part].value for part in (-2.0, 2.0)]
    assert np.mean(falls) == pytest.approx(2.0, rel=0.2)
    moved = (ends[2.0].c - ends[-2.0].c) / (4 * error[0])
    # The spring, which a delay hardly moves, is as certain as its fits have settled.
    np.testing.assert_allclose(slope[0, [0, 2]], moved[[0, 2]], rtol=0.15)
