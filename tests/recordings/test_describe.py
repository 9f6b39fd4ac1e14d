"""What a table looks like: the role and the unit of every column, and its kind."""

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from leastaction.recordings import describe as describing
from leastaction.recordings.describe import Column, Description, describe

ROWS = 400
TIME = 0.01 * np.arange(ROWS)
SWING = np.exp(-0.1 * TIME) * np.sin(8 * TIME)
RATE = np.gradient(SWING, TIME)


def columns_of(**columns):
    frame = pd.DataFrame({name.replace("__", " "): x for name, x in columns.items()})
    return describe(frame)


def seen(described):
    return {c.name: (c.role, c.unit, c.of) for c in described.columns}


@pytest.mark.parametrize(
    ("heading", "scale", "unit", "rate"),
    [("t", 1.0, "s", "100"), ("t [ms]", 1e3, "ms", "100"), ("t", 1e3, "ms", "in ms")],
)
def test_the_clock_has_its_unit_and_rate(heading, scale, unit, rate):
    described = describe(pd.DataFrame({heading: scale * TIME, "x": SWING}))
    (clock,) = described.of_role("time")
    assert clock.unit == unit and rate in clock.remarks[0]
    assert clock.remarks[0].startswith("100 samples")
    assert clock.remarks[-1] == "1 trajectory" and described.rows == ROWS


def test_gaps_and_jitter_of_a_clock_are_remarked(rng):
    time = TIME + 1e-4 * rng.standard_normal(ROWS)
    time[300:] += 1.0
    (clock,) = columns_of(t=time, x=SWING).of_role("time")
    assert "1 gap" in clock.remarks
    assert any(text.startswith("uneven by 1") for text in clock.remarks)


def test_rates_are_those_of_their_coordinate():
    force = RATE + 3 * np.cos(3 * TIME)
    described = columns_of(t=TIME, a=SWING, b=RATE, c=np.gradient(RATE, TIME), F=force)
    result = seen(described)
    assert result["a"] == ("coordinate", "m", "")
    assert result["b"] == ("velocity", "m/s", "a")
    assert result["F"][0] == "input"


def test_an_acceleration_has_its_coordinate():
    described = describe(
        pd.DataFrame({"t": TIME, "x": SWING, "acc": np.gradient(RATE, TIME)})
    )
    assert seen(described)["acc"] == ("acceleration", "m/s^2", "x")


@pytest.mark.parametrize(
    ("values", "role", "remark"),
    [
        (np.full(ROWS, 2.5), "constant", "2.5 in every row"),
        (np.where(TIME[3] == TIME, "x1", "y"), "text", "holds 'y'"),
        (np.where(np.arange(ROWS) % 8 == 0, SWING, np.nan), "input", "50 numbers"),
        (np.where(np.arange(ROWS) == 8, np.nan, SWING), "text", "1 empty cells"),
        (7 * np.arange(ROWS), "clock", "goes with t"),
        (0.02 * np.rint(SWING / 0.02), "coordinate", "steps of 0.02"),
    ],
)
def test_other_columns_have_their_role(values, role, remark):
    described = columns_of(t=TIME, x=SWING, z=values)
    (column,) = [c for c in described.columns if c.name == "z"]
    assert column.role == role and remark in column.remarks


@pytest.mark.parametrize(
    ("heading", "turn", "unit"),
    [("theta", 2 * np.pi, "rad"), ("theta", 360.0, "deg"), ("angle", 60.0, "rad")],
)
def test_an_angle_wraps_at_a_turn(heading, turn, unit):
    values = (turn * (0.9 * TIME + 0.1 * SWING)) % turn if turn != 60.0 else SWING
    described = describe(pd.DataFrame({"t": TIME, heading: values}))
    (column,) = described.of_role("coordinate")
    assert column.unit == unit
    wraps = [text for text in column.remarks if text.startswith("wraps 3 times")]
    assert bool(wraps) == (turn != 60.0)


