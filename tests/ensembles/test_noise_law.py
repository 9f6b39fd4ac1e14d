"""Weights 1/g² and the Itô correction: what they change, and what they must not."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from stages import assemble, differentiate
from support import observe, oscillator, recommended, roll, system

from leastaction.ensembles import moment_gmm

LIBRARY = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["xdot**2", "x**2", "x", "x**4"]}],
    "volatility": [{"polynomial": {"of": ["x", "xdot"], "degree": 2}}],
}
WITH_DAMPING = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["xdot**2", "x**2", "x"]}],
    "dissipation": [{"terms": ["xdot**2"]}],
    "volatility": LIBRARY["volatility"],
}


def unweighted(paths, library):
    """The same recipe, told that the noise is additive."""
    plain = {**library, "volatility": [{"terms": ["1"]}]}
    return recommended(paths, plain).lagrangian


def test_weights_keep_the_mean_and_reduce_the_variance():
    truth = oscillator(volatility="1 + 0.5*xdot")
    pairs = []
    for replicate in range(16):
        paths = observe(truth, trajectories=10, steps=1000, replicate=replicate)
        weighted = recommended(paths, LIBRARY).lagrangian
        pairs.append(
            [
                (one.coefficients[1], one.std[1])
                for one in (weighted, unweighted(paths, LIBRARY))
            ]
        )
    estimate, error = np.moveaxis(np.array(pairs), -1, 0)
    z = (estimate.mean(axis=0) + 12.5) / (estimate.std(axis=0) / 4)
    assert (np.abs(z) < 4).all()
    assert estimate[:, 0].std() < 0.5 * estimate[:, 1].std()
    spread = np.sqrt(np.mean(((estimate[:, 0] + 12.5) / error[:, 0]) ** 2))
    assert 0.5 < spread < 1.6


def test_j_is_chi_square_only_with_the_weights():
    truth = oscillator(volatility="1 + 0.5*xdot")
    p_values = []
    for replicate in range(12):
        paths = observe(truth, trajectories=10, steps=1000, replicate=replicate)
        found = recommended(paths, LIBRARY).lagrangian
        p_values.append(found.diagnostics["j_p_value"][0])
    assert min(p_values) > 1e-4
    assert 0.25 < np.mean(p_values) < 0.8


def test_a_constant_law_leaves_the_moments_as_they_are(observations):
    """Additive noise: candidates of the volatility are looked at and change nothing."""
    one, other = (
        recommended(observations, {**LIBRARY, "volatility": volatility}).moments
        for volatility in (LIBRARY["volatility"], [{"terms": ["1"]}])
    )
    for name in ("moment", "instrument_gram", "increment_gram", "weighted_gram"):
        np.testing.assert_array_equal(one[name], other[name])
    assert one.attrs["state_dependent_noise"] == 0
    np.testing.assert_array_equal(one["weighted_gram"], one["increment_gram"])


def test_weights_of_a_constant_law_are_one():
    """The weighted path with g² = ⟨g²⟩ gives the sums of the unweighted path."""
    paths = observe(oscillator(), trajectories=5, steps=500)
    plain = recommended(paths, LIBRARY)
    law = plain.variation.copy(deep=True)
    names = list(law["volatility_term"].values)
    law["squared_volatility"].values[0, 0, names.index("x**2")] = 1e-12
    settings = {
        "method": "martingale_moments",
        "instrument_degree": 5,
        "most_instruments": 200,
        "largest_turn": 0.0,
    }
    weighted = assemble(paths, law, settings, LIBRARY)
    moments = assemble(paths, plain.variation, settings, LIBRARY)
    assert weighted.attrs["state_dependent_noise"] == 1
    for name in ("moment", "instrument_gram", "weighted_gram"):
        scale = np.abs(moments[name].values).max()
        np.testing.assert_allclose(
            weighted[name], moments[name], rtol=1e-8, atol=1e-10 * scale
        )


def test_each_degree_of_freedom_has_its_own_weights():
    """One additive noise, one that depends on the velocity; both well described."""
    truth = system(
        "adot**2/2 + bdot**2/2 - 8*a**2 - 18*b**2 + 2*a*b",
        ("a", "b"),
        volatility={"a": "1", "b": "1 + 0.5*bdot"},
    )
    kinetic = "adot**2 + bdot**2"
    library = {
        "reference": f"({kinetic})/2",
        "lagrangian": [{"terms": [kinetic, "a**2", "b**2", "a*b", "a**4", "a"]}],
        "volatility": [{"terms": ["1", "a", "b", "bdot", "b**2", "bdot**2"]}],
    }
    z, p_values = [], []
    for replicate in range(6):
        paths = observe(truth, trajectories=10, steps=1000, replicate=replicate)
        found = recommended(paths, library, degree=2)
        assert found.support == {kinetic, "a**2", "b**2", "a*b"}
        for term, value in (("a**2", -8.0), ("b**2", -18.0), ("a*b", 2.0)):
            estimate, error = found.coefficient(term)
            z.append((estimate - value) / error)
        p_values.append(found.lagrangian.diagnostics["j_p_value"][0])
        assert found.volatility.constant.tolist() == [True, False]
        chosen = np.flatnonzero(found.volatility.root[1])
        assert [found.volatility.terms[i] for i in chosen] == ["1", "bdot"]
    assert 0.5 < np.sqrt(np.mean(np.square(z))) < 1.6
    assert min(p_values) > 1e-4


def stratonovich(volatility, **rest):
    return oscillator(volatility=volatility, calculus="stratonovich", **rest)


def test_both_calculi_differ_by_the_correction_on_the_same_noise(rng):
    """½ g ∂g/∂q̇ per unit of time, here ½ (2 + q̇), and nothing for g(q)."""
    truth = stratonovich("2 + xdot")
    ito = replace(truth, calculus="ito")
    v = truth.qdot[0]
    difference = truth.acceleration[0] - ito.acceleration[0]
    assert sp.simplify(difference - (2 + v) / 2) == 0
    for dt in (1e-3, 1e-4):
        normals = rng.standard_normal((2, 1, 1))
        start = [1.0, 0.7]
        change = np.diff(
            [roll(s, start, normals, dt)[-1] for s in (ito, truth)], axis=0
        )
        assert change[0, 1] == pytest.approx(dt * (2 + 0.7) / 2, rel=10 * dt**0.5)
    only_position = stratonovich("2 + x")
    assert (
        only_position.acceleration[0]
        == replace(only_position, calculus="ito").acceleration[0]
    )


@pytest.fixture(scope="module")
def readings():
    """Stratonovich data with g = 2 + q̇, read in both calculi."""
    paths = observe(stratonovich("2 + xdot"), trajectories=60, steps=2000)
    return {
        calculus: recommended(paths, {**WITH_DAMPING, "calculus": calculus})
        for calculus in ("ito", "stratonovich")
    }


def test_in_its_own_calculus_nothing_spurious_is_found(readings):
    found = readings["stratonovich"]
    assert found.support == {"x**2", "xdot**2"}
    assert found.damping == {}
    estimate, error = found.coefficient("x**2")
    assert abs(estimate + 12.5) < 4.5 * error
    assert found.lagrangian.diagnostics["j_p_value"][0] > 1e-3


def test_read_as_ito_the_correction_is_a_force_and_a_negative_damping(readings):
    """Drift ½ab + ½b² q̇ with a = 2, b = 1: L gets 1·x, and D gets −¼ q̇²."""
    found = readings["ito"]
    assert found.support == {"x**2", "xdot**2", "x"}
    assert set(found.damping) == {"xdot**2"}
    for (estimate, error), truth in (
        (found.coefficient("x"), 1.0),
        (found.damping["xdot**2"], -0.25),
    ):
        assert abs(estimate - truth) < 4.5 * error
        assert error < 0.2 * abs(truth)


def test_the_volatility_is_the_same_in_both_readings(readings):
    for found in readings.values():
        assert found.root["1"][0] == pytest.approx(2.0, rel=0.01)
        assert found.root["xdot"][0] == pytest.approx(1.0, rel=0.01)


def test_the_calculus_does_not_matter_for_noise_that_depends_on_position():
    paths = observe(oscillator(volatility="1 + 4*x"), trajectories=10, steps=500)
    variation = differentiate(paths, {"method": "realised_variation"}, LIBRARY)
    settings = {
        "method": "martingale_moments",
        "instrument_degree": 3,
        "most_instruments": 200,
        "largest_turn": 0.0,
    }
    one, other = (
        moment_gmm.identify(
            assemble(paths, variation, settings, {**LIBRARY, "calculus": calculus}),
            {"max_terms": 2},
        )
        for calculus in ("ito", "stratonovich")
    )
    np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-10)
