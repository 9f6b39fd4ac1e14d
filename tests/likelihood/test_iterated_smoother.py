"""Path, coefficients and noise levels of simulated motions."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

from leastaction.core.expressions import parse
from leastaction.likelihood import iterated_smoother
from leastaction.likelihood.covariance import spread, whiteness
from leastaction.likelihood.iterated_smoother import (
    accurate,
    begin_levels,
    fit,
    smooth_motion,
    with_noise_of_runs,
)
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.likelihood.missed_force import Memory, memory, tone
from leastaction.likelihood.noise_levels import STARTS, NoiseLevels, tuned
from leastaction.likelihood.term_selection import Candidates, Quadratic, select
from leastaction.trajectories.variational_equations import WIDTH, variational_equations

TRUTH = np.array([0.65, -6.0, -5.0, 0.0, 0.075, 0.0])
FREE = np.arange(6)
DT, ROWS, NOISE = 0.02, 500, 1e-3


@pytest.fixture(scope="module")
def duffing():
    names = ("x", "xdot")
    terms = ["xdot**2", "x**2", "x**4", "x"]
    v = parse("xdot", names)
    losses = [v**2, sp.sqrt(v**2 + WIDTH**2)]
    equations = variational_equations([parse(t, names) for t in terms], ("x",), losses)
    return replace(equations, width=0.01)


def pushed(count):
    """A force at the nodes of the integrator, and none but smooth."""

    def nodes(steps):
        time = np.arange(2 * steps * count) * DT / (2 * steps)
        return (2 * np.sin(2.5 * time) + 2 * np.sin(4.1 * time + 1))[:, None]

    return nodes


def motion(duffing, seed, missed=0.0, hidden_tone=0.0):
    """Two trajectories, with a white force of standard deviation `missed` per row.

    Or with a tone of an amplitude, at .57 Hz.
    """
    rng = np.random.default_rng(seed)
    steps = 4
    force = pushed(2 * ROWS)(steps)
    hidden = missed * rng.standard_normal(2 * ROWS)
    force = force + np.repeat(hidden, 2 * steps)[:, None]
    time = np.arange(len(force)) * DT / (2 * steps)
    force = force + hidden_tone * np.sin(2 * np.pi * 0.57 * time + seed)[:, None]
    start = np.array([[0.3, 0.0], [-0.5, 1.0]])
    first = np.array([0, ROWS])
    path = duffing.rollout(start, TRUTH, DT, ROWS, steps, force, first)
    y = path[:, :, :1].reshape(-1, 1)
    y = y + NOISE * rng.standard_normal(y.shape)
    parts = [slice(0, ROWS), slice(ROWS, 2 * ROWS)]
    return MeasuredMotion(duffing, y, parts, DT, 2, pushed(2 * ROWS))


def fitted(one, active=FREE, c=None):
    least = np.array([1e-6])
    states, noise = smooth_motion(one, least)
    path = np.hstack([states[:, 0], states[:, 1]])
    levels = begin_levels(np.array([0.3]), noise, np.array([1e-6]), least, DT)
    c = np.where(np.isin(FREE, active), 0.97 * TRUTH, 0.0) if c is None else c
    return fit(one, c, active, path, levels)


def test_a_clean_motion_has_its_law_and_the_noise_of_its_sensor(duffing):
    found = fitted(motion(duffing, 0))
    assert found.converged
    assert found.levels.sensor[0] == pytest.approx(NOISE, rel=0.1)
    assert whiteness(found.innovations) > 0.01
    own = spread(found.innovations)
    assert own.stretches == 0
    std = np.sqrt((own.deviations**2).sum(axis=0))
    assert (np.abs(found.c - TRUTH) < 4 * std).all()
    assert std[0] < 1e-3 * TRUTH[0]


def test_a_gap_and_the_order_of_trajectories_change_little_and_nothing(duffing):
    one = motion(duffing, 1)
    active = np.array([0, 1, 2, 4])
    found = fitted(one, active)
    force = one.force(2).reshape(2, -1, 1)[::-1].reshape(-1, 1)
    y = one.y.reshape(2, -1, 1)[::-1].reshape(-1, 1)
    other = replace(one, y=np.ascontiguousarray(y), force=lambda _steps: force)
    np.testing.assert_allclose(fitted(other, active).c, found.c, rtol=2e-5)
    y = one.y.copy()
    y[100:110] = np.nan
    std = np.sqrt((spread(found.innovations).deviations ** 2).sum(axis=0))
    moved = np.abs(fitted(replace(one, y=y), active).c - found.c)[active]
    assert (moved < 2 * std).all()


@pytest.mark.parametrize("missed", [0.0, 0.3])
def test_intervals_hold_with_and_without_a_missed_force(duffing, missed):
    active, z = np.array([0, 1, 2, 4]), []
    for seed in range(10):
        found = fitted(motion(duffing, seed, missed), active)
        std = np.sqrt((spread(found.innovations).deviations ** 2).sum(axis=0))
        z.append((found.c[active] - TRUTH[active]) / std)
    assert (np.abs(z) < 1.96).mean() >= 0.8
    assert found.levels.is_free.any() == (missed > 0)


def test_rows_in_which_dry_friction_turns_have_steps_of_their_own(duffing):
    sharp, c = replace(duffing, width=1e-3), TRUTH + np.array([0, 0, 0, 0, 0, 0.3])
    one = replace(motion(duffing, 3), equations=sharp)
    states, _ = smooth_motion(one, np.array([1e-6]))
    path = np.hstack([states[:, 0], states[:, 1]])

    def end(steps, dry):
        model, _ = replace(one, steps=steps, dry=dry).linearised(path, c, FREE)
        return model.d

    turning = path[:-1, 1] * path[1:, 1] < 0
    turning[ROWS - 1] = False
    fine, coarse, mixed = end(64, ()), end(2, ()), end(2, (5,))
    assert turning.sum() > 20
    off = np.abs(coarse - fine)[:-1][turning].max()
    assert off > 3e-5 > 1e-6 > np.abs(mixed - fine)[:-1][turning].max()
    np.testing.assert_array_equal(end(2, (4,))[0], mixed[0])


@pytest.mark.parametrize("times", [1.0, 4.0])
def test_trajectories_have_noises_of_their_own_where_these_differ(duffing, times):
    one, active = motion(duffing, 2), np.array([0, 1, 2, 4])
    more = np.random.default_rng(0).standard_normal((ROWS, 1))
    y = one.y.copy()
    y[ROWS:] += np.sqrt(times**2 - 1) * NOISE * more
    common = fitted(replace(one, y=y), active)
    each = with_noise_of_runs(common)
    relative = np.broadcast_to(each.motion.relative_R, y.shape)
    assert relative[-1, 0] / relative[0, 0] == pytest.approx(times**2, rel=0.2)
    assert (each is common) == (times == 1)


@pytest.mark.parametrize(
    ("missed", "hidden_tone"), [(0.0, 0.0), (0.3, 0.0), (0.0, 0.4)]
)
def test_a_tone_is_named_and_neither_it_nor_white_noise_is_a_memory(
    duffing, missed, hidden_tone
):
    active, named = np.array([0, 1, 2, 4]), []
    for seed in range(4):
        found = fitted(motion(duffing, seed, missed, hidden_tone), active)
        named.append(tone(found))
        one = memory(found, 2.0)
        assert one.gain <= one.threshold
    # The records are six periods of the tone long.
    seen = np.array(named)[~np.isnan(named)]
    assert np.abs(seen - 0.57).max(initial=0.0) < 0.02
    assert len(seen) >= 3 if hidden_tone else not len(seen)


@pytest.mark.parametrize(
    ("share", "counts"),
    [(1.0, True), (0.2, True), (1.8, True), (2.2, False), (6.0, False), (-0.1, False)],
)
def test_a_memory_counts_that_the_one_of_whole_runs_explains(share, counts):
    """With its share of these coefficients innovations are smaller, not larger."""
    root, coefficients = np.array([[3.0, 1.0], [0.0, 2.0]]), np.array([0.5, -2.0])
    here = np.square(root @ coefficients).sum()
    nothing = np.zeros(1), np.zeros((2, 1))
    near = Memory(here, 1.0, 1.0, *nothing, coefficients, root)
    runs = near._replace(coefficients=share * coefficients)
    assert near.explained_by(runs) == counts


def candidates(required=()):
    losses = np.zeros(6, dtype=bool)
    return Candidates("abcdef", np.ones(6), list(required), [], losses, lambda s, c: [])


@pytest.mark.parametrize("missed", [0.0, 0.3])
def test_the_search_finds_the_terms(duffing, missed):
    found = fitted(motion(duffing, 2, missed))
    quadratic = Quadratic.of(candidates(), found.c, found.innovations)
    for begin in (FREE, [0], [3, 5]):
        assert select(quadratic, begin).support == (0, 1, 2, 4)
    kept = replace(quadratic, candidates=candidates([5]))
    assert select(kept, FREE).support == (0, 1, 2, 4, 5)


def test_the_width_of_friction_is_a_parameter_of_the_compiled_motion(duffing):
    start, c = np.array([[0.0, 1e-3]]), np.array([0.5, 0, 0, 0, 0, 1.0])
    for width in (1e-2, 1.0):
        moved = replace(duffing, width=width).rollout(start, c, 1e-4, 2)[0, 1, 1]
        force = 1e-3 / np.hypot(1e-3, width)
        assert moved == pytest.approx(1e-3 - 1e-4 * force, rel=1e-3)


LEVELS = NoiseLevels(*(np.array([x]) for x in (0.3, 2.0, 1e-6, 1e-4)))


class Landscape:
    """A likelihood of one coefficient in the place of a filter, with its calls.

    Every step is `change` and promises `gain`; states move by `moved`.
    """

    def __init__(self, monkeypatch, value, change=1.0, gain=0.0, **more):
        self.value, self.change, self.gain = value, change, gain
        usual = {"moved": 1.0, "correlation": 1.0, "indefinite": lambda c: 0.0}
        usual |= {"A": lambda c: 1.0, "moment": 1.0}
        self.__dict__ |= usual | more
        self.dof, self.places, self.paths, self.tunings, self.rounds = 1, [], [], [], 0
        names = "augmented_filter", "smoothed", "tuned", "promised", "step_of"
        for name in names:
            monkeypatch.setattr(iterated_smoother, name, getattr(self, name))

    def linearised(self, path, c, active):
        assert active.dtype == int
        self.places.append(float(c[1]))
        self.paths.append(path)
        model = SimpleNamespace(c=float(c[1]), A=np.array([self.A(c[1])]))
        model.shifted = lambda change: (model, change)
        return model, self.indefinite(c[1])

    def augmented_filter(self, model, process, sensor):
        assert (process, sensor) == (LEVELS.process, LEVELS.sensor)
        about = {"value": self.value(model.c) - self.gain, "at": model.c}
        about |= {"moment": np.array([self.moment])}
        return SimpleNamespace(correlation_length=self.correlation, **about)

    def step_of(self, innovations):
        self.rounds += 1
        return np.array([self.change]), self.gain

    def smoothed(self, shifted, process, sensor):
        assert shifted[1] == [self.change]
        return np.array([[self.moved, 100.0], [-self.moved / 2, 100.0]]), None

    def tuned(self, model, levels, starts=(), fixed_process=False):
        self.tunings.append((starts, fixed_process))
        return LEVELS

    def promised(self, innovations):
        return self.value(innovations.at)

    def fit(self, **more):
        c, path = np.array([7.0, 0.0, 8.0]), np.zeros((2, 2))
        return fit(self, c, [1], path, LEVELS, **more)


@pytest.mark.parametrize(
    ("rise", "gain", "correlation", "rounds", "converged"),
    [
        (0.019, 0.019, 1.0, 2, True),
        (0.021, 0.019, 1.0, 7, True),  # of rounds from the seventh on half is enough
        (0.019, 0.021, 1.0, 7, True),
        (0.51, 0.0, 1.0, 25, False),
        (0.0, 0.51, 1.0, 25, False),
        (0.51, 0.51, 1.1, 7, True),  # of innovations that are correlated more is
        (0.1, 49.0, 1.0, 25, False),
        (0.1, 51.0, 1.0, 8, False),  # it promises much, and does not end
    ],
)
def test_a_fit_ends_where_nothing_is_left_to_gain(
    monkeypatch, rise, gain, correlation, rounds, converged
):
    more = {"gain": gain, "correlation": correlation}
    one = Landscape(monkeypatch, lambda c: rise * c, **more)
    result = one.fit()
    assert (one.rounds, result.converged) == (rounds, converged)
    # The last round takes a step only if it was the last one of all.
    steps = rounds if rounds == 25 else rounds - 1
    assert one.places == [*map(float, range(steps + 1))]
    np.testing.assert_array_equal(result.c, [7.0, steps, 8.0])
    np.testing.assert_array_equal(result.path[:, 0], steps * np.array([1.0, -0.5]))
    assert result.innovations.at == result.model.c == steps
    assert result.value == one.value(steps) - gain
    assert result.active.tolist() == [1] and result.motion is one
    short = Landscape(monkeypatch, lambda c: rise * c, **more)
    assert not short.fit(rounds=1).converged and short.rounds == 1


@pytest.mark.parametrize(("moved", "gain", "rounds"), [
    (0.0199, 0.019, 1), (0.0201, 0.019, 2), (0.0199, 0.021, 7),
])  # fmt: skip
def test_a_path_that_stays_within_a_part_of_the_noise_has_converged(
    monkeypatch, moved, gain, rounds
):
    """A hundredth of that of the sensor, of positions alone."""
    one = Landscape(monkeypatch, lambda c: 0.01 * c, gain=gain, moved=moved)
    assert one.fit().converged and one.rounds == rounds


@pytest.mark.parametrize(
    ("rise", "tunings"), [(0.49, 2), (0.51, 25), (-0.49, 2), (-0.51, 25)]
)
@pytest.mark.parametrize("more", [{}, {"rounds_of_starts": 1}, {"fixed_process": True}])
def test_noise_levels_are_tuned_where_the_likelihood_has_changed(
    monkeypatch, rise, tunings, more
):
    one = Landscape(monkeypatch, lambda c: rise * c, gain=2.0)
    one.fit(**more)
    assert len(one.tunings) == tunings
    of_starts = more.get("rounds_of_starts", 3) if "fixed_process" not in more else 0
    for number, (starts, fixed) in enumerate(one.tunings):
        assert starts == (STARTS if number < of_starts else ())
        assert fixed == more.get("fixed_process", False)


@pytest.mark.parametrize(
    ("number", "fall", "gain", "steps"),
    [
        (0, 49.0, 1.0, [1.0]),
        (0, 51.0, 1.0, [1.0, 0.25]),
        (1, 24.0, 1.0, [1.0]),
        (1, 26.0, 1.0, [1.0, 0.25]),
        (2, 13.0, 1.0, [1.0, 0.25]),
        (0, 99.0, 200.0, [1.0]),  # half of what was promised
        (0, 101.0, 200.0, [1.0, 0.25]),
        (0, np.inf, 1.0, None),
    ],
)
def test_a_step_is_quartered_where_the_likelihood_falls(
    monkeypatch, number, fall, gain, steps
):
    """All below a step of an eighth from c = number is level."""

    def value(c):
        return -fall if c > number + 0.5 else 0.0

    one = Landscape(monkeypatch, value, gain=gain)
    one.fit(rounds=number + 1)
    tried = np.array(one.places[number + 1 :]) - number
    assert tried.tolist() == (steps or [1.0, 0.25])


@pytest.mark.parametrize("lost", [100.0, np.inf])
@pytest.mark.parametrize("how", ["value", "indefinite", "A"])
def test_a_step_that_nothing_follows_ends_the_fit(monkeypatch, lost, how):
    """After four quarterings one that falls is taken, one without a value is none."""
    more = {
        "value": {},
        "indefinite": {"indefinite": lambda c: 0.0101 * (c > 0)},
        "A": {"A": lambda c: np.inf if c > 0 else 1.0},
    }[how]
    one = Landscape(monkeypatch, lambda c: -lost if c > 0 else 0.0, **more)
    result = one.fit(rounds=1)
    assert one.places == [0.0, 1.0, 1 / 4, 1 / 16, 1 / 64]
    if how != "value" or np.isinf(lost):
        assert result is None
    else:
        assert result.c[1] == 1 / 64
        np.testing.assert_array_equal(result.path, one.paths[-1])


@pytest.mark.parametrize(
    ("more", "none"),
    [
        ({"indefinite": lambda c: 0.01}, False),
        ({"indefinite": lambda c: 0.0101}, True),
        ({"moment": np.nan}, True),
    ],
)
def test_a_motion_without_a_likelihood_is_not_fitted(monkeypatch, more, none):
    one = Landscape(monkeypatch, lambda c: 0.0, **more)
    assert (one.fit() is None) == none


def fit_of_runs(power, parts, noise=3.0):
    """Innovations whose squares over their variances are these, (row, dof)."""
    V = np.full(power.shape, noise)
    V[np.isnan(power)] = np.inf
    e = np.sqrt(np.nan_to_num(power) * noise)
    motion = MeasuredMotion(None, power, parts, DT, relative_R=2.0)
    innovations = SimpleNamespace(e=e, V=V, count=int(np.isfinite(V).sum()))
    about = {"c": "c", "active": "active", "path": "path", "levels": "levels"}
    return SimpleNamespace(motion=motion, innovations=innovations, value=5.0, **about)


@pytest.mark.parametrize(("beyond", "is_taken"), [(0.01, True), (-0.01, False)])
def test_noises_of_trajectories_cost_their_price(monkeypatch, beyond, is_taken):
    """Half the logarithm of the measurements for each beyond the first (BIC)."""
    power = np.array([[1.0, 4.0], [3.0, np.nan], [8.0, 2.0], [8.0, 6.0], [2.0, 8.0]])
    parts = [slice(0, 2), slice(2, 4), slice(4, 5)]
    one, calls = fit_of_runs(power, parts), []
    price = 2 * 2 * np.log(9) / 2

    def again(motion, *start, **options):
        calls.append((motion.relative_R, start, options))
        return SimpleNamespace(value=5.0 + price + beyond)

    monkeypatch.setattr(iterated_smoother, "fit", again)
    assert (with_noise_of_runs(one) is not one) == is_taken
    ((relative, start, options),) = calls
    by_part = np.array([[2.0, 4.0], [2.0, 4.0], [8.0, 4.0], [8.0, 4.0], [2.0, 8.0]])
    np.testing.assert_allclose(relative, 2 * by_part / [22 / 5, 20 / 4])
    assert start == ("c", "active", "path", "levels")
    assert options == {"rounds_of_starts": 0}
    monkeypatch.setattr(iterated_smoother, "fit", lambda *_, **__: None)
    assert with_noise_of_runs(one) is one
    alone = fit_of_runs(power, [slice(0, 5)])
    monkeypatch.delattr(iterated_smoother, "fit")
    assert with_noise_of_runs(alone) is alone


def test_levels_begin_with_what_is_missed_above_their_bounds():
    """A force of rows of Δt has the density missed² Δt."""
    missed, noise = np.array([2.0, 1e-9]), np.array([1e-9, 0.5])
    levels = begin_levels(missed, noise, np.full(2, 1e-3), np.full(2, 1e-4), 0.25)
    assert levels.process.tolist() == [1.0, 1e-3]
    assert levels.sensor.tolist() == [1e-4, 0.5]
    assert levels.least_process.tolist() == [1e-3] * 2
    assert levels.least_sensor.tolist() == [1e-4] * 2


@pytest.mark.parametrize(
    ("values", "steps", "tried"),
    [
        ({2: 0.0, 4: 0.49}, 2, [4]),
        ({2: 0.0, 4: -0.49}, 2, [4]),
        ({2: 0.0, 4: 0.51, 8: 0.6}, 4, [4, 8]),
        ({2: 0.0, 4: -9.0, 8: 9.0, 16: 99.0}, 16, [4, 8, 16]),
        ({2: 0.0, 4: 3.0, 8: None}, 4, [4, 8]),
    ],
)
def test_a_fit_has_the_fewest_steps_that_are_enough(monkeypatch, values, steps, tried):
    calls = []

    def fit_with(motion):
        start = {"c": 1, "active": 2, "path": 3, "levels": 4}
        value = values[motion.steps]
        return (
            value
            if value is None
            else SimpleNamespace(motion=motion, value=value, **start)
        )

    def again(motion, *start, **options):
        assert start == (1, 2, 3, 4, "fixed") and options == {"rounds_of_starts": 0}
        calls.append(motion.steps)
        return fit_with(motion)

    monkeypatch.setattr(iterated_smoother, "fit", again)
    begin = fit_with(MeasuredMotion(None, np.zeros((2, 1)), [slice(0, 2)], DT, 2))
    assert accurate(begin, "fixed").motion.steps == steps and calls == tried


def test_a_motion_is_smoothed_without_a_law(monkeypatch):
    """About its mean, with a jerk that moves a row by what neighbours differ by."""
    rng, t = np.random.default_rng(7), DT * np.arange(300)
    omega, noise = np.array([3.0, 1.0]), np.array([1e-3, 0.02])
    phase = np.outer(t, omega)
    y = [5.0, -7.0] + np.sin(phase) + noise * rng.standard_normal((300, 2))
    y[100, 1] = np.nan
    one, calls = MeasuredMotion(None, y, [slice(0, 300)], DT), []

    def tuned_by(model, levels, starts):
        calls.append((levels, starts))
        return tuned(model, levels, starts)

    monkeypatch.setattr(iterated_smoother, "tuned", tuned_by)
    states, result = smooth_motion(one, np.array([1e-9, 1.0]))
    truth = np.stack(
        [np.sin(phase), omega * np.cos(phase), -(omega**2) * np.sin(phase)]
    )
    truth[0] += [5.0, -7.0]
    inside = slice(20, -20)
    off = np.abs(states[inside] - truth.swapaxes(0, 1)[inside]).max(axis=0)
    assert (off[:, 0] < [2e-3, 0.03, 1.0]).all()
    assert result[0] == pytest.approx(1e-3, rel=0.15) and result[1] == 1.0
    for a, (levels, starts) in enumerate(calls):
        assert starts == (1.0, 1e-2, 1e-4, 1e-6)
        rough = np.nanstd(np.diff(y[:, a])) / DT**2.5
        assert levels.process == pytest.approx(rough)
        assert levels.least_process == pytest.approx(1e-12 * rough)
        assert levels.sensor == max(1e-3 * np.nanstd(y[:, a]), [1e-9, 1.0][a])
        assert levels.least_sensor == [1e-9, 1.0][a]