@pytest.mark.parametrize("with_label", [True, False])
def test_trajectories_begin_with_a_label_or_a_clock_that_restarts(with_label):
    frame = pd.DataFrame({"t": np.tile(TIME[:100], 4), "x": SWING})
    if with_label:
        frame.insert(0, "run", np.repeat([3, 1, 4, 5], 100))
    described = describe(frame)
    (clock,) = described.of_role("time")
    assert clock.remarks[-1] == "4 trajectories"
    assert [c.name for c in described.of_role("trajectory")] == ["run"] * with_label


def test_kinds_of_table_are_known_by_their_columns(rng):
    nodes = {f"u_{k}": np.sin(8 * TIME + k) for k in range(9)}
    assert describe(pd.DataFrame({"t": TIME, **nodes})).kind == "field"
    few = {name: nodes[name] for name in list(nodes)[:7]}
    assert describe(pd.DataFrame({"t": TIME, **few})).kind == ""
    pair = {"U [V]": np.cos(3 * TIME), "I [A]": np.sin(5 * TIME)}
    assert describe(pd.DataFrame({"t": TIME, "x": SWING, **pair})).kind == "ports"
    assert describe(pd.DataFrame({"t": TIME, "x": SWING})).kind == ""
    coarse = np.sin(1.3 * np.arange(ROWS))
    assert describe(pd.DataFrame({"t": TIME, "x": coarse})).kind == "snapshots"
    noise = rng.standard_normal(ROWS)
    assert describe(pd.DataFrame({"t": TIME, "x": noise})).kind != "snapshots"


def column(name, role, unit="", of=""):
    return Column(name, role, unit, (), of)


def test_a_clock_goes_forward_in_even_steps(rng):
    even = np.arange(100.0)
    restarts = np.tile(np.arange(10.0), 10)  # nine of 99 steps go back
    often = np.tile(np.arange(8.0), 10)[:80]  # nine of 79
    scattered = np.cumsum(1 + 0.9 * np.tile([-1, 1], 50))
    less = np.cumsum(1 + 0.4 * np.tile([-1, 1], 50))
    gaps = even + 6.0 * (even > 50)
    for values, is_one in (
        (even, True),
        (restarts, True),
        (often, False),
        (scattered, False),
        (less, True),
        (gaps, True),
        (np.array(["a"] * 100), False),
        (even[:3], True),
        (even[:2], False),
    ):
        clock = describing._clock({"x": values})
        assert (clock == "x") is is_one
    assert describing._clock({"q": np.sin(even), "t": even}) == "t"


def test_a_column_of_labels_is_constant_over_stretches():
    time = np.tile(np.arange(20.0), 3)
    many = np.repeat([1.0, 2.0, 3.0], 20)
    for labels, is_one in (
        (many, True),
        (many + 0.5, False),
        (np.repeat([1, 2, 1], 20), False),
        (np.ones(60), False),
        (np.repeat(["a", "b", "c"], 20), True),
    ):
        assert (describing._labels({"t": time, "n": labels}, "t") == "n") is is_one
    for rows, is_one in ((16, True), (15, False)):
        labels = np.repeat([1, 2], rows)
        assert (describing._labels({"n": labels}, None) == "n") is is_one
    # Few rows each, and the clock starts again with each; or it does not.
    few, again = np.repeat([1, 2, 3], 5), np.tile(np.arange(5.0), 3)
    assert describing._labels({"t": again, "n": few}, "t") == "n"
    assert describing._labels({"t": np.arange(15.0), "n": few}, "t") is None


def test_trajectories_begin_where_a_label_or_the_clock_says():
    values = {"t": np.array([0.0, 1, 0, 1, 1]), "n": np.array([1, 1, 1, 2, 2])}
    assert describing._starts(values, "t", "n").tolist() == [0, 3]
    assert describing._starts(values, "t", None).tolist() == [0, 2, 4]
    assert describing._starts(values, None, None).tolist() == [0]
    parts = describing._parts(np.arange(5), np.array([0, 2]))
    assert [p.tolist() for p in parts] == [[0.0, 1.0], [2.0, 3.0, 4.0]]


