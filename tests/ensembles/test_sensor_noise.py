"""Model-free noise levels: found where they are, and nothing where there is none."""

import numpy as np
import pytest
from support import observe, oscillator

from leastaction.core.contracts import check
from leastaction.ensembles.sensor_noise import differentiate, memory
from leastaction.ensembles.strong_taylor import measure


def clean_ensemble(replicate):
    return observe(oscillator(), trajectories=40, steps=3000, replicate=replicate)


@pytest.fixture(scope="module")
def clean():
    return clean_ensemble(0)


def noisy(clean, level, correlation=1, channels=("q", "qdot"), seed=3):
    sensor = {
        "noise": {"q": level, "qdot": level},
        "correlation": correlation,
        "channels": list(channels),
        "every": 1,
    }
    return measure(clean, sensor, example="sensor", seed=seed)


def found(data):
    return check(differentiate(data, {}, {}), "sensor_noise")


def rms(data, name):
    return float(np.sqrt(np.mean(data[name].values ** 2)))


@pytest.mark.parametrize("level", [1e-3, 1e-2, 1e-1])
@pytest.mark.parametrize("correlation", [1, 4])
def test_levels_are_found(clean, level, correlation):
    result = found(noisy(clean, level, correlation))
    s_q, s_v = (float(result[f"{x}_noise"][0, 0]) for x in ("position", "velocity"))
    assert s_q == pytest.approx(level * rms(clean, "q"), rel=0.05)
    if level > 1e-3:
        assert s_v == pytest.approx(level * rms(clean, "qdot"), rel=0.05)


@pytest.mark.parametrize("correlation", [1, 2, 4, 9])
def test_the_memory_is_found(clean, correlation):
    for seed in range(3):
        data = noisy(clean, 0.03, correlation, seed=seed)
        assert int(found(data)["lag"][0]) == correlation


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("correlation", [1, 4, 9])
def test_the_memory_of_pure_noise_is_found(correlation, order, rng):
    white = np.cumsum(rng.standard_normal((200, 4000)), axis=1)
    assert (
        memory(white[:, correlation:] - white[:, :-correlation], order) == correlation
    )


@pytest.mark.parametrize("order", [3, 4])
def test_motion_driven_by_white_noise_looks_like_no_memory(order, rng):
    motion = rng.standard_normal((200, 4000))
    for _ in range(order - 2):
        motion = np.cumsum(motion, axis=1)
    assert memory(motion, order) == 1


def test_without_noise_nothing_is_found(clean):
    result = found(clean)
    assert int(result["lag"][0]) == 1
    assert int(result["smoothing_scale"][0]) == 1
    assert float(result["noise_ratio"][0, 0]) < 0.1
    assert float(result["position_noise"][0, 0]) < 1e-5


def test_the_random_force_is_seen_without_noise():
    """Less a fiftieth, which the coarse differences smooth away."""
    squares = [
        float(found(clean_ensemble(r))["realised_covariation"][0, 0, 0])
        for r in range(8)
    ]
    assert np.mean(squares) == pytest.approx(1, rel=0.03)
    assert squares == pytest.approx([1] * 8, abs=0.1)


def test_the_random_force_is_seen_in_displacements(clean):
    for level in (0.0, 1e-4, 1e-3):
        result = found(noisy(clean, level, channels=("q",)))
        square = float(result["realised_covariation"][0, 0, 0])
        assert square == pytest.approx(1, abs=0.3), level


def test_the_random_force_is_seen_through_the_noise(clean):
    """The naive realised variation would be 1 + 2ξ² = 250 times too large."""
    result = found(noisy(clean, 0.1))
    xi = 0.1 * rms(clean, "qdot") / np.sqrt(1e-3)
    assert xi > 10
    assert float(result["noise_ratio"][0, 0]) == pytest.approx(xi, rel=0.3)
    assert float(result["realised_covariation"][0, 0, 0]) == pytest.approx(1, abs=0.5)


def test_the_smoothing_scale_grows_with_the_noise(clean):
    scales = [
        int(found(noisy(clean, level))["smoothing_scale"][0])
        for level in (1e-4, 1e-3, 1e-2, 1e-1)
    ]
    assert scales == sorted(scales) and scales[0] < scales[-1]


def test_displacements_alone_leave_the_velocities_unknown(clean):
    result = found(noisy(clean, 1e-2, channels=("q",)))
    assert np.isnan(result["velocity_noise"]).all()
    assert np.isfinite(result["position_noise"]).all()


def test_the_order_of_trajectories_changes_nothing(clean):
    data = noisy(clean, 1e-2)
    turned = data.isel(trajectory=slice(None, None, -1))
    for name, values in found(data).items():
        np.testing.assert_allclose(found(turned)[name], values, rtol=1e-9)


def test_paths_of_a_few_samples_are_refused():
    paths = observe(oscillator(), trajectories=3, steps=10)
    with pytest.raises(ValueError, match="11 samples are too short"):
        differentiate(paths, {}, {})
