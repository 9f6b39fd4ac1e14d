"""The experiment that halves an interval, made and learned from."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.core.euler_lagrange import symbols
from leastaction.recordings import next_experiment as module
from leastaction.trajectories.variational_equations import variational_equations

MASS, DAMPING, STIFFNESS, CUBIC, DT = 1.2, 0.4, 30.0, 60.0, 0.01
ABOUT = {
    "inputs": {"x": "f [N]"},
    "library": {
        "lagrangian": ["xdot**2", "x**2", "x**4"],
        "dissipation": ["xdot**2"],
    },
    "held_out": [],
    "progress": False,
}


def run(force, duration, seed):
    """Position with 1 mm of noise, and force, of a Duffing oscillator from rest."""
    time = np.arange(0, duration, DT)

    def rate(t, s):
        pull = DAMPING * s[1] + STIFFNESS * s[0] + CUBIC * s[0] ** 3
        return [s[1], (force(t) - pull) / MASS]

    how = {"t_eval": time, "rtol": 1e-9, "atol": 1e-11, "max_step": 0.05}
    x = solve_ivp(rate, time[[0, -1]], [0, 0], **how).y[0]
    noise = 1e-3 * np.random.default_rng(seed).standard_normal(len(x))
    return time, x + noise, force(time)


def first(t):
    return 0.5 * np.sin(1.9 * t) + 0.8 * np.sin(3.8 * t) + 0.6 * np.sin(5.7 * t + 1)


@pytest.fixture(scope="module")
def begun():
    time, x, f = run(first, 20, 1)
    return (time, x, f), la.learn({"x": [x], "f": [f]}, time=[time], **ABOUT)


def test_the_recommended_experiment_halves_the_interval(begun):
    (time, x, f), law = begun
    table = law.next_experiment("x**4")
    assert (np.diff(table.duration) >= 0).all() and set(table.unit) == {"N"}
    best = table[table.duration > 15].iloc[0]

    def sine(t):
        return best.amplitude * np.sin(2 * np.pi * best.frequency * t)

    late, y, g = run(sine, best.duration, 2)
    both = la.learn({"x": [x, y], "f": [f, g]}, time=[time, late], **ABOUT)
    ratio = both.standard_error("x**4") / law.standard_error("x**4")
    assert ratio == pytest.approx(0.5, rel=0.2)
    assert np.abs(y).max() / np.abs(x).max() == pytest.approx(best.excursion, rel=0.2)


def test_less_is_faster(begun):
    law = begun[1]
    half, little = (law.next_experiment("x**4", shrink=r) for r in (0.5, 0.9))
    assert little.duration.min() <= half.duration.min()
    assert len(little) >= len(half)


def test_a_coefficient_without_an_interval_is_refused(begun):
    with pytest.raises(ValueError, match="expected one of xdot\\*\\*2 of L"):
        begun[1].next_experiment("x**3")
    with pytest.raises(ValueError, match="between 0 and 1"):
        begun[1].next_experiment("x**4", shrink=2)


def test_a_free_motion_is_released():
    time = np.arange(0, 20, 0.02)
    noise = 1e-3 * np.random.default_rng(1).standard_normal((4, len(time)))
    swings = [a * np.cos(3 * time) for a in (0.1, 0.2, 0.3, 0.4)] + noise
    law = la.learn({"x": list(swings)}, time=time, progress=False)
    table = law.next_experiment("x**2")
    assert table.frequency.isna().all() and set(table.excite) == {"x"}
    best = table.sort_values("excursion").iloc[-1]
    assert best.excursion == pytest.approx(2, rel=0.1)


def recorded_law(inputs, dt=0.05):
    return SimpleNamespace(dt=dt, inputs=inputs)


MODEL = xr.Dataset({"period": 2.0}, {"dof": ["x", "y"]})
MIDDLE, SIZE = np.array([1.0, 2.0]), np.array([0.5, 0.1])


def test_trials_without_an_input_are_releases_of_each_coordinate():
    trials = list(module._trials(recorded_law(None), MODEL, MIDDLE, SIZE))
    count = len(module.AMPLITUDES)
    assert [t.excite for t in trials] == ["x"] * count + ["y"] * count
    for trial, factor in zip(trials[count:], module.AMPLITUDES, strict=True):
        assert trial.amplitude == pytest.approx(0.1 * factor)
        np.testing.assert_allclose(trial.start, [1, 2 + 0.1 * factor, 0, 0])
        assert np.isnan(trial.frequency) and not trial.force.any()


@pytest.mark.parametrize("dt", [0.05, 0.2])
def test_trials_with_an_input_are_sines_as_loud_as_the_recorded_ones(dt):
    """√2 times the rms, with ten samples in a period at least."""
    t = np.arange(400)
    recorded = np.stack([3 * np.sin(2 * np.pi * t / 40), 0 * t], axis=1)
    law = recorded_law(SimpleNamespace(recorded=recorded), dt)
    trials = list(module._trials(law, MODEL, MIDDLE, SIZE))
    expected = [
        (factor * 3, ratio / 2)
        for factor in module.AMPLITUDES
        for ratio in module.FREQUENCIES
        if ratio / 2 * dt * 10 < 1
    ]
    found = [(trial.amplitude, trial.frequency) for trial in trials]
    np.testing.assert_allclose(found, expected)
    for trial in trials:
        np.testing.assert_allclose(trial.start, [1, 2, 0, 0])
        np.testing.assert_allclose(trial.force, [trial.amplitude, 0])


@pytest.mark.parametrize(
    ("rate", "shrink", "duration"),
    [(0.1, 0.5, 30.0), (1.0, 0.5, 5.0), (0.01, 0.5, 300.0), (2.9e-3, 0.5, None)],
)
def test_a_duration_is_that_in_which_the_information_grows(rate, shrink, duration):
    """Linear information I₀ + rate·t: t = (1/r² − 1) I₀/rate, five periods at least."""
    time = np.linspace(1, 20, 20)
    information = rate * time[:, None, None] * np.eye(2)
    known = np.diag([1.0, 9.0])
    found = module._duration(known, (time, information), 0, shrink, 1e3)
    if duration is None:
        assert found is None
    else:
        assert found == pytest.approx(duration, rel=1e-4)


def test_the_motion_goes_on_as_in_its_second_half():
    time = np.linspace(1, 20, 20)
    growth = np.where(time <= 11, 0.0, 0.1 * (time - 11))
    information = growth[:, None, None] * np.eye(1)
    known = np.eye(1)
    # 0.9 at 20 s; from there on 0.1 per s up to 3, and within it where it bends.
    found = module._duration(known, (time, information), 0, 0.5, 1e3)
    assert found == pytest.approx(41.0, rel=1e-4)
    found = module._duration(known, (time, information), 0, 1 / 1.35**0.5, 1e3)
    assert found == pytest.approx(14.5, rel=1e-4)


@pytest.mark.parametrize(("wider", "count"), [(1.02, 5), (1.03, 3)])
def test_experiments_stay_where_the_law_was_seen(wider, count, monkeypatch):
    """Within 2.05 times the recording; those that take too long are left out."""
    q = np.array([[0.5, 2.1], [1.0, 2.0], [1.0, 1.9], [1.5, 2.0], [1.0, 2.0]])
    law = SimpleNamespace(dt=0.05, inputs=None, q=q, c=np.array([0, 2.0, 0, 3.0, 5.0]))
    covariance = np.diag([4.0, 0.0, 9.0])
    covariance[0, 2] = covariance[2, 0] = 1.0
    known, seen = np.linalg.inv([[4.0, 1.0], [1.0, 9.0]]), []

    def along(law, trial, active, model):
        assert active.tolist() == [1, 4]
        path = np.array([MIDDLE, trial.start[:2], 2 * MIDDLE - trial.start[:2]])
        return MIDDLE + wider * (path - MIDDLE), trial.amplitude, trial.excite

    def duration(known_of, experiment, k, r, most):
        np.testing.assert_allclose(known_of, known)
        seen.append((k, r, most))
        amplitude, name = experiment
        return None if name == "y" and abs(amplitude - 0.1) < 0.01 else 1 / amplitude

    monkeypatch.setattr(module, "_along", along)
    monkeypatch.setattr(module, "_duration", duration)
    table = module.experiments(law, MODEL, covariance, 2, 0.5)
    assert seen == [(1, 0.5, 1e3 * 0.05 * 5)] * (count + 1)
    assert len(table) == count and (np.diff(table.duration) > 0).all()
    size = dict(zip("xy", SIZE, strict=True))
    relative = table.amplitude / table.excite.map(size)
    np.testing.assert_allclose(table.excursion, wider * relative)
    np.testing.assert_allclose(table.duration * table.amplitude, 1)
    assert table.frequency.isna().all()


@pytest.mark.parametrize("frequency", [0.4, np.nan])
def test_an_experiment_is_a_motion_of_the_law_with_its_information(frequency):
    """A released or driven mass on a spring; the lengths of twenty periods."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x**2], ["x"])
    law = SimpleNamespace(equations=equations, c=np.array([0.5, -2.0]), dt=0.05)
    law.q, law.noise, law.process_noise = np.zeros((1, 1)), np.array([0.1]), np.zeros(1)
    force = np.array([0.0 if np.isnan(frequency) else 3.0])
    trial = module.Trial("x", 1.0, frequency, np.array([0.3, 0.0]), force)
    active, model = np.array([1]), MODEL.assign(period=np.pi)
    path, time, information = module._along(law, trial, active, model)
    slowest = np.nanmax([np.pi, 1 / frequency])
    t = 0.05 * np.arange(round(20 * slowest / 0.05))
    omega, drive = 2.0, 2 * np.pi * np.nan_to_num(frequency)

    def motion(k):
        """x of ẍ + k x = F sin ωt from x = 0.3 at rest."""
        w, size = np.sqrt(k), force[0] / (k - drive**2)
        return 0.3 * np.cos(w * t) + size * (
            np.sin(drive * t) - drive / w * np.sin(w * t)
        )

    np.testing.assert_allclose(path[:, 0], motion(omega**2), atol=1e-3)
    assert time[-1] == pytest.approx(len(t) * 0.05)
    # k = −2 c; the begin is estimated with it: its motions are taken off.
    slope = -2 * (motion(4 + 1e-5) - motion(4 - 1e-5)) / 2e-5
    begin = np.stack([np.cos(2 * t), np.sin(2 * t)], axis=1)
    left = slope - begin @ np.linalg.lstsq(begin, slope, rcond=None)[0]
    assert information[-1].item() == pytest.approx((left**2).sum() / 0.01, rel=0.02)
