"""Laws of lagged moments: smoothing, weights of windows, limits without noise."""

import numpy as np
import pytest
import xarray as xr
from support import OSCILLATOR_LIBRARY, observe, oscillator, system

from leastaction.core.contracts import check
from leastaction.ensembles import (
    martingale_moments,
    moving_average_moments,
    realised_variation,
    sensor_noise,
)
from leastaction.ensembles.moving_average_moments import (
    long_run_gram,
    trailing_mean,
    triangle_products,
)


@pytest.fixture(scope="module")
def data():
    return observe(oscillator(), trajectories=4, steps=600)


def settings(**overrides):
    common = {"instrument_degree": 2, "most_instruments": 40, "largest_turn": 0.0}
    return common | overrides


def quiet(observations, **overrides):
    """Derivatives that say: no sensor noise."""
    found = sensor_noise.differentiate(observations, {}, {})
    for name in ("position_noise", "velocity_noise", "noise_ratio"):
        found[name] = xr.zeros_like(found[name])
    return found.assign({k: found[k].copy(data=[v]) for k, v in overrides.items()})


def test_a_trailing_mean_uses_the_past_alone(rng):
    path = rng.standard_normal((50, 2))
    for length in (1, 2, 7, 80):
        mean = trailing_mean(path, length)
        for k in (0, 1, 5, 49):
            expected = path[max(0, k - length + 1) : k + 1].mean(axis=0)
            np.testing.assert_allclose(mean[k], expected, rtol=1e-12)


@pytest.mark.parametrize("block", [1, 2, 5, 8])
def test_long_run_gram_is_that_of_triangular_windows(block, rng):
    rows = rng.standard_normal((60, 3))
    rise = np.arange(1, block + 1) / block
    window = np.concatenate([rise, rise[-2::-1]])
    expected = np.zeros((3, 3))
    for start in range(0, 60 // block * block - 2 * block + 1, block):
        piece = window @ rows[start : start + len(window)]
        expected += np.outer(piece, piece)
    np.testing.assert_allclose(long_run_gram(rows, block), expected, rtol=1e-12)
    products = triangle_products(block, 3)
    assert products[0] == pytest.approx((2 * block**2 + 1) / (3 * block))
    padded = np.concatenate([window, np.zeros(3)])
    assert products[3] == pytest.approx(window @ padded[3 : 3 + len(window)])


def test_variance_and_long_run_variance_of_a_moving_average_agree(rng):
    """G_0 + 2 G_1 is the random force, although 2ξ² = 200 of it is sensor noise."""
    steps = rng.standard_normal((200, 4001))
    r = steps[:, 1:] + 10 * np.diff(rng.standard_normal((200, 4001)), axis=1)
    block = 50
    gamma = np.mean(r[:, 1:] * r[:, :-1]) * np.ones((2, 1, 1))
    windows = sum(long_run_gram(path[:, None], block) for path in r)
    windows /= 200 * (4000 // block - 1)
    g0 = moving_average_moments._variance(gamma, windows, triangle_products(block, 1))
    assert g0[0, 0] == pytest.approx(201, rel=0.01)
    assert g0[0, 0] + 2 * gamma[1, 0, 0] == pytest.approx(1.0, abs=0.1)


def test_without_noise_they_are_martingale_moments_of_earlier_instruments(data):
    found = check(
        moving_average_moments.assemble(
            data, quiet(data), settings(), OSCILLATOR_LIBRARY
        ),
        "moving_average_moments",
    )
    variation = realised_variation.differentiate(data, {}, {})
    plain = martingale_moments.assemble(data, variation, settings(), OSCILLATOR_LIBRARY)
    assert list(found["term"].values) == list(plain["term"].values)
    later = data.isel(time=slice(1, None)).assign_coords(time=data["time"][1:] - 1e-3)
    increments = martingale_moments.assemble(
        later, variation, settings(), OSCILLATOR_LIBRARY
    )["increment_gram"]
    count = 4 * 599
    blocks = found["increment_gram"].values[0, 0]
    assert blocks.shape[0] == 2
    # The constant instrument sums the increments, whatever the lag.
    total = found["moment"].values[0, 0, 0, 0]
    x, v = (later[name].values[0, :, :, 0] for name in ("q", "qdot"))
    i = list(found["term"].values).index("xdot**2")
    np.testing.assert_allclose(total[i], 2 * (v[:, -1] - v[:, 0]).sum(), rtol=1e-9)
    j = list(found["term"].values).index("x**2")
    scale = increments.values[0, 0, 0, j, j] / count
    lag_zero = blocks[0, 0, 0, j, j] + 2 * blocks[1, 0, 0, j, j]
    assert lag_zero > scale


def test_columns_that_are_zero_stay_zero():
    truth = system(
        "xdot**2/2 + ydot**2/2 - 2*x**2 - 3*y**2",
        coordinates=("x", "y"),
        volatility={"x": "1", "y": "1"},
    )
    data = observe(truth, trajectories=2, steps=400)
    library = {
        "reference": "xdot**2/2 + ydot**2/2",
        "lagrangian": [{"terms": ["xdot**2 + ydot**2", "x**2", "y**2", "x*y"]}],
    }
    found = moving_average_moments.assemble(data, quiet(data), settings(), library)
    moment = found["moment"].values[0, 0]
    assert (moment[0, :, 2] == 0).all() and (moment[1, :, 1] == 0).all()
    assert moment[0, :, 1].any() and moment[1, :, 3].any()
    gram = found["increment_gram"].values[0, 0]
    np.testing.assert_allclose(gram[1, 0, 1][1, 3], gram[1, 0, 1, 1, 3])
    assert (gram[:, 1, :, 1] == 0).all()
