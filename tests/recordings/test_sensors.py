"""Sensors that measure something else than a coordinate."""

import numpy as np
import pandas as pd
import pytest
from frames import LEVEL, frame, storeys

import leastaction as la
from leastaction.recordings.refusals import RecordingError

RATE = 50.0
SENSORS = {
    "addot + ground": "first [m/s^2]",
    "bddot + ground": "second [m/s^2]",
    "b - a": "drift [mm]",
}
GIVEN = {
    "time": {"rate": RATE},
    "coordinates": {"a": "m", "b": "m"},
    "sensors": SENSORS,
    "excitation": "random",
    "library": storeys(2),
    "recipe": {"identify": {"search": False, "colour": "white"}},
    "progress": False,
}

UNLIKE = "library.lagrangian: (-a + b)**2 adds a quantity in m to one in s"


@pytest.fixture(scope="module")
def table():
    """Two floors of a shaken frame: absolute accelerations, and the upper storey."""
    texts = ("addot + ground", "bddot + ground", "a", "b")
    noise = np.array([0.05, 0.05, 1e-3, 1e-3])
    data = frame([400.0] * 2, [0.8] * 2, texts, noise, 3000, 1 / RATE)
    first, second, a, b = data["reading"].values[0].T
    return pd.DataFrame({"first": first, "second": second, "drift": 1e3 * (b - a)})


def test_a_law_from_accelerometers_and_the_drift_of_a_storey(table):
    """One of the accelerometers feels gravity."""
    law = la.learn(table.assign(first=table["first"] + 9.81), **GIVEN)
    assert "column 'first' has a mean of 9.8" in law.to_markdown()
    assert list(law.observations["channel"].values) == list(SENSORS)
    truth = {"a**2": -200.0, "(-a + b)**2": -200.0, "bdot**2": 0.5}
    for term, value in truth.items():
        assert abs(law.coefficient(term) - value) < 4 * law.standard_error(term)
    noise = law.dataset["sensor_noise_estimate"].values
    assert noise[2] == pytest.approx(1e-3 * 2**0.5, rel=0.15)
    assert float(law.dataset["volatility_estimate"][0]) == pytest.approx(LEVEL, rel=0.1)
    text = law.to_markdown()
    assert "`b - a` 0.0014" in text and "training data: 1 trajectory" in text
    assert "| `a**2` | L |" in text and "1/s²" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sensors": {"a*b": "first [m]"}}, "is not linear in a, b, adot"),
        ({"sensors": {"c": "first [m]"}}, "'c'"),
        ({"sensors": {"b - a": "drift [s]"}}, "the unit gives s, but that is in m"),
        ({"sensors": {"b - adot": "drift [m]"}}, "but that is in m/s"),
        ({"sensors": {"b": "drift"}}, "'drift' is not a unit"),
        (
            {"velocities": {"a": "first [m/s]", "b": "second [m/s]"}},
            "write `'adot': '<its column and unit>'`",
        ),
        ({"coordinates": {"a": "first [m]", "b": "m"}}, "write `'a': '<unit>'` here"),
        ({"excitation": "none", "recipe": {}}, "are read with `excitation='random'`"),
        ({"sensors": {"b": "none [m]"}}, "none"),
        ({"sensors": {"b": "dead [m]"}}, "it is 0.5 in every row"),
        ({"sensors": {"bddot": "dead [m/s^2]"}}, "it is 0.5 in every row"),
        ({"coordinates": {"a": "m", "b": "s"}, "sensors": {"a": "drift [mm]"}}, UNLIKE),
    ],
)
def test_sensors_that_make_no_sense_are_refused(table, changes, message):
    with pytest.raises(RecordingError) as refused:
        la.learn(table.assign(dead=0.5), **GIVEN | changes)
    assert message in str(refused.value)
