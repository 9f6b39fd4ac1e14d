"""Numbers of a law's dataset: scales, windows and missed forces in closed form."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from leastaction.core.library import Library
from leastaction.likelihood.missed_force import Memory
from leastaction.recordings import recorded_law as module
from leastaction.recordings.inputs import LAG, TIME_CONSTANT, Unknown
from leastaction.recordings.recorded_law import (
    _beside,
    _in_units_of_reference,
    _values,
    alike,
    estimate,
    force_window,
    kurtosis,
    missed_force,
    missed_tone,
    of_inputs,
)
from leastaction.recordings.refusals import RecordingError


@pytest.mark.parametrize("which", [0, 1, 2])
def test_deviations_in_units_of_a_reference_are_those_of_a_quotient(which, rng):
    """∂(v c_i / c_k)/∂c_j, by differences of the quotient itself."""
    c = np.array([2.0, -3.0, 0.5, 7.0])
    every = 1e-6 * rng.standard_normal((5, 4))
    problem = SimpleNamespace(references={which: 1.5})
    scaled, moved, gain, std = _in_units_of_reference(problem, c, every)
    np.testing.assert_allclose(scaled, 1.5 * c / c[which])
    assert gain == 1.5 / c[which]
    for row, change in zip(every, moved, strict=True):
        there = 1.5 * (c + row) / (c[which] + row[which]) - scaled
        np.testing.assert_allclose(change, there, rtol=1e-5, atol=1e-11)
    gains = 1.5 / (c[which] + every[:, which]) - gain
    assert std == pytest.approx(np.sqrt((gains**2).sum()), rel=1e-4)


def test_the_first_reference_that_the_law_has_gives_the_scale():
    c, every = np.array([0.0, 4.0, 2.0]), np.zeros((1, 3))
    problem = SimpleNamespace(references={0: 1.0, 2: 3.0, 1: 9.0})
    scaled, _, gain, std = _in_units_of_reference(problem, c, every)
    assert (gain, std) == (1.5, 0.0) and scaled.tolist() == [0.0, 6.0, 3.0]
    problem.references = {0: 1.0}
    with pytest.raises(RecordingError, match="is no term of the law"):
        _in_units_of_reference(problem, c, every)


def test_tails_are_those_of_sensors_with_noise(rng):
    """Laplace's distribution has 3; ten deviations are a thousandth of half a range."""
    z = rng.laplace(size=200_000), rng.standard_normal(200_000)
    path = np.outer([-1.0, 1.0], [1.0, 2.0, 0.0, 0.0])
    innovations = SimpleNamespace(standardised=lambda: z)

    def of(*sensor):
        about = {"motion": SimpleNamespace(dof=2), "path": path}
        levels = SimpleNamespace(sensor=np.array(sensor))
        return kurtosis(
            SimpleNamespace(**about, levels=levels, innovations=innovations)
        )

    assert of(1.01e-4, 1.0) == pytest.approx(3.0, abs=0.2)
    assert 0 < abs(of(0.99e-4, 2.02e-4)) < 0.05
    assert of(0.99e-4, 1.98e-4) == 0.0


@pytest.mark.parametrize("noise", [[1e-3], [1e-3, 4e-3], [1e-9], [1e9]])
def test_a_window_has_a_thousandth_of_noise_in_an_acceleration(noise):
    """Of the parabola through it, whose second derivative numpy's polyfit gives."""
    dt, period = 0.01, 9.0
    motion = SimpleNamespace(dt=dt)
    rms = np.full((1, len(noise)), 50.0)
    equations = xr.Dataset({"acceleration_scale": (("r", "dof"), rms)})
    window = force_window(motion, np.array(noise), equations, period)
    if max(noise) > 1:
        assert window == period
    elif max(noise) < 1e-6:
        assert window == pytest.approx(8 * dt)
    else:
        t = dt * np.arange(round(window / dt))
        rows = np.linalg.pinv(np.vander(t - t.mean(), 3))
        std = 2 * max(noise) * np.sqrt((rows[0] ** 2).sum())
        assert std == pytest.approx(1e-3 * 50.0, rel=0.1)


