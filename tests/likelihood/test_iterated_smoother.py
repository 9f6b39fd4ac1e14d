"""Path, coefficients and noise levels of simulated motions."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from leastaction.core.expressions import parse
from leastaction.likelihood.covariance import spread, whiteness
from leastaction.likelihood.iterated_smoother import (
    begin_levels,
    fit,
    smooth_motion,
    with_noise_of_runs,
)
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.likelihood.missed_force import Memory, memory, tone
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
        assert not memory(found, 2.0).is_seen
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
