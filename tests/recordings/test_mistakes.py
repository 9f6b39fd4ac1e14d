"""Mistakes, one row each: what is done to a good table, what is written, what is said.

Every row is refused in one sentence, in words of a YAML, of the shell and of Python.
Those with a number are the 33 that new users made; some are understood by now, and
their tables are read as the good one.
"""

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml
from recorded import imported, rig, rows, swing, write
from scipy.signal import lfilter, lsim, lti

import leastaction as la
from leastaction.__main__ import main
from leastaction.core.settings import ConfigError
from leastaction.recordings.configuration import read_recordings, recording_from_config
from leastaction.recordings.excitation import relaxes
from leastaction.recordings.interfaces import PYTHON, SHELL, in_words
from leastaction.recordings.refusals import RecordingError

HEADER = "run,t,theta"
GOOD = rows()
NOISY = np.random.default_rng(1)
# Words of a YAML that a message in the shell has not.
FOREIGN = ("YAML", "import.", "`accept:", "`time:", "`unit:", "format:", "validate.")


def each(make, header=HEADER, runs=5, **options):
    """Text of the good table, with columns made anew from (time, theta)."""
    table = []
    for run in range(runs):
        time, angle = swing(1.0 / (1 + 0.5 * run), seed=run, **options)
        table += [
            ",".join([str(run), f"{t:.4f}", *(f"{x:.7f}" for x in cells)])
            for t, *cells in zip(time, *make(time, angle), strict=True)
        ]
    return "\n".join([header, *table])


TEXT = each(lambda t, x: [x])


def pixels(angle, noise=0.5):
    """A point that hangs on a pivot nobody knows."""
    rng = np.random.default_rng(0)
    point = 287 * np.stack([np.sin(angle), np.cos(angle)])
    return (
        np.array([[612.3], [104.7]]) + point + noise * rng.standard_normal(point.shape)
    )


