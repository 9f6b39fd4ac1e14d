"""Rows become trajectories: cuts of their clock, even times, values as they were."""

import numpy as np
import pandas as pd
import pytest

from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.splitting import (
    Recorded,
    Trajectory,
    _between_gaps,
    _digit,
    resample,
)

STEADY = list(range(20))


def cut(time, labels=None, gap=5.0) -> Recorded:
    time = np.array(time, dtype=float)
    read, frame = (
        Recorded(["x"], np.zeros(1, dtype=bool), gap),
        pd.DataFrame(index=time),
    )
    frame.index = np.arange(2, 2 + len(time))  # lines of a file with a heading
    labels = None if labels is None else pd.Series(list(labels))
    read.add("a.csv", frame, time, time[:, None], labels)
    return read


@pytest.mark.parametrize(
    ("time", "labels", "sizes", "gaps"),
    [
        (STEADY, None, [20], 0),
        (STEADY + STEADY, None, [20, 20], 0),
        (STEADY + [t + 1 for t in STEADY], None, [20, 20], 0),  # a step after the start
        ([*STEADY, 24], None, [21], 0),
        ([*STEADY, 24.1, 25.1], None, [20, 2], 1),
        ([*STEADY, 40, 41, 60, 61], None, [20, 2, 2], 2),
        (STEADY + STEADY, "a" * 20 + "b" * 20, [20, 20], 0),
        ([*STEADY, 20, 21], "a" * 20 + "bb", [20, 2], 0),
        ([*STEADY, 21, 22, 23], "a" * 20 + "bab", [20, 1, 1, 1], 0),
        ([*STEADY, 2.1, 3], None, "goes back", 0),
        ([*STEADY, 19, 20], None, "twice", 0),
        (STEADY + STEADY, "a" * 40, "goes back", 0),
    ],
)
def test_a_clock_is_cut_at_gaps_and_where_it_starts_again(time, labels, sizes, gaps):
    if isinstance(sizes, str):
        with pytest.raises(RecordingError, match="line 22, time"):
            cut(time, labels)
        return
    read = cut(time, labels)
    assert [len(t.time) for t in read.done] == sizes
    assert (read.gaps, read.rows) == (gaps, len(time))
    np.testing.assert_array_equal(np.concatenate([t.time for t in read.done]), time)
    lines = 2 + np.cumsum([0, *sizes[:-1]])
    assert [t.source for t in read.done] == [f"a.csv, line {n}" for n in lines]
    assert all(t.file == "a.csv" for t in read.done)
    if labels is None:
        assert [t.label for t in read.done] == [str(k) for k in range(len(sizes))]


def cubic(time):
    return np.stack([2 - time + 0.3 * time**2 - 0.01 * time**3, time], axis=1)


def trajectory(time, source="a.csv, line 2") -> Trajectory:
    time = np.asarray(time, dtype=float)
    return Trajectory("0", time, cubic(time), source)


EVEN = 0.1 * np.arange(60)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize(
    ("time", "filled", "resampled"),
    [
        (EVEN, 0, False),
        (EVEN + 5e-5 * RNG.uniform(-1, 1, 60), 0, False),  # half of 10⁻³
        (np.delete(EVEN, 20), 1, False),
        (np.delete(EVEN, [20, 30, 31]), 3, False),
        (EVEN + 0.01 * RNG.uniform(-1, 1, 60), 0, True),
    ],
)
def test_even_times_have_the_values_of_a_cubic(time, filled, resampled, unit):
    """In any unit of the time; what needs no interpolation stays as it is."""
    one = trajectory(time)
    one.time = one.time * unit
    (values,), (start,), clock = resample([one], smooth=2)
    assert clock.step == pytest.approx(0.1 * unit, rel=1e-3)
    assert (clock.filled, clock.resampled, clock.mixed) == (filled, resampled, False)
    assert start == one.time[0]
    steps = np.diff(one.time) / clock.step - 1
    assert clock.jitter == pytest.approx(np.sqrt(np.mean(steps**2)), rel=0.01)
    if not filled and not resampled:
        assert values is one.values
        return
    at = time[0] + clock.step / unit * np.arange(len(values))
    assert len(values) in (59, 60)
    np.testing.assert_allclose(values, cubic(at), atol=1e-9)


def test_times_that_are_rounded_are_even():
    """Hundredths of a clock of 16 ms are off by less than half of the last digit."""
    time = np.round(0.016 * np.arange(200), 2)
    (values,), _, clock = resample([one := trajectory(time)], smooth=2)
    assert values is one.values and not clock.resampled
    assert clock.step == pytest.approx(0.016, rel=1e-3)
    for quantum in (1e-6, 1e-2, 1.0, 10.0):
        numbers = np.array([0, 3, 7, 12, 18, 111])
        assert _digit(quantum * numbers) == pytest.approx(quantum)
    assert _digit(np.sqrt(np.arange(50.0))) == 0


@pytest.mark.parametrize(
    ("steps", "step", "message"),
    [
        ((0.1, 0.1, 0.118), 0.1, None),
        ((0.1, 0.1, 0.122), 0.122, None),  # a fifth: the slowest of all
        ((0.1, 0.1, 0.078), 0.1, None),
        ((0.1, 0.1, 1.99), 1.99, None),
        ((0.1, 0.1, 2.01), None, "times"),
    ],
)
def test_rates_that_differ_become_the_slowest(steps, step, message):
    runs = [trajectory(each * np.arange(60)) for each in steps]
    if step is None:
        with pytest.raises(RecordingError):
            resample(runs, smooth=2)
        return
    values, _, clock = resample(runs, smooth=2)
    assert clock.step == pytest.approx(step)
    assert clock.mixed == (abs(steps[2] / 0.1 - 1) > 0.2)
    for each, result in zip(steps, values, strict=True):
        assert len(result) == int(59 * each / clock.step + 1e-9) + 1
        wanted = cubic(clock.step * np.arange(len(result)))
        np.testing.assert_allclose(result, wanted, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("time", "refused"),
    [
        (0.1 * np.arange(16), False),
        (0.1 * np.arange(15), True),
        (np.cumsum(np.tile([0.06, 0.14], 20)), False),  # steps scatter by 40 %
        (np.cumsum(np.tile([0.04, 0.16], 20)), True),  # by 60 %
    ],
)
def test_a_clock_needs_samples_and_some_order(time, refused):
    if refused:
        with pytest.raises(RecordingError):
            resample([trajectory(time)], smooth=2)
    else:
        assert len(resample([trajectory(time)], smooth=2)[0]) == 1


def test_chosen_rows_are_cut_where_they_are_far_apart():
    one, chosen = trajectory(STEADY), np.ones(20, dtype=bool)
    assert _between_gaps(one, chosen, 5.0) == [one]
    chosen[3:7] = False  # a step of five, then of six
    assert [len(t.time) for t in _between_gaps(one, chosen, 5.0)] == [16]
    chosen[7] = False
    parts = _between_gaps(one, chosen, 5.0)
    assert [t.time.tolist() for t in parts] == [STEADY[:3], STEADY[8:]]
    for part in parts:
        np.testing.assert_array_equal(part.values, cubic(part.time))