def oscillators(driven):
    """Two masses of 1 kg and 3 kg, of which the second is pushed if it is driven."""
    t = 0.01 * np.arange(1000)
    q = np.stack([np.sin(3 * t), 2 * np.sin(5 * t)], axis=1)
    a = np.stack([-9 * np.sin(3 * t), -50 * np.sin(5 * t)], axis=1)
    library = {
        "reference": "xdot**2/2",
        "lagrangian": [{"terms": ["xdot**2", "ydot**2", "x**2"]}],
    }
    terms = Library.from_config(library, ["x", "y"])
    equations = xr.Dataset(
        {
            "frequency": (("r", "dof"), [[0.5, 0.8]]),
            "q_sample": (("r", "s", "dof"), q[None]),
            "qdot_sample": (("r", "s", "dof"), np.zeros_like(q)[None]),
            "qddot_sample": (("r", "s", "dof"), a[None]),
        }
    )
    push = np.stack([0 * t, np.cos(t)], axis=1)
    inputs = SimpleNamespace(recorded=push) if driven else None
    problem = SimpleNamespace(
        terms=terms, columns=np.arange(3), driven=driven, inputs=inputs
    )
    return problem, equations, a, push


@pytest.mark.parametrize("driven", [False, True])
def test_a_missed_force_has_the_power_of_its_band(driven):
    """2 B S² up to the third harmonic, over the inertial or the recorded force."""
    problem, equations, a, push = oscillators(driven)
    levels = SimpleNamespace(
        is_free=np.array([True, True]), process=np.array([0.2, 0.3])
    )
    near = SimpleNamespace(levels=levels, c=np.array([0.5, 1.5, -4.5]))
    model = SimpleNamespace(horizons=SimpleNamespace(near=near))
    size = np.sqrt((np.array([1.0, 3.0]) * a) ** 2).T
    size = np.sqrt((size**2).mean(axis=1))
    if driven:
        size[1] = np.sqrt((push[:, 1] ** 2).mean())
    expected = np.sqrt(2 * 3 * np.array([0.5, 0.8])) * levels.process / size
    found = missed_force(problem, model, equations)
    np.testing.assert_allclose(found, expected)
    # In other units of force.
    near.c, levels.process, push[:] = 1e-9 * near.c, 1e-9 * levels.process, 1e-9 * push
    np.testing.assert_allclose(missed_force(problem, model, equations), expected)
    levels.is_free = np.array([True, False])
    assert missed_force(problem, model, equations)[1] == 0.0


def test_delays_of_inputs_have_their_errors():
    unknowns = [Unknown(LAG, (0, 2), False), Unknown(TIME_CONSTANT, (1,), True)]
    inputs = SimpleNamespace(lag=np.array([0.1, 0, 0.1]), time_constant=np.arange(3.0))
    about = {"motion": SimpleNamespace(dof=3), "unknowns": unknowns, "inputs": inputs}
    dynamics = SimpleNamespace(std=np.array([0.01, 0.02]))
    found = of_inputs(SimpleNamespace(**about), dynamics)
    nan = np.nan
    np.testing.assert_array_equal(found["input_lag"], [0.1, 0, 0.1])
    np.testing.assert_array_equal(found["input_lag_std"], [0.01, nan, 0.01])
    np.testing.assert_array_equal(found["input_time_constant"], [0, 1, 2])
    np.testing.assert_array_equal(found["input_time_constant_std"], [nan, 0.02, nan])
    about |= {"inputs": None, "unknowns": []}
    found = of_inputs(SimpleNamespace(**about), SimpleNamespace(std=np.zeros(0)))
    assert not found["input_lag"].any() and np.isnan(found["input_lag_std"]).all()


