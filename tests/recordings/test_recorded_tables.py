"""Tables: names, units and numbers of small texts and frames, and what is refused."""

import codecs
import os
import struct
import zipfile
import zlib

import numpy as np
import openpyxl
import pandas as pd
import pytest
import xarray as xr
from scipy.io import savemat

from leastaction.recordings import tables
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


def workbook(path, *pages):
    book = openpyxl.Workbook()
    for number, rows in enumerate(pages):
        page = book.worksheets[0] if not number else book.create_sheet()
        for row in rows:
            page.append(row)
    book.save(path)
    return path


def test_a_workbook_is_its_first_page(tmp_path):
    """Blank rows and cells behind the heading are left out, short rows filled."""
    rows = [["a logger"], ["t", 7, None], [0, 1.5], [], [1, None, None], [2]]
    path = workbook(tmp_path / "a.xlsx", rows, [["other"], [9]])
    table = open_table(path, HOW | {"skip_lines": 1})
    assert list(table.columns) == ["t", "7"]
    frame = table.read(["t", "7"])
    np.testing.assert_array_equal(frame, [[0, 1.5], [1, np.nan], [2, np.nan]])
    assert list(frame.index) == [1, 2, 3]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["t", "x"], [0, 1], [1, 2, 3]], "row 3 is outside the 2 columns"),
        ([["t", "x"]], "there are no numbers"),
        ([], "there are no numbers"),
    ],
)
def test_a_workbook_without_a_table_is_refused(rows, words, tmp_path):
    with pytest.raises(RecordingError, match=words):
        open_table(workbook(tmp_path / "a.xlsx", rows), HOW)


def test_a_file_is_read_up_to_its_bound(tmp_path, monkeypatch):
    most = 2 * tables.MOST_BYTES_OF_VARIABLE
    tables._bounded(most)
    tables._bounded(5, 5)
    for size, bound in ((most + 1, ()), (6, (5,))):
        with pytest.raises(ValueError, match="more than"):
            tables._bounded(size, *bound)
    path = workbook(tmp_path / "a.xlsx", [["t"], [1]])
    with zipfile.ZipFile(path) as file:
        size = sum(part.file_size for part in file.infolist())
    monkeypatch.setattr(tables, "LARGEST_WORKBOOK", size)
    assert len(open_table(path, HOW).read(["t"])) == 1
    monkeypatch.setattr(tables, "LARGEST_WORKBOOK", size - 1)
    with pytest.raises(RecordingError, match="unpacks to more"):
        open_table(path, HOW)


def test_bytes_of_a_matlab_file_are_counted_unpacked(tmp_path, monkeypatch):
    plain, packed = tmp_path / "a.mat", tmp_path / "b.mat"
    savemat(plain, {"q": np.zeros(5000)})
    savemat(packed, {"q": np.zeros(5000)}, do_compression=True)
    assert tables._unpacked(plain) == plain.stat().st_size
    # The same but for the head of the file, 128 bytes.
    assert tables._unpacked(packed) == plain.stat().st_size - 128
    zeros = zlib.compress(bytes(1000))

    def written(order, kinds):
        tags = [struct.pack(order + "2I", kind, len(zeros)) + zeros for kind in kinds]
        mark = b"IM" if order == "<" else b"MI"
        packed.write_bytes(bytes(126) + mark + b"".join(tags))
        return tables._unpacked(packed)

    for order in "<>":
        assert written(order, [15, 15]) == 2000
        assert written(order, [14]) == 128 + 8 + len(zeros)
    monkeypatch.setattr(tables, "MOST_BYTES_OF_VARIABLE", 200)
    assert written("<", [15, 15]) == 401  # no more than needed, and no further one


def test_vectors_and_matrices_of_a_matlab_file_are_columns(tmp_path):
    wide, square = np.arange(12.0).reshape(2, 6), np.arange(4.0).reshape(2, 2)
    savemat(tmp_path / "a.mat", {"w": wide, "one": [[1.0]], "Fs": [[20.0]]})
    table = open_table(tmp_path / "a.mat", HOW)
    assert list(table.columns) == ["time", "w1", "w2"]
    frame = table.read(["time", "w2"])
    np.testing.assert_allclose(frame["time"], np.arange(6) / 20)
    np.testing.assert_array_equal(frame["w2"], wide[1])
    for rate in ([[0.0]], [[5.0, 5.0]]):
        savemat(tmp_path / "a.mat", {"s": square, "fs": rate})
        table = open_table(tmp_path / "a.mat", HOW)
        expected = ["s1", "s2"] + ["fs"] * (len(rate[0]) > 1)
        assert list(table.columns) == expected
        np.testing.assert_array_equal(table.read(["s2"])["s2"], square[:, 1])
    savemat(tmp_path / "a.mat", {"q": [[1.0]]})
    with pytest.raises(RecordingError, match="real arrays"):
        open_table(tmp_path / "a.mat", HOW)