FILM = "run,t,x,y"
# Tables that no substitution of text makes.
MADE = {
    "million cells": re.sub("^1,1.9900.*", ",".join(["1"] * 10**6), TEXT, flags=re.M),
    "100,000 columns": "\n".join(
        [",".join(map(str, range(10**5)))] + ["1," * 10**5] * 3
    ),
    "commas later": TEXT[:4000] + re.sub(r"\.(\d+)$", r",\1", TEXT[4000:], flags=re.M),
    "degrees": each(lambda t, x: [np.degrees(x)]),
    "coarse": each(lambda t, x: [x], rate=6.0, duration=20.0),
    "short": each(lambda t, x: [x], runs=1, duration=1.2),
    "piece": each(lambda t, x: [x], runs=1, duration=0.3),
    "bead": each(
        lambda t, x: [lfilter([0.1], [1, -0.8], NOISY.standard_normal(len(x)))]
    ),
    "noise": each(lambda t, x: [NOISY.standard_normal(len(x))]),
    "late ms": "\n".join(
        line if line[0] in "r012" else re.sub(r",(\d)\.", r",0.00\1", line)
        for line in TEXT.split("\n")
    ),
    "no order": each(lambda t, x: [x])
    .replace("5000,", "5090,")
    .replace("7000,", "7090,"),
    "one way": each(lambda t, x: [3 * np.exp(-2 * t)], runs=1),
    "joined": re.sub(r"^1,(\d+)", lambda m: f"0,{8 + int(m[1])}", TEXT, flags=re.M),
    "torque 0": each(lambda t, x: [x, 0 * x], f"{HEADER},torque"),
    "rate 0": each(lambda t, x: [x, 0 * x + 0.1], f"{HEADER},rate"),
    "rate in deg": each(
        lambda t, x: [x, np.degrees(np.gradient(x, t))], f"{HEADER},rate"
    ),
    "reversed rate": each(lambda t, x: [x, -np.gradient(x, t)], f"{HEADER},rate"),
    "film": each(lambda t, x: pixels(x), FILM),
    "short arc": each(lambda t, x: pixels(0.01 * np.sin(5 * t)), FILM),
    "": TEXT,
}
# When | table, or PATTERN => REPLACEMENT in the good one | import | what is said.
ROWS = r"""
1 wrong column | | coordinates: {phi: rad} | unknown column 'phi'. Known: run, t, theta
misspelt column | theta$ => thetta | | unknown column 'theta'; did you mean 'thetta'?
2 wrong trajectory | | trajectory: runs | (import.trajectory): unknown column 'runs'
misspelt unit | | coordinates: {theta: degrs} |
    'degrs' is not a unit; write something like rad, deg
4 degrees as rad | degrees | |
    turns; expected an angle in rad. If the column is in degrees, write `unit: deg`
5 no unit | | coordinates: {theta: {column: theta}} |
    'unit' is missing; write something like rad
6 no clock | | time: {} | give either the column of the time, `time: t`, or the rate
7 no such file | | files: none.csv | there is no file
no text | ^.* => PK\0\0 | |
    the file is not text; expected CSV, a whitespace table or NetCDF
9 empty | (?s).* => | | the file is empty; expected a table of samples
10 names alone | (?s)\n.* => \n | | there is no row below the names
11 too short | piece | trajectory: null |
    it goes one way and never turns around
an angle relaxes | bead | |
    as an overdamped motion does, whose inertia is not seen; expected an oscillation
a bead | bead | coordinates: {theta: um} |
    `leastaction calibrate` gives corner frequency, stiffness and drag
short | short | |
    periods; expected 3 periods at least, better ten in each of six trajectories. Record
    longer
12 OVL in a cell | ^0,7.0000,.* => 0,7.0000,OVL | |
    line 702, column 'theta': the cell holds 'OVL'; expected a number
empty cells of all | ^(.,.*,).*\d$ => \1 | |
    line 2, column 'theta': the cell is empty or not a number (4000
14 constant column | ^(.,.*,).*\d$ => \g<1>1.5 | |
    it is 1.5 in every row; expected something that moves. Check the cable
15 unsorted | ^0,3.0000 => 0,0.0001 | |
    line 302, time: time goes back from 2.99 s to 0.0001 s; expected time that
    increases. Sort
16 decimal commas | (\d)\.(\d+)$ => \1,\2 | |
    it has 4 cells; expected 3, as many as names. Repair it; of numbers with decimal
    commas export the table with semicolons
19 one column | (?s).* => angle [deg]\n1\n2 |
    trajectory: null, coordinates: {angle: deg} |
    or write `time: {rate: 100}`, in Hz, if the table has none
20 input of nothing | | inputs: {x: N} | there is no coordinate 'x'; these are theta
21 held out 9 of 5 | | validate: {held_out: [9]} |
    names the trajectory 9; expected some of 0, 1, 2
22 runs joined | joined | trajectory: null |
    the motion jumps between samples and stays there
28 coordinate in g | | coordinates: {theta: g} |
    a mass, where g of an accelerometer is an acceleration; name a column of positions,
    or write it under `accelerations`
coordinate in N | | coordinates: {theta: N} |
    the unit gives N, a force; name a column of positions, or write it under `inputs`
angle in g | | accelerations: {theta: 'theta [g]'} |
    the coordinate is in rad; write a unit like rad/s^2
no oscillation | one way | | it goes one way and never turns around
wrong time | | time: seconds | column 'seconds' (import.time): unknown column 'seconds'
unit of time | | time: {column: t, unit: h2} |
    'h2' is not a unit of time; write s, ms or us
time in metres | | time: {column: t, unit: m} | 'm' is not a unit of time
counts of what | | coordinates: {theta: count} |
    write `per_turn: 4096`, or whatever the encoder has
sensor of a free motion | |
    sensors: {thetadot: 't [rad/s]'}, coordinates: {theta: rad} | `excitation: random`
column named twice | ^run,t => run,theta | |
    column 'theta' appears twice; expected different names
no names | ^run.*\n => | | the first line holds numbers; expected names of the columns
infinite | ^0,0.4100,.* => 0,0.4100,inf | |
    line 43, column 'theta': the cell is infinite (1 such
empty time | ^0,0.4100 => 0, | | line 43, the time column: the cell is empty
too many cells | ^0,0.0900,.* => \g<0>,1,2 | | line 11: it has 5 cells; expected 3
too few cells | ^1,1.9900.* => 1,1.9900 | | line 1001: it has 2 cells; expected 3
few cells at once | ^0,0.0000.* => 0,0.0000 | | line 2: it has 2 cells; expected 3
commas later | commas later | | it has 4 cells; expected 3
second heading | ^0,5.0000, => run,t,theta\n\g<0> | |
    line 502, column 'theta': the cell holds 'theta'
quotation mark | ^0,7.0000,.* => 0,7.0000,"0.5 | |
    line 702: a quotation mark is not closed
million cells | million cells | | line 1001: it has more than 65536 characters
100,000 columns | 100,000 columns | | more than 65536 characters
time twice | ^0,3.0000 => 0,2.9900 | |
    line 302, time: the time 2.99 s appears twice
samples are few | coarse | | samples per main period
a few rows | (?s)^(.*?\n0,0.0800[^\n]*).* => \1 | |
    has 9 rows; expected 16 rows and several periods
ms for s later | late ms | | s apart, elsewhere
noise alone | noise | | of the rows the angle jumps by more than a quarter turn
dead input | torque 0 | inputs: {theta: 'torque [N m]'} |
    (input of theta): it is 0 in every row
dead rate | rate 0 | velocities: {theta: {column: rate, unit: rad/s}} |
    column 'rate' (qdot of theta): it is the same in every row
rate in degrees | rate in deg | velocities: {theta: {column: rate, unit: rad/s}} |
    the coordinate changes 0.0175 times as fast
reversed rate | reversed rate | velocities: {theta: {column: rate, unit: rad/s}} |
    a minus is a reversed sensor: `reverse: true`
all held out | | validate: {held_out: [0, 1, 2, 3, 4]} |
    names every trajectory; expected some
misspelt key | | coordinate: {theta: rad} |
    import: unknown key 'coordinate'; did you mean 'coordinates'
no coordinates | | coordinates: {} | import.coordinates: expected one or more
nothing matches | | files: swings-*.csv | nothing matches
unknown unit | | coordinates: {theta: radd} | 'radd' is not a unit
offset unit | | coordinates: {theta: degC} | 'degC' is not a unit
turns of no counts | | coordinates: {theta: {unit: rad, per_turn: 4096}} |
    per_turn is given, but the unit is 'rad'; write `unit: count`
velocity of nothing | | velocities: {x: m/s} | there is no coordinate 'x'
velocity in metres | | velocities: {theta: 't [m]'} |
    the unit gives m, but the coordinate is in rad
column shared | | inputs: {theta: N m} |
    the column 'theta' is that of import.coordinates.theta
two clocks | | time: {column: t, rate: 100} | give either the column of the time
negative rate | | time: {rate: -5.0} | import.time.rate
name of a function | | coordinates: {sin: rad} | sin
name with a blank | | coordinates: {my angle: rad} | my angle
name of a velocity | | coordinates: {x: m, xdot: m} |
    the names ['xdot'] are declared twice
code as a candidate | | library: {also: {lagrangian: [__import__('os')]}} | character
candidate of another | | library: {also: {dissipation: [phidot**2]}} |
    unknown name 'phidot'
gain without a scale | | inputs: {theta: {column: t, unit: V, gain: unknown}} |
    nothing sets the scale of the law
lag that is no number | | inputs: {theta: {column: t, unit: N m, lag: late}} | theta.lag
range of no velocity | | library: {also: {stribeck: {xdot: [0.1, 1.0]}}} |
    xdot is no velocity
lag of random motion | |
    inputs: {theta: {column: t, unit: N m, time_constant: 0.1}}, excitation: random |
    random excitation
code as a column | film | coordinates: {theta: {expression: "__import__('os')"}} |
    theta.expression
no column in it | film | coordinates: {theta: {expression: 'atan2(x, z)'}} |
    unknown column 'z'
unknown in no pivot | film |
    coordinates: {theta: {expression: asin((x - 5)/l), unknown: [l]}} | the unknown l is
    in no atan2
unknown of nothing | film | coordinates: {x: {unit: px, unknown: [x0]}} |
    there is no expression that they are in
column and expression | film |
    coordinates: {x: {column: x, expression: x + y, unit: px}} | not both
expression of no unit | film | coordinates: {z: {expression: x + y}} | 'unit' is missing
number as a column | film | coordinates: {z: {expression: '2.5', unit: px}} |
    has no column of the table
atan2 of one | film | coordinates: {z: {expression: atan2(x)}} |
    atan2 takes 2 arguments, not 1
no value | film | coordinates: {z: {expression: asin(x), unit: rad}} |
    has no value at {'x':
no circle | film |
    coordinates: {z: {expression: 'atan2(x - x0, 3*(y - y0))', unknown: [x0, y0]}} |
    rms; expected columns that stay on a circle
short arc | short arc |
    coordinates: {z: {expression: 'atan2(x - x0, y - y0)', unknown: [x0, y0]}} | Record
    larger swings
two for one | film | coordinates: {x: px, y: px} | of radius 286.9
"""
# Mistakes that are understood by now, and tables that are as good as without them.
UNDERSTOOD = r"""
3 plural of a unit | | coordinates: {theta: rads}
8 workbook | xlsx | files: rig.xlsx
13 no number in three cells | ^0,(3.00|5.01|7.02)00,.* => 0,\g<1>00,NaN |
17 titles above | ^run => DAQ 7\nchannel 3 of the lab\nof today\nrun |
18 units below | ^(.*theta)$ => \1\n-,s,rad |
24 milliseconds | milliseconds | time: ms
26 UTF-16 | UTF-16 |
29 clock that restarts | ^(run|.),(.*) => \2 | trajectory: null
"""
OUTSIDE = ("validate", "library", "excitation")


