"""Candidates by name, by status, and the estimate of all of them."""

import numpy as np
import pytest
import xarray as xr

from leastaction.core.contracts import problems
from leastaction.core.estimate import (
    LagrangianEstimate,
    VolatilityEstimate,
    lagrangian_estimate,
    model_dataset,
    no_volatility,
    positions,
    random_generator,
    usable,
)

STATUS = ["independent", "null", "independent", "duplicate"]
EQUATIONS = xr.Dataset(
    {
        "status": ("term", STATUS),
        "equivalent": ("term", ["", "", "", "x**2"]),
        "dissipation_status": ("dissipation_term", ["independent", "dependent"]),
        "dissipation_equivalent": ("dissipation_term", ["", ""]),
    },
    {
        "term": ["x**2", "x*xdot", "xdot**2", "2*x**2"],
        "dissipation_term": ["xdot**2", "xdot**4"],
        "replicate": [3],
    },
)


@pytest.mark.parametrize(
    ("kind", "excluded", "expected"),
    [
        ("independent", [], [0, 2, 4]),
        ("independent", [2, 1], [0, 4]),
        ("all", [], [0, 1, 2, 3, 4, 5]),
        ("all", [5], [0, 1, 2, 3, 4]),
    ],
)
def test_columns_are_used_by_their_status(kind, excluded, expected):
    assert usable(EQUATIONS, kind, excluded) == expected


def test_a_candidate_is_known_however_it_is_written():
    terms = ["x**2", "x*xdot**2"]
    assert positions(["xdot**2*x", "x*x", "x**2"], terms, ["x"]) == [1, 0, 0]
    with pytest.raises(ValueError, match=r"unknown candidate 'x\*\*3'.*Known: x\*\*2"):
        positions(["x**3"], terms, ["x"])


def test_random_numbers_are_those_of_the_seed_and_the_replicate():
    def drawn(seed, replicate):
        equations = EQUATIONS.assign_coords(replicate=[replicate])
        return random_generator(equations, {"seed": seed}).standard_normal()

    assert drawn(1, 0) == drawn(1, 0)
    assert len({drawn(1, 0), drawn(1, 1), drawn(0, 1), drawn(2, 0)}) == 4


@pytest.mark.parametrize("std", [None, np.arange(6.0)])
def test_an_estimate_has_both_kinds_of_candidates(std):
    c = np.array([1.0, 0.0, -2.0, 0.0, 0.5, 0.0])
    result = lagrangian_estimate(EQUATIONS, c, {"n": (1, "1", "a number")}, {}, std)
    assert list(result.terms) == list(EQUATIONS["term"].values)
    assert list(result.dissipation_terms) == ["xdot**2", "xdot**4"]
    np.testing.assert_array_equal(result.coefficients, c[:4])
    np.testing.assert_array_equal(result.dissipation_coefficients, c[4:])
    expected = np.full(6, np.nan) if std is None else std
    both = [*result.std, *result.dissipation_std]
    np.testing.assert_array_equal(both, expected)
    np.testing.assert_array_equal(result.joint_coefficients, c)
    assert result.equivalent[3] == "x**2" and list(result.status) == STATUS
    assert len(result.criterion) == 0


@pytest.mark.parametrize("dof", [1, 3])
def test_no_volatility_is_a_constant_of_zero(dof):
    none = no_volatility(dof)
    assert none.volatility.shape == (dof,) and not np.nan_to_num(none.volatility).any()
    assert none.constant.all() and none.coefficients.shape[0] == dof


PLACES = xr.Dataset(coords={"replicate": [4], "dof": ["x", "y"]})
SIGMA = np.array([3.0, 0.5])


def volatility(**more):
    usual = {
        "volatility": SIGMA,
        "std": np.array([0.1, 0.2]),
        "terms": ["1", "x"],
        "coefficients": np.array([[9.0, 0.0], [0.0, 0.25]]),
        "coefficient_std": np.ones((2, 2)),
        "constant": np.array([True, False]),
    }
    return VolatilityEstimate(**usual | more)


def lagrangian(**more):
    usual = {
        "terms": ["x**2", "xdot**2"],
        "coefficients": np.array([0.0, 0.5]),
        "std": np.array([0.3, 0.0]),
        "status": ["independent", "reference"],
        "equivalent": ["", ""],
    }
    return LagrangianEstimate(**usual | more)


