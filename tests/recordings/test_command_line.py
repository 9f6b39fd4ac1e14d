"""The command `leastaction`: what the YAML does, in words of the shell."""

import shlex
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml
from recorded import rows, write

import leastaction as la
from leastaction import __main__ as program
from leastaction.recordings.command_line import (
    bands_of_options,
    calibrate_text,
    columns_of_options,
    learn_call,
    learn_command,
    library_of_options,
    modes_command,
    places_of_options,
    shapes_of_options,
)
from leastaction.recordings.interfaces import OPTIONS, SHELL, in_words

HEADER = "run,t,theta"
ANGLE = ["--time", "t", "--trajectory", "run", "--coordinate", "theta:rad"]


class Stop(Exception):
    """Ends `learn` before anything is computed."""


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What the command asks `learn` for, instead of a law; the folder is empty."""
    found = {}

    def learn(data, **more):
        found.update(more, data=data)
        raise Stop

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("leastaction.recordings.learn.learn", learn)

    def run(*words):
        with pytest.raises(Stop):
            program.main(["learn", *words])
        return found

    return run


def test_the_shell_is_equivalent_to_the_yaml(asked):
    words = shlex.split(
        "rig.csv --rate 200 --gap 9 --columns 'enc, u' "
        "--skip-lines 2 --reference '95*xdot**2/2' --excitation random "
        "--coordinate x:m --coordinate theta:enc:count,per_turn=4096,reverse,offset=2 "
        "--sensor 'x1ddot + ground:floor 1:m/s^2' "
        "--input x:u:V,lag=unknown,gain=2.5,time_constant=unknown,offset=unknown"
    )
    given = asked(*words)
    assert given["time"] == {"rate": 200} and given["gap"] == 9
    assert given["columns"] == ["enc", "u"] and given["skip_lines"] == 2
    assert given["library"] == {"reference": "95*xdot**2/2"}
    counts = {"column": "enc", "unit": "count", "per_turn": 4096}
    counts |= {"reverse": True, "offset": 2}
    assert given["coordinates"] == {"x": {"unit": "m"}, "theta": counts}
    sensor = {"column": "floor 1", "unit": "m/s^2"}
    assert given["sensors"] == {"x1ddot + ground": sensor}
    unknowns = dict.fromkeys(("lag", "time_constant", "offset"), "unknown")
    command = {"column": "u", "unit": "V", "gain": 2.5} | unknowns
    assert given["inputs"] == {"x": command}


def test_expressions_have_their_unknowns(asked):
    text = "theta=atan2(x - x0, y0 - y)"
    given = asked("a.csv", "--time", "t:ms", "--coordinate", text, "--unknown", "x0")
    assert given["time"] == {"column": "t", "unit": "ms"}
    entry = {"expression": "atan2(x - x0, y0 - y)", "unknown": ["x0"]}
    assert given["coordinates"] == {"theta": entry}


def test_the_line_that_describe_prints_is_read_as_its_yaml(tmp_path):
    table = [[run, 1e3 * float(t), x, x] for run, t, x in rows()]
    write(tmp_path, table, "run no,ms,my angle [rad],theta")
    about = la.describe(tmp_path / "rig.csv")
    (part,) = about.settings["recordings"].values()
    words = shlex.split(learn_command(part))
    assert words[:3] == ["leastaction", "learn", str(tmp_path / "rig.csv")]
    assert shlex.join(words) in str(about)
    options = program.parser().parse_args(words[1:])
    for option, section in OPTIONS.items():
        read = columns_of_options(option, getattr(options, option))
        written = {
            name: {"unit": entry} if isinstance(entry, str) else entry
            for name, entry in part["import"].get(section, {}).items()
        }
        assert (read or {}) == written
    assert yaml.safe_load(str(about).partition("snakemake:\n")[2]) == about.settings


def run(capsys, *words):
    """Exit status, and what is printed as an error."""
    status = program.main([*words])
    return status, capsys.readouterr().err


def test_remedies_are_options():
    for words, shell in {
        "write `reverse: true` beside": "write `,reverse` behind its unit beside",
        "under `inputs`, or `accept: [noise]`": "under `--input`, or `--accept noise`",
        "left out by `skip_lines`": "left out by `--skip-lines`",
        "write `library: {reference: 2*xdot**2}`": ('write `--reference "2*xdot**2"`'),
    }.items():
        assert in_words(SHELL, words) == shell


def test_the_law_of_another_table_is_not_overwritten(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, rows(2), HEADER)
    (tmp_path / "law").mkdir()
    (tmp_path / "law/model.nc").write_bytes(b"not ours")
    status, told = run(capsys, "learn", "rig.csv", *ANGLE)
    assert status == 1 and "law/ holds the law of another table; write --out" in told
    (tmp_path / "rig").write_text("a file")
    status, told = run(capsys, "learn", "rig.csv", *ANGLE, "--out", "rig")
    assert status == 1 and "--out rig is a file; name a folder" in told


@pytest.mark.parametrize("name", ["describe.describe", "learn.learn"])
def test_an_interrupt_ends_without_a_traceback(name, tmp_path, monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"leastaction.recordings.{name}", stop)
    words = [name.partition(".")[0], "x.csv", *(ANGLE if "learn" in name else [])]
    assert run(capsys, *words) == (130, "leastaction: interrupted\n")


@pytest.mark.parametrize(
    ("line", "status"),  # argparse passes over an output of its own that is closed
    [("describe rig.csv", 141), ("--version", 141), ("learn --help", 0)],
)
def test_a_closed_output_ends_without_a_traceback(line, status, tmp_path):
    write(tmp_path, rows(2), HEADER)
    started = subprocess.Popen(
        [sys.executable, "-m", "leastaction", *line.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started.stdout.close()
    assert started.stderr.read() == ""
    assert started.wait() == status
    assert program.PIPE_CLOSED == 128 + signal.SIGPIPE


def test_a_full_disk_ends_without_a_traceback():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "leastaction", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == "leastaction: [Errno 28] No space left on device\n"


def test_a_version_and_a_command_that_is_none(capsys):
    with pytest.raises(SystemExit, match="0"):
        program.main(["--version"])
    assert capsys.readouterr().out == f"leastaction {la.__version__}\n"
    with pytest.raises(SystemExit, match="2"):
        program.main(["lern", "rig.csv"])
    assert "invalid choice: 'lern' (choose from" in capsys.readouterr().err


def test_the_demonstration_states_what_to_type(tmp_path, monkeypatch, capsys):
    """The line that `demo` prints is that of `describe`; the README types both."""
    monkeypatch.chdir(tmp_path)
    assert program.main(["demo"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert program.main(["describe", "swings.csv"]) == 0
    assert line in capsys.readouterr().out.splitlines()
    status, told = run(capsys, "demo")
    assert status == 1 and "swings.csv exists; name another file" in told


def test_a_frame_is_described_with_the_call_that_learns_from_it():
    frame = pd.DataFrame(rows(), columns=HEADER.split(",")).astype(float)
    about = str(la.describe(frame))
    call = "    trajectory='run',\n    time='t',\n    coordinates={'theta': 'rad'},\n)"
    assert call in about and "recordings:" not in about


def tables_of_kinds():
    """What makes a table of each kind, and the kind that it looks like."""
    rng, time = np.random.default_rng(0), np.arange(0, 100, 0.05)
    swing = np.cos(5 * time) * (1 + 0.1 * np.sin(time))
    yield "", {"t": time, "x": np.exp(-time / 30) * swing}
    yield "", {"t": time, "x": swing, "F [N]": np.sin(time)}
    yield "field", {"t": time} | {f"u_{i}": np.sin(time + i) for i in range(9)}
    yield (
        "",
        {"t": time / 10, "a": rng.normal(size=time.size), "b": rng.random(time.size)},
    )
    port = {"coil [V]": swing, "coil [A]": np.sin(time), "phi": swing}
    yield "ports", {"t": time} | port
    yield "density", {"t": time, "x": swing, "v": np.gradient(swing, time)}
    start, phase = np.repeat(np.arange(40), 12), rng.uniform(0, 6, 40).repeat(12)
    row = np.tile(np.arange(12), 40)
    yield "snapshots", {"run": start, "t": row / 10, "x": np.cos(9 * row / 10 + phase)}


@pytest.mark.parametrize(("kind", "columns"), [*tables_of_kinds()])
def test_a_table_of_another_kind_is_seen(kind, columns, tmp_path):
    frame = pd.DataFrame(columns)
    assert la.describe(frame).kind == kind
    frame.to_csv(tmp_path / "a.csv", index=False)
    about = str(la.describe(tmp_path / "a.csv"))
    assert (f"--kind {kind}" in about) == bool(kind)


@pytest.mark.parametrize(
    ("texts", "entries"),
    [
        ([], None),
        (["x:m"], {"x": {"unit": "m"}}),
        (["x:a:b:m"], {"x": {"column": "a:b", "unit": "m"}}),
        (
            ["x:u:V,lag=unknown,gain=-2.5e1", "y:N,reverse,offset = 3"],
            {
                "x": {"column": "u", "unit": "V", "lag": "unknown", "gain": -25.0},
                "y": {"unit": "N", "reverse": True, "offset": 3.0},
            },
        ),
        (
            ["x:V,reverse=false,time-constant=0.1"],
            {"x": {"unit": "V", "reverse": False, "time_constant": 0.1}},
        ),
        (
            ["q=asin(s - c):rad"],
            {"q": {"expression": "asin(s - c)", "unknown": ["c"], "unit": "rad"}},
        ),
        (["q=a + b"], {"q": {"expression": "a + b", "unknown": []}}),
    ],
)
def test_options_are_entries_of_a_yaml(texts, entries):
    assert columns_of_options("input", texts, ["c", "d"]) == entries


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (columns_of_options, ("input", ["x"]), "--input 'x' has no unit"),
        (
            columns_of_options,
            ("input", ["x:m,gian=2"]),
            "--input m,gian=2: unknown key",
        ),
        (library_of_options, (None, ["x**2"], [], ["x"]), "--term 'x"),
        (library_of_options, (None, ["V:x**2"], [], ["x"]), "L, D, S"),
        (library_of_options, (None, [], ["D:x**2"], ["x"]), "no number behind ="),
        (library_of_options, (None, [], ["x**2=1"], ["x"]), "--known 'x"),
        (places_of_options, (["roof"],), "--place 'roof' has no place"),
        (places_of_options, (["roof=1"],), "has no place"),
        (places_of_options, (["roof=1,2,3,4"],), "has no place"),
        (places_of_options, (["roof=1,b"],), "has no place"),
        (shapes_of_options, (["1,b"],), "--shape 1,b: write a number"),
        (bands_of_options, (["1"],), "--band '?1'? is no band"),
        (bands_of_options, (["1:2", "1:2:3"],), "is no band"),
        (bands_of_options, (["1:b"],), "is no band"),
    ],
)
def test_options_that_are_none_are_refused(read, text, words):
    with pytest.raises(la.RecordingError, match=words):
        read(*text)


def test_options_without_a_text_are_none():
    assert library_of_options(None, [], [], ["x"]) is None
    assert library_of_options("xdot**2", [], [], ["x"]) == {"reference": "xdot**2"}
    assert shapes_of_options([]) is None and places_of_options([]) == {}
    assert bands_of_options(None) is None and bands_of_options([]) is None
    assert places_of_options(["a=1,2,3", "b=0,-1"]) == {"a": [1, 2, 3], "b": [0, -1]}
    known = library_of_options(
        None, ["L:x**2", "L:x**4", "H:p**2"], ["D:v=1", "D:v**2=2", "S^2:1=3"], ["x"]
    )
    assert known == {
        "lagrangian": [{"terms": ["x**2", "x**4"]}],
        "hamiltonian": [{"terms": ["p**2"]}],
        "known": {"dissipation": {"v": 1, "v**2": 2}, "volatility": {"x": {"1": 3}}},
    }


PART = {"files": "a.csv", "time": "t", "coordinates": {"x": "mm"}}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "a.csv --time t --coordinate x:mm"),
        (
            {"time": {"column": "c", "unit": "ms"}},
            "a.csv --time c:ms --coordinate x:mm",
        ),
        ({"time": {"rate": 1e3}}, "a.csv --rate 1000 --coordinate x:mm"),
        ({"time": {"rate": None}}, "a.csv --rate HZ --coordinate x:mm"),
        ({"trajectory": "run"}, "a.csv --time t --trajectory run --coordinate x:mm"),
        ({"length": None}, "a.csv --time t --length METRES --coordinate x:mm"),
        (
            {"coordinates": {"x": {"column": "a", "unit": "V", "gain": 2}}},
            "a.csv --time t --coordinate x:a:V,gain=2",
        ),
        (
            {"inputs": {"x": {"unit": "N"}}},
            "a.csv --time t --coordinate x:mm --input x:N",
        ),
    ],
)
def test_a_recording_is_a_line_of_the_shell_or_a_call(changes, line):
    part = PART | changes
    assert learn_command({"import": part}) == f"leastaction learn {line}"
    assert learn_command({"import": part, "kind": "ports"}) == (
        f"leastaction learn {line}".replace(" --length METRES", "").replace(
            " --coordinate",
            " --kind ports" + " --length METRES" * ("length" in part) + " --coordinate",
        )
    )
    lines = learn_call({"import": part, "kind": "ports"}).split("\n")
    assert lines[:3] == ["la.learn(", "    table,", "    kind='ports',"]
    assert not any("files" in one for one in lines) and lines[-1] == ")"
    assert ("    time={'rate': HZ}," in lines) == (part["time"] == {"rate": None})
    assert ("    length=METRES," in lines) == ("length" in part)
    if changes == {}:
        assert lines[3:5] == ["    time='t',", "    coordinates={'x': 'mm'},"]


def test_other_lines_of_the_shell():
    sensors = {"x1ddot": {"column": "roof top [g]", "unit": "g"}}
    part = {"files": "a.csv", "time": "t", "sensors": sensors}
    line = "leastaction modes a.csv --time t --sensor 'roof_top:roof top [g]:g'"
    assert modes_command(part) == line
    call = calibrate_text(PART, False)
    assert call == "la.calibrate(table, time='t', sensor={'x': 'mm'})"
    line = "leastaction calibrate a.csv --time t --sensor x:mm"
    assert calibrate_text(PART, True) == line
