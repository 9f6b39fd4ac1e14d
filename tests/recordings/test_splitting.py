"""Rows become trajectories: cuts of their clock, even times, values as they were."""

import re

import numpy as np
import pandas as pd
import pytest

from leastaction.recordings import splitting
from leastaction.recordings.columns import Column
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.splitting import (
    Recorded,
    Trajectory,
    _between_gaps,
    _digit,
    fill_inputs,
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


def recorded(time, *columns, sparse=(), gap=5.0):
    """One trajectory; NaN cells are empty."""
    time = np.asarray(time, dtype=float)
    values = np.stack([np.asarray(c, dtype=float) for c in columns], 1)
    names = [f"c{k}" for k in range(len(columns))]
    flags = np.array([k in sparse for k in range(len(columns))])
    read = Recorded(names, flags, gap, rows=len(time))
    read.done = [Trajectory("0", time, values, "a.csv, line 2")]
    return read


def test_rows_trajectories_and_numbers_have_their_bounds(monkeypatch):
    monkeypatch.setattr(splitting, "MOST_ROWS", 20)
    monkeypatch.setattr(splitting, "MOST_TRAJECTORIES", 2)
    assert cut(STEADY).rows == 20
    with pytest.raises(RecordingError, match="over 20 rows"):
        cut([*STEADY, 20])
    for time, labels, many in (
        (STEADY, "a" * 10 + "b" * 10, 2),
        (STEADY, "a" * 10 + "b" * 5 + "c" * 5, 3),
        ([0, 1, 2, 0, 1, 2, 0, 1], None, 2),
        ([0, 1, 2, 0, 1, 2, 0, 1, 0, 1], None, 3),
    ):
        if many == 2:
            assert len(cut(time, labels).done) in (2, 3)
            continue
        with pytest.raises(RecordingError, match=f"has {many} trajectories"):
            cut(time, labels)


def test_a_long_trajectory_is_cut(monkeypatch):
    monkeypatch.setattr(splitting, "MOST_ROWS_OF_TRAJECTORY", 8)
    read = cut([*STEADY, 40, 41])
    assert [t.time.tolist() for t in read.done] == [
        STEADY[:8],
        STEADY[8:16],
        STEADY[16:],
        [40, 41],
    ]
    assert [t.label for t in read.done] == ["0", "0", "0", "3"]
    assert [t.source for t in read.done][1] == "a.csv, line 10"


@pytest.mark.parametrize(
    ("size", "refused"),
    [(0.9e50, False), (1.1e50, True), (1.1e-50, False), (0.9e-50, True), (0.0, False)],
)
def test_numbers_have_sixth_powers(size, refused):
    values = np.array([[1.0, -size], [2.0, np.nan]])
    if refused:
        with pytest.raises(RecordingError, match="column 'b'.*in SI"):
            splitting._reject_size("a.csv", ["a", "b"], values)
    else:
        splitting._reject_size("a.csv", ["a", "b"], values)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ((1, 0), np.nan, None),
        ((1, 0), np.inf, "line 3, column 'c0': the cell is infinite \\(1 such"),
        ((None, 0), np.nan, "line 2, column 'c0': the cell is empty.* \\(3 such"),
        ((None, 1), np.nan, None),
        ("time", np.nan, "line 4, the time column: the cell is empty"),
        ("time", np.inf, "line 4, the time column: the cell is infinite"),
    ],
)
def test_empty_and_infinite_cells(place, value, words):
    read = recorded(range(3), [1, 2, 3], [4, 5, 6], sparse=[1])
    (one,), frame = read.done, pd.DataFrame(index=[2, 3, 4])
    if place == "time":
        one.time[2] = value
    else:
        rows, column = place
        one.values[slice(None) if rows is None else rows, column] = value
    try:
        splitting._check_numbers("a.csv", frame, read, one.time, one.values)
        assert words is None
    except RecordingError as error:
        assert re.search(words, str(error))


def test_inputs_are_filled_between_their_samples():
    """A smooth input by what lies between; beyond its ends it is held."""
    time = 0.1 * np.arange(200)
    force = np.sin(time) + 2
    some = np.where(np.arange(200) % 3 == 1, force, np.nan)
    read = recorded(time, time, some, sparse=[1])
    (text,) = fill_inputs(read)
    assert "column 'c1' is empty in 66.5 % of the rows" in text
    (one,) = read.done
    np.testing.assert_allclose(one.values[2:198, 1], force[2:198], atol=1e-3)
    assert one.values[0, 1] == pytest.approx(force[1], abs=1e-6)
    assert one.values[199, 1] == pytest.approx(force[199], abs=1e-6)
    full = recorded(time, time, force, sparse=[1])
    assert fill_inputs(full) == [] and full.done[0].values[5, 1] == force[5]


