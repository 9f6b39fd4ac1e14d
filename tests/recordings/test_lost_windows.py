"""Windows that a law loses, as of a chaotic motion, have no say about it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import leastaction
from leastaction.core.euler_lagrange import symbols
from leastaction.core.model import simulate
from leastaction.recordings.cross_validated_shooting import grown
from leastaction.recordings.error_bars import followed_windows, level_of, window_spread
from leastaction.recordings.input_dynamics import Unknown, input_dynamics
from leastaction.recordings.inputs import Inputs
from leastaction.recordings.leave_one_out import Problem, fitted
from leastaction.recordings.windows import Recording, durations
from leastaction.trajectories.multiple_shooting import Positions
from leastaction.trajectories.variational_equations import variational_equations

DT, COUNT, PERIOD = 0.02, 4000, 4.5
# Of ẋ², x², x⁴ in L and ẋ² in D.
TRUTH = np.array([0.5, 0.5, -0.25, 0.1])


def force(time):
    """Tones that drive the oscillator from one well to the other and back."""
    return 0.45 * np.sin(1.2 * time) + 0.25 * np.sin(2.9 * time + 1)


@pytest.fixture(scope="module")
def motion():
    """States of Duffing's oscillator with two wells, chaotic when it is driven."""
    truth = leastaction.System(
        "xdot**2/2 + x**2/2 - x**4/4", dissipation="0.1*xdot**2", coordinates=["x"]
    )
    time = DT * np.arange(COUNT)
    q, v = simulate(truth, [0.2], [0.0], time, lambda t: [force(t)])[:2]
    return np.hstack([q, v])


def driven(motion, late=0):
    """Problem and recording of it, its input recorded so many rows late."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x**2, x**4], ["x"], [v**2])
    q = motion[:, :1] + 1e-4 * np.random.default_rng(0).standard_normal((COUNT, 1))
    allowed = np.full((COUNT, 1), 3e-3)
    positions = Positions(equations, q, 0, DT, allowed, 2, None, np.inf)
    rows, parts = np.arange(COUNT), [slice(0, COUNT)]
    record = force(DT * (rows - late))[:, None]
    inputs = Inputs(record, parts, DT, np.zeros(1), np.zeros(1))
    smoothed = [(rows, motion[:, :1], motion[:, 1:])]
    noise = (1e-4 / allowed) ** 2
    about = (positions, parts, smoothed, PERIOD, np.ones((1, 1)), noise, rows, 1)
    found = Recording(*about).driven_by(inputs)
    some = np.ones(4), np.arange(4) == 3, np.zeros(4, bool), np.ones(4)
    no = np.zeros(0, int)
    whole = Problem(
        found.positions, no, 0.0, *some, True, lambda c: c[0] > 0, np.ones(4, int)
    )
    return whole, found


def test_a_lost_window_does_not_change_the_intervals_of_the_rest(motion):
    """A stretch of the record is of another motion."""
    whole, found = driven(motion)
    kept, segments = level_of(whole, found, PERIOD / 2, None)
    present = fitted(kept, segments, TRUTH)
    spread = window_spread(kept, present, found)
    assert present.support == (0, 1, 2, 3) and (np.abs(spread) > 1e-6).all()
    found.positions.q[1000:1050] = 0.7
    assert len(followed_windows(kept, segments, TRUTH, found)[1]) == len(segments) - 1
    lost = window_spread(kept, present, found)
    np.testing.assert_allclose(lost, spread, rtol=0.3)


@pytest.mark.parametrize(("stiffer", "leads"), [(1.0, True), (1.5, False)])
def test_longer_windows_are_fitted_if_the_law_leads_through_them(
    motion, stiffer, leads
):
    whole, found = driven(motion)
    present = fitted(*level_of(whole, found, PERIOD / 2, None), TRUTH)
    c = TRUTH * np.array([1, stiffer, 1, 1])
    before = replace(present, fit=replace(present.fit, c=c))
    problem, segments = level_of(whole, found, 2 * PERIOD, before)
    assert (grown(problem, segments, before) is not None) == leads


@pytest.mark.parametrize("periods", [0.5, 5])
def test_a_lag_is_the_same_in_a_law_of_windows_that_chaos_loses(motion, periods):
    """Those of five periods are lost as soon as the input comes three rows late."""
    whole, found = driven(motion, late=3)
    kept, segments = level_of(whole, found, periods * PERIOD, None)
    present = SimpleNamespace(fit=SimpleNamespace(segments=segments, c=TRUTH))
    unknowns = [Unknown("lag", (0,), False)]
    lag = input_dynamics(kept, present, found, unknowns, np.zeros(1))
    assert lag.seen.all()
    np.testing.assert_allclose(lag.values, -3 * DT, atol=0.05 * DT)


@pytest.mark.parametrize("late", [0, 2])
def test_a_lag_is_seen_through_the_noise_of_short_windows(motion, late):
    """Four fifths of the error are noise, which no lag lowers."""
    whole, found = driven(motion, late)
    kept, segments = level_of(whole, found, 0.05 * PERIOD, None)
    present = SimpleNamespace(fit=SimpleNamespace(segments=segments, c=TRUTH))
    law = fitted(kept, segments, TRUTH)
    error = law.left_out.block_errors(law.support, []).sum()
    assert 1.0 <= error / kept.noise + 0.03 <= (1.3 if late else 1.06)
    unknowns = [Unknown("lag", (0,), False)]
    lag = input_dynamics(kept, present, found, unknowns, np.zeros(1))
    assert lag.seen.all() == (late > 0)
    np.testing.assert_allclose(lag.values, -late * DT, atol=0.1 * DT)


def test_windows_begin_where_forces_are_seen_beyond_the_noise(motion):
    """The louder, the longer; windows that are left stay as they are."""
    found = driven(motion)[1]
    first = durations(found)
    for louder in (30, 480):
        noise = louder**2 * found.noise
        later = durations(replace(found, noise=noise))
        assert later[0] > first[0] and later == first[-len(later) :]
