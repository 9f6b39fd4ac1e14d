"""Merging: the right structure reaches whole trajectories, a wrong one does not."""

from dataclasses import replace

import numpy as np
import pytest
from pendulum import fitted, positions

from leastaction.trajectories.merging import (
    Level,
    divided,
    lengthen,
    rescued,
    with_noise,
)
from leastaction.trajectories.multiple_shooting import normal_equations

WRONG = np.array([0.5, 0, -4.0, 0, 0, 0, 0])  # a linear oscillator


def test_the_right_structure_reaches_whole_trajectories():
    data = positions()
    short = fitted(data, duration=0.5)
    levels = lengthen(data, short)
    assert levels[-1].reached == 1.0
    assert all(level.fit.converged for level in levels)
    variance = [1 / level.fit.schur[0, 0] for level in levels]
    assert variance[-1] < variance[0] / 10
    assert abs(levels[-1].fit.c[1] - 9.81) < 4 * np.sqrt(variance[-1])


def test_a_wrong_structure_does_not_lengthen():
    data = positions()
    short = fitted(data, WRONG, np.array([2]), 0.3)
    assert lengthen(data, short)[-1].reached < 0.6


def test_a_stuck_segment_is_divided_or_started_anew():
    data = positions()
    fit = fitted(data, duration=2.0)
    state = fit.segments.state.copy()
    state[3] = [0.0, 0.0]
    moved = fit.segments.at(state)
    _, _, chi2, square = normal_equations(data, moved, fit.c)
    stuck = replace(fit, segments=moved, chi2=chi2, square=square)
    assert len(divided(data, stuck)) == len(moved) + 1
    assert divided(data, fit) is None
    again, lower = rescued(data, moved, fit.c, chi2)
    np.testing.assert_allclose(lower, fit.chi2, rtol=0.02)
    assert np.array_equal(again.state[0], moved.state[0])


def test_barred_segments_say_nothing_about_the_noise():
    data = positions()
    fit = fitted(data)
    square = fit.square.copy()
    square[3] *= 100
    spoilt = replace(fit, square=square)
    assert with_noise(data, spoilt).sigma[0] > 1.5 * with_noise(data, fit).sigma[0]
    barred = np.arange(len(fit.segments)) == 3
    sigma = with_noise(data, replace(spoilt, barred=barred)).sigma[0]
    assert sigma == pytest.approx(with_noise(data, fit).sigma[0], rel=0.05)


def test_lost_segments_leave_the_noise_as_it_was():
    data = positions()
    lost = fitted(data, 0 * data.q[:7, 0])
    assert not lost.converged
    assert not np.isfinite(lost.chi2).any()
    np.testing.assert_array_equal(with_noise(data, lost).sigma, data.sigma)


def test_reached_is_the_mean_length():
    data = positions()
    fit = fitted(data)
    assert Level(data, fit).reached == pytest.approx(0.5)