@pytest.mark.parametrize(
    ("name", "step", "unit", "remark"),
    [
        ("t", 0.49, "s", "2.0408 samples per second"),
        ("t", 0.5, "ms", "2000 samples per second if it is in ms"),
        ("t [s]", 2.0, "s", "0.5 samples per second"),
        ("t [us]", 2.0, "us", "5e+05 samples per second"),
    ],
)
def test_a_rate_is_that_of_the_median_step(name, step, unit, remark):
    time = step * np.array([0, 1, 2, 3, 4, 9.5, 10.5])
    clock = describing._described_clock(name, time, np.array([0]))
    assert clock.unit == unit
    assert clock.remarks == (remark, "1 gap", "1 trajectory")
    uneven = np.cumsum(step * (1 + 0.0011 * np.tile([1, -1], 20)))
    remarks = describing._described_clock(name, uneven, np.array([0])).remarks
    assert any("uneven by 0.11 %" in text for text in remarks)


def test_a_sparse_column_is_an_input(rng):
    for filled, rows, role in (
        (16, 40, "input"),
        (15, 40, "text"),
        (20, 40, "text"),
        (19, 40, "input"),
    ):
        values = np.where(np.arange(rows) < filled, 1.0 * np.arange(rows), np.nan)
        found = describing._described("z [V]", values, np.array([0]), {}, None)
        assert found.role == role
        if role == "input":
            expected = (f"{filled} numbers", f"{rows - filled} empty cells between")
            assert found.remarks == expected and found.unit == "V"
    found = describing._described(
        "z", np.where(np.arange(99) < 20, 1.0, np.nan), np.array([0]), {}, None
    )
    assert found.unit == "N"


@pytest.mark.parametrize(
    ("turn", "share", "wraps"),
    [(360.0, 0.97, 1), (360.0, 0.88, 0), (1.0, 0.97, 1), (2 * np.pi, 0.97, 1)],
)
def test_a_wrap_is_a_jump_of_a_turn(turn, share, wraps):
    """Its width, a tenth more or less, of a column that spans a turn and no more."""
    values = share * turn * np.append(np.linspace(0, 1, 50), np.linspace(0, 1, 50))
    found = describing._described("theta", values, np.array([0]), {}, None)
    said = [t for t in found.remarks if t == f"wraps 1 times at {turn:.4g}"]
    assert len(said) == wraps
    if wraps:
        assert found.unit == {360.0: "deg", 1.0: "turn"}.get(turn, "rad")
    twice = np.append(values, values + turn / 2)
    found = describing._described("theta", twice, np.array([0]), {}, None)
    assert not any("wraps" in text for text in found.remarks)


def test_another_clock_goes_with_the_first():
    time = np.arange(50.0)
    for other, is_one in (
        (3 * time + 7, True),
        (3 * time + 0.004 * np.sin(time), True),
        (3 * time + 0.02 * np.sin(time), False),
        (-time, True),
    ):
        assert describing._is_clock([other], [time]) is is_one
    assert describing._is_clock([time], [0 * time]) is False
    both = [time, time], [time, 0 * time]
    assert describing._is_clock(*both) is True


def test_a_rate_correlates_with_the_difference_quotient(rng):
    time = np.arange(400) * 0.01
    q = np.sin(8 * time)
    rate = np.gradient(q, time)
    noise = rng.standard_normal(400) * rate.std()
    for share, of in ((0.28, "q"), (0.40, None)):
        values = {"t": time, "q": q, "v": rate + share * noise, "s": np.array(["a"])}
        found = describing._rate_of("v", values["v"], np.array([0]), values, "t")
        assert found == of
    second = np.gradient(rate, time)
    values = {"q": q, "a": second}
    assert describing._rate_of("a", second, np.array([0]), values, None, 2) == "q"
    assert describing._rate_of("a", second, np.array([0]), values, None) is None
    short = {"t": time[:3], "q": q[:3], "v": rate[:3]}
    assert describing._rate_of("v", rate[:3], np.array([0]), short, "t") is None
    four = {"t": time[:4], "q": q[:4] ** 2, "v": np.gradient(q[:4] ** 2, time[:4])}
    assert describing._rate_of("v", four["v"], np.array([0]), four, "t") == "q"
    still = {"t": time, "q": 0 * q, "v": rate}
    assert describing._rate_of("v", rate, np.array([0]), still, "t") is None