def series(**changes):
    about = {"type": 58, "func_type": 1, "id1": "NONE", "rsp_node": 3, "rsp_dir": 2}
    about |= {"x": np.arange(3.0) / 10, "data": np.arange(3.0)}
    return about | {"ordinate_axis_units_lab": "m/s^2"} | changes


def test_series_of_a_universal_file_are_columns(tmp_path, monkeypatch):
    path, sets = tmp_path / "a.uff", []
    path.write_text("-1")

    class File:
        def __init__(self, name):
            assert name == str(path)

        def read_sets(self):
            return sets

    monkeypatch.setattr("pyuff.UFF", File)
    sets += [series(type=15), series(func_type=4), series()]
    sets += [series(id1=" roof ", data=np.ones(3), ordinate_axis_units_lab=" NONE ")]
    sets += [series(id1="a [g]"), series(id1="roof", ordinate_axis_units_lab=None)]
    sets += [series(id1=None, rsp_node=4)]
    table = open_table(path, HOW)
    expected = ["time", "3:2 [m/s^2]", "roof", "a [g]", "3:2", "4:2 [m/s^2]"]
    assert list(table.columns) == expected
    np.testing.assert_array_equal(table.read(["roof"])["roof"], np.ones(3))
    np.testing.assert_array_equal(table.read(["time"])["time"], np.arange(3) / 10)
    sets.append(series(id1="late", x=np.arange(3.0)))
    with pytest.raises(RecordingError, match="'late.*' has another clock"):
        open_table(path, HOW)


@pytest.fixture
def netcdf(tmp_path):
    def netcdf(**variables):
        path = tmp_path / "a.nc"
        xr.Dataset({k: (v[0], np.array(v[1])) for k, v in variables.items()}).to_netcdf(
            path, engine="scipy"
        )
        return open_table(path, HOW)

    return netcdf


def test_variables_of_netcdf_have_the_row_of_their_time(netcdf):
    table = netcdf(
        q=(("run", "time"), [[1.0, 2, 3], [4, 5, 6]]), t=("time", [0.0, 1, 2])
    )
    frame = table.read(["q", "t"])
    np.testing.assert_array_equal(frame["q"], np.arange(1.0, 7))
    np.testing.assert_array_equal(frame["t"], [0, 1, 2] * 2)
    assert list(frame.index) == [1, 2, 3] * 2
    assert list(frame[tables.OUTER]) == [*"000111"]
    assert len(table.rows(["q"], [], 4)) == 4
    frame = netcdf(t=("time", [0.0, 1, 2])).read(["t"])
    assert list(frame.columns) == ["t"] and list(frame.index) == [1, 2, 3]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"q": (("a", "b", "c"), np.ones((1, 1, 2)))}, "variable 'q'.*dimensions"),
        ({"q": ("a", np.ones(2)), "p": ("b", np.ones(2))}, "variable 'p'"),
        ({"q": ("a", np.ones(0))}, "no row"),
    ],
)
def test_variables_of_other_dimensions_are_refused(netcdf, variables, words):
    with pytest.raises(RecordingError, match=words):
        netcdf(**variables).read([*variables])