@pytest.mark.parametrize(
    ("driven", "line", "expected"),
    [(False, True, 2.0), (True, True, np.nan), (True, False, 2.0)],
)
def test_a_tone_of_an_input_is_not_missed(driven, line, expected, monkeypatch):
    seen = []

    def is_line(inputs, dt, frequency):
        seen.append(([len(u) for u in inputs], dt, frequency))
        return line

    monkeypatch.setattr(module, "is_line", is_line)
    monkeypatch.setattr(module, "tone", lambda fitted: fitted.tone)
    parts = [slice(0, 4), slice(4, 10)]
    inputs = SimpleNamespace(recorded=np.zeros((10, 1)))
    problem = SimpleNamespace(driven=driven, inputs=inputs)
    fitted = SimpleNamespace(motion=SimpleNamespace(parts=parts, dt=0.1), tone=2.0)
    np.testing.assert_equal(missed_tone(problem, fitted), expected)
    assert seen == [([4, 6], 0.1, 2.0)] * driven
    fitted.tone = np.nan
    assert np.isnan(missed_tone(problem, fitted)) and len(seen) == driven


G = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


class Parabola:
    """Information G, and its minimum over a support."""

    b = np.array([8.0, 3.0, 1.0])

    def __init__(self, candidates=None):
        self.G, self.candidates = G, candidates

    def solve(self, support):
        free = sorted(support)
        inverse, x = np.linalg.inv(G[np.ix_(free, free)]), np.zeros(3)
        x[free] = inverse @ self.b[free]
        return SimpleNamespace(x=x, free=free, inverse=inverse, support=tuple(free))


def law_of(*support):
    solution = Parabola().solve(support)
    return SimpleNamespace(c=solution.x, quadratic=Parabola(), solution=solution)


def problem_of(factor):
    return SimpleNamespace(
        names=["a", "b", "d"],
        columns=np.array([5, 7, 9]),
        candidates=None,
        to_reference=lambda c: np.full(3, factor),
    )


def test_corrections_are_fitted_beside_a_law():
    law = law_of(0)
    plain, none = _beside(problem_of(2.0), law, [], 3.0)
    np.testing.assert_allclose(plain, 6 * law.c)
    assert not none.any()
    corrected, error = _beside(problem_of(-2.0), law, [2], 3.0)
    both = Parabola().solve([0, 2])
    np.testing.assert_allclose(corrected, -6 * both.x)
    expected = 6 * np.sqrt(np.diag(both.inverse))
    np.testing.assert_allclose(error, [expected[0], 0.0, expected[1]])


def test_laws_that_fit_alike_state_what_is_exchanged(monkeypatch):
    """Weights of a new term are those of the regression on the terms of the law."""
    law = law_of(0, 1)
    law.solution.square = 5.0
    others = [Parabola().solve([0, 2])] * 9
    for other in others:
        other.square = 6.0
    monkeypatch.setattr(module, "equally_good", lambda quadratic, solution: others)
    monkeypatch.setattr(module, "replace", lambda quadratic, candidates: quadratic)
    found = alike(problem_of(2.0), law, 3.0)
    assert len(found) == 8 and json.dumps(found)
    one, x = found[0], others[0].x
    assert (one["has"], one["instead_of"]) == (["d"], ["b"])
    assert one["error_ratio"] == 1.2
    assert one["coefficients"] == pytest.approx({"a": 6 * x[0], "d": 6 * x[2]})
    beta = np.linalg.solve(G[:2, :2], G[:2, 2])
    assert one["weights"] == {"d": pytest.approx({5: beta[0], 7: beta[1]})}


ACTIVE, COEFFICIENTS = np.array([0, 2, 3]), np.array([2.0, 0.0, -3.0, 0.5])
COLUMNS = np.array([0, 2, 3, 5])


