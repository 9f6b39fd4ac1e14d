"""Segments: partition, start states, normal equations, steps."""

from dataclasses import replace

import numpy as np
import pytest
from pendulum import TRUTH, motions, positions

from leastaction.trajectories.multiple_shooting import (
    enough_steps,
    misfit,
    normal_equations,
    split,
    start_states,
)


@pytest.mark.parametrize("duration", [0.001, 0.3, 0.7, 100.0])
def test_segments_cover_every_sample_once(duration):
    data = positions()
    segments = split(data, duration)
    pairs = zip(segments.first, segments.length, strict=True)
    rows = [np.arange(f, f + n) for f, n in pairs]
    assert np.concatenate(rows).tolist() == list(range(len(data.q)))
    assert segments.length.min() >= 4 * data.dof


def test_start_states_are_near_the_motion():
    data = positions(sigma=1e-6)
    _, path = motions(1, sigma=1e-6)
    segments = start_states(data, split(data, 0.5), TRUTH)
    truth = path[0][segments.first]
    assert np.abs(segments.state - truth).max() < 0.05


def test_normal_equations_are_those_of_chi_square():
    """Of states and coefficients, beside central differences."""
    data, active = positions(), np.array([1, 6])
    segments = start_states(data, split(data, 0.7), TRUTH)
    h, g, chi2 = normal_equations(data, segments, TRUTH, active)
    np.testing.assert_allclose(chi2, misfit(data, segments, TRUTH)[-1])
    for j in range(4):
        errors = []
        for step in (1e-5, -1e-5):
            state, c = segments.state.copy(), TRUTH.copy()
            if j < 2:
                state[:, j] += step
            else:
                c[active[j - 2]] += step
            errors.append(misfit(data, segments.at(state), c)[2])
        slope = (errors[1] - errors[0]) / 2e-5
        error = misfit(data, segments, TRUTH)[2]
        np.testing.assert_allclose(g[:, j], (slope * error).sum((1, 2)), rtol=1e-4)
        np.testing.assert_allclose(h[:, j, j], (slope**2).sum((1, 2)), rtol=1e-4)


@pytest.mark.parametrize("duration", [0.28, 0.5, 0.6])
def test_no_flow_begins_at_the_last_row_where_its_input_ends(duration, monkeypatch):
    data, begins = positions(), []
    flow = type(data.equations).flow

    def watched(self, start, c, active, dt, steps, force, first):
        begins.append(first.max())
        return flow(self, start, c, active, dt, steps, force, first)

    segments = start_states(data, split(data, duration), TRUTH)
    monkeypatch.setattr(type(data.equations), "flow", watched)
    normal_equations(data, segments, TRUTH)
    assert max(begins) < len(data.q) - 1


def test_a_lost_segment_has_no_finite_misfit():
    data = positions()
    segments = split(data, 0.5)
    h, g, chi2 = normal_equations(data, segments, np.zeros(7))
    assert np.isinf(chi2).all() and not h.any() and not g.any()


def test_steps_follow_the_noise():
    exact, noisy = positions(sigma=1e-7), positions(sigma=0.1)
    steps = []
    for data in (noisy, exact):
        sigma = np.array([1e-7 if data is exact else 0.1])
        data = replace(data, steps=1, sigma=sigma)
        segments = start_states(data, split(data, 2.0), TRUTH)
        steps.append(enough_steps(data, segments, TRUTH).steps)
    assert steps[0] < steps[1]