def test_a_model_holds_what_was_estimated():
    full = np.array([[9.0, 0.3], [0.3, 0.25]])
    made = model_dataset(
        PLACES,
        lagrangian(
            dissipation_terms=["xdot**4", "ydot**2"],
            dissipation_coefficients=np.array([0.0, 2.0]),
            dissipation_std=np.array([0.1, 0.2]),
            dissipation_status=["null", "independent"],
            dissipation_equivalent=["0", ""],
            alternatives="x**4",
            criterion=np.array([3.0, 1.0]),
            by_equation=np.ones((2, 2)),
            noise_covariance=full,
            diagnostics={"jump": (0.8, "1", "a jump")},
        ),
        volatility(diagnostics={"seen": (SIGMA, "s", "of each")}),
        "stratonovich",
    )
    assert made.replicate.values.tolist() == [4] and made.dof.values.tolist() == [*"xy"]
    assert made.attrs == {"calculus": "stratonovich"}
    values = {
        name: np.asarray(array.values[0]).tolist()
        for name, array in made.items()
        if "replicate" in array.dims
    }
    assert values["support"] == [0, 1] and values["dissipation_support"] == [0, 1]
    assert values["volatility_support"] == [[1, 0], [0, 1]]
    assert values["noise_covariance"] == full.tolist()
    assert values["alternatives"] == "x**4" and values["criterion"] == [3.0, 1.0]
    assert values["equation_coefficient_estimate"] == np.ones((2, 2)).tolist()
    assert values["jump"] == 0.8 and values["seen"] == SIGMA.tolist()
    assert made["jump"].attrs == {"units": "1", "long_name": "a jump"}
    assert made["seen"].dims == ("replicate", "dof")
    assert values["volatility_is_constant"] == [1, 0]
    assert values["volatility_std"] == [0.1, 0.2]
    assert np.isnan(made["volatility_root_estimate"].values).all()
    assert np.isnan(made["volatility_root_std"].values).all()
    assert made["status"].values.tolist() == ["independent", "reference"]
    assert made["dissipation_status"].values.tolist() == ["null", "independent"]
    assert made["dissipation_equivalent"].values.tolist() == ["0", ""]
    assert made["volatility_term"].values.tolist() == ["1", "x"]
    assert problems(made, "model") == []


@pytest.mark.parametrize(
    ("of_residual", "of_samples", "expected"),
    [
        (np.eye(2), None, np.eye(2)),
        (np.eye(2), 2 * np.eye(2), 2 * np.eye(2)),
        (np.zeros((0, 0)), None, np.diag(SIGMA**2)),
        (np.eye(1), None, np.diag(SIGMA**2)),
        (np.eye(2), np.eye(3), np.diag(SIGMA**2)),
    ],
)
def test_the_covariance_is_that_of_samples_residuals_or_volatilities(
    of_residual, of_samples, expected
):
    root = np.array([[1.0, 0.0], [0.0, 0.5]])
    made = model_dataset(
        PLACES,
        lagrangian(noise_covariance=of_residual),
        volatility(covariance=of_samples, root=root, root_std=root / 7),
    )
    np.testing.assert_allclose(made["noise_covariance"].values[0], expected)
    np.testing.assert_array_equal(made["volatility_root_estimate"].values[0], root)
    np.testing.assert_array_equal(made["volatility_root_std"].values[0], root / 7)
    assert "criterion" not in made and "equation_coefficient_estimate" not in made
    assert made.attrs["calculus"] == "ito"


def test_a_field_is_one_degree_of_freedom_with_its_domain():
    about = {"field": "u", "domain_length": 2.0, "other": 1}
    nodes = xr.Dataset(coords={"replicate": [0], "node": [0.0, 1.0]}, attrs=about)
    by_node = {"more": (("node",), np.array([5.0, 6.0]), "m", "by node")}
    made = model_dataset(nodes, lagrangian(by_node=by_node), no_volatility(1))
    assert made.dof.values.tolist() == ["u"] and made.node.values.tolist() == [0.0, 1.0]
    assert made["more"].values.tolist() == [[5.0, 6.0]]
    assert made.attrs == {"calculus": "ito", "field": "u", "domain_length": 2.0}
    assert not made["noise_covariance"].values.any()
    bare = model_dataset(nodes, lagrangian(), no_volatility(1))
    assert "node" not in bare.coords