def cases(table: str) -> dict[str, list[str]]:
    """Rows of a table by their first cell; indented lines go on."""
    text = re.sub(r"\n {4}", " ", table).replace("| |", "|  |").strip()
    rows = (f"{row} ".split(" | ") for row in text.split("\n"))
    return {when: [cell.strip() for cell in cells] for when, *cells in rows}


CASES = cases(ROWS)


def spoilt(way: str) -> str:
    """The text of a table that was made, or the good one with something replaced."""
    if way in MADE:
        return MADE[way]
    pattern, _, new = way.partition("=>")
    return re.sub(pattern.strip(), new.strip(), TEXT, flags=re.M)


@pytest.mark.parametrize("when", CASES)
def test_a_mistake_is_refused_in_one_sentence(when, tmp_path):
    way, written, words = CASES[when]
    (tmp_path / "rig.csv").write_text(spoilt(way) + "\n" * (way[:6] != "(?s).*"))
    changes = yaml.safe_load(f"{{{written}}}")
    about = {key: changes.pop(key) for key in OUTSIDE if key in changes}
    with pytest.raises((RecordingError, ConfigError)) as refusal:
        imported(rig(**changes) | about, tmp_path)
    message = str(refusal.value)
    assert words in message, message
    assert "Traceback" not in message and "\n\n" not in message
    for table in (SHELL, PYTHON):
        shown = in_words(table, message.rpartition("cannot be used:\n")[2])
        assert not [word for word in FOREIGN if word in shown], shown


