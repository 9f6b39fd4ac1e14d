"""The command `leastaction`: what the YAML does, in words of the shell."""

import math
import re
import shlex
import signal
import subprocess
import sys

import pytest
import yaml
from recorded import rows, write

import leastaction as la
from leastaction import __main__ as program
from leastaction.recordings.command_line import (
    OPTIONS,
    columns_of_options,
    in_shell_words,
    learn_command,
)

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


def test_the_shell_says_what_the_yaml_says(asked):
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


MISTAKES = {
    "no clock": (["--coordinate", "theta:rad"], "--time NAME[:UNIT], or --rate HZ"),
    "no file": (["none.csv", *ANGLE], "there is no file"),
    "no unit": (["--time", "t", "--coordinate", "theta"], "write NAME:UNIT"),
    "no column": (["--time", "t", "--coordinate", "phi:rad"], "Known: run, t, theta"),
    "unknown key": (
        ["--time", "t", "--coordinate", "theta:rad,revers"],
        "unknown key 'revers'; did you mean 'reverse'?",
    ),
    "no coordinate": (
        [*ANGLE, "--input", "x:theta:N"],
        "--input x: there is no coordinate 'x'",
    ),
    "no unit of time": (
        ["--time", "t:h2", "--coordinate", "theta:rad"],
        "--time: 'h2' is not a unit of time",
    ),
    "sensor of a free motion": (
        ["--time", "t", "--coordinate", "x:m", "--sensor", "xdot:theta:m/s"],
        "`--excitation random`",
    ),
    "number of counts": (
        ["--time", "t", "--coordinate", "theta:count"],
        "`,per_turn=4096` behind its unit",
    ),
    "degrees": (["degrees.csv", *ANGLE], "write the unit `deg`; if the joint really"),
    "trajectory": (
        ["--time", "t", "--coordinate", "theta:rad", "--trajectory", "runs"],
        "unknown column 'runs'; did you mean 'run'?",
    ),
    "held out": ([*ANGLE, "--held-out", "9"], "Correct --held-out"),
    "no column of the time": (
        ["--time", "seconds", "--coordinate", "theta:rad"],
        "column 'seconds' (--time): unknown column 'seconds'. Known: run, t, theta",
    ),
    "misspelt unit": (
        ["--time", "t", "--coordinate", "theta:degrs"],
        "'degrs' is not a unit; write something like rad, deg",
    ),
    "gram": (
        ["--time", "t", "--coordinate", "theta:g"],
        "a mass; of an accelerometer in g write it under `--acceleration`",
    ),
    "acceleration of an angle in g": (
        [*ANGLE, "--acceleration", "theta:theta:g"],
        "the coordinate is in rad; write a unit like rad/s^2",
    ),
    "force as a coordinate": (
        ["--time", "t", "--coordinate", "theta:N"],
        "a force; write it under `--input`",
    ),
}
# What is done to a good table, and what is said of it.
SPOILT = {
    "empty": (lambda text: "", "the file is empty; expected a table of samples"),
    "names alone": (lambda text: text[:12], "there is no row below the names"),
    "short": (lambda text: text[:160], "record longer"),
    "a word": (
        lambda text: text.replace("0,0.0500,", "0,0.0500,OVL", 1),
        "line 7, column 'theta': 'OVL",
    ),
    "constant": (
        lambda text: re.sub(r",[-\d.]+\n", ",1\n", text),
        "it is 1 in every row; expected something that moves. Check the cable",
    ),
    "unsorted": (
        lambda text: text.replace("0,0.0500,", "0,0.3500,", 1),
        "time goes back from 0.35 s to 0.06 s; expected time that increases. Sort",
    ),
    "decimal commas": (
        lambda text: re.sub(r"\.(\d+)$", r",\1", text, flags=re.MULTILINE),
        "it has 4 cells; expected 3, as many as names. Repair it; with decimal commas",
    ),
    "no runs": (
        lambda text: re.sub(
            r"^1,(\d+)", lambda m: f"0,{8 + int(m[1])}", text, flags=re.M
        ),
        "the motion jumps between samples and stays there",
    ),
    "one way": (
        lambda text: "".join(
            f"0,{i / 50:.2f},{3 * math.exp(-i / 25)}\n" if i else HEADER + "\n"
            for i in range(200)
        ),
        "it goes one way and never turns around",
    ),
}
FOREIGN = ("YAML", "import.", "`accept:", "`time:", "`unit:", "format:")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_said_in_words_of_the_shell(name, tmp_path, monkeypatch, capsys):
    words, message = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    write(tmp_path, rows(2), HEADER)
    degrees = [[run, t, 57.3 * float(x)] for run, t, x in rows(2, frequency=0.2)]
    write(tmp_path, degrees, HEADER, "degrees.csv")
    words = words if words[0].endswith(".csv") else ["rig.csv", *words]
    status, told = run(capsys, "learn", *words)
    assert status == 1 and message in told
    assert not [word for word in FOREIGN if word in told]
    assert not (tmp_path / "law").exists()


@pytest.mark.parametrize("name", SPOILT)
def test_what_is_wrong_with_a_table_is_said_with_its_cure(
    name, tmp_path, monkeypatch, capsys
):
    spoil, message = SPOILT[name]
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, rows(2), HEADER)
    path.write_text(spoil(path.read_text()))
    words = ["rig.csv", *ANGLE]
    if name not in ("no runs", "one way"):
        words += ["--trajectory", "run"]
    status, told = run(capsys, "learn", *words)
    assert status == 1 and message in told
    assert not [word for word in FOREIGN if word in told]


def test_remedies_are_options():
    for words, shell in {
        "write `reverse: true` beside": "write `,reverse` behind its unit beside",
        "under `inputs`, or `accept: [noise]`": "under `--input`, or `--accept noise`",
        "left out by `skip_lines`": "left out by `--skip-lines N`",
        "write `library: {reference: 2*xdot**2}`": ('write `--reference "2*xdot**2"`'),
    }.items():
        assert in_shell_words(words) == shell


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


def test_a_version_and_a_command_that_is_none(capsys):
    with pytest.raises(SystemExit, match="0"):
        program.main(["--version"])
    assert capsys.readouterr().out == f"leastaction {la.__version__}\n"
    with pytest.raises(SystemExit, match="2"):
        program.main(["lern", "rig.csv"])
    assert "invalid choice: 'lern' (choose from" in capsys.readouterr().err


def test_the_demonstration_says_what_to_type(tmp_path, monkeypatch, capsys):
    """The line that `demo` prints is that of `describe`; the README types both."""
    monkeypatch.chdir(tmp_path)
    assert program.main(["demo"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert program.main(["describe", "swings.csv"]) == 0
    assert line in capsys.readouterr().out.splitlines()
    status, told = run(capsys, "demo")
    assert status == 1 and "swings.csv exists; name another file" in told
