"""Columns of other kinds than motions: what is held out, long tables, amounts."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from leastaction.core.own_data import Samples
from leastaction.recordings import import_samples
from leastaction.recordings.columns import has_dimension
from leastaction.recordings.contracts import amount
from leastaction.recordings.refusals import RecordingError


def samples_of(*lengths):
    """Trajectories with numbers of their own, half a second between samples."""
    values = [100.0 * k + np.arange(n)[:, None] for k, n in enumerate(lengths)]
    labels = tuple(f"r{k}" for k in range(len(lengths)))
    return Samples({"q": values}, {"q": ("x",)}, {"q": ("m",)}, 0.5, labels, {})


def parts_of(names, *lengths):
    parts = import_samples._held_out(samples_of(*lengths), names)
    return [list(zip(p.labels, p.lengths, strict=True)) for p in parts]


def test_one_in_four_is_held_out_of_the_middle():
    learned, held = parts_of(None, *[10] * 4)
    assert [n for n, _ in held] == ["r2"] and len(learned) == 3
    learned, held = parts_of(None, *[10] * 8)
    assert [n for n, _ in held] == ["r2", "r5"]
    assert [n for n, _ in learned] == ["r0", "r1", "r3", "r4", "r6", "r7"]


def test_the_end_of_the_longest_is_held_out_of_few():
    """A quarter of it."""
    learned, held = parts_of(None, 10, 41, 20)
    assert learned == [("r0", 10), ("r1", 31), ("r2", 20)]
    assert held == [("r1 (end)", 10)]
    one, end = import_samples._held_out(samples_of(40), None)
    np.testing.assert_array_equal(one.series["q"][0][:, 0], np.arange(30.0))
    np.testing.assert_array_equal(end.series["q"][0][:, 0], np.arange(30.0, 40))


def test_what_is_held_out_by_name():
    learned, held = parts_of(["r0", "r2"], 10, 11, 12)
    assert (held, learned) == ([("r0", 10), ("r2", 12)], [("r1", 11)])
    with pytest.raises(RecordingError, match="held_out names no trajectory"):
        parts_of([], 10, 11, 12)


def test_an_amount_is_in_words():
    assert amount([10], 0.5) == "1 trajectory, 10 samples, 5 s"
    assert amount([10, 11], 0.5) == "2 trajectories, 21 samples, 10.5 s"


def long_table(places, times=4, drop=None, twice=None, run=False):
    rows = [
        {"t": 0.1 * k, "x": place, "u": 10 * k + i}
        for k in range(times)
        for i, place in enumerate(places)
    ]
    rows = rows if drop is None else rows[:drop] + rows[drop + 1 :]
    rows = rows if twice is None else [*rows, rows[twice]]
    frame = pd.DataFrame(rows)
    return frame.assign(run="a") if run else frame


def wide(frame, ends="free", **more):
    part = {
        "files": [frame],
        "position": {"x": {"unit": "mm"}},
        "coordinates": {"u": {"unit": "m"}},
        "time": {"column": "t"},
        "ends": ends,
    }
    return import_samples._wide(part | more)


@pytest.mark.parametrize(("ends", "length"), [("periodic", 0.08), ("free", 0.06)])
@pytest.mark.parametrize("run", [False, True])
def test_a_long_table_becomes_one_with_a_column_for_each_place(ends, length, run):
    more = {"trajectory": "run"} if run else {}
    part = wide(long_table([0.0, 20.0, 40.0, 60.0], run=run), ends, **more)
    assert part["length"] == pytest.approx(length)
    assert part["coordinates"] == {"u": {"unit": "m", "column": "u_*"}}
    (frame,) = part["files"]
    np.testing.assert_allclose(frame["t"], 0.1 * np.arange(4))
    np.testing.assert_allclose(frame["u_2"], 10 * np.arange(4) + 2)
    assert list(frame.columns) == ["run"] * run + ["t", *(f"u_{i}" for i in range(4))]
    stated = wide(long_table([0.0, 20.0, 40.0]), ends, length=7.0)
    assert stated["length"] == 7.0


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"places": [0.0, 20.0]}, "2 positions with steps of 0.02 to 0.02 m"),
        ({"places": [0.0, 20.0, 40.03]}, "3 positions with steps of 0.02 to 0.02003"),
        ({"places": [0.0, 20.0, 40.0], "drop": 4}, "1 times have no value"),
        ({"places": [0.0, 20.0, 40.0], "twice": 4}, "line 13: a time and position"),
    ],
)
def test_places_are_even_and_have_a_value_at_every_time(about, words):
    with pytest.raises(RecordingError, match=words):
        wide(long_table(**about))
    wide(long_table([0.0, 20.0, 40.01]))


def test_a_pattern_stands_for_the_columns_that_fit_it():
    frame = pd.DataFrame({"t": [0.0], "u_1": [1.0], "u_2": [2.0], "w": [3.0]})
    entries = {"u": {"column": "u_*", "unit": "m"}, "w": {"unit": "m"}}
    part = {"files": [frame], "coordinates": entries}
    found = import_samples._expanded(part)["coordinates"]
    assert found == {
        "u_0": {"column": "u_1", "unit": "m"},
        "u_1": {"column": "u_2", "unit": "m"},
        "w": {"unit": "m"},
    }
    entries["v*"] = {"unit": "m"}
    with pytest.raises(RecordingError, match="no column fits 'v\\*'"):
        import_samples._expanded(part)


SECTIONS = {"coordinates": True, "velocities": False, "inputs": False}
KIND = SimpleNamespace(sections=SECTIONS, keys=())


def table_of(jitter=0.0, rows=(20, 24, 10)):
    """Runs of x (mm), a force that is held (kN), and a rate (mm/s)."""
    rng = np.random.default_rng(0)
    frames = []
    for run, count in enumerate(rows):
        t = np.arange(count) * 0.5
        moved = t + jitter * rng.uniform(-0.5, 0.5, count) * (t > 0)
        held = np.repeat([1.0, -1.0, 2.0], 8)[:count]
        frame = pd.DataFrame({"run": f"<{run}>", "t": moved, "u": held})
        frames.append(frame.assign(x=1e3 * np.cos(moved), v=-1e3 * np.sin(moved)))
    return pd.concat(frames)


def part_of(frame):
    every = ("velocities", "accelerations", "sensors", "states", "outputs", "inputs")
    return {
        **dict.fromkeys([*every, "position"], {}),
        **{"files": [frame], "format": "auto", "gap": 5.0, "trajectory": "run"},
        "time": {"column": "t"},
        "inputs": {"x": {"column": "u", "unit": "kN"}},
        "coordinates": {"x": {"unit": "mm"}},
        "velocities": {"x": {"column": "v", "unit": "mm/s"}},
    }


@pytest.mark.parametrize("jitter", [0.0, 0.1])
def test_columns_of_a_kind_are_si_values_at_even_times(jitter):
    """Inputs are held; what is too short is left out, which is stated."""
    samples, texts = import_samples._samples(part_of(table_of(jitter)), KIND)
    assert samples.names == dict.fromkeys(
        ["coordinates", "velocities", "inputs"], ("x",)
    )
    units = {name: unit for name, (unit,) in samples.units.items()}
    assert has_dimension(units.pop("inputs"), "N")
    assert units == {"coordinates": "m", "velocities": "m/s"}
    assert samples.labels == ("‹0›", "‹1›")
    assert samples.time_step == pytest.approx(0.5, rel=0.01 + jitter / 10)
    for k, count in enumerate((20, 24)):
        t = samples.time_step * np.arange(samples.lengths[k])
        assert abs(samples.lengths[k] - count) <= (jitter > 0)
        for section, expected in (
            ("coordinates", np.cos(t)),
            ("velocities", -np.sin(t)),
        ):
            one = samples.series[section][k][:, 0]
            np.testing.assert_allclose(one, expected, atol=1e-9 + 0.1 * jitter)
        held = samples.series["inputs"][k][:, 0]
        assert set(held) == {1e3, -1e3, 2e3}
    assert any("stretches below 16 rows that are left out: 1" in t for t in texts)
    assert any("clock is uneven" in t for t in texts) == (jitter > 0)


def forecasts(lengths, along=""):
    """Numbers of a prediction of two quantities that is off by known shares."""
    rng = np.random.default_rng(1)
    measured = [rng.standard_normal((n, 2)) for n in lengths]
    for y in measured:
        y[:, 1] = 0.0  # what rests has the size one
    estimate = [
        y + [[0.5, 0.25]] * (1 + (np.arange(len(y)) == 3))[:, None] for y in measured
    ]
    band = [0 * y + 3 for y in measured]
    estimate[-1][5, 0] = np.nan
    names = SimpleNamespace(names=("x", "y"), units=("m", "1"), labels=("a", "b"))
    about = vars(names) | {"along": along, "numbers": {"k": 2.0}}
    return SimpleNamespace(measured=measured, estimate=estimate, band=band, **about)


@pytest.mark.parametrize(
    ("lengths", "along", "stride"), [((12, 9), "", 1), ((4001, 9), "Wavelength", 2)]
)
def test_errors_of_a_kind_are_those_over_half_the_range(
    lengths, along, stride, monkeypatch
):
    """All samples count, two thousand or so are stored."""
    forecast, seen = forecasts(lengths, along), []

    def predict(*arguments):
        seen.extend(arguments)
        return forecast

    kind = SimpleNamespace(predict=predict)
    monkeypatch.setattr(import_samples, "kinds", lambda: {"any": kind})
    monkeypatch.setattr(import_samples, "Recipe", lambda **steps: steps)
    held_out = xr.Dataset(attrs={"time_step": 0.5})
    model = xr.Dataset({"c": (("replicate", "sigma"), [[1.0, 2.0]])})
    settings = {"kind": "any", "recipe": {"solve": 1}, "library": {"a": 2}}
    found = import_samples.predict_held_out(held_out, model, held_out, settings)
    assert seen[0] is held_out and seen[3:] == [{"solve": 1}, {"a": 2}]
    for k, (y, p) in enumerate(zip(forecast.measured, forecast.estimate, strict=True)):
        half = np.array([np.ptp(y[:, 0]) / 2, 1.0])
        np.testing.assert_allclose(found["half_range"][k], half)
        error = np.nan_to_num(np.abs(p - y), nan=np.inf) / half
        np.testing.assert_allclose(found["maximum_error"][0, k], error.max(axis=0))
        rms = np.sqrt((error**2).mean(axis=0))
        np.testing.assert_allclose(found["rms_error"][0, k], rms)
    rows = [np.arange(0, n, stride) for n in lengths]
    step = 1.0 if along else 0.5
    np.testing.assert_allclose(found["path_time"], step * np.concatenate(rows))
    stored = [y[r] for y, r in zip(forecast.measured, rows, strict=True)]
    np.testing.assert_allclose(found["q_measured"][0], np.concatenate(stored))
    left = found["residual"] - (found["q_measured"] - found["q_estimate"])
    assert not np.nan_to_num(left).any() and (found["q_band"] == 3).all()
    counts = [len(r) for r in rows]
    assert found["path_trajectory"].values.tolist() == [0] * counts[0] + [1] * counts[1]
    assert found.attrs["along"] == (along or "Time (s)")
    assert (found.attrs["start"], found.attrs["learned_from"]) == (0.0, 0)
    assert not found["force_missed"].any() and found["window_time"].item() == 0
    assert found["window_trajectory"].item() == 0
    assert (found["coordinate_shown_factor"] == 1).all()


def test_a_kind_sees_what_is_learned_from_and_predicts_the_rest(monkeypatch):
    """Attributes state its warnings and how much there is of both."""
    seen = []

    def held_out(samples, like):
        seen.append(samples)
        return xr.Dataset({"rest": like["u"] * 2})

    def observations(samples):
        seen.append(samples)
        return xr.Dataset({"u": 1.0})

    about = vars(KIND) | {"name": "any", "observations": observations}
    kind = SimpleNamespace(**about | {"held_out": held_out})
    monkeypatch.setattr(import_samples, "kinds", lambda: {"any": kind})
    settings = {"kind": "any", "import": part_of(table_of()), "held_out": ["<0>"]}
    found, rest = import_samples.imported(settings)
    assert [one.labels for one in seen] == [("‹1›",), ("‹0›",)]
    assert rest["held_out"]["rest"].item() == 2.0 and found.attrs["kind"] == "any"
    amounts = [f"1 trajectory, {n} samples, {n / 2:.4g} s" for n in (24, 20)]
    assert json.loads(found.attrs["amounts"]) == amounts
    (text,) = json.loads(found.attrs["warnings"])
    assert "left out: 1" in text
    frame = table_of().assign(u=1.0)
    with pytest.raises(RecordingError, match="^inputs x does not change"):
        import_samples.imported(settings | {"import": part_of(frame)})
