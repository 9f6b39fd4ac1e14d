"""Coordinates that are expressions of columns, and pivots that nobody measured."""

import json

import numpy as np
import pandas as pd
import pytest
from recorded import completed, swing
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import leastaction as la
from leastaction.__main__ import main
from leastaction.recordings.columns import Column, column
from leastaction.recordings.configuration import SETTINGS
from leastaction.recordings.import_recording import import_recording
from leastaction.recordings.pivot import (
    Circle,
    _curve,
    _reject,
    _sentence,
    constraints,
    derive,
    fit_circle,
    raw_columns,
    smooth_sources,
)
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.splitting import Trajectory

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


def of_expression(text, unit="m", **more):
    entry = {"expression": text, "unit": unit, **more}
    return column("q", entry, "import.coordinates.q")


def test_a_table_is_read_for_what_expressions_are_made_of():
    """Plain columns first, each source once, as it is used first."""
    columns = [of_expression("b*a"), Column("z", "u"), of_expression("a + z1 + z")]
    assert [c.name for c in raw_columns(columns)] == ["z", "a", "b", "z", "z1"]
    first = {c.name: c.use for c in raw_columns(columns)[1:3]}
    assert set(first.values()) == {"import.coordinates.q"}


@pytest.mark.parametrize(
    ("text", "smooth"),
    [
        ("atan2(x - 1, y)", ["x", "y"]),
        ("atan2(x**2 + u, sin(y))", ["x", "u"]),
        ("atan2(sqrt(x), 1) + z", []),
        ("z*atan2(x*w, v)", ["v", "w", "x"]),
    ],
)
def test_arguments_that_are_polynomials_have_smooth_columns(text, smooth):
    columns = [Column("plain", "u"), of_expression(text, "rad")]
    assert sorted(smooth_sources(columns)) == sorted(smooth)


def test_expressions_take_the_place_of_their_columns():
    """In SI units; a plain column beside them stays what it was."""
    rng = np.random.default_rng(0)
    columns = [of_expression("a*b - c", "mm"), Column("p", "u"), of_expression("a**2")]
    raw = [c.name for c in raw_columns(columns)]
    assert raw == ["p", "a", "b", "c"]
    runs = []
    for count in (5, 3):
        values = rng.standard_normal((count, 4))
        runs.append(Trajectory("0", np.arange(count) * 1.0, values, "a.csv, line 2"))
    before = [t.values.copy() for t in runs]
    assert derive(runs, columns) == []
    for t, (p, a, b, c) in zip(runs, (v.T for v in before), strict=True):
        np.testing.assert_allclose(t.values.T, [1e-3 * (a * b - c), p, a**2])
    bad = Trajectory("0", np.arange(2.0), np.array([[1.0, 2.0], [0.0, -1.0]]), "a.csv")
    with pytest.raises(RecordingError, match=r"'b': -1\.0"):
        derive([bad], [Column("a", "u"), of_expression("log(b)")])


TURN = np.linspace(0, 2 * np.pi, 80, endpoint=False)


def off_mean(distance):
    return distance - distance.mean()


def squared(u, z):
    return ((z - u[:, None]) ** 2).sum(axis=0, keepdims=True)


def test_the_circle_is_that_of_its_points():
    """Centre and radius; the rms of a ripple; a jackknife error of zero."""
    around = np.stack([np.cos(TURN), np.sin(TURN)])
    exact = fit_circle(squared, CENTRE[:, None] + RADIUS * around, 2)
    np.testing.assert_allclose(exact.values, CENTRE, rtol=1e-6)
    assert exact.radius == pytest.approx([RADIUS]) and exact.errors.max() < 1e-3
    ripple = 1 + 1e-3 * np.cos(8 * TURN)
    wavy = fit_circle(squared, CENTRE[:, None] + RADIUS * ripple * around, 2)
    np.testing.assert_allclose(wavy.values, CENTRE, rtol=1e-6)
    assert wavy.deviation == pytest.approx([RADIUS * 1e-3 / np.sqrt(2)], rel=1e-3)


