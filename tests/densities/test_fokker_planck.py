"""Laws of the terms of a stationary equation."""

import numpy as np
import pytest
import sympy as sp
import xarray as xr
from density_support import LIBRARY, oscillator

from leastaction.densities.fokker_planck import StationaryEquation

BOTH = {**LIBRARY, "volatility": [{"terms": [1, "x**2"]}], "known": {}}


def equation(coordinates=("x",), **changes):
    return StationaryEquation.from_config({**LIBRARY, **changes}, coordinates)


def test_true_coefficients_give_drift_and_diffusion_of_the_system():
    system = oscillator(k=2.0, c=0.3, a1=1.1, a2=0.4)
    terms = StationaryEquation.from_config(BOTH, ("x",)).terms
    truth = [1.0, 2.0, 0.3, 1.1**2, 0.4**2]
    drift = sum(
        (c * t.acceleration for c, t in zip(truth, terms, strict=True)), sp.zeros(1, 1)
    )
    noise = sum(
        (c * t.diffusion for c, t in zip(truth, terms, strict=True)), sp.zeros(1, 1)
    )
    g = system.evaluated(system.diffusion)
    assert sp.expand(drift[0] - system.evaluated(system.acceleration[0])) == 0
    left = sp.expand(noise[0] - (g * g.T)[0])
    np.testing.assert_allclose(
        [float(c) for c in sp.Poly(left, *system.state).coeffs()], 0, atol=1e-12
    )


def test_a_kinetic_energy_of_the_state_moves_without_other_terms():
    """L = ½ x² ẋ² alone: ẍ = −ẋ²/x."""
    (reference, *_) = equation(
        reference="x**2*xdot**2/2",
        lagrangian=[{"terms": ["x**2*xdot**2/2", "-x**2/2"]}],
    ).terms
    x, v = sp.symbols("x xdot", real=True)
    assert sp.simplify(reference.acceleration[0] + v**2 / x) == 0


def test_given_coefficients_are_found_however_they_are_written():
    assert equation(known={"lagrangian": {"-(x*x)/2": 1.0}}).known[1] == 1.0
    with pytest.raises(ValueError, match="unknown candidate 'x\\*\\*4'"):
        equation(known={"lagrangian": {"x**4": 1.0}})
    with pytest.raises(ValueError, match="unknown coordinate 'y'"):
        equation(known={"volatility": {"y": {"1": 1.0}}})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"lagrangian": [{"terms": ["xdot**2/2", "-x**2/2", "-x**4/4"]}]}, True),
        ({"volatility": [{"terms": [1, "x**2"]}]}, False),
        ({"dissipation": [{"terms": ["xdot**2/2", "x**2*xdot**2/2"]}]}, False),
        ({"dissipation": [{"terms": ["xdot**4"]}]}, False),
    ],
)
def test_detailed_balance(changes, expected):
    assert equation(known={}, **changes).detailed_balance == expected


def two(**changes):
    return equation(
        ("x", "y"),
        reference="xdot**2/2 + ydot**2/2",
        lagrangian=[{"terms": ["xdot**2/2", "ydot**2/2", "-x**2/2", "-(x-y)**2/2"]}],
        inertia="given",
        **{
            "dissipation": [{"terms": ["xdot**2/2", "ydot**2/2"]}],
            "known": {},
            **changes,
        },
    )


def test_two_temperatures_break_detailed_balance():
    assert not two().detailed_balance
    equal = {
        "dissipation": {"xdot**2/2": 0.2, "ydot**2/2": 0.4},
        "volatility": {"x": {"1": 1.0}, "y": {"1": 2.0}},
    }
    assert two(known=equal).detailed_balance


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(ValueError, match="needs noise"):
        StationaryEquation.from_config(
            {k: v for k, v in LIBRARY.items() if k != "volatility"}, ("x",)
        )
    with pytest.raises(ValueError, match="every coefficient is given"):
        equation(
            known={
                "lagrangian": {"-x**2/2": 1},
                "dissipation": {"xdot**2/2": 1},
                "volatility": {"x": {"1": 1}},
            }
        )
    with pytest.raises(ValueError, match="inertia: given"):
        equation(lagrangian=[{"terms": ["xdot**2/2", "xdot**4", "-x**2/2"]}])
    with pytest.raises(ValueError, match="calculus: ito"):
        equation(calculus="stratonovich", volatility=[{"terms": [1, "xdot**2"]}])


