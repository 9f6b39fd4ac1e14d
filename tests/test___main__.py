"""The command: what its options hand to the functions, and how it ends."""

import argparse
import errno
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import leastaction.__main__ as command
from leastaction.__main__ import _reading, _refuse_other_law, _time, main, parser
from leastaction.core.system import System
from leastaction.recordings import learn as learning
from leastaction.recordings import modal_analysis, thermal_calibration
from leastaction.recordings.refusals import RecordingError


def parsed(line):
    return parser().parse_args(line.split())


def test_options_have_their_defaults_and_kinds():
    options = parsed("learn a.csv b.csv")
    assert options.table == ["a.csv", "b.csv"]
    usual = {
        **{"separator": None, "skip_lines": 0, "columns": None, "time": None},
        **{"rate": None, "gap": None, "length": None, "ends": None, "quiet": False},
        **{"kind": "motion", "excitation": "none", "held_out": None, "title": ""},
        **{"coordinate": [], "term": [], "known": [], "test": [], "accept": []},
        **{"unknown": [], "out": Path("law"), "reference": None},
    }
    assert {key: getattr(options, key) for key in usual} == usual
    line = "learn a.csv --rate 50 --gap 3 --length 2.5 --skip-lines 4 --quiet"
    options = parsed(f"{line} --term L:x --term D:y --held-out 3 --out o")
    assert (options.rate, options.gap, options.length) == (50.0, 3.0, 2.5)
    assert options.skip_lines == 4 and options.quiet and options.out == Path("o")
    assert options.term == ["L:x", "D:y"] and options.held_out == ["3"]
    modes = parsed("modes a.csv")
    assert modes.out == Path("modes") and modes.sensor == [] and not modes.setups
    assert parsed("modes a.csv --setups --band 9").band == 9.0
    calibrate = parsed("calibrate a.csv")
    assert calibrate.out == Path("calibration.md") and calibrate.band is None
    assert parsed("calibrate a.csv --band 1:2 --band 3:4").band == ["1:2", "3:4"]
    for line in (
        "learn a.csv --excitation loud",
        "learn",
        "",
        "export a b --language x",
    ):
        with pytest.raises(SystemExit) as error:
            parsed(line)
        assert error.value.code == 2
    assert "; may be repeated" in parser()._subparsers._group_actions[0].choices[
        "learn"
    ].format_help().replace("\n", " ")


@pytest.mark.parametrize(
    ("line", "clock"),
    [
        ("--time t", {"column": "t"}),
        ("--time t:ms", {"column": "t", "unit": "ms"}),
        ("--rate 50", {"rate": 50.0}),
        ("--time t --rate 50", {"column": "t", "rate": 50.0}),
        ("", None),
    ],
)
def test_a_clock_is_a_column_or_a_rate(line, clock):
    options = parsed(f"learn a.csv {line}")
    if clock is None:
        with pytest.raises(RecordingError, match="write the column of the time"):
            _time(options)
    else:
        assert _time(options) == clock


def test_a_table_is_read_as_its_options_say():
    options = parsed("learn a.csv --columns t,x --separator ; --skip-lines 2")
    reading = {"separator": ";", "skip_lines": 2}
    assert _reading(options) == reading | {"columns": ["t", "x"]}
    assert _reading(parsed("describe a.csv")) == {"separator": None, "skip_lines": 0}


class Made:
    """A law, modes or a calibration that is written."""

    figures = ("one", "two")

    def __init__(self):
        self.calls = []

    def to_markdown(self):
        return "page\n"

    def test(self, path, **how):
        self.calls.append((path, how))
        return SimpleNamespace(prediction=lambda: "predicted\n")

    def save(self, path):
        path.write_text("model")

    to_csv = to_npz = save

    def merge(self, *others):
        self.calls.append(others)
        return self

    def plot(self, name):
        return name

    def __str__(self):
        return "made"


