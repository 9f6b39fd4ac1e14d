"""What samples say of their sensor: steps, stops, rests; with known answers."""

import numpy as np
import pytest

from leastaction.recordings.checks import (
    LEAST_SATURATED,
    clipped_run,
    encoder_step,
    longest_rest,
    repeated_share,
    saturated,
)

TIME = 0.01 * np.arange(4000)
SWING = np.sin(2 * np.pi * 0.3 * TIME)


@pytest.mark.parametrize("step", [0.01, 0.003, 1e-4 * np.pi])
@pytest.mark.parametrize("digits", [None, 6])
def test_an_encoder_has_its_step_even_if_digits_are_rounded(step, digits):
    y = step * np.rint(SWING / step)
    y = y if digits is None else np.round(y, digits)
    result, is_one = encoder_step([y[:2000], y[2000:] + 0.0])
    assert is_one and result == pytest.approx(step, rel=1e-4)


def test_what_is_no_encoder_has_no_step(rng):
    noisy = SWING + 0.01 * rng.standard_normal(4000)
    assert encoder_step([noisy]) == (0.0, False)
    fine = np.round(noisy, 3)  # ten steps in the noise
    assert encoder_step([fine]) == (0.0, False)
    uneven = np.sort(rng.standard_normal(40))[rng.integers(0, 40, 4000)]
    assert encoder_step([uneven]) == (0.0, False)
    assert encoder_step([np.array([0.0, 1.0] * 50)]) == (0.0, False)


def test_repeats_are_counted_within_each_run():
    series = [np.array([1.0, 1.0, 2.0]), np.array([2.0, 3.0, 3.0])]
    assert repeated_share(series) == pytest.approx(2 / 4)
    assert repeated_share([np.zeros(1)]) == 0.0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_clipped_swing_stays_at_its_extreme_longer_than_it_may(sign):
    frequency, grain = 0.3, 1e-4
    run, allowed = clipped_run([sign * SWING], 0.01, frequency, grain)
    turn = np.sqrt(8 * grain) / (2 * np.pi * frequency)
    assert allowed == pytest.approx(3 + 2 * turn / 0.01, rel=1e-3)
    assert run <= allowed
    clipped = np.minimum(SWING, 0.8)
    top = np.flatnonzero(np.diff(np.append((clipped[:300] == 0.8).astype(int), 0)))
    run, allowed = clipped_run([SWING * 0.1, sign * clipped], 0.01, frequency, grain)
    assert run > allowed
    assert run == pytest.approx(top[1] - top[0], abs=1)


@pytest.mark.parametrize(
    ("count", "beside", "expected"),
    [
        (LEAST_SATURATED, 1, LEAST_SATURATED),
        (LEAST_SATURATED - 1, 1, 0),
        (24, 5, 0),
        (25, 5, 25),
    ],
)
def test_an_extreme_that_stands_out_is_saturated(count, beside, expected):
    values = np.concatenate([np.arange(20.0), np.full(beside - 1, 15.0)])
    top = np.full(count, 30.0)
    assert saturated(np.concatenate([values, top])) == expected
    assert saturated(-np.concatenate([values, top])) == expected
    both = np.concatenate([values, top, -top])
    below = count if count >= LEAST_SATURATED else 0  # one value each beside it
    assert saturated(both) == expected + below


@pytest.mark.parametrize(
    ("values", "rest"), [([1, 2, 3], 1), ([1, 1, 2, 2, 2, 3], 3), ([5, 5], 2), ([5], 1)]
)
def test_a_rest_is_counted_in_samples(values, rest):
    assert longest_rest(np.array(values, dtype=float)) == rest
