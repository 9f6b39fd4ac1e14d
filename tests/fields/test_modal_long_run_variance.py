"""Volatility of a field from second differences of displacements."""

import numpy as np
import pytest
from field_recipes import LIBRARY, Recommended, observe, string

from leastaction.core.contracts import problems


@pytest.mark.parametrize("sigma", [0.5, 8.0, 60.0])
def test_it_follows_the_truth(sigma):
    volatility = Recommended(observe(string(sigma=sigma))).volatility()
    assert abs(volatility.volatility[0] - sigma) < 4 * volatility.std[0]
    assert volatility.std[0] < 3e-3 * sigma


def test_a_free_end_with_half_a_cell_does_not_bias_it():
    truth = string(right="free", nodes=13)
    result = Recommended(observe(truth))
    volatility = result.volatility()
    assert result.support == ["u_x**2"]
    assert abs(volatility.volatility[0] - 8.0) < 4 * volatility.std[0]


def test_noise_that_depends_on_the_field_is_not_taken_for_constant():
    """Leapfrog with S² = 16 (1 + 2 u²), by hand."""
    rng = np.random.default_rng(3)
    truth = string()
    paths = observe(truth, trajectories=8, steps=2000)
    dt, u = 1e-3, np.tile(paths["u"].values[0, :, 0], 1)
    v = np.zeros_like(u)
    whole = np.empty(paths["u"].shape[1:])
    for k in range(whole.shape[1]):
        whole[:, k] = u
        noise = 4 * np.sqrt(1 + 2 * u**2) * rng.standard_normal(u.shape)
        v += dt * truth.discrete_potential.force(u) / truth.mass + np.sqrt(dt) * noise
        u = u + dt * v
    paths = paths.assign(u=(paths["u"].dims, whole[None]))
    library = LIBRARY | {"volatility": [{"terms": ["1", "u**2", "u_x**2"]}]}
    volatility = Recommended(paths, library).volatility()
    assert not volatility.constant.any()
    found = dict(zip(volatility.terms, volatility.coefficients[0], strict=True))
    error = dict(zip(volatility.terms, volatility.coefficient_std[0], strict=True))
    assert found["u_x**2"] == 0.0
    for term, value in (("1", 16.0), ("u**2", 32.0)):
        assert abs(found[term] - value) < 4 * error[term]
        assert error[term] < 0.1 * value


def test_the_model_is_complete():
    model = Recommended(observe(string())).model
    assert problems(model, "model") == []
    assert model.attrs["field"] == "u" and model.attrs["domain_nodes"] == 12
    assert model["noise_covariance"].item() == pytest.approx(
        model["volatility_estimate"].item() ** 2
    )
