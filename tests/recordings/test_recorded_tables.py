"""Tables: names, units and numbers of small texts and frames, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.tables import Table, open_table, unchanged

HOW = {"format": "auto", "separator": None, "columns": None, "skip_lines": 0}


@pytest.fixture
def opened(tmp_path):
    def opened(text, name="a.csv", **how):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(data)
        return open_table(path, HOW | how)

    return opened


TEXTS = {
    "commas": ("t,x\n0,1.5\n1,2.5\n", {}),
    "semicolons": ("t;x\n0;1,5\n1;2,5\n", {}),
    "thousand": ("# a logger\nt;x\n0;1,5\n\n1;2,5 # late\n", {}),
    "white": ("  t x\n 0   1.5\n1 2.5\n", {}),
    "comment": ("# t x\n0 1.5\n1 2.5\n", {}),
    "quoted": ('"t","x"\n"0","1.5"\n1,"2.5"\n', {}),
    "skipped": ("9,9,9\nt,x\n0,1.5\n1,2.5\n", {"skip_lines": 1}),
    "unnamed": ("0,1.5\n1,2.5\n", {"columns": ["t", "x"]}),
    "tabs": ("t\tx\n0\t1.5\n1\t2.5", {}),
    "bars": ("t|x\n0|1.5\n1|2.5\n", {"separator": "|"}),
    "utf-16": ("t,x\n0,1.5\n1,2.5\n".encode("utf-16"), {}),
    "windows": ("t,x\n0,1.5\n1,2.5\n#\xb0\n".encode("cp1252"), {}),
    "marked": ("t,x\n0,1.5\n1,2.5\n".encode("utf-8-sig"), {}),
}


@pytest.mark.parametrize("how", TEXTS)
def test_texts_of_every_form_hold_the_same(how, opened):
    text, settings = TEXTS[how]
    table = opened(text, **settings)
    assert list(table.columns) == ["t", "x"]
    frame = table.read(["t", "x"])
    np.testing.assert_array_equal(frame, [[0.0, 1.5], [1.0, 2.5]])
    first = (
        1
        if isinstance(text, bytes)
        else text.split("\n").index(
            next(line for line in text.split("\n") if line.lstrip(' "')[:1] == "0")
        )
    )
    assert frame.index[0] == first + 1 if not isinstance(text, bytes) else True


def test_a_row_of_units_belongs_to_the_names(opened):
    table = opened("a logger\nt,x,y [m]\n[s],(mm),-\n0,1,2\n")
    assert list(table.columns) == ["t [s]", "x [mm]", "y [m]"]
    assert table.heading("x") == "x [mm]" and table.heading("z") == "z"
    assert list(table.read(["x"], ["y"]).columns) == ["x", "y"]


def test_names_with_units_in_brackets_are_one_column_each(opened):
    table = opened("t [s]  x [m / s]  n\n0 1 2\n1 2 3\n", "a.txt")
    assert list(table.columns) == ["t [s]", "x [m / s]", "n"]


REFUSED = {
    "long": ("t,x\n0,1\n1,2,3\n", "line 3.*3.*2"),
    "short": ("t,x\n0,1\n1\n", "line 3"),
    "quote": ('t,x\n0,1\n1,"2\n', "line 3"),
    "word": ("t,x\n0,1\n1,abc\n", "line 3, column 'x'.*abc"),
    "point": ("t;x\n0;1,5\n1;2.5\n", "line 3.*decimal comma"),
    "nul": ("t,x\n" + "0,1\n" * 2000 + "1,\0\n", "line 2002"),
    "binary": ("t,x\n0,\0\n", "a.csv"),
    "blank": ("\n\n", "a.csv"),
    "heading": ("t,x\n", "a.csv"),
    "nameless": ("0,1\n1,2\n", "a.csv"),
    "twice": ("x,x\n0,1\n", "x"),
    "empty": ("", "a.csv"),
}


@pytest.mark.parametrize("when", REFUSED)
def test_a_table_that_is_none_is_refused(when, opened):
    text, words = REFUSED[when]
    with pytest.raises(RecordingError, match=words):
        opened(text).read(["x"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"skip_lines": -1}, "skip_lines"),
        ({"separator": "ab"}, "separator"),
        ({"separator": ""}, "a.csv"),
    ],
)
def test_a_setting_that_is_none_is_refused(change, words, opened):
    if change == {"separator": ""}:  # that of the table
        assert len(opened("t,x\n0,1\n", **change).columns) == 2
        return
    with pytest.raises(RecordingError, match=words):
        opened("t,x\n0,1\n", **change)


def test_a_column_that_is_missing_is_named_with_its_use(opened):
    table = opened("t,theta\n0,1\n")
    table.check_columns({"t": "import.time"})
    with pytest.raises(RecordingError, match="'thta'.*import.coordinates.*theta"):
        table.check_columns({"thta": "import.coordinates"})


def test_frames_have_their_index_and_dates_as_numbers():
    index = pd.Index(pd.to_datetime(["2026-01-01 00:00:01", "2026-01-01 00:00:03"]))
    frame = pd.DataFrame({"x": [1, 2], "run": ["a", 7]}, index.rename("clock"))
    table = open_table(frame, {"time": {"unit": "ms"}})
    result = table.read(["clock", "x"], ["run"])
    np.testing.assert_allclose(result["clock"], [0.0, 2000.0])
    assert list(result["run"]) == ["a", "7"] and list(result.index) == [1, 2]
    plain = open_table(frame.reset_index(drop=True), {})
    assert list(plain.columns) == ["x", "run"]
    cells = pd.DataFrame({"x": ["1", " 2.5 ", None, ""]})
    np.testing.assert_array_equal(
        open_table(cells, {}).read(["x"])["x"], [1.0, 2.5, np.nan, np.nan]
    )


@pytest.mark.parametrize("clock", [True, False])
def test_arrays_of_a_matlab_file_are_columns(clock, tmp_path):
    values = {"q": np.arange(6.0)[None], "u": np.arange(12.0).reshape(6, 2)}
    values |= {"fs": 10.0, "name": "rig", "short": np.arange(3.0)}
    values |= {"t": np.arange(6.0)} if clock else {}
    savemat(tmp_path / "a.mat", values)
    table = open_table(tmp_path / "a.mat", HOW)
    expected = ["q", "u1", "u2", "t"] if clock else ["time", "q", "u1", "u2"]
    assert list(table.columns) == expected
    np.testing.assert_array_equal(table.read(["u2"])["u2"], np.arange(1.0, 12.0, 2))
    if not clock:
        np.testing.assert_allclose(table.read(["time"])["time"], np.arange(6) / 10)


def test_a_matlab_file_without_arrays_is_refused(tmp_path):
    for values in ({"z": np.array([1j, 2.0])}, {"name": "rig"}):
        savemat(tmp_path / "a.mat", values)
        with pytest.raises(RecordingError, match="real arrays"):
            open_table(tmp_path / "a.mat", HOW)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,x\n0,1\n")
    with unchanged([path, tmp_path / "none", pd.DataFrame()]):
        path.read_text()
    for change in (lambda: path.write_text("t,x\n0,1\n1,2\n"), path.unlink):
        with pytest.raises(RecordingError, match="a.csv"), unchanged([path]):
            change()


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(RecordingError, match="x"):
        Table("a", ["x", "y", "x"], None)