def test_rows_without_a_motion_are_missing_or_of_inputs():
    time = np.arange(40.0)
    x, u = time**2, time.copy()
    x[[5, 10, 11]] = np.nan
    u[[5, 20]] = np.nan  # row 5 has neither; rows 10 and 11 the input alone
    read = recorded(time, x, u, sparse=[1])
    texts = fill_inputs(read)
    assert texts[0].startswith("in 1 rows a cell of the motion is empty")
    assert "column 'c1' is empty in 2.7 % of" in texts[1]
    assert read.rows == 38 and read.gaps == 0
    np.testing.assert_array_equal(read.done[0].time, np.delete(time, [5, 10, 11]))
    x[12:20] = np.nan
    read = recorded(time, x, x, u)
    assert fill_inputs(read)[0].startswith("in 12 rows a cell")
    assert [len(t.time) for t in read.done] == [9, 19] and read.gaps == 1
    with pytest.raises(RecordingError, match="no row has a number in every"):
        fill_inputs(recorded(time, x, np.where(np.isnan(x), 1.0, np.nan)))


@pytest.mark.parametrize(("empty", "refused"), [(4, False), (5, True)])
@pytest.mark.parametrize("at", [0, 20, 40])
def test_an_input_is_empty_for_a_gap_at_most(empty, refused, at):
    """Five of its steps; at the ends one more counts."""
    time = np.arange(46.0)
    begin = {0: 0, 20: 20, 40: 46 - empty}[at]
    inside = np.ones(46, dtype=bool)
    inside[begin : begin + empty + (at != 20)] = False
    if at == 40:
        inside[:] = True
        inside[46 - empty - 1 :] = False
    one = trajectory(time)
    if refused:
        first = max(begin - 1, 0) if at != 40 else 46 - empty - 2
        with pytest.raises(RecordingError, match=f"from {first} s to {first + 6}"):
            splitting._reject_gap(one, "u", time[inside], 5.0)
    else:
        splitting._reject_gap(one, "u", time[inside], 5.0)


def test_an_input_needs_some_samples():
    time = np.arange(17.0)
    splitting._reject_gap(trajectory(time), "u", time[:16], 5.0)
    with pytest.raises(RecordingError, match="column 'u'"):
        splitting._reject_gap(trajectory(time), "u", time[:15], 5.0)


def columns_of_table(*names):
    return [
        Column(n, f"import.{'inputs' if n == 'u' else 'coordinates'}.{n}", 2.0, 1.0)
        for n in names
    ]


def reading(**time):
    return {"time": time, "gap": 5.0}


def test_tables_are_read_in_the_unit_of_their_clock_and_columns():
    frame = pd.DataFrame({"t [ms]": np.arange(20.0), "q": np.arange(20), "u": 1})
    columns = columns_of_table("q", "u")
    read = splitting.read_trajectories(
        [frame, frame[:0], frame], reading(column="t"), columns
    )
    assert [len(t.time) for t in read.done] == [20, 20] and read.rows == 40
    np.testing.assert_allclose(read.done[1].time, 1e-3 * np.arange(20))
    np.testing.assert_allclose(read.done[0].values[:, 0], 2.0 * (np.arange(20) - 1))
    assert read.sparse.tolist() == [False, True] and read.names == ["q", "u"]
    assert read.headings["t"] == "t [ms]"
    rate = splitting.read_trajectories([frame], reading(rate=50.0), columns)
    np.testing.assert_allclose(rate.done[0].time, np.arange(20) / 50)
    frame["run"] = ["a"] * 8 + ["b"] * 12
    settings = reading(column="t", unit="s") | {"trajectory": "run"}
    labelled = splitting.read_trajectories([frame], settings, columns)
    assert [t.label for t in labelled.done] == ["a", "b"]
    assert labelled.done[1].time[0] == 8.0
    with pytest.raises(RecordingError, match="no row"):
        splitting.read_trajectories([frame[:0]], reading(rate=1.0), columns)


def test_smooth_columns_are_splines_and_inputs_what_they_are():
    time = np.arange(30.0)
    held = np.repeat([1.0, 5.0, 2.0], 10)
    values = np.stack([time**3, held], 1)
    at = np.array([4.5, 9.25, 9.75, 20.5])
    found = splitting._interpolated(time, values, at, 1)
    np.testing.assert_allclose(found[:, 0], at**3)
    np.testing.assert_array_equal(found[:, 1], [1, 1, 1, 2])


def test_the_longest_of_short_stretches_is_named():
    short = [trajectory(np.arange(n), f"{n}.csv, line 2") for n in (3, 9, 5)]
    with pytest.raises(RecordingError, match="9.csv.*has 9 rows; expected 16"):
        resample(short, 2)
    runs = [trajectory(0.1 * np.arange(60)), trajectory(np.arange(7))]
    values, starts, _ = resample(runs, 2)
    assert len(values) == len(starts) == 1


def test_a_line_through_times_with_gaps():
    time = 3.0 + 0.5 * np.array([0, 1, 2, 4, 5, 9])
    begin, step, number = splitting._line(time)
    assert number.tolist() == [0, 1, 2, 4, 5, 9]
    assert (begin, step) == (pytest.approx(3.0), pytest.approx(0.5))
