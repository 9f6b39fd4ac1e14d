"""Segments: partition, start states, steps."""

from dataclasses import replace

import numpy as np
import pytest
from pendulum import TRUTH, motions, positions

from leastaction.trajectories.multiple_shooting import (
    enough_steps,
    normal_equations,
    split,
    start_states,
)


@pytest.mark.parametrize("duration", [0.001, 0.3, 0.7, 100.0])
def test_segments_cover_every_sample_once(duration):
    data = positions()
    segments = split(data, duration)
    rows = [
        np.arange(f, f + n)
        for f, n in zip(segments.first, segments.length, strict=True)
    ]
    assert sorted(np.concatenate(rows)) == list(range(len(data.q)))
    assert segments.length.min() >= 4 * data.dof
    same = segments.first // data.samples
    assert (same == (segments.first + segments.length - 1) // data.samples).all()


def test_start_states_are_near_the_motion():
    data = positions(sigma=1e-6)
    _, path = motions(1, sigma=1e-6)
    segments = start_states(data, split(data, 0.5), TRUTH)
    truth = path.reshape(-1, 2)[segments.first]
    assert np.abs(segments.state - truth).max() < 0.05


def test_a_lost_segment_has_no_finite_misfit():
    data = positions()
    segments = split(data, 0.5)
    assert np.isinf(normal_equations(data, segments, np.zeros(7))[2]).all()


def test_steps_follow_the_noise():
    exact, noisy = positions(sigma=1e-7), positions(sigma=0.1)
    steps = []
    for data in (noisy, exact):
        sigma = np.array([1e-7 if data is exact else 0.1])
        data = replace(data, steps=1, sigma=sigma)
        segments = start_states(data, split(data, 2.0), TRUTH)
        steps.append(enough_steps(data, segments, TRUTH).steps)
    assert steps[0] < steps[1]
