"""Spikes and jumps: cubics have neither, and each threshold has two sides."""

import re

import numpy as np
import pytest

from leastaction.recordings import spikes
from leastaction.recordings.columns import Column
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.spikes import empty_stale, refuse_jumps, replace_spikes
from leastaction.recordings.splitting import Trajectory

ROWS = np.arange(400)


def cubic(t):
    return t**3 - t


def trajectory(*columns, time=None, label="0"):
    time = np.linspace(-1, 1, len(columns[0])) if time is None else time
    return Trajectory(label, time, np.stack(columns, 1).astype(float), "a.csv, line 2")


def uneven(rng, count=400):
    return np.cumsum(rng.uniform(0.7, 1.3, count)) / 200 - 1


# Half the range of the cubic between −1 and 1.
SIZE = 2 / 3**1.5


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_spike_is_replaced_by_the_cubic_around_it(even, sign, rng):
    time = np.linspace(-1, 1, 400) if even else uneven(rng)
    y = cubic(time)
    spiky = y.copy()
    spiky[[10, 200, 201, 389]] += sign * np.array([0.3, 0.2, 0.1, 0.004])
    one = trajectory(spiky, -spiky, time=time.copy())
    assert replace_spikes([one], [0]).tolist() == [4]
    np.testing.assert_allclose(one.values[:, 0], y[4:-4], atol=1e-12)
    np.testing.assert_array_equal(one.values[:, 1], -spiky[4:-4])
    np.testing.assert_array_equal(one.time, time[4:-4])


@pytest.mark.parametrize(("share", "count"), [(0.97e-3, 0), (1.03e-3, 1)])
def test_a_spike_is_off_by_a_thousandth_of_half_the_range(share, count):
    y = cubic(np.linspace(-1, 1, 400))
    y[200] += share * SIZE
    other = 0.1 * cubic(np.linspace(-1, 1, 40))  # the largest range counts
    parts = [trajectory(y), trajectory(other)]
    assert replace_spikes(parts, [0]).tolist() == [count]
    assert len(parts[1].time) == 40 - 8 * count


def test_where_there_is_no_spike_nothing_is_cut():
    parts = [trajectory(cubic(np.linspace(-1, 1, n))) for n in (400, 8, 3)]
    assert replace_spikes(parts, [0]).tolist() == [0]
    assert [len(t.time) for t in parts] == [400, 8, 3]
    flat = trajectory(np.zeros(50))
    assert replace_spikes([flat], [0]).tolist() == [0]


@pytest.mark.parametrize(("deviations", "count"), [(6.0, 0), (40.0, 1)])
def test_a_spike_stands_out_of_the_noise(deviations, count):
    rng = np.random.default_rng(1)
    y = cubic(np.linspace(-1, 1, 400)) + 0.01 * rng.standard_normal(400)
    y[200] += 0.01 * deviations
    one = trajectory(y)
    assert replace_spikes([one], [0]).tolist() == [count]


@pytest.mark.parametrize(("step", "count"), [(3.3, 1), (3.7, 0)])
def test_beside_a_long_step_nothing_is_replaced(step, count):
    time = np.linspace(-1, 1, 400)
    h = time[1] - time[0]
    time = np.concatenate([time[:203], time[203:] + (step - 1) * h])
    y = cubic(time)
    y[200] += 0.3
    one = trajectory(y, time=time)
    assert replace_spikes([one], [0]).tolist() == [count]


def test_samples_around_a_long_step():
    """Between 20 and 21: four before and four after."""
    time = np.arange(40.0)
    time[21:] += 3.0
    expected = (np.arange(40) < 20 - 4) | (np.arange(40) > 21 + 4)
    np.testing.assert_array_equal(spikes._dense(time), expected)
    assert spikes._dense(time, 4.0).all()