WORDS = {
    "_unit_of_input": {
        "F": "N",
        "force_2": "N",
        "tau [mNm]": "mNm",
        "torque": "N*m",
        "u1": "V",
        "current": "A",
        "x [V]": "V",
        "f [mm]": "",
        "theta": "",
    },
    "_identifier": {
        "a b [m]": "a_b",
        "2nd": "q_2nd",
        "[m]": "q",
        "phi": "phi",
        "-x-": "x",
    },
}


@pytest.mark.parametrize("what", WORDS)
def test_names_of_columns_mean_something(what):
    for name, expected in WORDS[what].items():
        assert getattr(describing, what)(name) == expected, name


def test_an_angle_far_beyond_a_joint_is_in_degrees():
    for size, unit in ((59.9, "rad"), (60.1, "deg")):
        assert describing._angle(np.array([0.0, size])) == unit


def test_an_entry_has_its_column_where_the_name_differs():
    assert describing._entry(column("x", "coordinate", "m")) == "m"
    for one in (column("x 1", "coordinate", "m"), column("x", "velocity", "m")):
        assert describing._entry(one) == {"column": one.name, "unit": "m"}


def test_columns_are_guessed_together():
    def together(*columns):
        found = describing._taken_together(columns)
        return [(c.role, c.unit) for c in found]

    volts, force = column("a", "input", "V"), column("F", "input", "N")
    assert together(volts, force) == [("coordinate", "V"), ("input", "N")]
    moving = column("x", "coordinate", "m")
    assert together(volts, moving)[0] == ("input", "V")
    assert together(volts, column("a", "acceleration", "g"))[0] == ("input", "V")
    torque, rate = column("tau", "input", "N*m"), column("v", "velocity", "m/s")
    named = column("s [m]", "coordinate", "m")
    expected = [("input", "N*m"), ("coordinate", "rad"), ("velocity", "rad/s")]
    assert together(torque, moving, rate, named) == [*expected, ("coordinate", "m")]
    assert together(torque, force, moving)[2] == ("coordinate", "m")
    assert together(moving) == [("coordinate", "m")]


def test_numbered_columns_are_nodes():
    eight = [column(f"u_{k} [mm]", "coordinate") for k in range(8)]
    assert describing._nodes(eight) == ("u_* [mm]", "mm")
    assert describing._nodes(eight[:7]) is None and describing._nodes([]) is None
    plain = [column(f"w2_{k}", "input") for k in range(9)]
    assert describing._nodes(plain) == ("w2_*", "m")
    assert describing._nodes([column(f"u_{k}", "text") for k in range(9)]) is None


def test_two_samples_predict_the_next_of_a_motion(rng):
    t = np.arange(3000)
    noise = rng.standard_normal(3000)
    assert describing._follows([np.sin(1.5 * t), np.sin(1.5 * t[:2])]) is True
    assert describing._follows([noise]) is False
    # Of an autoregression a share of 1 − a² is new: a² is 0.6, and 0.4.
    for a, follows in ((0.6**0.5, True), (0.4**0.5, False)):
        assert describing._follows([lfilter([1], [1, -a], noise)]) is follows
    assert describing._turns(np.array([1.0, -1, 2, 2, -3])) == 3


def test_one_long_steady_motion_with_its_velocity_is_a_density():
    t = np.arange(6000) * 0.02

    def kind(y, *others, rows=6000, **more):
        values = {"t": t[:rows], "x": y[:rows], "v": np.cos(t[:rows])}
        columns = [column("t", "time"), column("x", "coordinate", "m")]
        columns += [column("v", "velocity", "m/s", "x"), *others]
        starts = np.array(more.get("starts", [0]))
        return describing._likely_kind(columns, values, starts)

    steady = np.sin(2 * np.pi * 0.5 * t)  # 120 turns
    assert kind(steady) == "density"
    assert kind(steady, rows=4900) == ""  # 98 turns
    assert kind(steady, rows=5100) == "density"
    # Two standard errors of the ratio of both halves are 0.258.
    for growth, expected in ((1.2, "density"), (1.4, "")):
        grows = steady * np.where(t < 60, 1.0, growth)
        assert kind(grows) == expected and kind(grows[::-1]) == expected
    assert kind(steady, starts=[0, 3000]) == ""
    assert kind(steady, column("F", "input", "N")) == ""


