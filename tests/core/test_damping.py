"""Rayleigh dissipation, learned together with the Lagrangian."""

import numpy as np
import pytest
from support import observe, oscillator, recommended, system

from leastaction import IdentifiedModel
from leastaction.core.contracts import problems
from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.model import rounded

CANDIDATES = ["xdot**2", "abs(xdot)", "xdot**4", "x**2*xdot**2"]
CONSERVATIVE = {
    "reference": "xdot**2/2",
    "lagrangian": [{"polynomial": {"of": ["x", "xdot"], "degree": 4}}],
    "volatility": [{"terms": ["1"]}],
}


def library(*damping):
    return {**CONSERVATIVE, "dissipation": [{"terms": list(damping)}]}


def damped(dissipation="0.5*xdot**2", replicate=0, steps=2000, **rest):
    truth = oscillator(dissipation=dissipation, **rest)
    return observe(truth, trajectories=20, steps=steps, replicate=replicate)


@pytest.fixture(scope="module")
def found():
    """Sixteen ensembles with D = ½ q̇²."""
    return [recommended(damped(replicate=i), library(*CANDIDATES)) for i in range(16)]


def test_damping_is_found_with_the_lagrangian(found):
    assert sum(one.support == {"x**2", "xdot**2"} for one in found) >= 15
    assert sum(set(one.damping) == {"xdot**2"} for one in found) >= 15


def test_its_estimate_is_unbiased_with_an_honest_error(found):
    """A force that depends on the velocity holds the noise at the end of the step."""
    z = np.array(
        [
            (one.damping["xdot**2"][0] - 0.5) / one.damping["xdot**2"][1]
            for one in found
            if set(one.damping) == {"xdot**2"}
        ]
    )
    assert abs(z.mean()) < 3.5 / np.sqrt(z.size)
    assert 0.5 < np.sqrt(np.mean(z**2)) < 1.6


def test_a_coarse_step_leaves_no_bias():
    """40 times the step: the trapezoid is off by (ω dt)²/12 = 0.3 %, not by O(dt)."""
    truth = oscillator(dissipation="0.5*xdot**2")
    pieces = [
        recommended(
            observe(truth, trajectories=100, steps=100, time_step=0.04, replicate=i),
            {
                "reference": "xdot**2/2",
                "lagrangian": [{"terms": ["xdot**2", "x**2"]}],
                "dissipation": [{"terms": ["xdot**2"]}],
            },
            degree=2,
            max_terms=2,
        ).damping["xdot**2"]
        for i in range(8)
    ]
    estimate, error = np.mean(pieces, axis=0)
    assert abs(estimate - 0.5) < 0.02 * 0.5 + 3 * error / np.sqrt(8)


def test_the_energy_balance_fixes_the_sign(found):
    """E[H] changes by noise less damping, T σ²/2 − ∫E[q̇ ∂D/∂q̇] dt, and D ≥ 0."""
    for one in found[:4]:
        estimate = one.damping["xdot**2"][0]
        assert estimate > 0
        q = one.observations["q"].values[0, ..., 0]
        v = one.observations["qdot"].values[0, ..., 0]
        energy = v**2 / 2 - one.coefficient("x**2")[0] * q**2
        lost = 2 * estimate * np.square(v).sum(axis=1) * 1e-3
        gained = one.lagrangian.noise_covariance[0, 0] * 2.0 / 2
        change = energy[:, -1] - energy[:, 0] + lost
        assert abs(change.mean() - gained) < 4 * change.std() / np.sqrt(len(change))


def test_without_damping_none_is_found():
    found = [
        recommended(
            observe(oscillator(), trajectories=20, steps=2000, replicate=i),
            library(*CANDIDATES),
        ).damping
        for i in range(40)
    ]
    assert sum(not one for one in found) >= 0.95 * len(found)


def test_two_kinds_of_damping_are_told_apart():
    truth = oscillator(dissipation="0.5*xdot**2 + 0.05*xdot**4")
    paths = observe(truth, trajectories=60, steps=3000)
    found = recommended(paths, library(*CANDIDATES)).damping
    assert set(found) == {"xdot**2", "xdot**4"}
    for (estimate, error), truth in zip(found.values(), (0.5, 0.05), strict=True):
        assert abs(estimate - truth) < 4.5 * error
        assert error < 0.15 * truth