@pytest.mark.parametrize("when", cases(UNDERSTOOD))
def test_a_mistake_that_is_understood(when, tmp_path):
    way, written = cases(UNDERSTOOD)[when]
    good = pd.DataFrame(GOOD, columns=HEADER.split(",")).astype(float)
    write(tmp_path, GOOD, name="good.csv")
    if way == "xlsx":
        good.to_excel(tmp_path / "rig.xlsx", index=False)
    elif way == "milliseconds":
        good = good.assign(t=1e3 * good["t"]).rename(columns={"t": "ms"})
        good.to_csv(tmp_path / "rig.csv", index=False)
    elif way == "UTF-16":
        (tmp_path / "rig.csv").write_text(TEXT, encoding="utf-16")
    else:
        (tmp_path / "rig.csv").write_text(spoilt(way))
    read = imported(rig(**yaml.safe_load(f"{{{written}}}")), tmp_path)
    as_good = imported(rig(files="good.csv"), tmp_path)
    assert read.sizes == as_good.sizes
    off = np.abs(read["q"].values - as_good["q"].values)
    assert np.nanmax(off) < 1e-3 and np.nanmedian(off) < 1e-6


OPTIONS = {
    "--coordinate theta:rad": "--time NAME[:UNIT], or --rate HZ",
    "none.csv --time t --coordinate theta:rad": "there is no file",
    "--time t --coordinate theta": "write NAME:UNIT, such as theta:deg",
    "--time t --coordinate theta:rad,revers": "'revers'; did you mean 'reverse'?",
    "--time t --coordinate theta:rad --held-out 9": "--held-out names the trajectory 9",
    "--time t --coordinate theta:mm/s": "write it under `--velocity`",
    "--time t --coordinate theta:g": "write it under `--acceleration`",
    "--time t --coordinate theta:count": "`,per_turn=4096` behind its unit",
    "--time t --coordinate theta:rad --input x:theta:N": "--input x: there is no coord",
    "--time t --coordinate x:m --sensor xdot:theta:m/s": "`--excitation random`",
    "--time t --sensor theta:m/s^2 --excitation random": '`--coordinate "x1:m"`',
    "--time t --coordinate theta:rad --test no.csv": "there is no file",
    "--time t --coordinate theta:rad --test other.csv": "unknown column 'theta'",
    "--time t --coordinate x:m --kind snapshots --test rig.csv": "--test: a law of",
    "--time t --coordinate x:theta:m/s --kind snapshots": "name a column of",
    "--time t --coordinate x:m --excitation random --test rig.csv": "--test: a law of",
}


