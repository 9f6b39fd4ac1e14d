"""Columns of other kinds than motions: what is held out, long tables, amounts."""

import numpy as np
import pandas as pd
import pytest

from leastaction.core.own_data import Samples
from leastaction.recordings import import_samples
from leastaction.recordings.contracts import amount
from leastaction.recordings.refusals import RecordingError


def samples_of(*lengths):
    """Trajectories with numbers of their own, half a second between samples."""
    values = [100.0 * k + np.arange(n)[:, None] for k, n in enumerate(lengths)]
    labels = tuple(f"r{k}" for k in range(len(lengths)))
    return Samples({"q": values}, {"q": ("x",)}, {"q": ("m",)}, 0.5, labels, {})


def parts_of(names, *lengths):
    parts = import_samples._held_out(samples_of(*lengths), names)
    return [list(zip(p.labels, p.lengths, strict=True)) for p in parts]


def test_one_in_four_is_held_out_of_the_middle():
    learned, held = parts_of(None, *[10] * 4)
    assert [n for n, _ in held] == ["r2"] and len(learned) == 3
    learned, held = parts_of(None, *[10] * 8)
    assert [n for n, _ in held] == ["r2", "r5"]
    assert [n for n, _ in learned] == ["r0", "r1", "r3", "r4", "r6", "r7"]


def test_the_end_of_the_longest_is_held_out_of_few():
    """A quarter of it."""
    learned, held = parts_of(None, 10, 41, 20)
    assert learned == [("r0", 10), ("r1", 31), ("r2", 20)]
    assert held == [("r1 (end)", 10)]
    one, end = import_samples._held_out(samples_of(40), None)
    np.testing.assert_array_equal(one.series["q"][0][:, 0], np.arange(30.0))
    np.testing.assert_array_equal(end.series["q"][0][:, 0], np.arange(30.0, 40))


def test_what_is_held_out_by_name():
    learned, held = parts_of(["r0", "r2"], 10, 11, 12)
    assert (held, learned) == ([("r0", 10), ("r2", 12)], [("r1", 11)])
    with pytest.raises(RecordingError, match="held_out names no trajectory"):
        parts_of([], 10, 11, 12)


def test_an_amount_is_in_words():
    assert amount([10], 0.5) == "1 trajectory, 10 samples, 5 s"
    assert amount([10, 11], 0.5) == "2 trajectories, 21 samples, 10.5 s"


def long_table(places, times=4, drop=None, twice=None, run=False):
    rows = [
        {"t": 0.1 * k, "x": place, "u": 10 * k + i}
        for k in range(times)
        for i, place in enumerate(places)
    ]
    rows = rows if drop is None else rows[:drop] + rows[drop + 1 :]
    rows = rows if twice is None else [*rows, rows[twice]]
    frame = pd.DataFrame(rows)
    return frame.assign(run="a") if run else frame


def wide(frame, ends="free", **more):
    part = {
        "files": [frame],
        "position": {"x": {"unit": "mm"}},
        "coordinates": {"u": {"unit": "m"}},
        "time": {"column": "t"},
        "ends": ends,
    }
    return import_samples._wide(part | more)


@pytest.mark.parametrize(("ends", "length"), [("periodic", 0.08), ("free", 0.06)])
@pytest.mark.parametrize("run", [False, True])
def test_a_long_table_becomes_one_with_a_column_for_each_place(ends, length, run):
    more = {"trajectory": "run"} if run else {}
    part = wide(long_table([0.0, 20.0, 40.0, 60.0], run=run), ends, **more)
    assert part["length"] == pytest.approx(length)
    assert part["coordinates"] == {"u": {"unit": "m", "column": "u_*"}}
    (frame,) = part["files"]
    np.testing.assert_allclose(frame["t"], 0.1 * np.arange(4))
    np.testing.assert_allclose(frame["u_2"], 10 * np.arange(4) + 2)
    assert list(frame.columns) == ["run"] * run + ["t", *(f"u_{i}" for i in range(4))]
    stated = wide(long_table([0.0, 20.0, 40.0]), ends, length=7.0)
    assert stated["length"] == 7.0


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"places": [0.0, 20.0]}, "2 positions with steps of 0.02 to 0.02 m"),
        ({"places": [0.0, 20.0, 40.03]}, "3 positions with steps of 0.02 to 0.02003"),
        ({"places": [0.0, 20.0, 40.0], "drop": 4}, "1 times have no value"),
        ({"places": [0.0, 20.0, 40.0], "twice": 4}, "line 13: a time and position"),
    ],
)
def test_places_are_even_and_have_a_value_at_every_time(about, words):
    with pytest.raises(RecordingError, match=words):
        wide(long_table(**about))
    wide(long_table([0.0, 20.0, 40.01]))


def test_a_pattern_stands_for_the_columns_that_fit_it():
    frame = pd.DataFrame({"t": [0.0], "u_1": [1.0], "u_2": [2.0], "w": [3.0]})
    entries = {"u": {"column": "u_*", "unit": "m"}, "w": {"unit": "m"}}
    part = {"files": [frame], "coordinates": entries}
    found = import_samples._expanded(part)["coordinates"]
    assert found == {
        "u_0": {"column": "u_1", "unit": "m"},
        "u_1": {"column": "u_2", "unit": "m"},
        "w": {"unit": "m"},
    }
    entries["v*"] = {"unit": "m"}
    with pytest.raises(RecordingError, match="no column fits 'v\\*'"):
        import_samples._expanded(part)