@pytest.mark.parametrize("beside", [199, 201])
def test_what_repeats_is_no_spike(beside):
    """The same sample is one if it differs a little from the one beside it."""
    for apart, count in ((0.0, 0), (1e-9, 1)):
        y = cubic(np.linspace(-1, 1, 400))
        y[200] = y[beside] + apart
        assert replace_spikes([trajectory(y)], [0]).tolist() == [count]


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("samples", [2, 3, 4, 6])
def test_beside_spikes_that_repeat_good_samples_stay(samples, sign, even, rng):
    """They would take a half of a level for spikes of their own."""
    time = np.linspace(-1, 1, 400) if even else uneven(rng)
    y = cubic(time)
    y[200 : 200 + samples] = sign * 0.5
    one = trajectory(y, time=time)
    assert replace_spikes([one], [0]).tolist() == [0]
    np.testing.assert_array_equal(one.values[:, 0], y)
    # A spike farther off is one all the same; a spline that has the level replaces it.
    spikes_of = np.isin(ROWS, [194, 206 + samples])
    one = trajectory(y + 0.2 * spikes_of, time=time)
    assert replace_spikes([one], [0]).tolist() == [2]
    kept = ~spikes_of[4:-4]
    np.testing.assert_array_equal(one.values[kept, 0], y[4:-4][kept])
    np.testing.assert_allclose(one.values[:, 0], y[4:-4], atol=5e-3)


def held_over(y, rows):
    """Each of the rows repeats the one before, from the first on."""
    y = y.copy()
    for row in rows:
        y[row] = y[row - 1]
    return y


SCATTERED = np.unique(np.random.default_rng(2).integers(5, 395, 40))


@pytest.mark.parametrize("noise", [0.0, 1e-4])
@pytest.mark.parametrize(
    ("rows", "stale"),
    [
        (SCATTERED, True),
        ([60], True),
        (np.arange(3, 36, 2), True),  # a sensor of half the rate
        (np.arange(60, 64), True),
        (np.arange(60, 65), False),  # a gap
    ],
)
def test_a_sample_that_repeats_the_one_before_in_motion_is_none(
    rows, stale, noise, rng
):
    """The others stay, whatever the noise."""
    y = np.cos(np.arange(400) / 12) + noise * rng.standard_normal(400)
    other = y[::-1].copy()
    one = trajectory(held_over(y, rows), other)
    texts = empty_stale([one], {0: "x", 1: "y"}, 5.0)
    assert len(texts) == stale and all(f"{len(rows)} samples" in t for t in texts)
    empty = np.isnan(one.values[:, 0])
    np.testing.assert_array_equal(np.flatnonzero(empty), rows if stale else [])
    np.testing.assert_array_equal(one.values[:, 1], other)


def test_repeats_that_the_motion_explains_are_measurements(rng):
    """Of an encoder, of few digits at a turn, at rest, and of a clipped sensor."""
    y = np.cos(np.arange(400) / 12)
    rest = np.where(ROWS < 200, y, y[200])
    series = (0.05 * np.rint(20 * y), np.round(y, 3), np.clip(y, -0.9, 0.9), rest)
    one = trajectory(*series)
    assert all((np.diff(each) == 0).any() for each in series)
    assert empty_stale([one], dict(enumerate("abcd")), 5.0) == []
    np.testing.assert_array_equal(one.values, np.stack(series, axis=1))


@pytest.mark.parametrize(("steps", "count"), [(1, 0), (2, 1)])
def test_a_spike_of_an_encoder_is_off_by_more_than_its_step(steps, count):
    """In the middle of a rest of 8 and more samples."""
    y = 0.5 * np.rint(10 * np.linspace(-1, 1, 400))
    y[200] += 0.5 * steps
    assert replace_spikes([trajectory(y)], [0]).tolist() == [count]


def test_weights_of_neighbours_are_those_of_lagrange(rng):
    """Exact of cubics, at uneven times; of a fourth power Newton's remainder."""
    time = uneven(rng, 30)
    places, weights = spikes._cubics(time)
    inner = np.arange(4, 26)
    offsets = [(-2, -1, 1, 2), (-3, -1, 1, 3), (-3, -2, 2, 3), (-4, -2, 2, 4)]
    offsets.append((-4, -3, 3, 4))
    np.testing.assert_array_equal(places, np.array(offsets)[..., None] + inner)
    for power in range(4):
        sums = (weights * time[places] ** power).sum(axis=1)
        np.testing.assert_allclose(sums, np.tile(time[inner] ** power, (5, 1)))
    sums = (weights * time[places] ** 4).sum(axis=1)
    remainder = np.prod(time[inner] - time[places], axis=1)
    np.testing.assert_allclose(time[inner] ** 4 - sums, remainder, rtol=1e-6)