@pytest.mark.parametrize("options", OPTIONS)
def test_a_mistake_in_the_shell_ends_before_a_law_is_sought(
    options, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("leastaction.core.recipe.Recipe.dataset", None)
    (tmp_path / "rig.csv").write_text(TEXT)
    (tmp_path / "other.csv").write_text(TEXT.replace("theta", "angle"))
    words = options.split()
    words = words if words[0].endswith(".csv") else ["rig.csv", *words]
    assert main(["learn", *words]) == 1
    shown = capsys.readouterr().err
    assert OPTIONS[options] in shown
    assert not [word for word in FOREIGN if word in shown]
    assert not (tmp_path / "law").exists()


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


def test_variables_of_unlike_dimensions(tmp_path):
    xr.Dataset({"t": ("a", np.arange(9.0)), "theta": ("b", np.arange(9.0))}).to_netcdf(
        tmp_path / "rig.nc"
    )
    with pytest.raises(RecordingError, match="dimensions"):
        imported(rig(files="rig.nc", trajectory=None), tmp_path)


TIME = np.arange(0, 4, 0.01)
SWINGS = np.array([size * np.cos(12 * TIME) for size in (0.2, 0.3, 0.4, 0.5)])
TABLE = pd.DataFrame({"t": TIME, "theta [deg]": SWINGS[0], "force": SWINGS[1]})
# What is changed of la.learn(TABLE, time="t", coordinates={"theta": "theta [deg]"}),
# and what the one sentence says.
MISTAKES = {
    "32 no oscillation": (
        {
            "data": {"x": 3 * np.exp(-2 * TIME[:99]), "y": np.exp(TIME[:99]) / 2},
            "time": TIME[:99],
            "coordinates": None,
        },
        "it goes one way and never turns around",
    ),
    "an array without a name": (
        {"data": SWINGS, "time": TIME},
        "expected a path, .* arrays by name such as {'theta': theta}",
    ),
    "a state without names": (
        {"data": SWINGS[:2].T, "time": TIME, "coordinates": None},
        r"write la.learn\(\{'x0': .*, or la.learn\(\{'x': x\[:, 0\], 'xdot': x\[",
    ),
    "t": ({"t": TIME}, "unknown argument 't'; write time="),
    "no clock": (
        {"data": {"x": SWINGS}, "time": None},
        "expected the times of the samples in s, or the step between them",
    ),
    "times of a table": ({"time": TIME}, "write the name of its column, or {'rate'"),
    "times of fewer samples": (
        {"data": {"x": SWINGS}, "time": TIME[:-1], "coordinates": None},
        "expected one time for every sample",
    ),
    "33 a state as columns": (
        {"data": {"x": SWINGS.T}, "time": TIME, "coordinates": None},
        r"look like \(time, trajectory\); expected .* such as x.T",
    ),
    "arrays of unequal length": (
        {"data": {"x": SWINGS, "y": SWINGS[:, :9]}, "time": TIME, "coordinates": None},
        "Cut them to the same samples",
    ),
    "no column of the time": ({"time": "time"}, "unknown column 'time'. Known: t, "),
    "no coordinates": ({"coordinates": None}, "write the unit of each column that is"),
    "no such column": ({"coordinates": ["phi"]}, "unknown column 'phi'. Known: t, the"),
    "no such unit": (
        {"coordinates": {"theta": "theta [degrs]"}},
        "'degrs' is not a unit; write something like rad, deg",
    ),
    "an input elsewhere": (
        {"inputs": {"x": "force [N]"}},
        "there is no coordinate 'x'; these are theta",
    ),
    "an unknown gain without a scale": (
        {"inputs": {"theta": {"column": "force", "unit": "A", "gain": "unknown"}}},
        "nothing sets the scale of the law; give the gain, or a coefficient",
    ),
    "two unknown gains": (
        {
            "data": TABLE.assign(other=1.0),
            "coordinates": {"theta": "theta [deg]", "x": "force [m]"},
            "inputs": {
                name: {"column": "other", "unit": "A", "gain": "unknown"}
                for name in ("theta", "x")
            },
            "library": {"reference": "xdot**2/2"},
        },
        "write `'gain': 'shared'` for each if it is the same, or numbers",
    ),
    "held out": ({"held_out": [9]}, "names the trajectory 9; expected some of 0"),
    "excitation": ({"excitation": "randm"}, "'randm' is not one of 'none' or 'random'"),
    "kind": ({"kind": "motions"}, "unknown kind 'motions'; did you mean 'motion'"),
    "no kind": ({"kind": ["motion"]}, "unknown kind .*Known: motion, .*density"),
    "no names": ({"coordinates": np.eye(3)}, "coordinates are ndarray; expected names"),
    "long text": ({"inputs": "x" * 10**5}, "^.{,2500}$"),
    "recipe": ({"recipe": {"identfy": {}}}, "did you mean 'identify'"),
    "a candidate": (
        {"library": {"also": {"lagrangian": ["exp(-thta)"]}}},
        "unknown name 'thta'; did you mean 'theta'",
    ),
    "a key": ({"library": {"refrence": "thetadot**2"}}, "did you mean 'reference'"),
    "a refusal": ({"accept": "noises"}, "'noises' is not one of 'turns', 'rates'"),
    "an option": ({"seperator": ";"}, "unknown key 'seperator'; did you mean 'separat"),
    "no file": ({"data": "none.csv"}, "there is no file"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_notebook_gets_one_sentence_with_the_cure(name):
    changes, told = MISTAKES[name]
    usual = {"time": "t", "coordinates": {"theta": "theta [deg]"}, "progress": False}
    arguments = {"data": TABLE, **usual} | changes
    with pytest.raises(la.RecordingError, match=told) as error:
        la.learn(arguments.pop("data"), **arguments)
    assert not [word for word in ("pydantic", *FOREIGN) if word in str(error.value)]


def test_all_that_new_users_did_is_here():
    """By the numbers of the rows; those that are in no table have their own test."""
    rows = [*CASES, *cases(UNDERSTOOD), *MISTAKES]
    own = [name for name in globals() if re.match(r"test_\d", name)]
    numbers = [re.match(r"(?:test_)?(\d+)[ _]", row) for row in [*rows, *own]]
    assert sorted(int(n[1]) for n in numbers if n) == list(range(1, 34))


@pytest.mark.parametrize(
    ("header", "changes", "words"),
    [
        (
            "t,theta [deg],u",
            {},
            "heading of column 'theta' gives deg, its unit here is",
        ),
        (
            "ms,theta,u",
            {"time": {"column": "ms", "unit": "s"}},
            "heading of column 'ms' gives ms",
        ),
        ("t,theta,u", {"inputs": {"theta": "u [mm]"}}, "make no energy"),
        ("t,theta,u", {"inputs": {"theta": "u [rad/s^2]"}}, None),
        ("t [s],theta [rad],u", {}, None),
    ],
)
def test_25_units_that_contradict_each_other(header, changes, words, tmp_path):
    time, angle = swing(duration=40.0)
    write(tmp_path, zip(time, angle, np.sin(2 * time), strict=True), header)
    found = imported(rig(trajectory=None, **changes), tmp_path)
    texts = str(found.attrs["warnings"])
    assert words in texts if words else "unit" not in texts and "energy" not in texts


def test_23_g_of_an_accelerometer_is_that_of_the_earth(tmp_path):
    time, angle = swing(duration=40.0)
    rate = np.gradient(np.gradient(angle, time), time)
    write(tmp_path, zip(time, angle, rate / 9.80665, strict=True), "t,x,a")
    given = rig(
        trajectory=None,
        coordinates={"x": "m"},
        velocities={},
        accelerations={"x": "a [g]"},
    )
    found = imported(given | {"accept": ["rates", "noise"]}, tmp_path)
    np.testing.assert_allclose(found["qddot"].values[0, :, 0], rate, rtol=1e-6)


def test_27_a_force_that_nobody_recorded():
    """The law of a cart without the force that drives it: the first line says it."""
    rng, time = np.random.default_rng(5), np.arange(0, 30, 0.02)
    tones = rng.uniform(1, 9, (8, 1)) * time + rng.uniform(0, 6, (8, 1))
    _, x, _ = lsim(lti([1], [1.85, 1.4, 42]), np.sin(tones).sum(axis=0), time)
    x = 1e3 * x + 0.01 * rng.standard_normal(len(x))
    law = la.learn({"x": x}, time=0.02, progress=False)
    assert law.verdict != "found"
    assert "record" in " ".join(law.reservations)


def test_30_a_table_without_a_clock_has_no_rate(tmp_path):
    write(tmp_path, [row[2:] for row in GOOD], "theta")
    about = str(la.describe(tmp_path / "rig.csv"))
    assert "No column is a clock" in about and "--rate HZ" in about


def test_31_a_symbol_that_is_none():
    with pytest.raises(ValueError, match="unknown symbol 'thta'; did you mean 'theta'"):
        la.System("thetadot**2/2 + 9.81*cos(thta) + cos(theta)")


def test_a_ringdown_that_hardly_overshoots_does_not_relax():
    rate, time = 2 * np.pi, np.arange(0, 8, 0.01)
    for ratio in (0.6, 0.7, 0.9):
        damped = rate * np.sqrt(1 - ratio**2)
        x = np.exp(-ratio * rate * time) * np.cos(damped * time)
        noise = 1e-3 * np.random.default_rng(1).standard_normal(len(time))
        assert not relaxes([x + noise])
