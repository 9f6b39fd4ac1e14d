"""What a table looks like: the role and the unit of every column, and its kind."""

import numpy as np
import pandas as pd
import pytest

from leastaction.recordings.describe import describe

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
    assert "1 gaps" in clock.remarks
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
