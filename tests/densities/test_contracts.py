"""Cells of histograms: fewer of them hold the same samples."""

import numpy as np
import pytest
import xarray as xr

from leastaction.densities.contracts import coarsened, shares


def histogram(bins=6):
    rng = np.random.default_rng(0)
    count = rng.poisson(9.0, (2, 3, bins, bins)).astype(float)
    dims = ("replicate", "batch", "q_bin", "qdot_bin")
    centres = {"q_bin": np.arange(bins) + 0.5, "qdot_bin": 2.0 * np.arange(bins)}
    samples = count.sum(axis=(2, 3)) + rng.poisson(4.0, (2, 3))
    return xr.Dataset({"count": (dims, count), "samples": (dims[:2], samples)}, centres)


@pytest.mark.parametrize("bins", [1, 2, 3, 6, None])
def test_fewer_cells_hold_the_samples_of_those_in_them(bins):
    data = histogram()
    fewer, each = coarsened(data, bins), 6 // (bins or 6)
    count = data["count"].values.reshape(2, 3, 6 // each, each, 6 // each, each)
    np.testing.assert_array_equal(fewer["count"], count.sum(axis=(3, 5)))
    np.testing.assert_array_equal(fewer["samples"], data["samples"])
    centres = data["qdot_bin"].values.reshape(-1, each).mean(axis=1)
    np.testing.assert_allclose(fewer["qdot_bin"], centres)
    if each == 1:
        assert fewer is data


@pytest.mark.parametrize("bins", [4, 5, 12])
def test_cells_are_put_together_by_a_divisor(bins):
    with pytest.raises(ValueError, match=f"6 cells .* to {bins}; choose a divisor"):
        coarsened(histogram(), bins)


def test_shares_are_those_of_all_samples_whatever_the_order_of_the_axes():
    data = histogram()
    made = shares(data.transpose("qdot_bin", "batch", "q_bin", "replicate"))
    expected = data["count"].values / data["samples"].values[:, :, None, None]
    np.testing.assert_allclose(made, expected)
    assert (made.sum(axis=(2, 3)) < 1).all()
