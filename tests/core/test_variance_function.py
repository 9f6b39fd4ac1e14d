"""Variance function: efficient weights, averages over a step, and its root."""

import logging

import numpy as np
import pytest
import sympy as sp
from support import observe, oscillator, recommended

from leastaction.core import variance_function
from leastaction.core.variance_function import THIRD_DIFFERENCE, interpret, step_average

X, V = sp.Symbol("x", real=True), sp.Symbol("xdot", real=True)
TERMS = [sp.Integer(1), X, V, X**2, X * V, V**2]
LIBRARY = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["xdot**2", "x**2", "x**4", "cos(x)"]}],
    "volatility": [{"polynomial": {"of": ["x", "xdot"], "degree": 2}}],
}


def covariance(scale=1e-3):
    return np.diag([1.0, 4.0, 2.0]) * scale**2 + 0.3 * scale**2


@pytest.mark.parametrize("pair", [(1.0, 4.0), (2.0, -3.0), (0.0, 1.5), (1e-6, 1e3)])
def test_the_root_of_an_exact_square_is_exact(pair):
    a, b = pair
    beta = np.array([a * a, 2 * a * b, b * b])
    found, _, statistic = variance_function._perfect_square(beta, covariance())
    np.testing.assert_allclose(found, pair, atol=1e-9)
    assert statistic < 1e-12


def test_the_test_of_the_square_has_the_law_of_chi_square(rng):
    a, b = 1.0, 4.0
    beta = np.array([a * a, 2 * a * b, b * b])
    root = np.linalg.cholesky(covariance())
    draws = [
        variance_function._perfect_square(
            beta + root @ rng.standard_normal(3), covariance()
        )
        for _ in range(600)
    ]
    statistic = np.array([draw[2] for draw in draws])
    assert abs(statistic.mean() - 1) < 4 * np.sqrt(2 / 600)
    z = np.array([(pair - (a, b)) / np.sqrt(np.diag(c)) for pair, c, _ in draws])
    np.testing.assert_allclose(np.sqrt(np.mean(z**2, axis=0)), 1.0, atol=0.12)
    assert (np.abs(z.mean(axis=0)) < 4 / np.sqrt(600)).all()


@pytest.mark.parametrize(
    ("coefficients", "root"),
    [
        ({0: 4.0}, {0: 2.0}),
        ({3: 9.0}, {1: 3.0}),
        ({0: 1.0, 2: 1.0, 5: 0.25}, {0: 1.0, 2: 0.5}),
        ({0: 1.0, 3: 4.0}, None),
        ({0: 1.0, 1: 4.0, 5: 4.0}, None),
        ({0: 1.0, 2: 3.0, 5: 0.25}, None),
        ({0: 1.0, 2: 1.0, 5: -0.25}, None),
        ({1: 1.0}, None),
        ({3: -9.0}, None),
    ],
)
def test_only_squares_have_roots(coefficients, root):
    beta, error = np.zeros(6), np.zeros((6, 6))
    for i, value in coefficients.items():
        beta[i], error[i, i] = value, 1e-6
    found = interpret(beta, error, TERMS)
    assert found.is_square == (root is not None)
    if root is not None:
        expected = np.zeros(6)
        for i, value in root.items():
            expected[i] = value
        np.testing.assert_allclose(found.root, expected, atol=1e-9)
        assert ((found.root_std > 0) == (expected != 0)).all()


