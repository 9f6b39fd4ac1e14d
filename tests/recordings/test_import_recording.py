"""Recordings become the same observations whatever the table they came in."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from recorded import RATE, imported, rig, rows, swing, write

from leastaction.recordings import spikes, splitting, tables
from leastaction.recordings.bandwidth_spline import (
    SAMPLES_PER_TRANSFORM,
    difference_noise,
    noise_of,
    spectrum,
)
from leastaction.recordings.columns import Column
from leastaction.recordings.contracts import held_out, pieces, training
from leastaction.recordings.import_recording import (
    _by_channel,
    _end_held_out,
    _middling,
    _units,
    _unwrap,
    _without_offsets,
    held_out_by_name,
    plain_text,
    read_out,
)
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.spikes import REACH, refuse_jumps, replace_spikes
from leastaction.recordings.splitting import Trajectory

ROWS = rows()


@pytest.fixture
def plain(tmp_path):
    write(tmp_path, ROWS)
    return imported(rig(), tmp_path)


def warnings(found) -> str:
    return " ".join(json.loads(found.attrs["warnings"]))


def test_trajectories_follow_each_other(plain):
    parts = pieces(plain)
    assert [p.stop - p.start for p in parts] == [800] * 5
    np.testing.assert_allclose(
        plain["q"].values[0, parts[2], 0], [float(r[2]) for r in ROWS[1600:2400]]
    )
    assert plain.attrs["time_step"] == pytest.approx(0.01, rel=1e-9)
    assert plain["replicate"].values.tolist() == [0]
    assert json.loads(plain.attrs["kinds"]) == {"theta": "angle"}


def test_coordinates_on_a_line_may_be_one_but_sensors_are_several(tmp_path):
    """Coordinates that jump are two runs, which sensors of a random motion may."""
    t = np.arange(1000) / RATE
    plane = {"trajectory": None, "coordinates": dict.fromkeys("xy", "m")}
    sensed = rig(**plane, sensors=dict.fromkeys("xy", "m")) | {"excitation": "random"}
    for jump in (0.0, 3.0):
        x = np.cos(15 * t) + jump * (t > 1.5)
        write(tmp_path, zip(t, x, 2 * x, strict=True), "t,x,y")
        assert "straight line" not in warnings(imported(sensed, tmp_path))
        if jump:
            with pytest.raises(RecordingError, match="several runs"):
                imported(rig(**plane), tmp_path)
        else:
            found = imported(rig(**plane), tmp_path)
            assert "straight line" in warnings(found)
            assert json.loads(found.attrs["kinds"]) == dict.fromkeys("xy", "length")


def test_every_table_gives_the_same(plain, tmp_path):
    table = pd.DataFrame(ROWS, columns=["run", "t", "theta"]).astype(float)
    shuffled = [[r[2], "x", r[0], r[1]] for r in ROWS]
    write(tmp_path, shuffled, "theta,remark,run,t", "order.csv")
    write(tmp_path, ROWS, "# run t theta", "white.txt", " ")
    commas = [[r[0], *(str(c).replace(".", ",") for c in r[1:])] for r in ROWS]
    write(tmp_path, commas, "run;t;theta", "comma.csv", ";")
    write(tmp_path, ROWS, "", "bare.csv")
    remark = [[*ROWS[0][:2], f"{ROWS[0][2]}\t# a remark"], *ROWS[1:]]
    write(tmp_path, remark, "run\tt\ttheta", "tab.txt", "\t")
    lines = (tmp_path / "rig.csv").read_text()
    (tmp_path / "noted.csv").write_text(f"made by a logger\nat noon\n{lines}")
    (tmp_path / "wide.txt").write_bytes(lines.encode("utf-16"))
    heading, body = lines.split("\n", 1)
    units = f"Rate;100\nOperator: A\n{heading}\n-,[s],rad\n{body}"
    (tmp_path / "units.csv").write_text(units)
    flat = {name: ("row", table[name].to_numpy()) for name in table}
    xr.Dataset(flat).to_netcdf(tmp_path / "flat.nc")
    square = table["theta"].to_numpy().reshape(5, 800)
    xr.Dataset(
        {
            "theta": (("case", "row"), square),
            "t": ("row", table["t"].to_numpy()[:800]),
        }
    ).to_netcdf(tmp_path / "square.nc")
    for changes in (
        {"files": "order.csv"},
        {"files": "white.txt"},
        {"files": "tab.txt"},
        {"files": "comma.csv"},
        {"files": "bare.csv", "columns": ["run", "t", "theta"]},
        {"files": "noted.csv", "skip_lines": 2},
        {"files": "noted.csv"},
        {"files": "units.csv"},
        {"files": "wide.txt"},
        {"files": "flat.nc"},
        {"files": "square.nc", "trajectory": None},
        {"trajectory": None},
        {"time": {"rate": 100.0}},
        {"coordinates": {"theta": "radians"}},
    ):
        found = imported(rig(**changes), tmp_path)
        np.testing.assert_allclose(
            found["q"].values, plain["q"].values, err_msg=changes
        )
        np.testing.assert_array_equal(found["sample_count"], plain["sample_count"])


def test_units_scale_and_nothing_else(plain, tmp_path):
    table = [
        [r[0], f"{1000 * float(r[1]):.3f}", f"{np.degrees(float(r[2])) + 5:.6f}"]
        for r in ROWS
    ]
    write(tmp_path, table)
    entry = {"column": "theta", "unit": "deg", "offset": 5.0}
    found = imported(
        rig(time={"column": "t", "unit": "ms"}, coordinates={"theta": entry}), tmp_path
    )
    np.testing.assert_allclose(found["q"], plain["q"], atol=1e-7)
    assert found.attrs["time_step"] == pytest.approx(0.01, rel=1e-9)


def test_counts_that_wrap_are_unwrapped(plain, tmp_path):
    turn = 4096
    table = [
        [r[0], r[1], int(np.rint((float(r[2]) + 0.3) / (2 * np.pi) * turn)) % turn]
        for r in ROWS
    ]
    write(tmp_path, table)
    entry = {"unit": "count", "per_turn": turn, "reverse": True}
    found = imported(rig(coordinates={"theta": entry}), tmp_path)
    steps = np.abs(np.diff(found["q"].values[0, pieces(found)[0], 0]))
    assert steps.max() < 0.2
    shifted = -(found["q"].values - found["q"].values[0, 0]) + plain["q"].values[0, 0]
    first = pieces(found)[0]
    np.testing.assert_allclose(
        shifted[0, first], plain["q"].values[0, first], atol=2 * np.pi / turn
    )
    assert "unwrapped" in warnings(found)


def test_a_joint_that_turns_is_no_degrees_for_radians(tmp_path):
    """Counts of an encoder say so by themselves."""
    time, angle = swing(40.0, duration=40.0, frequency=0.1)
    counts = angle * 4096 / (2 * np.pi)
    write(tmp_path, zip(time, counts.round(), strict=True), "t,theta")
    encoder = {"theta": {"unit": "count", "per_turn": 4096}}
    found = imported(rig(trajectory=None, coordinates=encoder), tmp_path)
    np.testing.assert_allclose(found["q"].values[0, :, 0], angle, atol=2e-3)
    with pytest.raises(RecordingError, match="turns.*unit: deg"):
        imported(rig(trajectory=None), tmp_path)


@pytest.mark.parametrize(
    ("factor", "wrapped"), [(1.0, False), (57.3, False), (57.3, True)]
)
def test_a_rotor_turns_in_radians_but_swings_in_degrees(tmp_path, factor, wrapped):
    """32 turns, of which one is slower by half a radian at its top than at its foot."""
    time = np.arange(0, 20, 0.01)
    angle = factor * (2 * np.pi * 1.6 * time + 0.3 * np.sin(2 * np.pi * 1.6 * time))
    write(
        tmp_path, zip(time, angle % 360 if wrapped else angle, strict=True), "t,theta"
    )
    if factor == 1:
        assert np.ptp(imported(rig(trajectory=None), tmp_path)["q"].values) > 100
    else:
        with pytest.raises(RecordingError, match="turns.*unit: deg"):
            imported(rig(trajectory=None), tmp_path)


def test_a_gap_begins_a_trajectory_and_a_missing_row_does_not(tmp_path):
    table = [r for i, r in enumerate(ROWS[:800]) if not 300 <= i < 340 and i != 600]
    write(tmp_path, table)
    found = imported(rig(), tmp_path)
    assert found["sample_count"].values.sum() == 760
    assert "1 gap in time" in warnings(found)
    assert "rows were interpolated: 1" in warnings(found)


def test_of_a_few_trajectories_the_end_of_the_longest_is_held_out(tmp_path):
    write(tmp_path, rows(runs=2, duration=20.0))
    found = imported(rig(), tmp_path)
    assert list(found["held_out"].values) == [0, 0, 1]
    assert list(found["sample_count"].values) == [1500, 2000, 500]
    assert str(found["label"].values[2]) == "0 (end)"


def test_jitter_is_interpolated_to_fourth_order(tmp_path):
    """Twice the samples divide the error of the cubic spline by 16 or more."""
    rng = np.random.default_rng(4)
    errors = []
    for rate in (25.0, 50.0):
        even = np.arange(round(20 * rate)) / rate
        time = even + 0.1 / rate * rng.uniform(-1, 1, len(even))
        columns = time, np.cos(7 * time), np.cos(7 * time), np.floor(time)
        table = [[f"{x:.12f}" for x in row] for row in zip(*columns, strict=True)]
        write(tmp_path, table, "t,theta,push,held")
        driven = rig(trajectory=None, inputs={"theta": "push [N m]"})
        found = imported(driven, tmp_path)
        dt = found.attrs["time_step"]
        begin = found["start_time"].values[0]
        count = int(found["sample_count"].values[0])
        truth = np.cos(7 * (begin + dt * np.arange(count)))
        inner = slice(10, count - 10)
        error = [(found[n].values[0, :count, 0] - truth)[inner] for n in ("q", "input")]
        errors.append(np.sqrt(np.mean(np.square(error), axis=1)))
    assert (errors[0] / errors[1] > 12).all()
    held = imported(rig(trajectory=None, inputs={"theta": "held [N m]"}), tmp_path)
    assert set(held["input"].values.ravel()) == set(range(20))


def test_an_input_may_be_recorded_less_often_than_the_motion(tmp_path):
    """Every fifth cell of its column has a number; it is a tone of 20 rows less."""
    time, angle = swing(duration=40.0)
    push = [f"{np.sin(6 * t):.9f}" if n % 5 == 0 else "" for n, t in enumerate(time)]
    columns = "t,theta,push", rig(trajectory=None, inputs={"theta": "push [N m]"})
    table = [*zip(time, angle, push, strict=True)]
    write(tmp_path, table, columns[0])
    found = imported(columns[1], tmp_path)
    inner = slice(20, -20)
    error = found["input"].values[0, :, 0] - np.sin(6 * time)
    assert np.abs(error[inner]).max() < 1e-3
    assert "'push' is empty in 80 % of the rows" in warnings(found)
    assert "rows" not in warnings(found).replace("of the rows", "")
    off = [[t, x, "" if 10 < t < 12 else u] for t, x, u in table]
    write(tmp_path, off, columns[0])
    with pytest.raises(RecordingError, match=r"'push'.* empty from 10 s to 12 s"):
        imported(columns[1], tmp_path)


def test_an_input_may_have_a_clock_of_its_own(tmp_path):
    """Two logs in one table: each row has the motion, or the input."""
    time, angle = swing(duration=40.0)
    own = np.arange(0.0033, 40, 0.047)
    rows = [*zip(time, angle, [""] * len(time), strict=True)]
    rows += [(t, "", f"{np.sin(6 * t):.9f}") for t in own]
    write(tmp_path, sorted(rows), "t,theta,push")
    found = imported(rig(trajectory=None, inputs={"theta": "push [N m]"}), tmp_path)
    assert found.sizes["sample"] == len(time)
    np.testing.assert_allclose(found["q"].values[0, :, 0], angle)
    error = found["input"].values[0, :, 0] - np.sin(6 * time)
    assert np.abs(error[20:-20]).max() < 1e-3
    blank = [(t, "", "") if t == 5 else (t, x, u) for t, x, u in sorted(rows)]
    write(tmp_path, blank, "t,theta,push")
    found = imported(rig(trajectory=None, inputs={"theta": "push [N m]"}), tmp_path)
    assert "in 1 rows a cell of the motion is empty" in warnings(found)


def test_a_long_recording_is_cut_and_a_longer_one_is_to_be_thinned(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(splitting, "MOST_ROWS_OF_TRAJECTORY", 200)
    write(tmp_path, ROWS)
    found = imported(rig(), tmp_path)
    assert found.sizes["sample"] == 4000
    assert list(found["sample_count"].values) == [200] * 20
    for module in (tables, splitting):
        monkeypatch.setattr(module, "MOST_ROWS", 3000)
        with pytest.raises(RecordingError, match="over 3000 rows.*Thin the table"):
            imported(rig(), tmp_path)


def test_pieces_of_a_file_make_no_difference(plain, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LINES_AT_ONCE", 137)
    write(tmp_path, ROWS)
    xr.testing.assert_identical(imported(rig(), tmp_path), plain)


def test_lost_frames_are_gaps(plain, tmp_path):
    """A tracker writes no number where it has lost its mark."""
    table = [list(r) for r in ROWS]
    for n in [300, *range(1000, 1050)]:
        table[n][2] = ""
    write(tmp_path, table)
    found = imported(rig(), tmp_path)
    assert list(found["sample_count"].values) == [800, 200, 550, 800, 800, 800]
    assert "in 51 rows a cell of the motion is empty" in warnings(found)
    assert "1 gap in time" in warnings(found)
    error = found["q"].values[0, :800] - plain["q"].values[0, :800]
    assert np.abs(error).max() < 1e-3


def test_cells_that_hold_over_the_one_before_are_missing_rows(plain, tmp_path):
    """A logger writes again what the sensor has not measured anew."""
    table = [list(r) for r in ROWS]
    for n in [300, 420, 421, 500]:
        table[n][2] = table[n - 1][2]
    write(tmp_path, table)
    found = imported(rig(), tmp_path)
    assert "4 samples of column 'theta' (0.1 %) repeat the one before" in warnings(
        found
    )
    assert "in 4 rows a cell of the motion is empty" in warnings(found)
    error = found["q"].values - plain["q"].values
    assert np.abs(error).max() < 1e-3


def test_held_out_trajectories_are_not_seen_by_training(plain):
    assert plain["held_out"].values.sum() == 1
    sizes = [np.ptp(plain["q"].values[0, p]) for p in pieces(plain)]
    number = int(np.flatnonzero(plain["held_out"].values)[0])
    assert min(sizes) < sizes[number] < max(sizes)
    seen, kept = training(plain), held_out(plain)
    assert seen.sizes["sample"] + kept.sizes["sample"] == plain.sizes["sample"]
    np.testing.assert_array_equal(
        kept["q"].values[0], plain["q"].values[0, pieces(plain)[number]]
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda t, x: np.rint(x / 0.02) * 0.02, ["quantised in steps of 0.02"]),
        (lambda t, x: np.clip(x, -0.3, 0.6), ["clipped"]),
        (lambda t, x: 0.2 * x, ["parabola"]),
        (
            lambda t, x: x + 0.05 * np.random.default_rng(0).standard_normal(len(x)),
            ["times the standard deviation of its noise"],
        ),
    ],
)
def test_warnings_of_sensors(make, words, tmp_path):
    table = []
    for run in range(3):
        time, angle = swing(1.0 / (1 + run), duration=20.0, seed=run)
        table += [
            [run, f"{t:.4f}", f"{x:.7f}"]
            for t, x in zip(time, make(time, angle), strict=True)
        ]
    write(tmp_path, table)
    found = imported(rig(), tmp_path)
    for word in words:
        assert word in warnings(found)


def test_a_clean_recording_of_many_sizes_has_no_warning(plain):
    assert warnings(plain) == "theta was recorded" or "clipped" not in warnings(plain)
    for word in ("quantised", "spike", "uneven", "noise", "parabola"):
        assert word not in warnings(plain)


@pytest.mark.parametrize("heading", ["ms", "clock [ms]"])
def test_a_unit_in_the_heading_of_the_clock_is_believed(plain, heading, tmp_path):
    table = [[run, f"{1000 * float(t):.3f}", x] for run, t, x in ROWS]
    write(tmp_path, table, f"run,{heading},theta")
    found = imported(rig(time=heading.removesuffix(" [ms]")), tmp_path)
    np.testing.assert_allclose(found["start_time"], plain["start_time"])
    assert found.attrs["time_step"] == pytest.approx(0.01)
    assert "contradict" not in warnings(found)


@pytest.mark.parametrize("lost", [0.0, 0.05])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.03])
def test_spikes_are_replaced_and_counted(share, lost):
    """Also beside rows that are missing, and at both ends."""
    rng = np.random.default_rng(3)
    time, angle = swing(1.0, duration=60.0, noise=1e-3)
    spoilt = angle.copy()
    hit = rng.random(len(time)) < share
    hit[[1, -1]] = share > 0
    spoilt[hit] += rng.choice([-1, 1], hit.sum()) * rng.uniform(0.1, 2, hit.sum())
    there = rng.random(len(time)) >= lost
    angle, hit = angle[there][REACH:-REACH], hit[there][REACH:-REACH]
    trajectory = Trajectory("0", time[there], spoilt[there][:, None], "rig.csv")
    (count,) = replace_spikes([trajectory], [0])
    assert count == hit.sum()
    if not share:
        trajectory.values = trajectory.values[REACH:-REACH]
    assert np.sqrt(np.mean((trajectory.values[:, 0] - angle) ** 2)) < 5e-4


def test_a_quick_turn_is_no_spike(monkeypatch):
    """The whip of a second arm, without noise, lasts some samples."""
    time = np.arange(0, 20, 0.01)
    whip = np.sin(3 * time) + 0.3 * np.exp(-(((time % 2 - 1) / 0.025) ** 2))
    trajectory = Trajectory("0", time, whip[:, None].copy(), "rig.csv")
    assert replace_spikes([trajectory], [0]) == 0
    assert (trajectory.values[:, 0] == whip).all()
    monkeypatch.setattr(spikes, "LEAST_OVER_SPREAD", 0.0)
    assert replace_spikes([trajectory], [0]) > 0


def test_a_long_recording_has_its_main_period():
    time, angle = swing(1.0, duration=80.0, rate=1000.0, frequency=0.9)
    assert len(time) > SAMPLES_PER_TRANSFORM
    assert spectrum([angle], 1e-3).main == pytest.approx(0.9, rel=0.03)
    broad = np.random.default_rng(0).standard_normal(65000)
    assert spectrum([broad], 1e-3).main > 10


def test_a_joint_that_turns_over_has_a_main_period():
    """The rms frequency of its velocity, not that of the slowest change."""
    rng, time = np.random.default_rng(0), np.arange(0, 40, 0.01)
    f = np.linspace(0.025, 2, 80)
    size, phase = rng.uniform(0.5, 1, 80) / (f + 0.3), rng.uniform(0, 2 * np.pi, 80)
    waves = np.sin(2 * np.pi * f * time[:, None] + phase)
    angle = 3 * time + waves @ (size / f) / 3 + 1e-3 * rng.standard_normal(len(time))
    expected = np.sqrt(np.average(f**2, weights=size**2))
    assert spectrum([angle], 0.01).main < expected / 2
    found = spectrum([angle], 0.01, angle=True).main
    assert found == pytest.approx(expected, rel=0.2)
    swinging = 3 * np.sin(6 * time)
    whole, half = (spectrum([swinging], 0.01, angle=a).main for a in (True, False))
    assert whole == half


def test_few_named_trajectories_are_taken(tmp_path):
    """The end of one is held out; its label is text like the others."""
    time, angle = swing(duration=30.0)
    write(tmp_path, [["a", t, x] for t, x in zip(time, angle, strict=True)])
    found = imported(rig(), tmp_path)
    assert list(found.label.values) == ["a", "a (end)"]
    assert {type(x) for x in found.label.values} == {str}


def test_a_steady_driven_record_is_no_extrapolation(tmp_path):
    """Its force in kilonewtons is one in newtons; the end held out is as large."""
    time, angle = swing(0.5, duration=40.0)
    angle = angle * np.exp(0.05 * time) * (1 + 0.02 * np.sin(time))
    table = [[0, t, x, np.sin(t)] for t, x in zip(time, angle, strict=True)]
    write(tmp_path, table, "run,t,theta,push")
    given = rig(trajectory=None, inputs={"theta": "push [kN m]"})
    found = imported(given, tmp_path)
    assert list(found["held_out"]) == [0, 1]
    assert "amplitude" not in warnings(found)
    assert list(found["input_unit"].values) == ["N*m"]
    size = np.abs(found["input"].values).max()
    assert size == pytest.approx(1000, rel=1e-2)
    free = [[0, t, x] for t, x in zip(time, angle * np.exp(-0.05 * time), strict=True)]
    write(tmp_path, free)
    assert "has an amplitude outside those" in warnings(imported(rig(), tmp_path))


def test_rates_may_be_mixed(tmp_path):
    table = []
    for run, rate in enumerate((100.0, 40.0, 250.0)):
        time, angle = swing(1.0 / (1 + run), duration=20.0, rate=rate)
        table += [
            [run, f"{t:.5f}", f"{x:.7f}"] for t, x in zip(time, angle, strict=True)
        ]
    write(tmp_path, table)
    found = imported(rig(), tmp_path)
    assert "different sampling rates" in warnings(found)
    assert found.attrs["time_step"] == pytest.approx(1 / 40)
    parts = pieces(found)
    for part, run in ((parts[0], 0), (parts[2], 2)):
        _, exact = swing(1.0 / (1 + run), duration=20.0, rate=40.0, noise=0.0)
        q = found["q"].values[0, part, 0]
        np.testing.assert_allclose(q, exact[: len(q)], atol=1e-3)


def test_noise_of_a_motion_near_the_nyquist_frequency():
    rng = np.random.default_rng(5)
    for wide, share in ((True, 0.1), (False, 1.0)):
        tones = rng.uniform(0.05, 0.33 if wide else 0.06, 60)
        phase = rng.uniform(0, 2 * np.pi, 60)
        motion = np.cos(2 * np.pi * np.outer(np.arange(20000), tones) + phase).sum(1)
        q = motion + 1e-2 * rng.standard_normal(len(motion))
        found = noise_of([q], spectrum([q], 1.0))
        assert found == pytest.approx(1e-2, rel=0.1)
        assert found < 1.1 * share * difference_noise([q]) + 1e-3


def test_labels_of_users_are_text_in_figures_and_tables(tmp_path):
    """Neither mathematical text, nor a cell, nor markup."""
    labels = [r"$x_{$", "a|b", "<script>", "`c`", "x" * 5000]
    table = [[labels[r[0]], *r[1:]] for r in ROWS]
    write(tmp_path, table)
    found = imported(rig() | {"validate": {"held_out": ["<script>"]}}, tmp_path)
    shown = [str(label) for label in found["label"].values]
    assert shown[1:4] == ["a¦b", "‹script›", "'c'"]
    assert len(shown[4]) == 60
    assert not set("$<>|`") & set("".join(shown))


def test_an_input_may_be_an_expression_of_columns(tmp_path):
    """The torque of a pendulum whose pivot is shaken, -2 a sin θ."""
    time, angle = swing(duration=40.0)
    shake = np.sin(2 * time)
    write(tmp_path, zip(time, angle, shake, strict=True), "t,theta,a")
    torque = {"expression": "-2*a*sin(theta)", "unit": "mN m"}
    given = rig(trajectory=None, inputs={"theta": torque})
    found = imported(given, tmp_path)
    expected = -2e-3 * shake * np.sin(angle)
    np.testing.assert_allclose(found["input"].values[0, :, 0], expected, atol=1e-15)


def test_an_angle_beyond_half_a_turn_may_be_in_degrees(tmp_path):
    time, angle = swing(3.8, duration=40.0)
    write(tmp_path, zip(time, angle, strict=True), "t,theta")
    assert "write `unit: deg`" in warnings(imported(rig(trajectory=None), tmp_path))


@pytest.mark.parametrize("noise", [1e-4, 3e-3])
def test_runs_that_were_joined_are_refused(noise, tmp_path):
    """Their clock goes on; spikes, impacts and wraps of an encoder are no joints."""
    parts = [swing(1 / (1 + k), seed=k, noise=noise)[1] for k in range(3)]
    joined = np.concatenate(parts)
    time = np.arange(len(joined)) / RATE
    write(tmp_path, zip(time, joined, strict=True), "t,theta")
    with pytest.raises(RecordingError, match="row 801.*several runs"):
        imported(rig(trajectory=None), tmp_path)
    bounce = np.abs(np.sin(3 * time)) + noise * np.random.default_rng(
        0
    ).standard_normal(len(time))
    bounce[500] += 0.5
    trajectory = Trajectory("0", time, bounce[:, None], "rig.csv")
    refuse_jumps([trajectory], {0: Column("x", "")})
    wrapped = Trajectory("0", time, (5 * time[:, None]) % (2 * np.pi), "rig.csv")
    refuse_jumps([wrapped], {0: Column("theta", "", angle=True)})
    with pytest.raises(RecordingError):
        refuse_jumps([wrapped], {0: Column("x", "")})


def run_of(*columns, label="0", source="rig.csv, line 2"):
    values = np.stack(columns, axis=1).astype(float)
    return Trajectory(label, np.arange(len(values)) * 1.0, values, source)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a  b\n c", "a b c"),
        ("<$|`\\>", "‹＄¦'/›"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("a\x00b", "ab"),
    ],
)
def test_a_label_is_a_line_of_plain_text(text, shown):
    assert plain_text(text) == shown


@pytest.mark.parametrize(
    ("gaps", "short", "replaced", "turned", "words"),
    [
        (0, 0, {}, 0, []),
        (1, 0, {}, 0, ["1 gap in time split the recording into 3 traj"]),
        (
            2,
            1,
            {},
            0,
            ["2 gaps in time split", "stretches below 16 rows that are left out: 1"],
        ),
        (
            0,
            0,
            {"a": 0, "b": 5},
            0,
            ["of column 'b' were replaced by what their neighbours expect: 5 of 200"],
        ),
        (0, 0, {}, 7, ["unwrapped; jumps of a whole turn: 7"]),
    ],
)
def test_what_was_done_to_a_table_is_stated(gaps, short, replaced, turned, words):
    read = splitting.Recorded([], np.zeros(0), 5.0, [None] * (3 + short), gaps=gaps)
    texts = read_out(read, 200, [None] * 3, replaced, turned)
    assert len(texts) == len(words)
    assert all(
        text.startswith(w) or w in text for text, w in zip(texts, words, strict=True)
    )


@pytest.mark.parametrize(("count", "end"), [(1, "1 trajectory"), (2, "2 trajectories")])
def test_stretches_that_are_long_enough_are_trajectories(count, end):
    read = splitting.Recorded([], np.zeros(0), 5.0, 3 * [None], gaps=2)
    assert read_out(read, 200, count * [None], {}, 0)[0].endswith(f"into {end}")


ANGLE = Column("a", "import.coordinates.a", angle=True)
TURNS = Column("n", "import.coordinates.n", 0.1, angle=True)
LENGTH = Column("x", "import.coordinates.x", unit="m")


def test_angles_are_made_continuous_and_lengths_left_alone():
    """Fourteen turns; a step of 3 is none, one of 3.3 is."""
    wound = 0.9 * np.arange(100)
    channels = {"q": {"a": TURNS, "x": LENGTH}}
    for step, jumps in ((3.0, 0), (3.3, 1), (-3.3, 1)):
        parts = [run_of(wound % (2 * np.pi), wound % 5), run_of([0.0, step], [0, 9])]
        assert _unwrap(parts, channels, np.zeros(2)) == 14 + jumps
        np.testing.assert_allclose(parts[0].values[:, 0], wound)
        np.testing.assert_array_equal(parts[0].values[:, 1], wound % 5)
        after = step - jumps * np.sign(step) * 2 * np.pi
        np.testing.assert_allclose(parts[1].values, [[0, 0], [after, 9]])


@pytest.mark.parametrize(
    ("wide", "column", "span", "refused"),
    [
        (2, TURNS, 0.0, False),
        (3, TURNS, 0.0, True),
        (3, ANGLE, 61.0, False),  # it turns in radians: half of it is beyond 30
        (3, ANGLE, 59.0, True),
        (3, TURNS, 61.0, True),
        (3, LENGTH, 0.0, False),
    ],
)
def test_a_fiftieth_of_steps_may_be_a_quarter_turn(wide, column, span, refused):
    steps = np.r_[np.full(wide, 1.6), np.full(100 - wide, 1.5)]
    part = run_of(np.cumsum(np.r_[0.0, steps]))
    channels = {"q": {"a": column}}
    if refused:
        with pytest.raises(RecordingError, match=f"{wide}"):
            _unwrap([part], channels, np.array([span]))
    else:
        assert _unwrap([part], channels, np.array([span])) == 0


@pytest.mark.parametrize(
    ("mean", "mentioned"), [(0.095, False), (0.105, True), (-0.105, True)]
)
def test_offsets_of_accelerations_are_taken_off(mean, mentioned):
    """That are a tenth of what they vary by are mentioned."""
    wave = np.tile([1.0, -1.0], 20)
    series = {
        "q": [np.stack([wave + 3 * mean, wave + mean], 1)],
        "qddot": [(wave + mean)[:, None]],
    }
    channels = {"q": {"x": LENGTH, "a": ANGLE}, "qddot": {"x": LENGTH}}
    texts = _without_offsets(series, channels, {"a"})
    assert len(texts) == 2 * mentioned
    np.testing.assert_allclose(series["q"][0][:, 0], wave + 3 * mean)
    np.testing.assert_allclose(series["q"][0][:, 1], wave)
    np.testing.assert_allclose(series["qddot"][0][:, 0], wave)


def test_series_by_channel_have_the_order_of_coordinates():
    """Columns q: x, y; qdot: y, x; an input of y alone."""
    values = [np.arange(10.0).reshape(2, 5)]
    channels = {"q": dict.fromkeys("xy"), "qdot": dict.fromkeys("yx")}
    channels |= {"qddot": {}, "input": dict.fromkeys("y")}
    found = _by_channel(values, channels, ["x", "y"])
    assert list(found) == ["q", "qdot", "input"]
    np.testing.assert_array_equal(found["q"][0], [[0, 1], [5, 6]])
    np.testing.assert_array_equal(found["qdot"][0], [[3, 2], [8, 7]])
    np.testing.assert_array_equal(found["input"][0], [[0, 4], [0, 9]])


@pytest.mark.parametrize(
    ("names", "held"),
    [
        (["a1"], [1, 0, 0]),
        (["a*"], [1, 1, 0]),
        ([3, "a2"], [0, 1, 1]),
        ([], [0, 0, 0]),
        (["b"], "the trajectory b"),
        (["a*", "3"], "every trajectory"),
    ],
)
def test_trajectories_are_held_out_by_name(names, held):
    labels = ["a1", "a2", "3"]
    if isinstance(held, str):
        with pytest.raises(RecordingError, match=held):
            held_out_by_name(labels, names, "rig.csv")
    else:
        assert held_out_by_name(labels, names, "rig.csv").tolist() == held


@pytest.mark.parametrize(
    ("count", "places"), [(4, [2]), (7, [3]), (8, [2, 5]), (9, [3, 5]), (12, [3, 6, 8])]
)
def test_one_trajectory_in_four_of_middling_size_is_held_out(count, places):
    """Sizes in another order than time; a coordinate that rests has none."""
    order = np.random.default_rng(count).permutation(count)
    q = [np.outer([0.0, 1.0, 0.5], [1.0 + k, 0.0]) for k in order]
    held = _middling(q)
    assert sorted(order[held].tolist()) == places


def test_sizes_are_those_over_the_scatter_of_each_coordinate():
    """Of x, and of y in another unit, which alone would decide."""
    x, y = [1.0, 2.0, 3.0, 4.0], [4.0, 1.0, 9.0, 6.0]
    q = [np.outer([0, 1, 0.5], [a, 1e-6 * b]) for a, b in zip(x, y, strict=True)]
    every = np.concatenate(q)
    size = [np.mean(np.ptp(one, axis=0) / every.std(axis=0)) for one in q]
    assert _middling(q).tolist() == [k == np.argsort(size)[2] for k in range(4)]


@pytest.mark.parametrize(("rows", "cut"), [(1320, True), (1080, False)])
def test_a_quarter_is_held_out_if_it_has_enough_periods(rows, cut):
    """Of the longest; three main periods of a second at least."""
    t = 0.01 * np.arange(rows)
    series = {
        "q": [np.cos(2 * np.pi * t[:400])[:, None], np.cos(2 * np.pi * t)[:, None]]
    }
    series["input"] = [x.copy() for x in series["q"]]
    runs, starts = [run_of(np.zeros(3), label=n) for n in "ab"], [5.0, 7.0]
    clock = splitting.Clock(0.01, 0.0, 0, False)
    held = _end_held_out(runs, series, starts, clock, [False])
    if not cut:
        assert held.tolist() == [False, False] and len(starts) == 2
        return
    assert held.tolist() == [False, False, True]
    assert [len(x) for x in series["q"]] == [400, 990, 330]
    assert [len(x) for x in series["input"]] == [400, 990, 330]
    np.testing.assert_allclose(series["q"][2][:, 0], np.cos(2 * np.pi * t[990:]))
    assert starts == [5.0, 7.0, pytest.approx(7 + 9.9)]
    assert runs[2].label == "b (end)" and len(runs[2].time) == 0


def test_units_are_those_of_the_user_with_their_si_value():
    columns = {
        "x": Column("x", "", 1e-3, unit="m", shown="mm", shown_factor=1e-3),
        "y": Column("y", "", unit="m", shown_factor=7.0),
    }
    found = _units("input", columns, ["x", "y", "z"])
    values = {key: value for key, (_, value) in found.items()}
    assert values == {
        "input_unit": ["m", "m", ""],
        "input_shown_unit": ["mm", "m", ""],
        "input_shown_factor": [1e-3, 1.0, 1.0],
    }