def test_candidates_that_damp_nothing_change_nothing():
    """Null, conservative and double candidates are removed, and named."""
    paths = damped()
    plain = recommended(paths, library("xdot**2", "xdot**4")).lagrangian
    more = recommended(
        paths,
        library("x**2", "xdot", "xdot**2", "x**2*xdot", "xdot**4", "3*xdot**2 + x"),
    ).lagrangian
    assert more.dissipation_status == [
        "null",
        "duplicate",
        "independent",
        "duplicate",
        "independent",
        "duplicate",
    ]
    assert more.dissipation_equivalent == ["0", "-x", "", "-x**3/3", "", "3*xdot**2"]
    keep = [2, 4]
    np.testing.assert_allclose(
        more.dissipation_coefficients[keep], plain.dissipation_coefficients, rtol=1e-9
    )
    assert not np.delete(more.dissipation_coefficients, keep).any()
    np.testing.assert_allclose(more.coefficients, plain.coefficients, rtol=1e-9)
    np.testing.assert_allclose(more.criterion, plain.criterion, rtol=1e-9)


def test_damping_that_the_data_cannot_tell_apart_is_named():
    """At constant amplitude of a small motion, |x| q̇² says what q̇² says."""
    paths = damped("0.1*xdot**2", steps=400, sigma=0.3)
    found = recommended(
        paths,
        {
            "reference": "xdot**2/2",
            "lagrangian": [{"terms": ["xdot**2", "x**2"]}],
            "dissipation": [{"terms": ["xdot**2", "xdot**2*(1 + x**2/1000)"]}],
        },
        max_terms=2,
    )
    assert set(found.damping) == {"xdot**2"}
    assert "D: xdot**2*(x**2/1000 + 1)" in found.lagrangian.alternatives


def test_the_model_holds_prints_and_simulates_it(found):
    data = found[0].model
    assert problems(data, "model") == []
    assert data["dissipation_support"].values.tolist() == [[1, 0, 0, 0]]
    model = IdentifiedModel(data.isel(replicate=0))
    estimate, error = found[0].damping["xdot**2"]
    text = str(model)
    assert "Terms of the dissipation\n" in text
    assert f"{' ± '.join(rounded(estimate, NORMAL_QUANTILE * error))}  xdot**2" in text
    (acceleration,) = model.system.evaluated(model.system.acceleration)
    v = model.system.qdot[0]
    assert float(acceleration.coeff(v)) == pytest.approx(-2 * estimate)


def test_two_degrees_of_freedom_share_one_rayleigh_function():
    """A damper between the masses, noise that drives both, and masses that differ."""
    truth = system(
        "adot**2/2 + bdot**2 - 4*a**2 - 9*b**2 + 3*a*b",
        ("a", "b"),
        dissipation="0.3*adot**2 + 0.4*(adot - bdot)**2",
        volatility=[["1", "0"], ["0.6", "0.8"]],
    )
    kinetic = "adot**2/2 + bdot**2"
    terms = [kinetic, "a**2", "b**2", "a*b", "a**4", "b**4"]
    damping = ["adot**2", "bdot**2", "(adot - bdot)**2", "adot**4", "abs(bdot)"]
    found = recommended(
        observe(truth, trajectories=40, steps=4000, time_step=2e-3),
        {
            "reference": kinetic,
            "lagrangian": [{"terms": terms}],
            "dissipation": [{"terms": damping}],
            "volatility": [{"terms": ["1", "a**2", "b**2"]}],
        },
        degree=2,
        max_terms=6,
    )
    assert found.support == {kinetic, "a**2", "b**2", "a*b"}
    truths = {"adot**2": 0.3, "(adot - bdot)**2": 0.4}
    assert set(found.damping) == set(truths)
    for term, value in truths.items():
        estimate, error = found.damping[term]
        assert abs(estimate - value) < 4.5 * error
        assert error < 0.1 * value
    np.testing.assert_allclose(
        found.lagrangian.noise_covariance, [[1.0, 0.6], [0.6, 1.0]], atol=0.02
    )
