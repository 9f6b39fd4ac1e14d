"""Laws of sensors: size, memory and independence of the noise they add."""

import numpy as np
import pytest
from stages import simulate
from support import observe, oscillator

from leastaction.core.contracts import check
from leastaction.ensembles.recipes import StrongTaylor
from leastaction.ensembles.strong_taylor import measure

EXAMPLE = {
    "time_step": 1e-3,
    "duration": 1.0,
    "trajectories": 1,
    "initial_state": {"x": 1.0, "xdot": 0.0},
}


@pytest.fixture(scope="module")
def clean():
    return observe(oscillator(), trajectories=30, steps=2000)


def sensor(level=0.1, correlation=1, channels=("q", "qdot"), every=1):
    return {
        "noise": {"q": level, "qdot": level, "qddot": level},
        "correlation": correlation,
        "channels": list(channels),
        "every": every,
    }


def recorded(clean, **settings):
    return measure(clean, sensor(**settings), example="test", seed=5)


def noise(clean, **settings):
    data = recorded(clean, **settings)
    return {
        name: (data[name] - clean[name]).values[0, ..., 0]
        / np.sqrt(np.mean(clean[name].values ** 2))
        for name in data.data_vars
    }


@pytest.mark.parametrize("correlation", [1, 4])
def test_noise_has_its_size_whatever_its_memory(clean, correlation):
    for values in noise(clean, correlation=correlation).values():
        error = 0.1 * np.sqrt(correlation / values.size)
        assert values.std() == pytest.approx(0.1, abs=4 * error)
        assert abs(values.mean()) < 4 * error


@pytest.mark.parametrize("correlation", [1, 3])
def test_memory_is_that_of_a_moving_average(clean, correlation):
    values = noise(clean, correlation=correlation)["q"]
    for h in range(6):
        product = values[:, : values.shape[1] - h] * values[:, h:]
        expected = 0.01 * max(0.0, 1 - h / correlation)
        assert product.mean() == pytest.approx(expected, abs=2e-4)


def test_channels_and_trajectories_are_independent(clean):
    found = noise(clean)
    assert abs(np.mean(found["q"] * found["qdot"])) < 4e-2 / np.sqrt(found["q"].size)
    pair = np.mean(found["q"][0] * found["q"][1])
    assert abs(pair) < 5e-2 / np.sqrt(found["q"].shape[1])


def test_a_channel_less_and_more_trajectories_change_nothing_else(clean):
    both, alone = recorded(clean), recorded(clean, channels=("q",))
    np.testing.assert_array_equal(both["q"], alone["q"])
    assert "qdot" not in alone
    few = clean.isel(trajectory=slice(0, 5))
    first = noise(few)["q"]
    np.testing.assert_allclose(first, noise(clean)["q"][:5], rtol=1e-6, atol=1e-9)


def test_accelerations_are_means_between_recorded_samples(clean):
    """They add up to the change of the velocity; noise has its share of their rms."""
    exact = recorded(clean, level=0.0, channels=("qddot",), every=10)
    assert set(exact.data_vars) == {"qddot"}
    step = 10 * float(clean["time"].diff("time")[0])
    total = exact["qddot"].sum("time") * step
    change = clean["qdot"][:, :, ::10]
    np.testing.assert_allclose(total, change[:, :, -1] - change[:, :, 0], atol=1e-9)
    noisy = recorded(clean, channels=("qddot",), every=10)
    part = (noisy - exact)["qddot"].std() / exact["qddot"].std()
    assert float(part) == pytest.approx(0.1, rel=0.05)


def test_one_sample_in_so_many(clean):
    all_of_them, some = recorded(clean, level=0.0), recorded(clean, level=0.0, every=7)
    np.testing.assert_array_equal(some["q"], all_of_them["q"][:, :, ::7])


def test_without_sensors_observations_are_what_they_were(clean):
    settings = {
        "method": "strong_taylor",
        "time_step": 1e-3,
        "duration": 2.0,
        "trajectories": 3,
        "initial_state": {"x": 1.0, "xdot": 0.0},
    }
    options = {"example": "test", "seed": 5, "replicate": 0, "units": {"x": "m"}}
    plain = simulate(oscillator(), settings, **options)
    exact = simulate(oscillator(), {**settings, "sensor": sensor(level=0.0)}, **options)
    assert plain.identical(exact)
    noisy = simulate(oscillator(), {**settings, "sensor": sensor()}, **options)
    assert not noisy.equals(plain)
    np.testing.assert_array_equal(plain["q"], clean["q"][:, :3])


def test_what_is_recorded_honours_its_contract(clean):
    for channels in (("q", "qdot"), ("q",)):
        scheme = StrongTaylor(**EXAMPLE, sensor=sensor(channels=channels))
        check(recorded(clean, channels=channels), scheme.contract())
    assert scheme.contract() == "displacements"
    assert StrongTaylor(**EXAMPLE).contract() == "observations"
