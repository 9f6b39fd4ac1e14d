"""Broken recordings: one message each, with what was expected and what to do."""

import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from recorded import RATE, imported, rig, rows, swing, write

from leastaction.core.settings import ConfigError
from leastaction.recordings.configuration import read_recordings, recording_from_config
from leastaction.recordings.error import RecordingError
from leastaction.recordings.tables import Table

GOOD = rows()


def changed(row, cell, value):
    """The good table with one cell changed."""
    table = [list(r) for r in GOOD]
    table[row][cell] = value
    return table


def each(make):
    """The good table with theta made anew from (time, theta)."""
    table = []
    for run in range(5):
        time, angle = swing(1.0 / (1 + 0.5 * run), seed=run)
        angle = make(time, angle)
        table += [
            [run, f"{t:.4f}", f"{x:.7f}"] for t, x in zip(time, angle, strict=True)
        ]
    return table


def with_column(make, name="rate"):
    """The good table with one more column made from (time, theta)."""
    table = []
    for run in range(5):
        time, angle = swing(1.0 / (1 + 0.5 * run), seed=run)
        table += [
            [run, f"{t:.4f}", f"{x:.7f}", f"{y:.7f}"]
            for t, x, y in zip(time, angle, make(time, angle), strict=True)
        ]
    return table, f"run,t,theta,{name}"


def test_broken_table(name, tmp_path):
    table, header, given, words = TABLES[name]
    write(tmp_path, table, "run,t,theta" if header is None else header)
    with pytest.raises((RecordingError, ConfigError)) as refusal:
        imported(given, tmp_path)
    message = str(refusal.value)
    for word in words:
        assert word in message, message
    assert "Traceback" not in message


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_broken_description(name, tmp_path):
    given, words = DESCRIPTIONS[name]
    write(tmp_path, GOOD, "run,t,theta")
    with pytest.raises(ConfigError) as refusal:
        imported(given, tmp_path)
    for word in words:
        assert word in str(refusal.value), str(refusal.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("rig.csv", b"", ["empty"]),
        ("rig.csv", b"run,t,theta\n", ["no row"]),
        ("rig.csv", b"PK\x03\x04\x00\x00rest of a workbook", ["not text", "CSV"]),
        ("rig.nc", b"not netcdf at all", ["not readable NetCDF"]),
    ],
)
def test_broken_file(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((RecordingError, ConfigError)) as refusal:
        imported(rig(files=name), tmp_path)
    for word in words:
        assert word in str(refusal.value), str(refusal.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loop.csv", "there is no file"),
        ("**.csv", "there is no file"),
        (f"{'x' * 300}.csv", "there is no file"),
        ("~nobody/rig.csv", "there is no file"),
        ("**x.csv", "nothing matches"),
    ],
)
def test_a_name_that_no_file_can_have(name, words, tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for made in (None, tmp_path / "made"):
        with pytest.raises(ConfigError, match=words):
            recording_from_config("rig", rig(files=name), tmp_path, made)


def test_snakemake_would_take_braces_for_a_wildcard(tmp_path):
    write(tmp_path, GOOD, name="{x}.csv")
    config = {"recordings": {"arm": rig(files="{x}.csv")}, "seed": 1}
    with pytest.raises(ConfigError, match=r"\{x\}.csv has a brace.*rename it"):
        read_recordings(config, {"arm": tmp_path})


@pytest.mark.parametrize("ending", ["gz", "zip", "bz2", "xz", "tar", "zst"])
def test_a_text_is_text_whatever_its_name(ending, tmp_path):
    write(tmp_path, GOOD)
    write(tmp_path, GOOD, name=f"rig.csv.{ending}")
    plain, named = (
        imported(rig(files=n), tmp_path) for n in ("rig.csv", f"*.{ending}")
    )
    np.testing.assert_array_equal(named["q"], plain["q"])


@pytest.mark.parametrize("above", ['a pipe of 5" length', 'run,t,"theta'])
def test_a_quote_above_the_rows_does_not_swallow_them(above, tmp_path):
    write(tmp_path, GOOD)
    text = (tmp_path / "rig.csv").read_text()
    heading, body = text.split("\n", 1)
    heading = above if above.startswith(heading[:5]) else f"# {above}\n{heading}"
    (tmp_path / "quoted.csv").write_text(f"{heading}\n{body}")
    plain, quoted = (
        imported(rig(files=f"{n}.csv"), tmp_path) for n in ("rig", "quoted")
    )
    np.testing.assert_array_equal(quoted["q"], plain["q"])


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "rig.csv").mkdir()
    with pytest.raises(ConfigError, match="it is a folder"):
        imported(rig(), tmp_path)


def test_variables_of_unlike_dimensions(tmp_path):
    xr.Dataset({"t": ("a", np.arange(9.0)), "theta": ("b", np.arange(9.0))}).to_netcdf(
        tmp_path / "rig.nc"
    )
    with pytest.raises(RecordingError, match="dimensions"):
        imported(rig(files="rig.nc", trajectory=None), tmp_path)


def test_the_good_table_passes(tmp_path):
    write(tmp_path, GOOD)
    found = imported(rig(), tmp_path)
    assert found.sizes["trajectory"] == 5


def appended(path):
    with open(path, "a") as file:
        file.write("4,99.0,0.1\n")


def cut(path):
    path.write_text(path.read_text()[: path.stat().st_size // 2])


def replaced(path):
    content, state = path.read_bytes(), path.stat()
    path.unlink()
    path.write_bytes(content.replace(b".9", b".8"))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.parametrize("change", [appended, cut, replaced, Path.unlink])
def test_a_table_that_changes_while_it_is_read(tmp_path, monkeypatch, change):
    path = write(tmp_path, GOOD)
    pieces = Table.pieces

    def interrupted(self, wanted):
        change(path)
        if path.exists():
            yield from pieces(self, wanted)

    monkeypatch.setattr(Table, "pieces", interrupted)
    with pytest.raises(RecordingError, match="it changed while it was read"):
        imported(rig(), tmp_path)