def test_averages_over_a_step_are_exact_for_squares_of_uniform_motion():
    def evaluate(q, qdot):
        return np.column_stack([q[:, 0] ** 2, q[:, 0] * qdot[:, 0], qdot[:, 0]])

    q, v, dq, dv = 0.3, -1.0, 0.2, 0.7
    before = np.array([[q - dq]]), np.array([[v - dv]])
    now = np.array([[q]]), np.array([[v]])
    s = np.linspace(0, 3, 300_001)[:-1] + 5e-6
    exact = evaluate((q + s * dq)[:, None], (v + s * dv)[:, None])
    found = step_average(evaluate, before, now)[0]
    np.testing.assert_allclose(found, exact[s < 1].mean(axis=0), rtol=1e-7)
    weights = np.array([1.0, 4.0, 1.0])[s.astype(int)] / 6
    found = step_average(evaluate, before, now, THIRD_DIFFERENCE)[0]
    np.testing.assert_allclose(found, 3 * (exact.T @ weights) / len(s), rtol=1e-6)


LAWS = {
    "1 + 4*x": {"1": 1.0, "x": 4.0},
    "0.1 + 0.4*x": {"1": 0.1, "x": 0.4},
    "1 - 4*x": {"1": 1.0, "x": -4.0},
    "4*x - 1": {"1": 1.0, "x": -4.0},
    "3*x": {"x": 3.0},
    "1 + 0.5*xdot": {"1": 1.0, "xdot": 0.5},
    "2 - xdot": {"1": 2.0, "xdot": -1.0},
}


@pytest.mark.parametrize("volatility", LAWS)
def test_the_root_is_followed(volatility):
    """S vanishes along the motion and is known best there; its sign is a convention."""
    paths = observe(oscillator(volatility=volatility), trajectories=20, steps=2000)
    found = recommended(paths, LIBRARY)
    assert found.support == {"x**2", "xdot**2"}
    assert set(found.root) == set(LAWS[volatility])
    for term, truth in LAWS[volatility].items():
        estimate, error = found.root[term]
        assert abs(estimate - truth) < 4.5 * error
        assert error == pytest.approx(abs(truth) / np.sqrt(2 * 40_000), rel=0.5)


def test_a_square_root_that_is_no_sum_is_not_taken_for_one():
    truth = oscillator(volatility="sqrt(1 + 0.25*xdot**2)")
    found = recommended(observe(truth, trajectories=20, steps=2000), LIBRARY)
    assert np.isnan(found.volatility.root).all()
    chosen = found.volatility.coefficients[0]
    expected = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.25])
    np.testing.assert_allclose(chosen, expected, atol=0.05)


def test_intervals_of_the_root_cover_the_truth():
    z = []
    for replicate in range(12):
        truth = oscillator(volatility="1 + 0.5*xdot")
        paths = observe(truth, trajectories=10, steps=1000, replicate=replicate)
        root = recommended(paths, LIBRARY).root
        z += [(root["1"][0] - 1.0) / root["1"][1]]
        z += [(root["xdot"][0] - 0.5) / root["xdot"][1]]
    assert np.mean(np.abs(z) < 1.96) >= 0.75
    assert 0.5 < np.sqrt(np.mean(np.square(z))) < 1.6


def test_nothing_depends_on_the_order_of_the_trajectories():
    paths = observe(oscillator(volatility="1 + 4*x"), trajectories=10, steps=1000)
    order = np.random.default_rng(3).permutation(10)
    one, other = (
        recommended(p, LIBRARY) for p in (paths, paths.isel(trajectory=order))
    )
    assert set(one.root) == set(other.root)
    for term in one.root:
        np.testing.assert_allclose(one.root[term], other.root[term], rtol=1e-6)
    np.testing.assert_allclose(
        one.lagrangian.coefficients, other.lagrangian.coefficients, rtol=1e-6
    )


@pytest.mark.parametrize(("step", "warned"), [(2e-4, False), (4e-3, True)])
def test_a_volatility_that_changes_within_a_step_is_warned_of(step, warned, caplog):
    truth = oscillator(volatility="0.5 + 0.5*xdot")
    paths = observe(truth, trajectories=20, steps=1000, time_step=step)
    with caplog.at_level(logging.WARNING):
        _ = recommended(paths, LIBRARY).volatility
    assert ("of its constant part per sample" in caplog.text) == warned
