"""Broken recordings: one message each, with what was expected and what to do."""

import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from recorded import imported, rig, rows, swing, write

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


NOISY = np.random.default_rng(1)
# name: (table, header, the user's YAML, words that the message must hold)
TABLES = {
    "no such column": (GOOD, "run,t,angle", rig(), ["'theta'", "column"]),
    "misspelt column": (
        GOOD,
        "run,t,thetta",
        rig(),
        ["did you mean 'thetta'", "theta"],
    ),
    "no such trajectory column": (
        GOOD,
        "run,t,theta",
        rig(trajectory="trial"),
        ["'trial'", "import.trajectory"],
    ),
    "no such time column": (GOOD, None, rig(time="time"), ["'time'", "import.time"]),
    "column named twice": (GOOD, "run,theta,theta", rig(), ["'theta'", "twice"]),
    "no names": (GOOD, "", rig(), ["numbers", "names of the columns"]),
    "text in a cell": (
        changed(700, 2, "overload"),
        None,
        rig(),
        ["line 702", "'theta'", "overload", "a number"],
    ),
    "empty column": (
        [[*row[:2], ""] for row in GOOD],
        None,
        rig(),
        ["line 2", "'theta'", "empty"],
    ),
    "infinite": (changed(41, 2, "inf"), None, rig(), ["line 43", "infinite"]),
    "empty time": (changed(41, 1, ""), None, rig(), ["line 43", "time"]),
    "too many cells": (
        [*GOOD[:9], [*GOOD[9], "1", "2"], *GOOD[10:]],
        None,
        rig(),
        ["5 cells", "line 11"],
    ),
    "too few cells": (
        [*GOOD[:999], GOOD[999][:2], *GOOD[1000:]],
        None,
        rig(),
        ["2 cells", "line 1001"],
    ),
    "decimal commas from some row on": (
        [
            [r[0], r[1], r[2].replace(".", "," if n > 200 else ".")]
            for n, r in enumerate(GOOD)
        ],
        None,
        rig(),
        ["4 cells", "line 203", "decimal commas"],
    ),
    "a second heading": (
        [*GOOD[:500], ["run", "t", "theta"], *GOOD[500:]],
        None,
        rig(),
        ["line 502", "'theta' stands there"],
    ),
    "a quotation mark": (
        changed(700, 2, '"0.5'),
        None,
        rig(),
        ["line 702", "quotation mark"],
    ),
    "a row of a million cells": (
        [*GOOD[:999], ["1"] * 10**6, *GOOD[1000:]],
        None,
        rig(),
        ["line 1001", "characters"],
    ),
    "a hundred thousand columns": (
        [["1"] * 10**5] * 3,
        ",".join(map(str, range(10**5))),
        rig(),
        ["characters"],
    ),
    "time goes back": (
        changed(300, 1, "0.0001"),
        None,
        rig(),
        ["line 302", "goes back", "Sort"],
    ),
    "time twice": (
        changed(300, 1, GOOD[299][1]),
        None,
        rig(),
        ["line 302", "twice"],
    ),
    "constant column": (
        each(lambda t, x: 0 * x + 1.5),
        None,
        rig(),
        ["'theta'", "1.5 in every row", "moves"],
    ),
    "degrees for radians": (
        each(lambda t, x: np.degrees(x)),
        None,
        rig(),
        ["'theta'", "unit: deg"],
    ),
    "too few samples per period": (
        rows(rate=6.0, duration=20.0),
        None,
        rig(),
        ["samples per main period", "faster"],
    ),
    "too short": (
        rows(runs=1, duration=1.2),
        None,
        rig(),
        ["periods", "Record longer"],
    ),
    "a few rows": (GOOD[:9], None, rig(), ["9 rows", "16 rows"]),
    "milliseconds for seconds in part": (
        [r if r[0] < 3 else [r[0], float(r[1]) / 1000, r[2]] for r in GOOD],
        None,
        rig(),
        ["s apart", "one unit of time"],
    ),
    "noise alone": (
        each(lambda t, x: NOISY.standard_normal(len(x))),
        None,
        rig(),
        ["'theta'", "theta"],
    ),
    "clock without order": (
        [
            [r[0], f"{float(r[1]) + 0.009 * (i % 2):.4f}", r[2]]
            for i, r in enumerate(GOOD)
        ],
        None,
        rig(),
        ["scatter", "clock"],
    ),
    "dead input": (
        *with_column(lambda t, x: 0 * x, "torque"),
        rig(inputs={"theta": {"column": "torque", "unit": "N m"}}),
        ["'torque'", "input of theta", "0 in every row"],
    ),
    "dead velocity": (
        *with_column(lambda t, x: 0 * x + 0.1),
        rig(velocities={"theta": {"column": "rate", "unit": "rad/s"}}),
        ["'rate'", "dead"],
    ),
    "velocity in degrees": (
        *with_column(lambda t, x: np.degrees(np.gradient(x, t))),
        rig(velocities={"theta": {"column": "rate", "unit": "rad/s"}}),
        ["'rate'", "0.0175", "units"],
    ),
    "reversed velocity": (
        *with_column(lambda t, x: -np.gradient(x, t)),
        rig(velocities={"theta": {"column": "rate", "unit": "rad/s"}}),
        ["'rate'", "reverse: true"],
    ),
    "unknown trajectory held out": (
        GOOD,
        None,
        rig() | {"validate": {"held_out": [17]}},
        ["17", "held_out", "0, 1, 2"],
    ),
    "everything held out": (
        GOOD,
        None,
        rig() | {"validate": {"held_out": [0, 1, 2, 3, 4]}},
        ["every trajectory", "held_out"],
    ),
}
# name: (the user's YAML, words)
DESCRIPTIONS = {
    "misspelt key": (
        rig(coordinate={"theta": "rad"}),
        ["'coordinate'", "did you mean"],
    ),
    "no coordinates": (
        rig(coordinates=None),
        ["import.coordinates", "expected one or more"],
    ),
    "no file": (rig(files="swings.csv"), ["swings.csv", "no file", "relative"]),
    "no match": (rig(files="swings-*.csv"), ["nothing matches"]),
    "no unit": (rig(coordinates={"theta": {"column": "theta"}}), ["'unit' is missing"]),
    "unknown unit": (rig(coordinates={"theta": "radd"}), ["'radd' is not a unit"]),
    "offset unit": (rig(coordinates={"theta": "degC"}), ["'degC' is not a unit"]),
    "counts of what": (rig(coordinates={"theta": "count"}), ["per_turn", "4096"]),
    "turns of no counts": (
        rig(coordinates={"theta": {"unit": "rad", "per_turn": 4096}}),
        ["per_turn", "unit: count"],
    ),
    "a coordinate in g": (
        rig(coordinates={"theta": "g"}),
        ["the unit gives kg, a mass", "`accelerations` or `sensors`"],
    ),
    "a coordinate in newtons": (
        rig(coordinates={"theta": "N"}),
        ["a force", "under `inputs`"],
    ),
    "velocity of nothing": (
        rig(velocities={"x": "m/s"}),
        ["no coordinate 'x'", "theta"],
    ),
    "velocity in metres": (
        rig(velocities={"theta": {"column": "theta", "unit": "m"}}),
        ["the unit gives m", "rad"],
    ),
    "input of nothing": (rig(inputs={"x": "N"}), ["no coordinate 'x'"]),
    "unit of time": (rig(time={"column": "t", "unit": "m"}), ["not a unit of time"]),
    "no clock": (rig(time={}), ["import.time", "rate"]),
    "two clocks": (rig(time={"column": "t", "rate": 100}), ["import.time", "either"]),
    "name of a function": (rig(coordinates={"sin": "rad"}), ["sin"]),
    "name with a blank": (rig(coordinates={"my angle": "rad"}), ["my angle"]),
    "name of a velocity": (
        rig(coordinates={"x": "m", "xdot": "m"}),
        ["declared twice", "xdot"],
    ),
    "code as a candidate": (
        rig() | {"library": {"also": {"lagrangian": ["__import__('os')"]}}},
        ["library", "character"],
    ),
    "candidate of another name": (
        rig() | {"library": {"also": {"dissipation": ["phidot**2"]}}},
        ["unknown name 'phidot'"],
    ),
    "gain without a scale": (
        rig(inputs={"theta": {"column": "theta2", "unit": "V", "gain": "unknown"}}),
        [
            "inputs.theta.gain",
            "nothing sets the scale of the law",
            "library: {reference",
        ],
    ),
    "lag that is no number": (
        rig(inputs={"theta": {"column": "theta2", "unit": "N m", "lag": "late"}}),
        ["import.inputs.theta.lag"],
    ),
    "time constant beside a random excitation": (
        rig(inputs={"theta": {"column": "theta2", "unit": "N m", "time_constant": 0.1}})
        | {"excitation": "random"},
        ["inputs.theta.time_constant", "random excitation", "a lag and a gain"],
    ),
    "range of no velocity": (
        rig() | {"library": {"also": {"stribeck": {"xdot": [0.1, 1.0]}}}},
        ["stribeck", "xdot is no velocity", "thetadot"],
    ),
    "negative rate": (rig(time={"rate": -5.0}), ["import.time.rate", "-5"]),
}


@pytest.mark.parametrize("name", TABLES)
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
        ("rig.xlsx", b"PK\x03\x04\x00\x00rest", ["not a zip file", "Save as, CSV"]),
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
    read = Table.read

    def interrupted(self, *columns):
        change(path)
        return read(self, *columns)

    monkeypatch.setattr(Table, "read", interrupted)
    with pytest.raises(RecordingError, match="it changed while it was read"):
        imported(rig(), tmp_path)