def test_the_error_of_a_centre_is_that_of_the_jackknife():
    """Of eight stretches, each left out in turn: √7 times the scatter of the rest."""
    rng = np.random.default_rng(1)
    around = np.stack([np.cos(7 * TURN), np.sin(7 * TURN)])
    rows = CENTRE[:, None] + RADIUS * around + rng.standard_normal((2, 80))
    whole = fit_circle(squared, rows, 2)
    left = [np.delete(rows, np.arange(10 * k, 10 * k + 10), axis=1) for k in range(8)]
    # Without samples that stand out the centre is that of least squares.
    centres = [
        least_squares(lambda u, z=z: off_mean(np.hypot(*(z - u[:, None]))), CENTRE).x
        for z in left
    ]
    expected = np.sqrt(7) * np.std(centres, axis=0)
    np.testing.assert_allclose(whole.errors, expected, rtol=0.15)


def circle(deviation, error):
    one = np.array([10.0, 20.0])
    return Circle(
        np.array([1.0, 2.0]), error * np.array([10.0, 1.0]), one, deviation * one
    )


@pytest.mark.parametrize(
    ("deviation", "error", "words"),
    [
        (0.049, 0.049, None),
        (0.051, 0.0, "5.1"),
        (0.0, 0.051, "5.1"),
        (np.array([0.0, 0.051]), 0.0, "5.1"),
    ],
)
def test_a_circle_is_kept_to_within_a_twentieth(deviation, error, words):
    """Also the error of its centre; of the smaller radius."""
    if words is None:
        _reject(circle(deviation, error), ["x0", "y0"], "a.csv")
    else:
        with pytest.raises(RecordingError, match=words.replace(".", r"\.")):
            _reject(circle(deviation, error), ["x0", "y0"], "a.csv")


def test_the_sentence_of_a_pivot_has_its_interval():
    """Of Student's t with seven degrees of freedom, 2.365."""
    text = _sentence(circle(0.012, 0.01), ["x0", "y0"])
    assert text.startswith("x0 = 1.00 ± 0.24, y0 = 2.000 ± 0.024,")
    assert "radius 10 and 20" in text and "within 1.2 % rms" in text


@pytest.mark.parametrize(
    ("across", "kept"), [(0.0097, "straight line within 0.97 %"), (0.0103, "")]
)
def test_columns_on_a_line_scatter_by_a_hundredth_of_its_length(across, kept):
    along, beside = np.cos(TURN), across * np.cos(9 * TURN)
    pair = np.array([[0.8, -0.6], [0.6, 0.8]]) @ [along, beside]
    text, remedy = _curve(pair, "x", "y")
    assert kept in text and bool(text) == bool(kept) and remedy == ""


@pytest.mark.parametrize(("deviation", "kept"), [(0.0193, True), (0.0207, False)])
def test_columns_on_a_circle_deviate_by_a_fiftieth_of_its_radius(deviation, kept):
    radius = 5 * (1 + np.sqrt(2) * deviation * np.cos(16 * TURN))
    pair = radius * [np.cos(TURN), np.sin(TURN)] + np.array([[3.0], [-2.0]])
    text, remedy = _curve(pair, "x", "y")
    assert bool(text) == bool(remedy) == kept
    if kept:
        assert "circle around (3, -2) of radius 5 within 1.9 %" in text
        assert '"atan2(x - x0, y0 - y)"' in remedy


@pytest.mark.parametrize(("deviation", "kept"), [(0.09, True), (0.11, False)])
def test_a_short_arc_is_a_circle_if_it_is_better_than_a_line(deviation, kept):
    """By ten times: its rms is a tenth of that across the line."""
    angle = np.linspace(-0.25, 0.25, 400)
    arc = np.array([np.sin(angle), 1 - np.cos(angle)])
    across = np.sqrt(np.linalg.eigvalsh(np.cov(arc))[0])
    radius = 1 + np.sqrt(2) * deviation * across * np.cos(100 * angle)
    text, _ = _curve(radius * [np.sin(angle), np.cos(angle)], "x", "y")
    assert bool(text) == kept


@pytest.mark.parametrize(
    ("units", "angle", "count"),
    [("mmm", False, 3), ("mpm", False, 1), ("mmm", True, 1)],
)
def test_pairs_of_lengths_of_one_unit_may_be_constrained(units, angle, count):
    """Of x = y = z, in as many rows as it takes."""
    t = np.linspace(0, 1, 9000)
    q = [np.stack([t, t, t], axis=1)] * 2
    names = dict(zip("xyz", units, strict=True))
    columns = {
        n: Column(n, "u", unit=u, angle=angle and n == "y") for n, u in names.items()
    }
    assert len(constraints(q, columns, "a.csv", accepted=False)) == count
