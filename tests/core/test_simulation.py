"""Random numbers by their key, Halton points, time grids and noise of sensors."""

import zlib

import numpy as np
import pytest

from leastaction.core.settings import CHANNELS
from leastaction.core.simulation import (
    MODES,
    PURPOSES,
    DivergenceError,
    check_finite,
    first_index,
    generator,
    halton,
    halton_starts,
    noise_generator,
    recordings,
    step_count,
)


def radical_inverse(index, base):
    value, place = 0.0, 1.0
    while index:
        place /= base
        index, digit = divmod(index, base)
        value += digit * place
    return value


@pytest.mark.parametrize("index", [0, 1, 4, 37])
def test_points_are_radical_inverses_in_prime_bases(index):
    expected = [
        [radical_inverse(k, base) for base in (2, 3, 5)]
        for k in range(index, index + 20)
    ]
    np.testing.assert_allclose(halton(index, 3, 20), expected, atol=1e-15)


def test_one_point_at_a_time_is_the_sequence():
    whole = halton_starts(4, [-1, 0], [1, 3], 30)
    single = [halton_starts(4 + k, [-1, 0], [1, 3])[0] for k in range(30)]
    np.testing.assert_array_equal(whole, single)
    assert (whole >= [-1, 0]).all() and (whole < [1, 3]).all()


def test_the_first_index_is_the_largest_base_plus_one():
    assert [first_index(n) for n in (1, 2, 3, 4)] == [3, 4, 6, 8]


@pytest.mark.parametrize("make", [generator, noise_generator])
def test_random_numbers_are_known_by_five_keys(make):
    keys = [(s, e, p, r, t) for s in (0, 1) for e in "ab" for p in PURPOSES
            for r in (0, 1) for t in (0, 1)]  # fmt: skip
    drawn = [make(*key).standard_normal() for key in keys]
    assert len({*drawn}) == len(keys)
    assert drawn == [make(*key).standard_normal() for key in keys]


def test_random_numbers_of_published_ensembles_stay():
    """PCG64DXSM and the first child by SFC64, keys by CRC-32 and purpose."""
    root = np.random.SeedSequence(3, spawn_key=(zlib.crc32(b"x"), 1, 2, 4))
    state = np.random.Generator(np.random.PCG64DXSM(root)).standard_normal(3)
    np.testing.assert_array_equal(
        generator(3, "x", "validate", 2, 4).standard_normal(3), state
    )
    noise = np.random.Generator(np.random.SFC64(root.spawn(1)[0])).standard_normal(3)
    np.testing.assert_array_equal(
        noise_generator(3, "x", "validate", 2, 4).standard_normal(3), noise
    )
    assert PURPOSES == {"simulate": 0, "validate": 1, "sensor": 2}


def test_one_point_is_that_of_the_index():
    assert halton(3, 2).shape == (1, 2)
    np.testing.assert_allclose(halton(3, 2)[0], [0.75, 1 / 9])
    np.testing.assert_allclose(
        halton_starts(3, [2.0, 0.0], [6.0, 9.0])[0], [2 + 4 * 0.75, 1.0]
    )


@pytest.mark.parametrize(
    ("duration", "step", "steps"),
    [
        (1.0, 0.1, 10),
        (0.2, 0.1, 2),
        (0.1, 0.1, None),
        (1.0 + 0.9e-6, 0.1, 10),
        (1.0 + 1.1e-6, 0.1, None),
        (10.0 - 0.9e-5, 0.1, 100),
        (1.05, 0.1, None),
        (np.inf, 0.1, None),
        (np.nan, 0.1, None),
    ],
)
def test_a_duration_is_a_multiple_of_the_step(duration, step, steps):
    if steps is None:
        with pytest.raises(ValueError, match="is not a multiple") as error:
            step_count(duration, step)
        usable = 0.2 if not duration < 0.9 and not duration > 0.9 else None
        assert usable is None or "use for example 0.2 s" in str(error.value)
    else:
        assert step_count(duration, step) == steps


@pytest.mark.parametrize("part", [0, 1])
def test_the_first_trajectory_and_time_that_are_not_finite_are_named(part):
    state = np.zeros((2, 3, 5, 2))
    check_finite(*state, 0.1, 7)
    state[part, 1, 2:, 1] = np.inf
    state[1 - part, 1, 3:, 0] = np.nan
    words = r"trajectory 1 of replicate 7 is not finite from t = 0.2 s .*\(0.1 s\)"
    with pytest.raises(DivergenceError, match=words):
        check_finite(*state, 0.1, 7)


@pytest.mark.parametrize("modes", [["shared"], ["shared", "independent"]])
def test_noise_of_sensors_is_that_of_its_mode_whatever_is_recorded(modes):
    data = {name: np.full((2, 5, 2), k + 1.0) for k, name in enumerate(CHANNELS)}
    data["input"] = np.zeros((2, 5, 2))
    sensors = {"channels": ["q", "qddot"], "modes": modes, "levels": [0, 0.5]}
    units, key = {"x": "m", "y": "rad"}, (3, "a", "simulate", 4)

    def made(sensors, key=key):
        time = 0.1 * np.arange(5)
        return recordings(data, sensors, time, key, ["x", "y"], units, {"about": 1})

    some = made(sensors)
    assert {*some.data_vars} == {"q", "qddot", "input", "noise_q", "noise_qddot"}
    assert some["q"].values.tolist() == [data["q"].tolist()]
    assert some.noise_mode.values.tolist() == [m for m in MODES if m in modes]
    assert some.noise_level.values.tolist() == [0.0, 0.5]
    assert some.coordinate_unit.values.tolist() == ["m", "rad"]
    assert some.replicate.values.tolist() == [4] and some.attrs["about"] == 1
    every = made({"channels": CHANNELS, "modes": MODES, "levels": [0.0]})
    for trajectory in (0, 1):
        rng = generator(3, "a", "sensor", 4, trajectory)
        drawn = {"independent": rng.standard_normal((5, 2, 3))}
        drawn["shared"] = np.broadcast_to(rng.standard_normal((5, 1, 1)), (5, 2, 3))
        for mode in modes:
            for k, name in ((0, "q"), (2, "qddot")):
                one = {"noise_mode": mode, "trajectory": trajectory}
                noise = (
                    some[f"noise_{name}"]
                    .sel(noise_mode=mode)
                    .isel(replicate=0, trajectory=trajectory)
                )
                np.testing.assert_array_equal(noise, drawn[mode][..., k])
                same = every[f"noise_{name}"].sel(noise_mode=one["noise_mode"])
                np.testing.assert_array_equal(noise, same[0, trajectory])