def remembered(gain, coefficients=(0.0,)):
    """Memory of lagged velocities whose deviations are ones if it is certain."""
    rows = np.ones((1, 3)), np.zeros((1, 3))
    return Memory(gain, 10.0, 1e-3, *rows, np.array(coefficients), np.eye(1))


@pytest.mark.parametrize("gain_is_unknown", [False, True])
@pytest.mark.parametrize(
    ("far", "ratio"),
    [(None, 2.0), (remembered(1.0, (3.0,)), 2.0), (remembered(1.0, (5.0,)), 0.0)],
)
def test_errors_of_a_law_add_up_in_squares(far, ratio, gain_is_unknown, monkeypatch):
    """All deviations in the scale of the reference; none of an absent term.

    A memory that whole runs contradict, 5² > 20, has no weight.
    """
    rng = np.random.default_rng(2)
    noise, absent, width, delay, horizon = (
        rng.standard_normal(shape) for shape in ((3, 3), 4, (2, 4), (1, 4), 4)
    )
    factors, seen = np.array([2.0, 2.0, -1.0, 2.0]), []
    motion = SimpleNamespace(dof=2)
    library = SimpleNamespace(terms="abcd", dissipation="ef")
    problem = SimpleNamespace(period=7.0, motion=motion, terms=library, driven=True)
    problem.columns, problem.references = COLUMNS, {2: 1.5}
    problem.to_reference = lambda c: factors
    fitted = SimpleNamespace(innovations=None, active=ACTIVE, memory=remembered(20.0))
    law = SimpleNamespace(c=COEFFICIENTS, fit=fitted, quadratic=None, solution=None)
    far_fit = None if far is None else SimpleNamespace(memory=far)
    horizons = SimpleNamespace(law=law, far=far_fit, deviation=horizon)
    dynamics = SimpleNamespace(deviations=delay)
    model = SimpleNamespace(problem=problem, horizons=horizons, dynamics=dynamics)
    model.of_width = width

    def memory(fit, period):
        assert period == 7.0
        return fit.memory

    replaced = {
        "spread": lambda innovations: SimpleNamespace(deviations=noise),
        "nearest_absent": lambda *of: absent,
        "memory": memory,
        "has_unknown_gain": lambda observations: gain_is_unknown,
        "_values": lambda *of: ({"period": of[-1]}, {}),
        "lagrangian_estimate": lambda *of: seen.extend(of),
    }
    for name, function in replaced.items():
        monkeypatch.setattr(module, name, function)
    estimate(model, None, None)
    _, placed, numbers, arrays, std = seen
    rows = np.zeros((3 + bool(ratio), 4))
    rows[:, ACTIVE] = np.vstack([noise, np.ones((1, 3))])[: len(rows)]
    rows = factors * np.vstack([rows, absent, width, delay, horizon])
    c, gain = factors * COEFFICIENTS, 1.0
    if gain_is_unknown:
        gain = 1.5 / c[2]
        rows = gain * (rows - np.outer(rows[:, 2] / c[2], c))
        c = gain * c
    rows[:, c == 0] = 0
    expected = np.full(6, np.nan)
    expected[COLUMNS] = np.where(c == 0, np.nan, np.sqrt((rows**2).sum(axis=0)))
    np.testing.assert_allclose(std, expected, atol=1e-15)
    np.testing.assert_allclose(placed, np.insert(c, [1, 3], 0.0))
    values = {name: entry[1] for name, entry in arrays.items()}
    points = values["jackknife_coefficient"]
    around = (points - c).T @ (points - c) * (1 - 1 / len(points))
    np.testing.assert_allclose(around, rows.T @ rows, atol=1e-12)
    np.testing.assert_allclose(points.mean(axis=0), c)
    difference = np.abs(factors * horizon) * gain
    np.testing.assert_allclose(values["horizon_difference"], difference)
    np.testing.assert_array_equal(values["input_gain"], [gain, gain])
    assert values["input_gain_std"].any() == gain_is_unknown
    assert numbers["memory_ratio"][0] == ratio and numbers["period"][0] == gain


