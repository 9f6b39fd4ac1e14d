"""Realised covariation: the noise, without any model."""

import logging

import numpy as np
import pytest
import xarray as xr
from stages import differentiate
from support import observe, oscillator, system

from leastaction.core.contracts import problems
from leastaction.ensembles.realised_variation import sensor_noise_ratio
from leastaction.ensembles.strong_taylor import measure


def realised(observations):
    found = differentiate(observations, {"method": "realised_variation"}, {})
    assert problems(found, "realised_variation") == []
    return found


@pytest.mark.parametrize("sigma", [0.05, 1.0, 3.0])
def test_squared_volatility_is_recovered_within_monte_carlo_error(sigma):
    """Second differences overlap: the variance of the estimate is 3 σ⁴/N."""
    paths = observe(oscillator(sigma=sigma), trajectories=20, steps=2000)
    found = float(realised(paths)["realised_covariation"].squeeze())
    assert abs(found / sigma**2 - 1) < 4.5 * np.sqrt(3 / 40_000)


def test_the_smooth_part_of_the_motion_does_not_count():
    """Without noise, what is left falls with dt³."""
    left = []
    for dt in (2e-3, 1e-3):
        paths = observe(
            oscillator(sigma=0.0),
            trajectories=1,
            steps=round(1 / dt),
            time_step=dt,
        )
        left.append(float(realised(paths)["realised_covariation"].squeeze()))
    assert 6.0 < left[0] / left[1] < 10.0


def test_correlated_noise_gives_its_covariance():
    s = np.array([[1.0, 0.0], [0.6, 0.8]])
    truth = system(
        "adot**2/2 + bdot**2/2 - 4*a**2 - 9*b**2",
        ("a", "b"),
        volatility=[[str(e) for e in row] for row in s],
    )
    paths = observe(truth, trajectories=20, steps=2000)
    found = realised(paths)["realised_covariation"].values[0]
    np.testing.assert_allclose(found, s @ s.T, atol=4.5 * np.sqrt(3 / 40_000))
    np.testing.assert_array_equal(found, found.T)


def test_the_frequency_is_that_of_the_motion():
    recipe = {"x": 1.0, "xdot": 0.0}
    paths = observe(
        oscillator(k=25.0, sigma=0.0), trajectories=1, steps=12_566, start=recipe
    )
    assert float(realised(paths)["frequency"].squeeze()) == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize(("step", "warned"), [(1e-3, False), (0.05, True)])
def test_coarse_sampling_is_warned_of(step, warned, caplog):
    paths = observe(oscillator(), trajectories=2, steps=200, time_step=step)
    with caplog.at_level(logging.WARNING):
        realised(paths)
    assert ("sample faster" in caplog.text) == warned


SQUARES = {"volatility": [{"polynomial": {"of": ["x", "xdot"], "degree": 2}}]}


def law(observations):
    found = differentiate(observations, {"method": "realised_variation"}, SQUARES)
    assert problems(found, "realised_variation") == []
    names = [str(name) for name in found["volatility_term"].values]
    row = found["squared_volatility"].values[0, 0]
    return {n: c for n, c in zip(names, row, strict=True) if c != 0}, found


def test_additive_noise_has_the_realised_covariation_for_its_law():
    for sigma in (0.02, 1.0):
        paths = observe(oscillator(sigma=sigma), trajectories=20, steps=2000)
        terms, found = law(paths)
        assert terms == {"1": found["realised_covariation"].item()}
        assert found["perfect_square"].item() == 0


@pytest.mark.parametrize(
    ("volatility", "expected"),
    [
        ("1 + 4*x", {"1": 1.0, "x": 8.0, "x**2": 16.0}),
        ("1 + 0.5*xdot", {"1": 1.0, "xdot": 1.0, "xdot**2": 0.25}),
    ],
)
def test_noise_that_depends_on_the_state_has_its_square(volatility, expected):
    """Without a model, although the drift is a hundred times the noise of a step."""
    paths = observe(oscillator(volatility=volatility), trajectories=20, steps=2000)
    terms, found = law(paths)
    assert terms == pytest.approx(expected, rel=0.06)
    assert found["perfect_square"].item() == 1


def test_a_motion_without_noise_has_no_law():
    paths = observe(oscillator(sigma=0.0), trajectories=2, steps=2000)
    assert set(law(paths)[0]) == {"1"}


def test_a_coordinate_at_rest_is_no_error():
    still = xr.zeros_like(observe(oscillator(), trajectories=2, steps=20))
    still = still.assign_coords(time=np.arange(21) * 1e-3)
    found = differentiate(still, {"method": "realised_variation"}, {})
    assert float(found["realised_covariation"].squeeze()) == 0.0


def test_sensor_noise_is_refused_with_the_methods_to_use(observations, caplog):
    channels = {"channels": ["q", "qdot"], "every": 1}
    sensor = {"noise": {"qdot": 3e-3}, "correlation": 1, **channels}
    noisy = measure(observations, sensor, example="test", seed=1)
    differentiate(noisy, {"method": "realised_variation"}, {})
    for word in ("sensor noise", "modal_start", "innovations_likelihood"):
        assert word in caplog.text


@pytest.mark.parametrize("ratio", [0.0, 0.2, 1.0])
@pytest.mark.parametrize(
    ("step", "shape", "error"), [(1e-3, (4, 50_000), 0.05), (1.0, (40_000, 5), 0.2)]
)
def test_sensor_noise_is_measured_in_increments_of_the_random_force(
    step, shape, error, ratio
):
    """Of a random walk σ√dt with white noise s: s/(σ√dt), within its own error."""
    rng = np.random.default_rng(3)
    walk = step * np.cumsum(rng.standard_normal(shape), axis=1)
    noisy = walk + ratio * step * rng.standard_normal(walk.shape)
    assert sensor_noise_ratio(noisy) == pytest.approx(ratio, rel=error)
    assert sensor_noise_ratio(noisy[:, :3]) == 0.0  # one second difference of each


def test_clean_data_raise_no_alarm(observations, caplog):
    differentiate(observations, {"method": "realised_variation"}, {})
    assert "sensor noise" not in caplog.text
