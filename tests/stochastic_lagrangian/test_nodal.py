"""The published estimator of fields, node by node."""

import numpy as np
import pytest
from field_recipes import LIBRARY, Published, observe, string

from leastaction.core.contracts import problems
from leastaction.core.sparse_regression import stlsq


@pytest.fixture(scope="module")
def paths():
    return observe(string(), time_step=1e-4, steps=5000)


@pytest.fixture(scope="module")
def found(paths):
    return Published(paths)


def term(found, name, values):
    return values[..., found.lagrangian.terms.index(name)]


def test_it_honours_its_contracts(found):
    assert problems(found.derivatives, "nodal_derivatives") == []
    assert problems(found.regression, "nodal_regression") == []
    model = found.model
    assert problems(model, "model") == []
    assert model["node_support"].dims == ("replicate", "node", "term")
    assert model["node_volatility"].dims == ("replicate", "node")


def test_every_node_finds_the_two_springs_beside_it(found):
    support = found.lagrangian.by_node["node_support"][1]
    assert (term(found, "u_x**2", support) == 1).all()
    for name in ("u_x", "u_x**3", "u_x**4"):
        assert (term(found, name, support) == 0).all()
    for name in ("1", "u**2", "u**4"):
        assert np.isnan(term(found, name, support)).all()
    assert term(found, "u_x**2", found.lagrangian.coefficients) == pytest.approx(
        -2.0, rel=0.03
    )


def test_columns_are_the_powers_of_two_springs_and_one_slope(found):
    slots = found.regression["slot_term"].values
    names = np.array(found.lagrangian.terms)[slots]
    expected = sorted(["u_x"] + 2 * ["u_x**2", "u_x**3", "u_x**4"])
    for row in names:
        assert sorted(row) == expected


def test_the_triangle_stands_for_the_whole_time_series(paths, found):
    """Node 5, regressed by hand on the ensemble mean of the whole series."""
    u, v = paths["u"].values[0], paths["u_t"].values[0].mean(axis=0)
    slope = np.diff(u[:, 1:-1, 4:7], axis=2) / 0.01
    force = [(slope**k * (k + 1)).mean(axis=0) / 0.01 for k in (1, 2, 3)]
    columns = [np.full(len(v) - 2, -1 / 0.01)]
    columns += [sign * f[:, i] for f in force for i, sign in ((0, -1), (1, 1))]
    rate = (v[2:, 5] - v[:-2, 5]) / 2e-4
    expected = stlsq(np.column_stack(columns), -2 * rate, 0.5)
    triangle = found.regression["triangle"].values[0, 5]
    target = found.regression["target"].values[0, 5]
    np.testing.assert_allclose(
        stlsq(triangle, target, 0.5), expected, rtol=1e-6, atol=1e-9
    )


def test_of_constant_columns_the_largest_is_kept(paths):
    """A curvature over dx² beside a slope over dx, whichever is listed first."""
    for linear in (["u_x", "u_xx"], ["u_xx", "u_x"]):
        terms = [{"terms": ["u_t**2", *linear, "u_x**2"]}]
        found = Published(paths, LIBRARY | {"lagrangian": terms})
        slots = found.regression["slot_term"].values
        names = set(np.array(found.lagrangian.terms)[slots].ravel())
        assert names == {"u_xx", "u_x**2"}


def test_velocities_may_be_differences_of_displacements(paths):
    """Then those that were measured do not matter."""
    spoilt = paths.assign(u_t=0 * paths["u_t"])
    found = Published(spoilt, velocities="differences")
    u = paths["u"].values[0].mean(axis=0)
    rate = (u[4:] - 2 * u[2:-2] + u[:-4]) / 2e-4**2
    times = found.derivatives["time"].values
    np.testing.assert_array_equal(times, paths["time"].values[2:-2])
    np.testing.assert_allclose(
        found.derivatives["acceleration"].values[0], rate, rtol=1e-6, atol=1e-3
    )
    assert term(found, "u_x**2", found.lagrangian.coefficients) == pytest.approx(
        -2.0, rel=0.03
    )


def test_a_high_threshold_leaves_the_density_empty(paths):
    lagrangian = Published(paths, threshold=1e9).lagrangian
    assert list(np.flatnonzero(lagrangian.coefficients)) == [1]


@pytest.mark.parametrize("sigma", [1.0, 8.0])
def test_the_published_volatility_is_low_by_the_root_of_one_half(sigma):
    paths = observe(string(sigma=sigma), time_step=1e-4, steps=5000)
    volatility = Published(paths).volatility()
    assert volatility.volatility[0] == pytest.approx(sigma * np.sqrt(0.5), rel=0.01)
    assert np.isnan(volatility.std).all()
    nodes = volatility.by_node["node_volatility"][1]
    np.testing.assert_allclose(nodes, sigma * np.sqrt(0.5), rtol=0.03)


def test_candidates_at_every_other_point_are_offered_there_alone(paths):
    library = LIBRARY | {
        "lagrangian": [
            {"terms": ["u_t**2", "u_x**2"]},
            {"every": {"points": 4, "terms": ["u_x**4"]}},
        ]
    }
    found = Published(paths, library)
    offered = ~np.isnan(found.lagrangian.by_node["node_support"][1][:, 2])
    assert list(np.flatnonzero(offered)) == [0, 3, 4, 7, 8, 11]
