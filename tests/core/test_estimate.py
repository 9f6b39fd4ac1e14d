"""Candidates by name, by status, and the estimate of all of them."""

import numpy as np
import pytest
import xarray as xr

from leastaction.core.estimate import (
    lagrangian_estimate,
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
