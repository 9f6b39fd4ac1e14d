"""Records that are sampled faster than they move: thinned, without a loss."""

import numpy as np
import pytest
from support import observe, oscillator
from test_innovations import TERMS

from leastaction.core.recipe import recommended
from leastaction.ensembles import sensor_records
from leastaction.ensembles.sensor_records import Record, channels_of, thinned
from leastaction.ensembles.strong_taylor import measure

STILL = np.zeros((1, 1)), np.zeros(1, dtype=bool)
CHANNELS = channels_of(["x"], ["x"])


def path(noise, rng, samples=1_700_000, turn=0.005):
    motion = np.cos(turn * np.arange(samples))
    return Record((motion + noise * rng.standard_normal(samples))[:, None], *STILL)


def test_means_are_taken_where_the_motion_hides_behind_the_noise(rng):
    (exact,), every, averaged = thinned(CHANNELS, [path(0.0, rng)], 0.005)
    assert (every, averaged) == (16, 1)
    np.testing.assert_array_equal(exact.y, path(0.0, rng).y[::16])
    (noisy,), every, averaged = thinned(CHANNELS, [path(0.1, rng)], 0.005)
    assert (every, averaged) == (16, 16)
    left = noisy.y[:, 0] - np.cos(0.005 * (16 * np.arange(106_250) + 7.5))
    assert left.std() == pytest.approx(0.1 / 4, rel=0.05)
    assert abs(left.mean()) < 4 * 0.1 / np.sqrt(1_700_000)


def test_a_sample_that_is_missing_is_missing_in_its_mean_alone(rng):
    record = path(0.1, rng)
    record.y[100] = np.nan
    (found,), _, averaged = thinned(CHANNELS, [record], 0.005)
    assert averaged == 16 and np.flatnonzero(np.isnan(found.y)).tolist() == [6]


@pytest.mark.parametrize("kind", ["coarse", "accelerations", "recorded force"])
def test_other_records_stay_as_they_are(kind, rng):
    record, channels = path(0.1, rng), CHANNELS
    if kind == "accelerations":
        channels = channels_of(["xddot"], ["x"])
    if kind == "recorded force":
        record = record._replace(w=np.zeros((2 * len(record.y) - 1, 1)))
    turn = 0.06 if kind == "coarse" else 0.005
    (found,), every, averaged = thinned(channels, [record], turn)
    assert found is record and every == averaged == 1


@pytest.mark.parametrize("channels", [("q", "qdot"), ("q",)])
def test_noisy_ensembles_without_damping(channels, monkeypatch):
    """x'' = −25 x + W': terms, stiffness, force and the noise of the sensors.

    The damper stays, with an interval that holds zero.
    """
    monkeypatch.setattr(sensor_records, "ENOUGH", 1000)
    clean = observe(oscillator(), trajectories=60, steps=2000)
    level = {"q": 0.05, "qdot": 0.05}
    sensor = {"noise": level, "correlation": 1, "channels": channels, "every": 1}
    data = measure(clean, sensor, example="noisy", seed=2)
    kind = "observations" if "qdot" in channels else "displacements"
    data = data.assign_attrs(contract=kind)
    model = recommended("shaken measurements").fit(data, TERMS, progress=False)
    found = model.dataset
    assert model.support == ["xdot**2", "x**2"]
    assert list(found["dissipation_support"].values.ravel()) == [1, 0, 0]
    damper = str(found["dissipation_term"].values[0])
    error = model.standard_error(damper, of="D")
    assert abs(model.coefficient(damper, of="D")) < 4 * error
    assert int(found["samples_averaged"]) >= 4 and int(found["samples"]) < 16_000
    error = model.standard_error("x**2")
    assert abs(model.coefficient("x**2") + 12.5) < 4 * error < 0.5
    true = [0.05 * np.sqrt(np.mean(clean[name].values ** 2)) for name in channels]
    estimates = [
        (value, float(estimate), float(std))
        for name, values in (("volatility", [1.0]), ("sensor_noise", true))
        for value, estimate, std in zip(
            values, found[f"{name}_estimate"], found[f"{name}_std"], strict=True
        )
    ]
    for value, estimate, std in estimates:
        assert abs(estimate - value) < 4 * std < 0.4 * value
    assert float(found["whiteness_p_value"]) > 1e-3