@pytest.fixture
def made(monkeypatch, tmp_path):
    one, calls = Made(), []

    def call(*arguments, **named):
        calls.append((arguments, named))
        return one

    one.made_by = calls
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(learning, "learn", call)
    monkeypatch.setattr(learning, "check_table", lambda *a: calls.append(a))
    monkeypatch.setattr(modal_analysis, "modes", call)
    monkeypatch.setattr(thermal_calibration, "calibrate", call)
    monkeypatch.setattr(
        "leastaction.core.files.save_figure", lambda figure, path: path.touch()
    )
    return one


LINE = "learn dir/a$.csv --time t:ms --coordinate x:mm --trajectory run"


def test_a_law_is_learned_and_written(made, capsys):
    assert main([*LINE.split(), "--gap", "3", "--quiet"]) == 0
    ((tables,), how) = made.made_by[0]
    assert tables == ["dir/a$.csv"]
    assert how["time"] == {"column": "t", "unit": "ms"} and how["gap"] == 3.0
    assert how["trajectory"] == "run" and how["title"] == "a"
    assert not how["progress"] and how["kind"] == "motion" and how["accept"] == []
    assert how["excitation"] == "none" and list(how["coordinates"]) == ["x"]
    assert "length" not in how and "sensors" not in how and how["skip_lines"] == 0
    assert {p.name for p in Path("law").iterdir()} == {
        *("law.md", "model.nc", "one.png", "two.png")
    }
    assert Path("law/law.md").read_text() == "page\n"
    out = capsys.readouterr()
    assert out.out == "page\n"
    assert out.err == "Written to law/: law.md, one.png, two.png, model.nc\n"


def test_another_table_is_checked_before_and_predicted_after(made, capsys):
    line = [*LINE.split(), "--test", "b.csv", "--title", "T", "--out", "o/p"]
    assert main(line) == 0
    (path, how, sections), ((_,), named) = made.made_by
    assert path == "b.csv" and sections == {"excitation": "none", "kind": "motion"}
    assert named["title"] == "T" and named["progress"]
    assert made.calls == [("b.csv", how)]
    page = "page\n\n## What it predicts of b.csv\n\npredicted\n"
    assert Path("o/p/law.md").read_text() == page == capsys.readouterr().out
    for more in (["--kind", "field"], ["--excitation", "random"]):
        assert main([*line, *more]) == 1
        assert "predicts no other table; leave it out" in capsys.readouterr().err


@pytest.mark.parametrize("setups", [False, True])
def test_modes_are_of_all_tables_or_of_each(made, setups, capsys):
    line = "modes a.csv b.csv --rate 9 --band 4 --gap 2 --sensor s:m"
    assert main(line.split() + ["--setups"] * setups) == 0
    groups = [["a.csv"], ["b.csv"]] if setups else [["a.csv", "b.csv"]]
    assert [arguments for arguments, _ in made.made_by] == [(g,) for g in groups]
    for _, how in made.made_by:
        assert how["title"] == ("a, b" if setups else "a")
        assert how["time"] == {"rate": 9.0} and how["band"] == 4.0 and how["gap"] == 2
    assert made.calls == ([(made,)] if setups else [])
    names = {"modes.md", "modes.csv", "modes.npz", "one.png", "two.png"}
    assert {p.name for p in Path("modes").iterdir()} == names
    out = capsys.readouterr()
    assert out.out == "made\n" and "modes.npz, one.png, two.png" in out.err
    made.made_by.clear()
    assert main(["modes", "a.csv", "--rate", "9"]) == 0
    assert "gap" not in made.made_by[0][1]