@pytest.mark.parametrize(
    ("noise", "losses", "balanced"),
    [
        ("1/x**2", "x**2*xdot**2/2", True),
        ("1", "x**2*xdot**2/2", False),
        ("1/x**2", "xdot**2/2", False),
        ("xdot**2", "x**2*xdot**2/2", False),
    ],
)
def test_balance_is_that_of_the_inertia(noise, losses, balanced):
    """M⁻¹ ∂D/∂q̇ = ½ κ B ∂L/∂q̇ with M = x², at all states."""
    one = equation(
        reference="x**2*xdot**2/2",
        lagrangian=[{"terms": ["x**2*xdot**2/2", "-x**2/2"]}],
        dissipation=[{"terms": [losses]}],
        volatility=[{"terms": [noise]}],
        known={},
    )
    assert one.detailed_balance == balanced


def test_a_coordinate_without_noise_is_in_no_balance():
    known = {"volatility": {"x": {"1": 0.0}}}
    assert not two(known=known).detailed_balance


def test_terms_on_cells_are_their_expressions():
    one = StationaryEquation.from_config(BOTH, ("x",))
    q, v = np.array([-1.0, 0.5, 2.0]), np.array([-0.3, 0.4])
    velocity, acceleration, diffusion = one.on_cells(q, v)
    by_q, by_v = np.meshgrid(q, v, indexing="ij")
    np.testing.assert_array_equal(velocity, by_v)
    none, ones = np.zeros((3, 2)), np.ones((3, 2))
    expected = [none, -by_q, -by_v, none, none]
    np.testing.assert_allclose(acceleration, expected)
    np.testing.assert_allclose(diffusion, [none, none, none, ones, by_q**2])


def test_a_dataset_says_what_is_known_of_its_terms():
    known = {
        "lagrangian": {"-x**2/2": 3.0},
        "dissipation": {"ydot**2/2": 0.2},
        "volatility": {"y": {"x**2": 0.5}},
    }
    one = two(known=known, volatility=[{"terms": [1, "x**2"]}])
    observations = xr.Dataset(coords={"replicate": [7]})
    result = one.dataset("stationary_residual", observations, [[2.0, 5.0]], {})
    kinds = ["reference", "lagrangian", "lagrangian", "dissipation", "dissipation"]
    kinds += ["volatility"] * 4
    assert result["kind"].values.tolist() == kinds == [t.kind for t in one.terms]
    assert result["position"].values.tolist() == [0, 2, 3, 0, 1, 0, 1, 0, 1]
    assert result["of_dof"].values.tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 1]
    n = np.nan
    np.testing.assert_array_equal(result["known"], [1, 3, n, n, 0.2, n, n, n, 0.5])
    assert result["reference_value"].values.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert result["detailed_balance"] == 0 and two().words["detailed_balance"] == 0
    assert equation(known={}).words["detailed_balance"] == 1
    np.testing.assert_array_equal(result["mean_square"], [[[2, 5], [2, 5]]])
    assert result["replicate"].values.tolist() == [7]
    assert result["dof"].values.tolist() == ["x", "y"]
    assert result["volatility_term"].values.tolist() == ["1", "x**2"]
    assert str(result["equation_term"].values[-1]) == "squared volatility of y: x**2"
    assert str(result["equation_term"].values[1]).startswith("lagrangian: ")


def test_a_candidate_that_algebra_removes_has_no_term():
    terms = ["xdot**2/2", "-x**2/2", "x*xdot", "-x**2"]
    one = equation(lagrangian=[{"terms": terms}], known={"lagrangian": {"-x**2": 5.0}})
    assert [t.position for t in one.terms if t.kind == "lagrangian"] == [(1,)]
    assert np.isnan(one.terms[1].known)
