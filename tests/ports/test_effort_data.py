"""Data of the effort function: weights of differences, targets, training sets."""

import numpy as np
import pytest
import xarray as xr

from leastaction.ports.contracts import CONTRACTS
from leastaction.ports.effort_data import (
    STENCILS,
    at_samples,
    difference,
    effort_targets,
    exact_flow,
    finite_difference,
    training_data,
    training_set,
    transform_of,
    with_training_data,
)

STEP = 0.5
TIME = STEP * np.arange(9)
E, J = np.diag([2.0, 0.0]), np.array([[0.0, 3.0], [-3.0, 0.0]])
R, B = np.array([[1.0, 0.5], [0.5, 4.0]]), np.array([[1.0], [-2.0]])
INDEX = np.array([[2, 5, -1], [6, 0, 3]])
TEST = np.array([4, 2])
X = {"explicit_euler": np.stack([TIME, 2 - TIME], 1)}
X["dop853"] = np.stack([TIME**3, TIME**2], axis=1)
U = np.sin(TIME)[:, None]


@pytest.fixture
def observations() -> xr.Dataset:
    """Two schemes, whose recorded E ẋ are 10 and 20 times their states."""
    paths = np.array([list(X.values())])
    values = {"x": paths, "flow": paths * np.array([10, 20])[:, None, None]}
    values |= {"u": U[None], "test_index": TEST[None], "training_index": INDEX[None]}
    known = {"flow": E, "structure": J, "dissipation": R, "port": B}
    values |= {f"{name}_matrix": matrix for name, matrix in known.items()}
    coords = {
        "replicate": [3],
        "scheme": list(X),
        "time": TIME,
        "state": ["a", "b"],
        "row": ["ra", "rb"],
        "effort": ["za", "zb"],
        "port": ["u"],
        "state_unit": ("state", ["m", "s"]),
    }
    values["constraint"] = np.array([], dtype=str)
    attrs = {"time_step": STEP}
    return CONTRACTS["port_recordings"].dataset(values, coords, attrs)


@pytest.mark.parametrize(
    ("stencil", "degree", "shifts"),
    [("forward", 1, (0, 1)), ("central_2", 2, (1, 1)), ("central_4", 4, (2, 2))],
)
def test_differences_are_exact_for_polynomials_and_no_further(stencil, degree, shifts):
    powers = np.arange(degree + 2)
    rates = difference(TIME[:, None] ** powers, STEP, stencil)
    true = powers * TIME[:, None] ** np.maximum(powers - 1, 0)
    before, after = shifts
    inside = slice(before, len(TIME) - after)
    np.testing.assert_allclose(rates[inside, :-1], true[inside, :-1], atol=1e-11)
    assert np.abs(rates[inside, -1] - true[inside, -1]).min() > 1e-3
    assert np.isnan(rates[:before]).all() and np.isnan(rates[inside.stop :]).all()
    assert sum(STENCILS[stencil].values()) == pytest.approx(0, abs=1e-15)


def test_samples_beyond_a_set_are_nan(observations):
    rows = at_samples(observations, X["dop853"])
    assert np.isnan(rows[0, 2]).all() and np.isfinite(rows[INDEX >= 0]).all()
    np.testing.assert_array_equal(rows[1], X["dop853"][INDEX[1]])


@pytest.mark.parametrize(("scheme", "factor"), [("explicit_euler", 10), ("dop853", 20)])
def test_recorded_flows_are_those_of_the_scheme(observations, scheme, factor):
    flow = exact_flow(observations, {"scheme": scheme}, {})
    np.testing.assert_array_equal(flow["flow_test"][0], factor * X[scheme][TEST])
    np.testing.assert_array_equal(flow["flow"][0, 1], factor * X[scheme][INDEX[1]])
    assert str(flow["scheme"].values) == scheme and flow["replicate"].values == [3]
    assert flow["row"].values.tolist() == ["ra", "rb"]


def test_differences_are_those_of_the_scheme_times_e(observations):
    settings = {"scheme": "dop853", "stencil": "central_4"}
    flow = finite_difference(observations, settings, {})
    rates = np.stack([6 * TIME**2, 0 * TIME], axis=1)
    rates[:2] = np.nan  # the stencil has no samples there
    np.testing.assert_allclose(flow["flow_test"][0], rates[TEST], atol=1e-12)
    np.testing.assert_allclose(flow["flow"][0, 1], rates[INDEX[1]], atol=1e-12)


def test_targets_are_flows_without_the_inputs(observations):
    flow = exact_flow(observations, {"scheme": "explicit_euler"}, {})
    data = effort_targets(observations, flow, {}, {})
    x = X["explicit_euler"]
    y = 10 * x - U * [1, -2]
    np.testing.assert_allclose(data["y"].values[0, 1], y[INDEX[1]], rtol=1e-15)
    np.testing.assert_allclose(data["y_test"].values[0], y[TEST], rtol=1e-15)
    np.testing.assert_array_equal(data["x"].values[0, 1], x[INDEX[1]])
    assert "time" not in data.coords and "scheme" not in data.coords
    assert str(data["scheme"].values) == "explicit_euler"
    assert data["state_unit"].values.tolist() == ["m", "s"]
    np.testing.assert_array_equal(transform_of(data), J - R)
    sets = list(training_data(data))
    assert [len(states) for states, _ in sets] == [2, 3]
    for fit, (states, targets) in enumerate(sets):
        chosen = INDEX[fit][INDEX[fit] >= 0]
        np.testing.assert_array_equal(states, x[chosen])
        np.testing.assert_allclose(targets, y[chosen], rtol=1e-15)
        np.testing.assert_array_equal(training_set(data, fit)[0], states)
    values = {"block": np.array([0, 1]), "multiplier": np.array([], dtype=int)}
    fitted = with_training_data(CONTRACTS["effort_gradient"], data, values)
    assert {"x", "y", "port_matrix", "scheme", "block"} <= set(fitted)
