"""Laws of the Runge–Kutta method: its order, energy, and a second integrator."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from stages import simulate
from support import PENDULUM, motion_settings, system

from leastaction.core.contracts import check
from leastaction.core.runge_kutta import motion_of, stored_motions, substeps_of
from leastaction.core.simulation import DivergenceError, halton_starts

DOUBLE = (
    "th1dot**2 + th2dot**2/2 + th1dot*th2dot*cos(th1 - th2) + 2*g*cos(th1) + g*cos(th2)"
)


@pytest.fixture(scope="module")
def double():
    return system(DOUBLE, ("th1", "th2"), {"g": 9.81})


def recordings(name="pendulum", **changes):
    truth = system(PENDULUM, ("th",))
    key = {"example": name, "seed": 3, "replicate": 0, "units": {"th": "rad"}}
    return simulate(truth, motion_settings(**changes), **key)


def test_fourth_order(double):
    motion = motion_of(double)
    start = [1.0, -0.5, 0.3, 0.2]
    exact, _ = motion.integrate(start, 11, 0.1, substeps=400)
    errors = [
        np.abs(motion.integrate(start, 11, 0.1, substeps=n)[0] - exact).max()
        for n in (5, 10, 20)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.3)


def test_agrees_with_another_integrator(double):
    motion = motion_of(double)
    start = np.array([2.0, 1.0, 0.0, 0.0])
    path, acceleration = motion.integrate(start, 101, 0.01, substeps=10)

    def rate(time, state):
        return [*state[2:], *motion.accelerations([time], state[None])[0]]

    other = solve_ivp(
        rate, (0, 1), start, "DOP853", np.linspace(0, 1, 101), rtol=1e-11, atol=1e-11
    )
    assert np.abs(path - other.y.T).max() < 1e-8
    rows = motion.accelerations(np.zeros(101), path)
    assert np.array_equal(acceleration, rows)


def test_damping_takes_energy_out_and_a_force_puts_it_in():
    truth = system("xdot**2/2 - x**2/2", dissipation="0.1*xdot**2/2")
    path, _ = motion_of(truth).integrate([1.0, 0.0], 1001, 0.01)
    power = np.gradient((path**2).sum(axis=1) / 2, 0.01)
    assert np.allclose(power[1:-1], -0.1 * path[1:-1, 1] ** 2, atol=1e-5)
    driven, _ = motion_of(truth, {"x": "3*cos(rate*time)"}, ("rate",)).integrate(
        [0.0, 0.0], 20001, 0.01, values=(1.0,)
    )
    # Resonance: the amplitude is force over damping times frequency.
    assert np.abs(driven[-1000:, 0]).max() == pytest.approx(30.0, rel=1e-2)


def test_channels_obey_the_equation_of_motion():
    data = recordings()
    check(data, "recordings")
    assert np.allclose(data["qddot"], -9.81 * np.sin(data["q"]), atol=1e-12)
    energy = data["qdot"] ** 2 / 2 - 9.81 * np.cos(data["q"])
    assert float(np.ptp(energy.values, axis=2).max()) < 1e-7


def test_inputs_are_recorded():
    data = recordings(input={"th": "0.5*sin(2*time)"})
    time = data["time"].values
    assert np.allclose(data["input"][0, :, :, 0], 0.5 * np.sin(2 * time))
    left = data["qddot"] + 9.81 * np.sin(data["q"])
    assert np.allclose(left, data["input"], atol=1e-12)


def test_unrecorded_channels_are_absent_and_change_nothing_else():
    every, few = recordings(), recordings(noise={"channels": ["q"]})
    assert {"qdot", "qddot", "noise_qdot"}.isdisjoint(few.data_vars)
    assert np.array_equal(every["q"], few["q"])
    assert np.array_equal(every["noise_q"], few["noise_q"])


def test_a_motion_that_leaves_the_numbers_is_refused():
    truth = system("xdot**2/2 + x**4")
    settings = motion_settings(
        duration=50.0, initial_state={"x": 10.0, "xdot": 0.0}, trajectories=1
    )
    with pytest.raises(DivergenceError, match="integration_step"):
        simulate(truth, settings, example="e", seed=1, replicate=0, units={"x": "m"})


def halton_recordings(replicate, random):
    start = {"random": random, "th": "angle", "thdot": "rate"}
    truth = system(PENDULUM, ("th",))
    settings = motion_settings(initial_state=start, trajectories=7)
    key = {"example": "e", "seed": 3, "units": {"th": "rad"}}
    return simulate(truth, settings, **key, replicate=replicate)


def test_halton_starts_are_consecutive_points_of_one_sequence_in_every_replicate():
    random = {"angle": {"halton": [-3, 3]}, "rate": {"halton": [-1, 2]}}
    expected = halton_starts(4, [-3, -1], [3, 2], 7)
    for replicate in (0, 5):
        data = halton_recordings(replicate, random)
        assert np.array_equal(data["q"][0, :, 0, 0], expected[:, 0])
        assert np.array_equal(data["qdot"][0, :, 0, 0], expected[:, 1])
    # A random name beside them takes no part in the sequence.
    mixed = {"angle": {"halton": [-3, 3]}, "rate": {"uniform": [-1, 2]}}
    one, other = (halton_recordings(k, mixed) for k in (0, 1))
    assert np.array_equal(one["q"][0, :, 0, 0], halton_starts(3, [-3], [3], 7)[:, 0])
    assert not np.array_equal(one["qdot"], other["qdot"])


@pytest.mark.parametrize(
    ("time_step", "longest", "steps"),
    [(0.01, 0.001, 10), (0.01, 0.003, 4), (0.1, 0.2, 1), (1.1, 0.1, 11), (0.7, 0.1, 7)],
)
def test_steps_are_as_few_as_their_longest_allows(time_step, longest, steps):
    """Rounding of a ratio adds none: 1.1/0.1 is 11.000000000000002."""
    settings = {"time_step": time_step, "integration_step": longest}
    assert substeps_of(settings) == steps


def test_one_step_per_sample_is_the_default(double):
    motion, start = motion_of(double), [1.0, 0.0, 0.0, 0.0]
    path, _ = motion.integrate(start, 3, 0.1)
    assert np.array_equal(path, motion.integrate(start, 3, 0.1, substeps=1)[0])


@pytest.mark.parametrize("substeps", [1, 3])
def test_a_force_acts_at_its_time(substeps):
    """The method integrates a parabola in time without an error."""
    motion = motion_of(system("xdot**2/2", ("x",)), {"x": "12*time**2"})
    path, acceleration = motion.integrate([1.0, 0.5], 5, 0.3, substeps=substeps)
    t = 0.3 * np.arange(5)
    np.testing.assert_allclose(path, np.c_[1 + t / 2 + t**4, 0.5 + 4 * t**3])
    np.testing.assert_allclose(acceleration[:, 0], 12 * t**2)


def stored(folder, states, rates):
    """Files of motions with two coordinates."""
    for name, values in (("states", states), ("rates", rates)):
        np.save(folder / f"{name}.npy", values)
    return {name: str(folder / f"{name}.npy") for name in ("states", "rates")}


def test_stored_motions_are_cut_into_trajectories(tmp_path):
    states = np.arange(24.0).reshape(6, 4)
    files = stored(tmp_path, states, states + 100)
    channels = stored_motions(files, 3, 2)
    np.testing.assert_array_equal(channels["q"].reshape(6, 2), states[:, :2])
    np.testing.assert_array_equal(channels["qdot"].reshape(6, 2), states[:, 2:])
    np.testing.assert_array_equal(channels["qddot"].reshape(6, 2), states[:, 2:] + 100)
    assert channels["q"].shape == (2, 3, 2)


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((6, 4), (6, 2)), "both expected"),
        (((6, 2), (6, 2)), r"expected as \(samples, 4\)"),
        (((5, 4), (5, 4)), "5 samples are no trajectories of 3"),
        (((0, 4), (0, 4)), "0 samples are no trajectories of 3"),
    ],
)
def test_stored_motions_that_do_not_fit_are_refused(tmp_path, shapes, words):
    files = stored(tmp_path, *map(np.zeros, shapes))
    with pytest.raises(ValueError, match=words):
        stored_motions(files, 3, 2)
