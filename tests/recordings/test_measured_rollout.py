"""Forces that a law misses, what they say of it, and runs that they are read from."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
import xarray as xr
from scipy.stats import t as student

from leastaction.core.euler_lagrange import symbols
from leastaction.likelihood.iterated_smoother import smooth_motion
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.recordings.measured_rollout import (
    COORDINATES,
    CompiledLaw,
    WindowForces,
    _dataset,
    _share,
    enough_steps,
    followed,
    force_error,
    predict,
    windows_of,
)
from leastaction.recordings.remarks import is_lost
from leastaction.trajectories.variational_equations import variational_equations

SENSOR = np.full(1, 1e-3)


def missed_by(motion, c, constants):
    """Forces in windows of half a second, the motion smoothed without a law."""
    path = smooth_motion(motion, 1e-3 * SENSOR)[0][:, :2, 0]
    return force_error(motion, path, SENSOR, np.array(c), np.array(constants), 0.5)


def pendulum(sigma=1e-3, duration=4.0, dt=0.02):
    """Swings of a pendulum with noisy positions, and the states behind them."""
    x, v = symbols(["x", "xdot"])
    equations, c = (
        variational_equations([v**2, sp.cos(x)], ["x"]),
        np.array([0.5, 9.81]),
    )
    rows = round(duration / dt)
    path = equations.rollout(np.array([[2.0, 0.3]]), c, dt, rows, 8)[0]
    noise = sigma * np.random.default_rng(1).standard_normal((rows, 1))
    motion = MeasuredMotion(equations, path[:, :1] + noise, [slice(0, rows)], dt, 1)
    return motion, path, c


@pytest.mark.parametrize(
    ("process", "missed", "lost"),
    [
        ([0.4], [0.01], False),
        ([0.01], [0.4], True),
        ([0.4], None, True),
        ([0.1], None, False),
        ([0.4, 0.4], [0.01, np.nan], True),
        ([0.4, 0.01], [0.01, np.nan], False),
    ],
)
def test_a_law_is_judged_by_the_force_that_it_misses(process, missed, lost):
    """Where that of a coordinate is not recorded, by its process noise."""
    model = xr.Dataset(
        {"missed_force": (("r", "dof"), [process]), "criterion_value": ("r", [1.0])}
    )
    rollout = xr.Dataset({} if missed is None else {"force_error": ("r", missed)})
    assert is_lost(model, rollout) == lost


def test_a_constant_force_that_a_law_misses_is_seen_in_every_window():
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x], ["x"])
    time = np.arange(1000) * 0.01
    force = 2 * np.sin(time)
    q = force * -1 + 2 * time + 0.3 * time**2 / 2

    def nodes(steps):
        half = np.arange(2 * steps * len(time)) * 0.01 / (2 * steps)
        return 2 * np.sin(half)[:, None]

    motion = MeasuredMotion(equations, q[:, None], [slice(0, 1000)], 0.01, 1, nodes)
    missing, mean, *_ = missed_by(motion, [0.5, 0], [1])
    np.testing.assert_allclose(missing, 0.3, atol=1e-4)
    windows = force.reshape(20, -1)
    np.testing.assert_allclose(mean[::2, 0], windows.mean(axis=1), atol=0.05)


def test_a_blow_between_two_windows_is_a_recorded_force():
    """Else a hammer that hits there has next to no force, and the law misses it all."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x**2, x], ["x"])
    samples, dt, fine = 1000, 0.01, 32
    rms = []
    for hit in (5.0, 5.12, 5.25):  # windows begin at multiples of 0.5 s
        at = np.arange(2 * fine * samples) * dt / (2 * fine)
        force = 100 * np.exp(-0.5 * ((at - hit) / 0.02) ** 2)

        def nodes(steps, force=force):
            return force[:: fine // steps, None]

        c, start = np.array([0.5, -2.0, 0.0]), np.array([[0.1, 0.0]])
        path = equations.rollout(start, c, dt, samples, 8, nodes(8))[0, :, :1]
        motion = MeasuredMotion(equations, path, [slice(0, samples)], dt, 8, nodes)
        missing, mean, *_ = missed_by(motion, c, [2])
        assert np.abs(missing).max() < 0.01
        rms.append(np.sqrt((mean**2).mean()))
    assert max(rms) < 1.5 * min(rms)


@pytest.mark.parametrize(("push", "share"), [(0.0, 0.0), (0.2, 1.0)])
def test_noise_of_sensors_is_no_force_that_a_law_misses(push, share):
    """It shows as one with the variance 720 σ² Δt / T⁵ of a parabola, taken off."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, sp.cos(x), x], ["x"])
    c, rows, dt = np.array([0.5, 9.81, push]), 3000, 0.02
    path = equations.rollout(np.array([[2.0, 0.3]]), c, dt, rows, 8)[0, :, :1]
    y = path + SENSOR * np.random.default_rng(3).standard_normal((rows, 1))
    motion = MeasuredMotion(equations, y, [slice(0, rows)], dt)
    forces = missed_by(motion, [0.5, 9.81, 0.0], [2])
    expected = 720 * SENSOR**2 * dt / 0.5**5
    np.testing.assert_allclose(forces.variance.mean(), expected, rtol=0.1)
    assert ((forces.missed - push) ** 2).mean() == pytest.approx(expected, rel=0.2)
    found = _share([forces._replace(recorded=np.full_like(forces.missed, 0.2))])
    assert found == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("duration", [0.001, 0.3, 0.7, 100.0])
def test_windows_cover_every_row_once(duration):
    motion = pendulum()[0]
    parts = windows_of(motion, 3, len(motion.y), duration)
    rows = [row for part in parts for row in range(part.start, part.stop)]
    assert rows == list(range(3, len(motion.y)))
    assert min(part.stop - part.start for part in parts) >= 4


def test_begins_of_windows_are_those_of_least_squares():
    """The path obeys the law in every window, and a begin moved by δ fits no better."""
    motion, truth, c = pendulum(duration=2.0)
    motion = replace(motion, parts=windows_of(motion, 0, len(motion.y), 1.0), steps=4)
    start = truth + np.array([0.1, -0.5])  # far off, and no motion of the law
    path = followed(motion, start, c, SENSOR)
    for part in motion.parts:
        rows, y = part.stop - part.start, motion.y[part]

        def run(begin, rows=rows):
            return motion.equations.rollout(begin[None], c, motion.dt, rows, 4)[0]

        best = run(path[part.start])
        np.testing.assert_allclose(best, path[part], atol=1e-6)
        least = ((best[:, :1] - y) ** 2).sum()
        for change in 2e-4 * np.array([[1, 0], [-1, 0], [0, 5], [0, -5]]):
            moved = run(path[part.start] + change)[:, :1]
            assert ((moved - y) ** 2).sum() > least


def test_a_window_that_no_law_follows_is_not_finite():
    motion, truth, _ = pendulum(duration=1.0)
    assert not np.isfinite(followed(motion, truth, np.zeros(2), SENSOR)).all()


def test_a_window_that_is_lost_leaves_the_others_alone():
    motion, truth, c = pendulum()
    motion = replace(motion, parts=windows_of(motion, 0, len(motion.y), 1.0))
    lost = motion.parts[1]

    def force(steps, size=np.nan):
        nodes = np.zeros((2 * steps * len(motion.y), 1))
        nodes[2 * steps * lost.start : 2 * steps * (lost.stop - 1)] = size
        return nodes

    found = followed(replace(motion, force=force), truth, c, SENSOR)
    alone = followed(motion, truth, c, SENSOR)
    others = np.delete(np.arange(len(truth)), np.arange(lost.start, lost.stop))
    np.testing.assert_allclose(found[others], alone[others], atol=1e-6)
    assert np.isnan(found[lost]).any()


def escaping(begin):
    """Forces that a law misses that escapes as x³: on a push, then an oscillation."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x**4, x], ["x"])
    time = 0.01 * np.arange(400)
    q = np.where(time < begin, time**2 / 2, 3 * np.cos(3 * time))[:, None]

    def force(steps):
        return np.ones((2 * steps * len(time), 1))

    motion = MeasuredMotion(equations, q, [slice(0, 400)], 0.01, 1, force)
    with np.errstate(all="ignore"):
        return missed_by(motion, [0.5, 2e3, 0.0], [2])


def test_a_window_that_is_lost_has_no_force_and_leaves_the_others_theirs():
    forces = escaping(1.0)
    missed, recorded, *_ = forces
    lost = np.isnan(missed[:, 0])
    assert lost.any() and not lost[0] and (lost == np.isnan(recorded[:, 0])).all()
    size = [np.sqrt(np.mean(f[~lost] ** 2)) for f in (missed, recorded)]
    share = _share([forces._replace(variance=0 * missed)])
    assert share == pytest.approx(size[0] / size[1])
    assert recorded[0] == pytest.approx(1.0, rel=0.1)


def test_a_law_that_follows_no_window_misses_a_force_without_bound():
    forces = escaping(0.0)
    assert np.isnan(forces.missed).all()
    (share,) = _share([forces])
    model = xr.Dataset(
        {"missed_force": (("r", "dof"), [[0.0]]), "criterion_value": ("r", [1.0])}
    )
    assert share == np.inf
    assert is_lost(model, xr.Dataset({"force_error": ("r", [share])}))


def test_steps_follow_the_noise():
    motion, truth, c = pendulum()
    coarse, fine = (
        enough_steps(motion, truth, c, np.array([sigma])) for sigma in (0.1, 1e-7)
    )
    assert coarse.steps < fine.steps


@pytest.mark.parametrize("cut", [20, 14])
@pytest.mark.parametrize("sigma", np.geomspace(1e-9, 1e-2, 8))
def test_steps_half_as_long_change_a_run_by_less_than_a_twentieth_of_noise(sigma, cut):
    """Those twice as long would change it by more; of a shorter part by less."""
    motion, truth, c = pendulum(duration=2.0, dt=0.1)
    rest = [slice(cut, 20)] if cut < 20 else []
    motion = replace(motion, parts=[slice(0, cut), *rest])
    steps = enough_steps(motion, truth, c, np.array([sigma])).steps

    def run(steps):
        parts = [(truth[:1], cut), (truth[cut : cut + 1], 20 - cut)]
        return [
            motion.equations.rollout(begin, c, 0.1, rows, steps)[0, :, 0]
            for begin, rows in parts[: len(motion.parts)]
        ]

    for n in {steps, max(steps // 2, 1)}:
        each = zip(run(2 * n), run(n), strict=True)
        largest = [np.abs(fine - coarse).max() / sigma for fine, coarse in each]
        change = np.quantile(largest, 0.95)
        assert (change < 0.05 or n == 16) == (n == steps)


@pytest.mark.parametrize(
    ("start", "stop", "duration", "sizes"),
    [
        (0, 100, 0.5, [25] * 4),
        (0, 124, 0.5, [31] * 4),
        (0, 125, 0.5, [25] * 5),
        (7, 17, 0.5, [10]),
        (0, 40, 0.1, [8] * 5),  # four rows of each of two coordinates
    ],
)
def test_windows_are_equal_and_long_enough(start, stop, duration, sizes):
    motion = SimpleNamespace(dt=0.02, dof=2)
    windows = windows_of(motion, start, stop, duration)
    assert [w.stop - w.start for w in windows] == sizes
    assert windows[0].start == start and windows[-1].stop == stop


def forces_of(missed, recorded, variance):
    arrays = [np.array(x, dtype=float)[:, None] for x in (missed, recorded, variance)]
    return WindowForces(*arrays, np.zeros(len(missed)))


def test_the_share_of_a_force_is_that_of_windows_that_are_not_lost():
    one = forces_of([3.0, np.nan, 1.0], [4.0, 9.0, 2.0], [1.0, 5.0, 2.0])
    other = forces_of([2.0], [6.0], [0.0])
    square = (9 - 1 + 1 - 2 + 4) / 3
    expected = np.sqrt(square / ((16 + 4 + 36) / 3))
    assert _share([one, other]) == pytest.approx(expected)
    assert _share([forces_of([np.nan], [1.0], [0.0])]) == np.inf
    assert _share([forces_of([1.0], [2.0], [4.0])]) == 0.0
    assert np.isnan(_share([forces_of([1.0], [0.0], [0.0])]))


DECAY, RATE, STEP, PUSH = 0.1, 4.0, 0.02, 0.7


def model_of(law, points, noise=1e-3, width=0.0):
    """Model of a damped oscillator ẍ + 0.2 ẋ + k x = 0 with x² and ẋ² alone."""
    values = {
        "term": ("term", ["x**4", "xdot**2", "x**2"]),
        "dissipation_term": ("dissipation_term", ["abs(xdot)", "xdot**2"]),
        "coefficient_estimate": (("replicate", "term"), [[0.0, *law[:2]]]),
        "dissipation_coefficient_estimate": (
            ("replicate", "dissipation_term"),
            [[0.0, law[2]]],
        ),
        "column_position": ("column_fitted", [1, 2, 0, 4]),
        "prediction_coefficient": ("column_fitted", [law[0], law[1], 0.0, law[2]]),
        "jackknife_coefficient": (
            ("block", "column_fitted"),
            np.insert(points, 2, 0.0, axis=1),
        ),
        "noise_level": (("replicate", "dof"), [[noise]]),
        "process_noise": (("replicate", "dof"), [[0.0]]),
        "sliding_width": ("replicate", [width]),
        "blocks": ("replicate", [len(points)]),
    }
    return xr.Dataset(values, {"dof": ["x"]})


def measured(*paths, noise=0.0, seed=0):
    q = np.concatenate(paths)
    q = q + noise * np.random.default_rng(seed).standard_normal(len(q))
    counts = [len(p) for p in paths]
    data = {
        "q": (("replicate", "sample", "dof"), q[None, :, None]),
        "first_sample": ("trajectory", np.cumsum([0, *counts[:-1]])),
        "sample_count": ("trajectory", counts),
    }
    return xr.Dataset(data, {"dof": ["x"]}, {"time_step": STEP})


LAW = np.array([0.5, -(RATE**2) / 2, DECAY])
TIMES = STEP * np.arange(400)


def basis(c):
    """Motions that begin with x = 1 and ẋ = 0, or the other way round."""
    decay = c[2] / (2 * c[0])
    w = np.sqrt(-c[1] / c[0] - decay**2)
    envelope = np.exp(-decay * TIMES)
    one, other = np.cos(w * TIMES), np.sin(w * TIMES) / w
    return np.stack([envelope * (one + decay * other), envelope * other], axis=1)


@pytest.mark.parametrize(("start", "rows"), [(0.6, 30), (0.01, 8), (1e3, 400)])
def test_a_free_run_begins_as_least_squares_say(start, rows):
    """In closed form, and as every point around the law does; jackknife of these.

    Beside them the variance that noise of the first rows has in the run by its start.
    """
    points = LAW * (1 + 1e-3 * np.random.default_rng(5).standard_normal((6, 3)))
    sigma = 1e-3
    observations = measured(basis(LAW) @ [1.0, -2.0], noise=sigma)
    law = CompiledLaw(observations, model_of(LAW, points, sigma))
    path, band, by_start = law.free_run(slice(0, 400), start)
    y = observations["q"].values[0, :, 0]

    def run(c):
        whole = basis(c)
        return whole @ np.linalg.lstsq(whole[:rows], y[:rows], rcond=None)[0]

    np.testing.assert_allclose(path[:, 0], run(LAW), atol=1e-5)
    left = np.array([run(c) for c in points])
    square = 5 / 6 * ((left - left.mean(axis=0)) ** 2).sum(axis=0)
    motions = basis(LAW)
    inverse = np.linalg.inv(motions[:rows].T @ motions[:rows])
    of_start = sigma**2 * np.einsum("ka,ab,kb->k", motions, inverse, motions)
    factor = student.ppf(0.975, 5)
    np.testing.assert_allclose(by_start[:, 0], factor * np.sqrt(of_start), rtol=2e-2)
    expected = factor * np.sqrt(square + of_start) + 2 * sigma
    np.testing.assert_allclose(band[:, 0], expected, rtol=2e-2)


def test_residuals_and_one_step_errors_of_a_law_are_its_noise():
    """Less two degrees of freedom of each window; innovations are a little larger."""
    sigma, points = 1e-3, np.tile(LAW, (3, 1))
    paths = basis(LAW) @ [1.0, -2.0], basis(LAW) @ [-0.5, 1.0]
    observations = measured(*paths, noise=sigma)
    law = CompiledLaw(observations, model_of(LAW, points, sigma))
    noise = observations["q"].values[0, :, 0] - np.concatenate(paths)
    for part in (slice(0, 400), slice(400, 800)):
        left = law.residual(part, 2.0)[:, 0]
        pieces_of = left.reshape(4, 100), noise[part].reshape(4, 100)
        for found, here in zip(*pieces_of, strict=True):
            known = basis(LAW)[:100]
            fitted = known @ np.linalg.lstsq(known, here, rcond=None)[0]
            np.testing.assert_allclose(found, here - fitted, atol=1e-5)
    error = law.one_step_error([slice(0, 400), slice(400, 800)], 1.0)
    assert error == pytest.approx([sigma], rel=0.1)
    # Errors of the first second, without a law, are left out.
    early = law.one_step_error([slice(0, 400), slice(400, 800)], 7.9)
    rows = np.r_[395:400, 795:800]
    assert early == pytest.approx([np.sqrt(np.mean(noise[rows] ** 2))], rel=0.3)


@pytest.mark.parametrize("noise", [1e-3, 1e-7])
def test_a_force_that_a_law_misses_is_seen_through_its_compiled_form(noise):
    """Of a push that is constant; its noise is that of the sensor."""
    path = basis(LAW) @ [1.0, -2.0] + PUSH / RATE**2
    law = CompiledLaw(measured(path), model_of(LAW, np.tile(LAW, (3, 1)), noise))
    forces = law.force_error(slice(0, 400), 1.0)
    np.testing.assert_allclose(forces.missed, PUSH, rtol=1e-3)
    assert not forces.recorded.any()
    expected = 720 * noise**2 * STEP / 1.0**5
    np.testing.assert_allclose(forces.variance.mean(), expected, rtol=0.3)


def test_inputs_act_as_the_law_says():
    observations = measured(TIMES)
    driven = np.sin(TIMES)[None, :, None]
    observations["input"] = ("replicate", "sample", "dof"), driven
    about = {"input_gain": 3.0, "input_lag": 0.1, "input_time_constant": 0.2}
    model = model_of(LAW, np.tile(LAW, (2, 1)))
    model = model.assign({k: (("replicate", "dof"), [[v]]) for k, v in about.items()})
    model["input_degree"] = "replicate", [1]
    law = CompiledLaw(observations, model)
    inputs = law.inputs
    np.testing.assert_array_equal(inputs.recorded, 3 * driven[0])
    assert (inputs.lag, inputs.time_constant, inputs.degree) == (0.1, 0.2, 1)
    force = law._motion(slice(7, 20))[0].force(1)
    np.testing.assert_allclose(force, inputs.at(np.arange(7, 20), (0.0, 0.5)))


def test_a_correction_is_part_of_predictions_of_a_sample_alone():
    model = model_of(LAW, np.tile(LAW, (2, 1)))
    model["prediction_coefficient"][:] = [0.4, -7.0, 0.25, 0.0]
    law = CompiledLaw(measured(TIMES), model)
    np.testing.assert_array_equal(law.c, [0.0, *LAW])
    np.testing.assert_array_equal(law.of_sample, [0.25, 0.4, -7.0, 0.0])
    np.testing.assert_array_equal(law.left, [[0.0, *LAW]] * 2)


@pytest.mark.parametrize(("period", "stride"), [(7.9, 1), (8.1, 2), (0.01, 1)])
def test_errors_of_runs_are_those_over_half_the_range(period, stride):
    """Of all samples; every second is stored of more than 300 in a period."""
    period = period / 8 * 300 * STEP
    rng, coords = np.random.default_rng(0), {"replicate": [0], "dof": ["x", "y"]}
    coords |= {"label": ("trajectory", ["a", "b"])}
    coords |= {k: ("dof", ["m", "m"]) for k in COORDINATES[3:6]}
    coords["coordinate_shown_factor"] = "dof", [1.0, 1.0]
    observations = xr.Dataset(coords=coords, attrs={"time_step": STEP})
    stored = [tuple(rng.standard_normal((n, 2)) for _ in range(4)) for n in (11, 8)]
    forces = [
        WindowForces(
            *(rng.standard_normal((n, 2)) for _ in range(3)), np.arange(n) * 1.0
        )
        for n in (3, 2)
    ]
    shares = {"one_step_error": np.zeros((1, 2))}
    stored[1][1][3, 0] = np.nan
    found = _dataset(observations, stored, forces, shares, {"period": period})
    for k, (q, path, *_) in enumerate(stored):
        half = (q.max(axis=0) - q.min(axis=0)) / 2
        error = np.abs(path - q) / half
        error[np.isnan(error)] = np.inf
        np.testing.assert_allclose(found["half_range"][k], half)
        expected = np.sqrt((error**2).mean(axis=0))
        np.testing.assert_allclose(found["rms_error"].values[0, k], expected)
        largest = error.max(axis=0)
        np.testing.assert_allclose(found["maximum_error"].values[0, k], largest)
    rows = [np.arange(0, n, stride) for n in (11, 8)]
    np.testing.assert_allclose(found["path_time"], STEP * np.concatenate(rows))
    kept = np.concatenate([each[0][r] for each, r in zip(stored, rows, strict=True)])
    np.testing.assert_allclose(found["q_measured"].values[0], kept)
    numbers = found["path_trajectory"].values
    assert numbers.tolist() == [0] * len(rows[0]) + [1] * len(rows[1])
    assert found["window_trajectory"].values.tolist() == [0, 0, 0, 1, 1]
    assert found["window_time"].values.tolist() == [0, 1, 2, 0, 1]
    missed = np.concatenate([f.missed for f in forces])
    np.testing.assert_allclose(found["force_missed"].values[0], missed)


@pytest.mark.parametrize(("size", "expected"), [(4.0, 2e-4), (20.0, 1e-3), (0.0, 1e-4)])
def test_a_sensor_is_no_better_than_a_ten_thousandth_of_the_motion(size, expected):
    path = np.r_[np.zeros(5), np.linspace(0, size, 20)]
    law = CompiledLaw(measured(path), model_of(LAW, np.tile(LAW, (2, 1)), 1e-4))
    motion, sensor = law._motion(slice(5, 25))
    assert sensor == pytest.approx([expected])
    np.testing.assert_array_equal(motion.y[:, 0], path[5:])
    assert (motion.parts, motion.dt, motion.steps) == ([slice(0, 20)], STEP, 1)
    assert motion.force is None
    still = CompiledLaw(measured(0 * path), model_of(LAW, np.tile(LAW, (2, 1)), 0.0))
    assert still._motion(slice(0, 25))[1] == pytest.approx([1e-16])


class Told:
    """A law whose runs, forces and residuals state what they are asked for."""

    dt, inputs = STEP, ()

    def __init__(self, observations, model):
        self.q = observations["q"].values[0]

    def free_run(self, part, start):
        q = self.q[part]
        moved = (np.arange(len(q))[:, None] + 0.5) / 100 * np.ptp(q) / 2
        return q + 0.5, np.full_like(q, start), moved

    def residual(self, part, window):
        return np.full_like(self.q[part], window)

    def force_error(self, part, window):
        return WindowForces(*np.ones((2, 1, 1)), np.zeros((1, 1)), np.zeros(1))

    def one_step_error(self, parts, start):
        return np.array([start])


@pytest.mark.parametrize(
    ("held", "loud", "start", "is_driven"),
    [
        ([0, 1], 0.11, None, True),
        ([0, 1], 0.13, 0.7, True),
        ([0, 1], 0.09, None, False),
        ([0, 0], 0.0, None, True),
    ],
)
def test_held_out_motions_are_predicted(held, loud, start, is_driven, monkeypatch):
    """From .45 main periods on; without its input a motion has no force error.

    That is one of less than a tenth of the rms of all.
    """
    module = "leastaction.recordings.measured_rollout"
    monkeypatch.setattr(f"{module}.check", lambda *of: None)
    monkeypatch.setattr(f"{module}.IdentifiedModel", lambda model: model)
    units = lambda *of: ("J", ["N"])  # noqa: E731
    monkeypatch.setattr(f"{module}.energy_and_force_units", units)
    monkeypatch.setattr(f"{module}.CompiledLaw", Told)
    data = measured(np.arange(30.0), np.cos(np.arange(50.0)))
    push = 3 * np.r_[np.full(30, np.sqrt((8 - 5 * loud**2) / 3)), np.full(50, loud)]
    data["input"] = ("replicate", "sample", "dof"), push[None, :, None]
    data["held_out"] = "trajectory", held
    data = data.assign_coords(
        {k: ("dof", ["m"]) for k in COORDINATES[3:6]}
        | {"coordinate_shown_factor": ("dof", [1.0]), "replicate": [0]}
        | {"label": ("trajectory", ["a", "b"])}
    )
    model = xr.Dataset({"period": ("r", [2.0]), "force_window": ("r", [0.3])})
    found = predict(data, model, {"start": start})
    every = not any(held)
    path = data["q"].values[0, :, 0] if every else data["q"].values[0, 30:, 0]
    np.testing.assert_allclose(found["q_measured"].values[0, :, 0], path)
    np.testing.assert_allclose(found["q_estimate"].values[0, :, 0], path + 0.5)
    assert found.attrs["start"] == (start or 0.9) == found["one_step_error"].item()
    assert (found.attrs["learned_from"], found.attrs["force_window"]) == (every, 0.3)
    assert (found["residual"].values == 6.0).all()  # three main periods
    assert (found["q_band"].values == (start or 0.9)).all()
    # Noise of its start moves the sixth sample by more than 5 % of half the range.
    np.testing.assert_allclose(found["prediction_time"], 5 * STEP)
    assert np.isfinite(found["force_error"].item()) == is_driven
    assert found["force_unit"].item() == "N" and found.attrs["energy_unit"] == "J"