def test_a_particle_is_calibrated(made, capsys):
    line = "calibrate a$.csv --rate 9 --sensor z:V --mass 3kg --band 1:2 --gap 2"
    assert main(line.split()) == 0
    ((tables,), how) = made.made_by[0]
    assert tables == ["a$.csv"] and how["title"] == "a" and how["mass"] == "3kg"
    assert how["radius"] is None and how["gap"] == 2.0 and list(how["sensor"]) == ["z"]
    assert Path("calibration.md").read_text() == "page\n"
    assert capsys.readouterr().out == "made\n"
    assert main(["calibrate", "a.csv", "--rate", "9"]) == 0
    assert "gap" not in made.made_by[1][1] and not made.made_by[1][1]["sensor"]


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (RecordingError("no"), 1, "leastaction: no\n"),
        (OSError(errno.ENOSPC, "disk is full"), 1, "leastaction: [Errno 28] disk is"),
        (KeyboardInterrupt(), 130, "leastaction: interrupted\n"),
        (None, 0, ""),
    ],
)
def test_a_command_ends_with_a_sentence(monkeypatch, capsys, error, status, text):
    def run(options):
        if error:
            raise error

    monkeypatch.setattr(
        command, "parser", lambda: SimpleNamespace(
            parse_args=lambda arguments: argparse.Namespace(run=run)
        )
    )  # fmt: skip
    assert main([]) == status
    assert capsys.readouterr().err.startswith(text)
    assert command.PIPE_CLOSED == 141


def test_a_folder_with_another_law_is_left_alone(tmp_path, monkeypatch):
    other = tmp_path / "law"
    _refuse_other_law(other, "a.csv")
    other.write_text("x")
    with pytest.raises(RecordingError, match="is a file; name a folder"):
        _refuse_other_law(other, "a.csv")
    other.unlink()
    other.mkdir()
    (other / "model.nc").write_text("x")
    with pytest.raises(RecordingError, match="holds the law of another table; write"):
        _refuse_other_law(other, "a.csv")
    parts = {"observations": SimpleNamespace(attrs={"source": "a.csv"})}
    monkeypatch.setattr("leastaction.core.files.load_parts", lambda path: parts)
    _refuse_other_law(other, "a.csv")
    with pytest.raises(RecordingError, match="holds the law of a.csv; .* of b.csv"):
        _refuse_other_law(other, "b.csv")


def test_a_demonstration_does_not_write_over_a_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[0].startswith("swings.csv: ") and lines[0].endswith("simulated. Now:")
    assert lines[1].startswith("leastaction learn swings.csv --time")
    assert Path("swings.csv").stat().st_size > 1000
    assert main(["demo"]) == 1
    assert "swings.csv exists; name another file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "about"),
    [
        ({}, ""),
        ({"input_lag": 0.01}, "; left out: the delay between inputs and forces"),
    ],
)
def test_an_exported_law_says_what_it_leaves_out(
    monkeypatch, capsys, tmp_path, variables, about
):
    law = SimpleNamespace(
        system=System("xdot**2/2 - 2*x**2"), dataset=xr.Dataset(variables)
    )
    monkeypatch.setattr("leastaction.core.model.load", lambda path: law)
    path = tmp_path / "law.py"
    assert main(["export", "model.nc", str(path)]) == 0
    said = f"{path}: qddot = acceleration(q, qdot, force), SI units{about}\n"
    assert capsys.readouterr().out == said
    acceleration = runpy.run_path(str(path))["acceleration"]
    q, force = np.array([[0.5], [1.0]]), np.array([[0.0], [3.0]])
    np.testing.assert_allclose(acceleration(q, 0 * q, force), -4 * q + force)


@pytest.mark.parametrize("system", [None, "another"])
def test_a_model_without_coordinates_is_not_exported(monkeypatch, tmp_path, system):
    law = SimpleNamespace(system=system, dataset=xr.Dataset())
    monkeypatch.setattr("leastaction.core.model.load", lambda path: law)
    options = parsed(f"export model.nc {tmp_path / 'law.c'}")
    with pytest.raises(RecordingError, match="model.nc holds no Lagrangian"):
        options.run(options)
    assert not [*tmp_path.iterdir()]