def test_what_parabolas_miss_is_the_third_difference():
    y = ROWS.astype(float) ** 3
    missed = spikes._misses(y)
    np.testing.assert_array_equal(missed[:2], 0)
    np.testing.assert_array_equal(missed[2:], np.diff(y, 3))
    assert len(missed) == len(y) - 1


def of(angle=False):
    return {0: Column("q", "import.coordinates.q", 1.0, 0.0, "rad", angle)}


def jumping(*jumps, count=400):
    """A smooth swing that jumps behind samples, by heights."""
    y = np.sin(2 * np.pi * np.arange(count) / 200)
    for place, height in jumps:
        y[place + 1 :] += height
    return y


@pytest.mark.parametrize("height", [0.5, -0.5])
def test_a_jump_is_refused_with_its_row(height):
    quiet = trajectory(jumping())
    refuse_jumps([quiet], of())
    with pytest.raises(RecordingError) as error:
        refuse_jumps([quiet, trajectory(jumping((100, height)))], of())
    # Rows count from one; the first behind the jump.
    assert re.search(r"a\.csv, line 2, column 'q': .* at row 102 of", str(error.value))


def test_rows_of_five_jumps_are_shown():
    places = [40, 90, 140, 190, 240, 290]
    for count in (5, 6):
        y = jumping(*((k, 0.5) for k in places[:count]))
        with pytest.raises(RecordingError) as error:
            refuse_jumps([trajectory(y)], of())
        rows = ", ".join(str(k + 2) for k in places[:5])
        more = " ..." if count == 6 else ""
        assert f"at row {rows}{more} of" in str(error.value)


@pytest.mark.parametrize(
    ("height", "angle", "refused"),
    [
        (2 * np.pi, True, False),
        (2 * np.pi, False, True),
        (-4 * np.pi, True, False),
        (2 * np.pi + 0.5, True, True),
        (0.018, False, False),  # below 2 % of half the range
        (0.023, False, True),
    ],
)
def test_whole_turns_of_an_angle_and_small_steps_are_no_jumps(height, angle, refused):
    y = jumping((101, height))
    if abs(height) < 1:
        y[:] = np.sin(2 * np.pi * np.arange(400) / 800) * 2
        y[102:] += height
        y -= 1.0
    try:
        refuse_jumps([trajectory(y)], of(angle))
        said = False
    except RecordingError:
        said = True
    assert said == refused


@pytest.mark.parametrize("what", ["spike", "kink", "turn", "step of time", "short"])
def test_what_is_no_jump(what):
    y, time = jumping(), np.linspace(-1, 1, 400)
    if what == "spike":
        y[100] += 0.5
    elif what == "kink":
        y += 0.05 * np.abs(np.arange(400) - 100)
    elif what == "turn":
        y += np.tanh((np.arange(400) - 100) / 4)
    elif what == "step of time":
        y, time = jumping((100, 0.5)), np.append(time[:101], time[101:] + 0.006)
    else:
        y, time = jumping((5, 0.5), count=11), time[:11]
    refuse_jumps([trajectory(y, time=time)], of())
    refuse_jumps([trajectory(np.zeros(400))], of())


def test_a_jump_has_no_other_beside_it():
    """Six samples to both sides must be quiet to a tenth of it."""
    for place, loud in ((6, False), (5, True)):
        misses = np.zeros(40)
        misses[20 - 1 - place + 5] = 0.0
        misses[20 - place] = 0.2
        assert spikes._is_quiet(misses, 20, 1.0) is False
        misses[20 - place] = 0.09
        assert spikes._is_quiet(misses, 20, -1.0) is True
        misses[20 + 2] = 1.0  # of the jump itself
        assert spikes._is_quiet(misses, 20, 1.0) is True
        misses[20 + 3 + place] = 1.0
        assert spikes._is_quiet(misses, 20, 1.0) is (not loud)
    misses = np.zeros(40)
    misses[13] = 1.0
    assert spikes._is_quiet(misses, 20, 1.0)
