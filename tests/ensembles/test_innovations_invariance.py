"""A law by the innovations likelihood does not depend on units, names or order."""

import numpy as np
import pytest
import xarray as xr

import leastaction as la
from leastaction.core.model import IdentifiedModel
from leastaction.core.recipe import Recipe

RECIPE = Recipe(
    differentiate={"method": "stochastic_subspace"},
    assemble={"method": "modal_start"},
    identify={"method": "innovations_likelihood", "colour": "white"},
)
SENSOR = {"noise": {"q": 0.01}, "channels": ["q"], "every": 5}


def found(data: xr.Dataset, library) -> dict:
    """Coefficients by kind and term, logarithm of the likelihood, sensor noise."""
    model = IdentifiedModel(RECIPE.dataset(data, library))
    values = {(row.of, row.term): row.value for row in model.terms.itertuples()}
    noise = model.dataset["sensor_noise_estimate"].values
    # Whatever was found, so that replicates can be stacked.
    listed = {str(name) for name in model.dataset["parameter"].values}
    assert {f"L: {t}" for t in model.dataset["term"].values} <= listed
    assert "S: ground" in listed and "log correlation time" in listed
    return values, float(model.dataset["log_likelihood"]), noise


def test_the_unit_of_length_changes_no_law():
    """Of metres and millimetres: x⁴ by 1e-6, S by 1e3, ℓ by N log 1e-3."""
    truth = la.System(
        "xdot**2/2 - x**2/2 - x**4/8",
        dissipation="0.1*xdot**2",
        volatility={"x": "0.8"},
    )
    library = {
        "reference": "xdot**2/2",
        "lagrangian": [{"terms": ["xdot**2", "x**2", "x**4"]}],
        "dissipation": [{"terms": ["xdot**2", "xdot**4"]}],
    }
    data = truth.simulate(
        duration=200.0,
        time_step=0.02,
        initial_state={"x": 0.0, "xdot": 0.0},
        sensor=SENSOR,
    )
    metres, value, noise = found(data, library)
    other, shifted, coarse = found(data.assign(q=1e3 * data["q"]), library)
    assert metres.keys() == other.keys()
    power = {("L", "x**4"): 1e-6, ("D", "xdot**4"): 1e-6, ("S", "x"): 1e3}
    for key, coefficient in metres.items():
        assert other[key] / power.get(key, 1.0) == pytest.approx(coefficient, rel=0.02)
    assert coarse == pytest.approx(1e3 * noise, rel=0.02)
    # The samples of the start are not in the likelihood: at most some tens.
    per_sample = (value - shifted) / np.log(1e3)
    assert per_sample == pytest.approx(data.sizes["time"], abs=60)


def test_the_order_of_the_coordinates_changes_no_law():
    """Two masses, the sensors and the candidates named the other way round."""
    truth = la.System(
        "(adot**2 + bdot**2)/2 - (4*a**2 + 4*(a - b)**2)/2",
        dissipation="0.05*(adot**2 + (adot - bdot)**2)",
        volatility={"a": "0.3", "b": "0.3"},
    )
    data = truth.simulate(
        duration=15.0,
        time_step=0.02,
        initial_state={s.name: 0.0 for s in truth.state},
        sensor=SENSOR,
    )
    library = {
        "reference": "adot**2/2 + bdot**2/2",
        "inertia": "given",
        "lagrangian": [{"terms": ["adot**2", "bdot**2", "a**2", "b**2", "a*b"]}],
        "dissipation": [{"terms": ["adot**2", "bdot**2", "adot*bdot"]}],
    }
    one, value, _ = found(data, library)
    other, same, _ = found(data.isel(dof=[1, 0]), library)
    assert same == pytest.approx(value, abs=0.1)
    assert one.keys() == other.keys()
    for key, coefficient in one.items():
        assert other[key] == pytest.approx(coefficient, rel=0.02)