def test_few_samples_in_a_period_are_snapshots():
    t = np.arange(400.0)
    for rows, expected in ((19, "snapshots"), (21, "")):
        y = np.sin(2 * np.pi * t / rows + 0.1)
        columns = [column("t", "time"), column("x", "coordinate", "m")]
        values = {"t": t, "x": y}
        assert describing._likely_kind(columns, values, np.array([0])) == expected
        assert describing._likely_kind(columns[1:], values, np.array([0])) == ""


def recording_of(*columns, kind=""):
    about = Description("rig 2.csv", 9, columns, kind)
    ((name, recording),) = about.settings["recordings"].items()
    assert name == "rig_2"
    return recording, about


def test_settings_are_those_of_the_columns():
    clock, run = column("t", "time", "ms"), column("run", "trajectory")
    x, y = column("x", "coordinate", "m"), column("y 1", "coordinate", "mm")
    v, w = column("v", "velocity", "m/s", "x"), column("w", "velocity", "m/s", "y 1")
    force = column("F", "input", "N")
    recording, about = recording_of(clock, run, x, y, v, w, force)
    part = recording["import"]
    assert part["time"] == {"column": "t", "unit": "ms"} and part["trajectory"] == "run"
    assert part["coordinates"] == {"x": "m", "y_1": {"column": "y 1", "unit": "mm"}}
    assert part["velocities"]["y_1"] == {"column": "w", "unit": "m/s"}
    assert part["inputs"] == {"x": {"column": "F", "unit": "N"}}
    assert "sensors" not in part and "excitation" not in recording
    assert [c.name for c in about.of_role("coordinate")] == ["x", "y 1"]
    part = recording_of(column("t", "time", "s"), x, y, v)[0]["import"]
    assert part["time"] == "t" and "velocities" not in part and "inputs" not in part
    assert recording_of(x)[0]["import"]["time"] == {"rate": None}
    shaken = recording_of(clock, column("a", "acceleration", "g"))[0]
    assert shaken["excitation"] == "random"
    assert shaken["import"]["coordinates"] == {"x1": "m"}
    expected = {"x1ddot + ground": {"column": "a", "unit": "g"}}
    assert shaken["import"]["sensors"] == expected
    nodes = [column(f"u_{k} [mm]", "coordinate", "mm") for k in range(8)]
    field = recording_of(clock, *nodes, force, kind="field")[0]
    assert field["kind"] == "field" and field["import"]["length"] is None
    node = {"u": {"column": "u_* [mm]", "unit": "mm"}}
    assert field["import"]["coordinates"] == node and "inputs" not in field["import"]


def test_a_table_may_be_that_of_a_port():
    clock, x = column("t", "time", "s"), column("x", "coordinate", "m")
    volts, amps = column("U", "input", "V"), column("I", "input", "A")
    recording, about = recording_of(clock, x, volts, amps, kind="ports")
    ports = about._of_kind(recording)
    assert ports["kind"] == "ports" and ports["import"]["time"] == "t"
    assert ports["import"]["states"] == {"x": "m"}
    assert ports["import"]["inputs"] == {"U": {"column": "U", "unit": "V"}}
    assert ports["import"]["outputs"] == {"U": {"column": "I", "unit": "A"}}
    assert "coordinates" not in ports["import"]
    text = str(about)
    assert "or, since a voltage and a current" in text and "No column is a" not in text
    assert "rig 2.csv: 9 rows" in text and "for snakemake" not in text
    assert "No column is a clock" in str(recording_of(x)[1])