def test_a_table_has_so_many_rows_and_lines_at_most(opened, monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", 4)
    assert len(opened("x\n1\n2\n3\n4\n").read(["x"])) == 4
    assert len(opened("x\n1\n" + "#\n" * 5 + "2\n").read(["x"])) == 2
    frame = pd.DataFrame({"x": range(5)})
    assert len(open_table(frame[:4], {}).read(["x"])) == 4
    for source in ("x\n1\n2\n3\n4\n5\n", "x\n1\n" + "#\n" * 6 + "2\n", frame):
        with pytest.raises(RecordingError, match="over 4 rows"):
            table = opened(source) if source is not frame else open_table(frame, {})
            table.read(["x"])
    with pytest.raises(RecordingError, match="skip_lines: 5; expected 0 to 4"):
        opened("x\n1\n", skip_lines=5)


def test_a_line_has_so_many_characters_at_most(opened, monkeypatch):
    monkeypatch.setattr(tables, "LONGEST_LINE", 20)
    fits = "0," + "1" * 16 + "\n"  # 19 characters
    assert len(opened("t,x\n" + fits).read(["x"])) == 1
    late = "0,1\n" * 70
    for text in ("t,x\n1" + fits, "t,x\n" + late + "1" + fits):
        with pytest.raises(RecordingError, match="more than 20 characters"):
            opened(text).read(["x"])


def test_a_heading_is_within_the_first_sixty_lines(opened):
    table = opened("#\n" * 58 + "t,x\n0,1\n")
    assert list(table.columns) == ["t", "x"] and len(table.read(["x"])) == 1
    with pytest.raises(RecordingError, match="no row"):
        opened("#\n" * 59 + "t,x\n0,1\n")


def test_a_text_is_read_in_pieces(opened, monkeypatch):
    monkeypatch.setattr(tables, "LINES_AT_ONCE", 3)
    frame = opened("t, x\n" + "".join(f"{k},  {k * k}\n" for k in range(20))).read(
        ["t", "x"]
    )
    np.testing.assert_array_equal(frame["x"], np.arange(20.0) ** 2)
    assert list(frame.index) == [*range(2, 22)]
    assert len(opened("t,x\n0,1\n1,2\n").rows(["x"], [], 1)) == 1


def test_quoted_cells_may_hold_separators(opened):
    frame = opened('t,run\n0,"a, b"\n1,7\n2, "c"\n').read(["t"], ["run"])
    assert list(frame["run"]) == ["a, b", "7", "c"]


PARTS = {
    "_split": [
        (("a  b c", None), ["a", "b", "c"]),
        ((' a ,"b,c", d\n', ","), ["a", "b,c", "d"]),
    ],
    "_is_sample": [(("#1",), False), (("  \n",), False), (("1",), True)],
    "_separator": [
        ((["1,2", "3;4", "5;6"],), ";"),
        ((["1,2", "3;4"],), None),
        ((["1,2", "3,4", "5 6"],), ","),
        ((["1\t2,3", "3\t4,5"],), "\t"),
        (([],), None),
    ],
    "is_number": [(("1,5",), True), (("-1e3",), True), (("a",), False)],
    "_count_quoted": [
        (('"a","b,c"', ","), 2),
        (('"a" b', None), 2),
        (('"a', ","), None),
    ],
    "_wants": [
        (("t", "s"), True),
        (("t", ""), False),
        (("t", "-"), False),
        (("t [s]", "ms"), False),
        (("t (s)", "ms"), False),
    ],
    "_are_units": [
        ((["[s]", "(mm)", "-"], 3), True),
        ((["s", "mm"], 3), False),
        ((["-", ""], 2), False),
        ((["s", "rooftop"], 2), False),
    ],
    "_names": [
        (("t, x", ",", 2), ["t", "x"]),
        ((' "angle of it" ', None, 1), ["angle of it"]),
        (("t [s] x (m / s)", None, 2), ["t [s]", "x (m / s)"]),
        (("t [s] x", None, 3), ["t", "[s]", "x"]),
    ],
}


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_a_heading(part):
    for arguments, expected in PARTS[part]:
        assert getattr(tables, part)(*arguments) == expected, arguments


ENCODED = {
    "utf-16": ["utf-16", "utf-16-be"],
    "utf-8-sig": ["utf-8", "utf-8-sig"],
    "cp1252": ["cp1252"],
}


@pytest.mark.parametrize("expected", ENCODED)
def test_an_encoding_is_that_of_its_mark(expected, tmp_path):
    path = tmp_path / "a.csv"
    for written in ENCODED[expected]:
        mark = codecs.BOM_UTF16_BE if written == "utf-16-be" else b""
        path.write_bytes(mark + "t,\xb0\n".encode(written))
        assert tables._encoding(path) == expected
    path.write_bytes(b"a" * 4095 + "\xb0".encode())  # cut within a character
    assert tables._encoding(path) == "utf-8-sig"
    path.write_bytes(b"a\0")
    with pytest.raises(RecordingError, match="not text"):
        tables._encoding(path)


def test_names_above_and_beside_the_rows(opened):
    """Names may be numbers in part, stand in the last comment, or have units below."""
    for text, names in (
        ("t,1\n0,2\n", None),
        ("# first\n# t x\n0 1\n", ["t", "x"]),
        ("a\nt,x\ns,m\n0,1\n", ["t [s]", "x [m]"]),
        ("t,x\ns,m\n0,1\n", ["t [s]", "x [m]"]),
        ("t,x\n,\n0,1\n", None),
    ):
        if names:
            assert list(opened(text).columns) == names, text
            assert len(opened(text).read([names[0]])) == 1
    table = opened("x [m],x (mm)\n1,2\n")
    assert table.heading("x") == "x"  # it may be either
    with pytest.raises(RecordingError, match="no clock|time: "):
        table.check_columns({"t": "import.time"})


def test_a_device_and_a_folder_are_no_tables(tmp_path):
    for path, words in (
        (tmp_path, "folder"),
        ("/dev/null", "device"),
        (tmp_path / "none", "no such file"),
    ):
        with pytest.raises(RecordingError, match=words):
            open_table(path, HOW)


def test_a_change_of_the_same_size_is_seen(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,x\n0,1\n")
    with pytest.raises(RecordingError, match="changed"), unchanged([str(path)]):
        path.write_text("t,x\n0,2\n")
        os.utime(path, ns=(1, 1))


def test_an_index_with_the_name_of_a_column_is_none():
    frame = pd.DataFrame({"x": [3.0, 4.0]}, pd.Index([7, 8], name="x"))
    assert list(open_table(frame, {}).columns) == ["x"]
    frame.index.name = None
    assert list(open_table(frame, {}).columns) == ["x"]
    wait = pd.DataFrame({"t": pd.to_timedelta([500, 1500], "ms"), "n": [1, 2]})
    np.testing.assert_allclose(open_table(wait, {}).read(["t"])["t"], [0.5, 1.5])
    assert len(open_table(wait, {}).rows(["n"], [], 1)) == 1
