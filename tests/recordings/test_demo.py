"""Tables to try with: motions in closed form, and what sensors make of them."""

import io

import numpy as np
import pandas as pd
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from leastaction.core.own_data import kinds
from leastaction.core.system import System
from leastaction.recordings.demo import demo_of, demo_table, recorded_table, sliding
from leastaction.recordings.refusals import RecordingError

OMEGA = 3.0
SPRING = {
    "example": "spring",
    "seed": 3,
    "system": {
        "coordinates": {"x": {"unit": "m"}},
        "parameters": {},
        "lagrangian": "xdot**2/2 - 9*x**2/2",
    },
    "simulate": {
        "rate": 20,
        "duration": 2.0,
        "trajectories": 2,
        "initial_state": {"x": 0.5, "xdot": 0},
    },
    "sensor": {},
}


def table(simulate=None, **sensor):
    settings = SPRING | {"sensor": sensor}
    settings["simulate"] = SPRING["simulate"] | (simulate or {})
    return pd.read_csv(io.StringIO(recorded_table(settings)))


def exact(t):
    return 0.5 * np.cos(OMEGA * t)


@pytest.mark.parametrize("rate", [20, 2])
def test_a_sensor_without_noise_shows_the_motion(rate):
    """Samples are half a step late, at an eighth of a step, however long that is."""
    data, count = table({"rate": rate}), 2 * rate + 1
    assert data.columns.tolist() == ["run", "t", "x"]
    assert data.groupby("run").size().tolist() == [count, count]
    expected = (np.arange(count) + 0.5) / rate
    np.testing.assert_allclose(data.t, np.tile(expected, 2), atol=1e-6)
    np.testing.assert_allclose(data.x, exact(data.t), atol=1e-6)


def test_a_clock_that_jitters_has_right_times():
    data = table(jitter=0.2)
    late = data.t * 20 - np.tile(np.arange(41), 2) - 0.5
    assert set((8 * late).round(3)) <= {float(k) for k in range(-4, 5)}
    assert late.std() == pytest.approx(0.2, rel=0.2) and np.abs(late).max() < 0.45
    np.testing.assert_allclose(data.x, exact(data.t), atol=1e-6)


def test_readings_have_offset_noise_and_steps():
    data = table(offset={"x": 2.0}, noise={"x": 0.01})
    left = data.x - exact(data.t) - 2.0
    assert left.std() == pytest.approx(0.01, rel=0.2)
    assert abs(left.mean()) < 0.005
    steps = table(step={"x": 0.02}).x / 0.02
    np.testing.assert_allclose(steps, steps.round(), atol=1e-6)
    np.testing.assert_allclose(steps, (exact(data.t) / 0.02).round(), atol=1e-6)


def test_rows_may_be_missing():
    data = table(simulate={"duration": 20.0}, missing=0.3)
    assert len(data) / 802 == pytest.approx(0.7, abs=0.05)
    np.testing.assert_allclose(data.x, exact(data.t), atol=1e-5)


def test_an_input_is_a_column():
    """From rest under F = 5: x = 5/9 (1 − cos 3t)."""
    push = {"input": {"x": "5"}, "initial_state": {"x": 0, "xdot": 0}}
    data = table(simulate=push)
    assert data.columns.tolist() == ["run", "t", "x", "input_x"]
    assert (data.input_x == 5).all()
    np.testing.assert_allclose(data.x, 5 / 9 * (1 - np.cos(3 * data.t)), atol=1e-6)


def test_friction_that_slides_is_smooth():
    """√(v² + w²), of a width of a millimetre per second."""
    system = sliding(System("xdot**2/2", {"c": 2.0}, dissipation="c*abs(xdot)"))
    (v,) = system.qdot
    force = sp.diff(system.evaluated(system.dissipation), v)
    for at in (-2e-3, 0.0, 5e-4, 1.0):
        expected = 2 * at / np.hypot(at, 1e-3)
        assert float(force.subs(v, at)) == pytest.approx(expected)


def test_the_demonstration_is_a_pendulum_with_friction():
    """θ̈ = −40 sin θ − 0.2 sign θ̇ − 0.04 θ̇, whose sensor has a noise of 1 mrad."""
    data = pd.read_csv(io.StringIO(demo_table()))
    assert data.groupby("run").size().tolist() == [401] * 5
    starts = data.groupby("run").theta.first()
    assert starts.between(0.6, 2.2).all() and starts.nunique() == 5
    for _, run in [*data.query("t < 4").groupby("run")][:1]:
        t, theta = run.t.to_numpy(), run.theta.to_numpy()

        def path(size, t=t):
            def rates(_, z):
                dry = 0.2 * z[1] / np.hypot(z[1], 1e-3)
                return [z[1], -40 * np.sin(z[0]) - dry - 0.04 * z[1]]

            how = {"t_eval": t, "rtol": 1e-8, "atol": 1e-9, "max_step": 0.02}
            return solve_ivp(rates, (0, t[-1]), [size, 0], **how).y[0]

        # At t = .01 it has fallen by 20 sin θ t², 2 mrad.
        size = theta[0] + 20 * np.sin(theta[0]) * t[0] ** 2
        one, other = path(size), path(size + 1e-4)
        slope = (other - one) / 1e-4
        change = slope @ (theta - one) / (slope @ slope)
        left = theta - one - change * slope
        assert np.sqrt(np.mean(left**2)) == pytest.approx(1e-3, rel=0.15)


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ([], "swings.csv"),
        (["a.csv"], "a.csv"),
        (["density"], "density.csv"),
        (["density", "b.csv"], "b.csv"),
    ],
)
def test_words_of_the_demonstration(words, file):
    name, make, about, options = demo_of(words)
    assert name == file
    if "density" in words:
        kind = kinds()["density"]
        assert make == kind.demo and about == kind.about
        assert options == f"--kind density {kind.example}"
    else:
        assert make is demo_table and "--coordinate theta:rad" in options


@pytest.mark.parametrize("words", [["a", "b"], ["density", "a", "b"]])
def test_too_many_words(words):
    with pytest.raises(RecordingError, match="expected a kind"):
        demo_of(words)