@pytest.mark.parametrize("follows", [True, False])
def test_numbers_of_a_law_are_those_of_its_motion(follows, monkeypatch):
    """Amplitudes of tones of a main period, on a drift; noise that runs have more."""
    t = 0.05 * np.arange(400)
    tones = np.sin(2 * np.pi * t / 2.0), np.cos(2 * np.pi * t / 2.0)
    y = np.stack([np.r_[3 * tones[0] + t, tones[1]], np.r_[2 * tones[1], tones[1]]], 1)
    parts = [slice(0, 400), slice(400, 800)]
    motion = SimpleNamespace(dt=0.05, y=y, parts=parts, equations=None, dof=2)
    problem = SimpleNamespace(motion=motion, driven=False, period=2.0, names=["a", "b"])
    levels = SimpleNamespace(sensor=np.array([0.1, 0.2]), process=np.array([3.0, 4.0]))
    levels.is_free = np.array([True, False])
    runs = SimpleNamespace(levels=SimpleNamespace(sensor=np.array([0.3, 0.4])))
    near = SimpleNamespace(levels=levels)
    equations = SimpleNamespace(width=0.25)
    fitted = SimpleNamespace(
        converged=True, motion=SimpleNamespace(equations=equations)
    )
    fitted.innovations = SimpleNamespace(count=70)
    quadratic = SimpleNamespace(criterion=lambda solution: 2 * solution)
    law = SimpleNamespace(fit=fitted, quadratic=quadratic, solution=11.0)
    horizons = SimpleNamespace(law=law, near=near, far=runs if follows else None)
    horizons.corrections = (1,)
    model = SimpleNamespace(problem=problem, horizons=horizons, dynamics=None)
    for name, result in {
        "force_window": 0.5,
        "missed_tone": np.nan,
        "kurtosis": 7.0,
        "alike": [{"has": ["d"]}],
        "_beside": (np.array([1.0, 2.0]), np.array([0.0, 0.5])),
        "missed_force": np.zeros(2),
        "of_inputs": {"input_lag": np.zeros(2)},
    }.items():
        monkeypatch.setattr(module, name, lambda *of, result=result: result)
    noise = SimpleNamespace(stretches=0, whiteness=0.5)
    numbers, arrays = _values(model, noise, None, 1.0)
    amplitudes = [[1.0, 3.0], [1.0, 2.0]]
    np.testing.assert_allclose(arrays["amplitude_range"], amplitudes, rtol=0.06)
    np.testing.assert_array_equal(arrays["process_noise"], [3.0, 0.0])
    assert numbers["free_run_ratio"] == pytest.approx(3.0 if follows else np.inf)
    assert (numbers["blocks"], numbers["stretches"]) == (70, 0)
    assert (numbers["criterion_value"], numbers["sliding_width"]) == (22.0, 0.25)
    assert numbers["input_degree"] == 5 and numbers["kurtosis"] == 7.0
    assert numbers["converged"] == 1
    assert json.loads(arrays["corrections"].item()) == {"b": [2.0, 0.5]}
    assert json.loads(arrays["equivalent_models"].item()) == [{"has": ["d"]}]
    noise.stretches, problem.driven = 9, True
    problem.inputs = SimpleNamespace(degree=1)
    numbers, _ = _values(model, noise, None, 1.0)
    assert (numbers["blocks"], numbers["stretches"]) == (9, 9)
    assert numbers["input_degree"] == 1
    # A main period of a few samples is taken for eight.
    problem.period, motion.y = 0.05, np.tile(np.arange(8.0)[:, None] ** 2, (100, 2))
    _, arrays = _values(model, noise, None, 1.0)
    assert arrays["amplitude_range"].min() > 1
