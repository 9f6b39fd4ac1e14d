"""Sensors, records, thinning and recorded forces from their definitions."""

import numpy as np
import pytest
import xarray as xr

from leastaction.ensembles.sensor_records import (
    Record,
    channels_of,
    records_of,
    splines,
    stated,
    stated_lags,
    thinned,
    third_differences,
)


def test_sensors_are_the_matrices_of_what_they_measure():
    texts = ["2*a - b/4", "adot + 3*bdot", "addot - bddot", "ground + addot"]
    one = channels_of(texts, ["a", "b"])
    assert one.position.tolist() == [[2, -0.25], [0, 0], [0, 0], [0, 0]]
    assert one.velocity.tolist() == [[0, 0], [1, 3], [0, 0], [0, 0]]
    assert one.acceleration.tolist() == [[0, 0], [0, 0], [1, -1], [1, 0]]
    assert one.absolute.tolist() == [False, False, False, True]
    assert one.names == tuple(texts)


@pytest.mark.parametrize(
    "text", ["a**2", "a*b", "a + 1", "0*a", "ground", "addot + 2*ground", "ground - a"]
)
def test_a_sensor_that_is_not_linear_is_refused(text):
    with pytest.raises(ValueError, match="is not linear in a, b, adot"):
        channels_of([text], ["a", "b"])


def recordings(**attrs):
    reading = np.arange(12.0).reshape(1, 6, 2)
    force = np.array([[0.0, 1, 2, 3, 4, 5], [0] * 6]).T[None]
    return xr.Dataset(
        {
            "reading": (("replicate", "sample", "channel"), reading),
            "input": (("replicate", "sample", "dof"), force),
            "first_sample": ("record", [0, 2]),
            "sample_count": ("record", [2, 4]),
        },
        {"channel": ["a", "b - a"], "dof": ["a", "b"]},
        {"time_step": 0.5, **attrs},
    )


@pytest.mark.parametrize("lag, shift", [(0.25, 0.5), (-0.5, -1.0), ("unknown", 0.0)])
def test_recorded_forces_act_after_their_lag(lag, shift):
    value = f'"{lag}"' if isinstance(lag, str) else lag
    data = recordings(inputs=f'{{"a": {{"lag": {value}, "gain": 2}}}}')
    assert stated(data, "gain") == [2, None]
    known = [lag, np.nan] if not isinstance(lag, str) else [np.nan, np.nan]
    np.testing.assert_array_equal(stated_lags(data), known)
    channels, records, dt = records_of(data)
    assert (channels.names, dt, len(records)) == (("a", "b - a"), 0.5, 2)
    assert records[0].y.tolist() == [[0, 1], [2, 3]]
    assert records[1].y.tolist() == [[4, 5], [6, 7], [8, 9], [10, 11]]
    moved = np.clip(np.arange(4) - shift, 0, 3) + 2
    assert records[1].w == pytest.approx(np.stack([moved, 0 * moved], axis=1))
    assert records[1].late.tolist() == [isinstance(lag, str), False]


def test_without_inputs_forces_are_one_row():
    _, (one, _), _ = records_of(recordings().drop_vars("input"))
    assert one.w.tolist() == [[0, 0]] and not one.late.any()
    ensemble = xr.Dataset(
        {
            name: (("replicate", "trajectory", "time", "dof"), np.full((1, 3, 5, 2), v))
            for name, v in (("q", 1.0), ("qddot", 2.0))
        },
        {"dof": ["a", "b"], "time": 0.2 * np.arange(5)},
        {"time_step": 0.2, "contract": "recordings"},
    )
    channels, records, dt = records_of(ensemble)
    assert channels.names == ("a", "b", "addot", "bddot") and len(records) == 3
    assert records[0].y.tolist() == [[1, 1, 2, 2]] * 5 and dt == pytest.approx(0.2)


def test_third_differences_of_white_noise_are_one_and_of_a_parabola_none():
    y = np.random.default_rng(0).standard_normal((40_000, 1)) * [1.0, 3.0]
    y[:, 1] = np.random.default_rng(1).standard_normal(40_000) * 3
    record = Record(y, np.zeros((1, 1)), np.zeros(1, dtype=bool))
    assert third_differences([record, record]) == pytest.approx([1, 9], rel=0.05)
    t = np.arange(30.0)[:, None]
    assert third_differences([record._replace(y=t**2)])[0] == pytest.approx(0, abs=1e-9)
    assert third_differences([record._replace(y=t**3)])[0] == pytest.approx(36 / 20)


def test_only_every_second_sample_where_the_motion_is_seen():
    """Clean and slow: no means are taken, and one in two, a power of two, stays."""
    t = np.arange(300_000.0)
    record = Record(np.sin(0.03 * t)[:, None], np.zeros((1, 1)), np.zeros(1, bool))
    channels = channels_of(["x"], ["x"])
    (one,), every, averaged = thinned(channels, [record], 0.03)
    assert (every, averaged) == (2, 1) and (one.y == record.y[::2]).all()
    (same,), every, _ = thinned(channels, [record], 0.06)
    assert every == 1 and same is record
    (same,), every, _ = thinned(channels_of(["xddot"], ["x"]), [record], 0.03)
    assert every == 1 and same is record


def test_splines_stay_what_they_are_at_the_ends():
    at = splines(np.stack([np.arange(6.0) ** 2, np.ones(6)], axis=1))
    result = at(np.array([-2.0, 1.5, 9.0]), np.array([0.0, 3.0]))
    assert result == pytest.approx(np.array([[0, 1], [2.25, 1], [25, 1]]))
