"""Coordinates that are expressions of columns, and pivots that nobody measured."""

import json

import numpy as np
import pandas as pd
import pytest
from recorded import completed, swing
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.__main__ import main
from leastaction.recordings.configuration import SETTINGS
from leastaction.recordings.import_recording import import_recording
from leastaction.recordings.pivot import fit_circle
from leastaction.recordings.refusals import RecordingError

CENTRE, RADIUS = np.array([612.3, 104.7]), 287.0
PIVOT = {"expression": "atan2(x - x0, y - y0)", "unknown": ["x0", "y0"]}


def filmed(angle, noise=0.5, seed=0):
    """Pixels of a point that hangs down at the angle 0; y of a video points down."""
    rng = np.random.default_rng(seed)
    point = CENTRE[:, None] + RADIUS * np.stack([np.sin(angle), np.cos(angle)])
    return point + noise * rng.standard_normal(point.shape)


def video(noise=0.5):
    """Table of a filmed pendulum with dry and viscous friction, five swings."""
    time, parts = np.arange(0, 10, 1 / 60), []
    for run, start in enumerate((0.5, 0.8, 1.1, 1.3, 1.5)):

        def rates(_, z):
            friction = 0.03 * z[1] + 0.05 * np.tanh(z[1] / 1e-3)
            return [z[1], -20.0 * np.sin(z[0]) - friction]

        path = solve_ivp(rates, (0, 10), [start, 0], t_eval=time, max_step=0.02)
        x, y = filmed(path.y[0], noise, run)
        parts.append(pd.DataFrame({"run": run, "t": time, "x [px]": x, "y [px]": y}))
    return pd.concat(parts)


def swings(noise=0.5):
    """Rough swings that no law has to follow."""
    parts = []
    for run in range(5):
        time, angle = swing(1.0 / (1 + 0.5 * run), seed=run)
        x, y = filmed(angle, noise, run)
        parts.append(pd.DataFrame({"run": run, "t": time, "x": x, "y": y}))
    return pd.concat(parts)


def imported(frame, tmp_path, coordinates, **about):
    frame.to_csv(tmp_path / "video.csv", index=False)
    part = {"files": "video.csv", "trajectory": "run", "time": "t"}
    given = {"import": part | {"coordinates": coordinates}} | about
    return import_recording(SETTINGS["import"](completed(given, tmp_path)))


def told(found) -> str:
    return " ".join(json.loads(found.attrs["warnings"]))


def test_the_law_of_a_filmed_pendulum():
    law = la.learn(
        video(),
        time="t",
        trajectory="run",
        coordinates={"theta": PIVOT},
        progress=False,
    )
    assert law.support == ["thetadot**2", "cos(theta)"]
    assert law.coefficient("cos(theta)") == pytest.approx(20.0, rel=2e-3)
    assert list(law.terms.query("of == 'D'").term) == [
        "abs(thetadot)",
        "thetadot**2",
    ]
    assert "x0 = 612.3" in law.warnings[0] and "y0 = 104." in law.warnings[0]


def test_the_angle_does_not_depend_on_the_camera(tmp_path):
    """Neither on its place and scale nor on the direction of its axes."""
    frame = swings(noise=0.0)
    found = imported(frame, tmp_path, {"theta": PIVOT})["q"].values
    frame["x"], frame["y"] = 3 - 0.01 * frame["y"], 7 + 0.01 * frame["x"]
    turned = {**PIVOT, "expression": "atan2(y - y0, x0 - x)"}
    again = imported(frame, tmp_path, {"theta": turned})["q"].values
    np.testing.assert_allclose(again, found, atol=1e-5)
    exact = np.concatenate(
        [swing(1.0 / (1 + 0.5 * run), seed=run)[1] for run in range(5)]
    )
    np.testing.assert_allclose(found[0, :, 0], exact, atol=1e-5)


def test_intervals_of_the_pivot_cover():
    """t = error of the centre over its standard error, 60 films of a short arc."""
    angle = np.concatenate([swing(0.7, seed=run)[1][::4] for run in range(4)])
    scores = []
    for seed in range(60):
        rows = filmed(angle, 0.5, seed)
        found = fit_circle(
            lambda u, z: ((z - u[:, None]) ** 2).sum(axis=0, keepdims=True), rows, 2
        )
        scores.append((found.values - CENTRE) / found.errors)
    inside = np.mean(np.abs(scores) < 2.365)  # Student, 7 degrees of freedom
    assert 0.9 <= inside <= 0.99
    assert abs(np.mean(scores)) < 0.3


