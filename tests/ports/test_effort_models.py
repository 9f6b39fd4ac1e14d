"""Efforts identified from a path: what is kept, and what reloading gives back."""

import numpy as np
import pytest
from port_support import identified, observations
from stages import differentiate

from leastaction import load
from leastaction.core import files
from leastaction.ports.effort_data import difference
from leastaction.ports.model import PortModel

CASES = [
    (name, estimator)
    for name in ("electrical_network", "constrained_pendulum")
    for estimator in ("published_high_order", "recommended")
]


@pytest.mark.parametrize(("name", "estimator"), CASES)
def test_a_model_is_what_its_file_says(name, estimator, tmp_path):
    found = identified(name, estimator)
    files.save(found, tmp_path / "model.nc", found.attrs["contract"])
    loaded, direct = load(tmp_path / "model.nc"), PortModel(found)
    x, _ = direct.training_data
    assert np.array_equal(loaded.efforts(x), direct.efforts(x))
    assert loaded.training_size == 16
    assert "z from 16 samples" in str(loaded)


@pytest.mark.parametrize(("name", "estimator"), CASES)
def test_efforts_reproduce_their_training_data(name, estimator):
    model = PortModel(identified(name, estimator))
    x, y = model.training_data
    assert np.abs(model.transformed(x) - y).max() < 1e-2


@pytest.mark.parametrize(("name", "estimator"), CASES)
def test_jacobian_is_the_derivative_of_the_efforts(name, estimator):
    model = PortModel(identified(name, estimator))
    x = model.training_data[0][:4]
    slopes, h = model.jacobian(x), 1e-3
    for i in range(x.shape[1]):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[:, i] += sign * h
            ends.append(model.efforts(moved))
        slope = (ends[0] - ends[1]) / (2 * h)
        assert np.abs(slope - slopes[:, :, i]).max() < 1e-3 * np.abs(slopes).max()


@pytest.mark.parametrize("name", ["electrical_network", "constrained_pendulum"])
def test_recommended_efforts_are_a_gradient(name):
    """∂(Eᵀz)/∂x is symmetric and Eᵀz = ∇H, whatever the data."""
    model = PortModel(identified(name, "recommended"))
    dae, x = model.dae, model.training_data[0]
    inner = dae.differential
    slopes = model.jacobian(x)[:, inner][:, :, inner]
    assert np.abs(slopes - np.swapaxes(slopes, 1, 2)).max() < 1e-12
    way = x[1:] - x[:-1]
    way[:, dae.algebraic] = 0.0
    nodes, weights = np.polynomial.legendre.leggauss(24)
    along = sum(
        0.5 * w * ((dae.efforts(x[:-1] + 0.5 * (1 + n) * way) @ dae.flow) * way).sum(1)
        for n, w in zip(nodes, weights, strict=True)
    )
    gained = dae.hamiltonian(x[:-1] + way) - dae.hamiltonian(x[:-1])
    assert np.abs(gained - along).max() < 1e-8


@pytest.mark.parametrize("name", ["electrical_network", "constrained_pendulum"])
def test_one_state_at_a_time_gives_the_same(name):
    model = PortModel(identified(name, "recommended"))
    x = model.training_data[0][:3]
    efforts, jacobian = model.efforts(x), model.jacobian(x)
    for i, point in enumerate(x):
        z, slopes = model.dae.linearised(point[None])
        assert np.allclose(z[0], efforts[i], atol=1e-13)
        assert np.allclose(slopes[0], jacobian[i], atol=1e-12)


def test_published_network_has_lost_its_algebraic_rows():
    """Why it cannot be simulated: zero on the data is learned as zero everywhere."""
    x = PortModel(identified("electrical_network", "recommended")).training_data[0]
    least = {
        estimator: np.linalg.svd(
            PortModel(
                identified("electrical_network", estimator)
            ).dae.algebraic_jacobian(x)[:, :, 1:]
        )[1].min()
        for estimator in ("published_high_order", "recommended")
    }
    assert least["published_high_order"] < 1e-3
    assert least["recommended"] > 0.5


def test_forward_differences_of_an_euler_path_have_no_error():
    seen = observations("electrical_network")
    settings = {"method": "finite_difference", "scheme": "explicit_euler"}
    exact = differentiate(seen, settings | {"method": "exact_flow"}, {})["flow"]
    found = {
        stencil: differentiate(seen, settings | {"stencil": stencil}, {})["flow"]
        for stencil in ("forward", "central_2")
    }
    assert float(np.abs(found["forward"] - exact).max()) < 1e-12
    assert float(np.abs(found["central_2"] - exact).max()) > 1e-3


@pytest.mark.parametrize(
    ("stencil", "order"), [("forward", 1), ("central_2", 2), ("central_4", 4)]
)
def test_order_of_differences(stencil, order):
    errors = []
    for step in (0.1, 0.05):
        time = step * np.arange(41)
        rates = difference(np.sin(time)[:, None], step, stencil)[:, 0]
        errors.append(np.nanmax(np.abs(rates - np.cos(time))))
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.15


def test_a_fit_that_is_not_there_is_named():
    with pytest.raises(KeyError, match="no fit to 12 samples"):
        PortModel(identified("electrical_network", "recommended")).trained_on(12)