def test_single_samples_that_stand_out_do_not_move_the_pivot():
    angle = swing(1.0)[1]
    rows = filmed(angle, 0.3)
    rows[0, ::97] += 80.0
    found = fit_circle(
        lambda u, z: ((z - u[:, None]) ** 2).sum(axis=0, keepdims=True), rows, 2
    )
    np.testing.assert_allclose(found.values, CENTRE, atol=0.5)


def test_expressions_may_share_constants_and_columns(tmp_path):
    """Two arms: the second hangs on the end of the first."""
    frame = swings(noise=0.0)
    second = 2.5 * np.sin(3 * frame["t"].values)
    frame["u"] = frame["x"] + 100 * np.sin(second)
    frame["v"] = frame["y"] + 100 * np.cos(second)
    found = imported(
        frame,
        tmp_path,
        {"theta1": PIVOT, "theta2": {"expression": "atan2(u - x, v - y)"}},
    )
    np.testing.assert_allclose(found["q"].values[0, :, 1], second, atol=1e-9)


def test_lost_points_of_arms_that_turn_over_cost_no_turn(tmp_path):
    """Points elsewhere, rows lost; angles and a column beside them keep their noise."""
    rng, time = np.random.default_rng(1), np.arange(0, 20, 0.01)
    angles = np.stack([9 * time + 2 * np.sin(4 * time), 2.5 * np.sin(5 * time)])
    ends = np.cumsum(100 * np.stack([np.sin(angles), np.cos(angles)], 1), axis=0)
    pixels = ends.reshape(4, -1) + 0.5 * rng.standard_normal((4, len(time)))
    wrong = rng.random(pixels.shape) < 0.01
    pixels[wrong] += rng.uniform(-300, 300, wrong.sum())
    frame = pd.DataFrame(pixels.T, columns=["x", "y", "u", "v"]).assign(run=0, t=time)
    there = rng.random(len(time)) > 0.03
    coordinates = {
        "theta": PIVOT,
        "phi": {"expression": "atan2(u - x, v - y)"},
        "x": "px",
    }
    found = imported(frame[there], tmp_path, coordinates)
    row = np.rint((found["start_time"].values[0]) / 0.01).astype(int)
    exact = np.stack([*angles, ends[0, 0]], 1)[row:]
    left = found["q"].values[0] - exact[: found.sizes["sample"]]
    left -= np.median(left, axis=0)
    assert (left.std(axis=0) < 1.3 * np.array([0.005, 0.005 * 2**0.5, 0.5])).all()
    assert "spikes of column 'u'" in told(found)


def test_a_pivot_that_is_known_needs_no_unit(tmp_path):
    entry = {"expression": "atan2(x - 612.3, y - 104.7)"}
    found = imported(swings(noise=0.0), tmp_path, {"theta": entry})
    assert found["coordinate_unit"].values[0] == "rad"


def test_two_columns_on_a_circle_are_one_coordinate(tmp_path):
    pixels = {"x": "px", "y": "px"}
    with pytest.raises(RecordingError, match="of radius 287 .*x0, y0 - y"):
        imported(swings(), tmp_path, pixels)
    found = imported(swings(), tmp_path, pixels, accept=["constraint"])
    assert "one degree of freedom" in told(found)
    assert list(found["coordinate_unit"].values) == ["pixel", "pixel"]
    free = swings()
    free["y"] += 30 * np.sin(5 * free["t"])
    assert "degree of freedom" not in told(imported(free, tmp_path, pixels))
    free["y"] = 2 * free["x"] + 1
    assert "straight line" in told(imported(free, tmp_path, pixels))


@pytest.mark.parametrize(
    "unit, factor", [("px", 1.0), ("%", 0.01), ("percent", 0.01), ("ppm", 1e-6)]
)
def test_pixels_and_ratios_are_units(unit, factor, tmp_path):
    frame = swings()
    found = imported(frame, tmp_path, {"x": unit})
    np.testing.assert_allclose(found["q"].values[0, :, 0], factor * frame["x"])
    assert found["coordinate_unit"].values[0] == ("pixel" if unit == "px" else "1")
    assert json.loads(found.attrs["kinds"]) == {"x": "length"}


def test_the_command_takes_an_expression(tmp_path, capsys):
    swings().to_csv(tmp_path / "film-1.csv", index=False)
    table = ["learn", str(tmp_path / "film-1.csv"), "--time", "t", "--quiet"]
    angle = ["--coordinate", "theta=atan2(x - x0, z - y0)"]
    assert main([*table, *angle, "--unknown", "x0", "--unknown", "y0"]) == 1
    message = capsys.readouterr().err
    assert "unknown column 'z'" in message and "x0" not in message.partition("Known")[0]
