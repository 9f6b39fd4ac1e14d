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


def regression(rng, beta, count=4000):
    """Regressors 1, f, f² of a state f, and targets S² χ²₁."""
    f = rng.uniform(-1, 1, count)
    X = np.column_stack([np.ones(count), f, f**2])
    return X, (X @ beta) * rng.standard_normal(count) ** 2


FUNCTIONS = [sp.Integer(1), X, X**2]


def test_second_moments_are_weighted_by_the_squares_of_a_law(rng):
    columns, target = regression(rng, np.array([1.0, 0.5, 0.2]))
    blocks = [(columns[:100], target[:100]), (columns[100:], target[100:])]
    gram, count = variance_function.second_moments(lambda: iter(blocks))
    both = np.column_stack([columns, target])
    np.testing.assert_allclose(gram, both.T @ both)
    assert count == 4000
    law, floor = np.array([0.1, 1.0, 0.0]), 0.3
    both /= np.maximum(0.1 + columns[:, 1], 0.3)[:, None]
    gram, _ = variance_function.second_moments(lambda: iter(blocks), law, floor)
    np.testing.assert_allclose(gram, both.T @ both)


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_a_subset_has_the_coefficients_and_errors_of_least_squares(rng, unit):
    columns = rng.standard_normal((3000, 4)) * [1.0, unit, 1.0, 1.0]
    target = columns @ [0.5, 0.0, -2.0, 0.0] + 0.1 * rng.standard_normal(3000)
    both = np.column_stack([columns, target])
    c, covariance = variance_function.select(both.T @ both, 3, 3000)
    few = columns[:, [0, 2]]
    best, square, *_ = np.linalg.lstsq(few, target, rcond=None)
    np.testing.assert_allclose(c, [best[0], 0, best[1], 0], rtol=1e-6)
    expected = np.linalg.inv(few.T @ few) * square[0] / 3000
    np.testing.assert_allclose(covariance[np.ix_([0, 2], [0, 2])], expected, rtol=1e-5)
    assert not covariance[1].any() and not covariance[:, 3].any()
    noise = rng.standard_normal(3000)
    both = np.column_stack([columns, noise])
    c, covariance = variance_function.select(both.T @ both, 3, 3000)
    assert not c.any() and not covariance.any()
    exact = np.column_stack([columns, columns @ [0.5, 0.0, -2.0, 3.0]])
    c, _ = variance_function.select(exact.T @ exact, 2, 3000)
    assert np.count_nonzero(c) == 2


def test_a_column_of_zeros_is_in_no_subset(rng):
    columns = rng.standard_normal((500, 3)) * [1.0, 0.0, 1.0]
    target = columns @ [1.0, 1.0, 1.0] + 0.1 * rng.standard_normal(500)
    both = np.column_stack([columns, target])
    c, _ = variance_function.select(both.T @ both, 3, 500)
    best = np.linalg.lstsq(columns[:, [0, 2]], target, rcond=None)[0]
    np.testing.assert_allclose(c, [best[0], 0, best[1]], rtol=1e-6)


@pytest.mark.parametrize("beta", [(1.0, 0.0, 2.0), (1.0, 1.6, 0.64)])
def test_a_fit_is_the_fixed_point_of_its_weights(rng, beta):
    """Σ x (y − x β)/S⁴ = 0 for the S² that it ends with, if that is no square."""
    columns, target = regression(rng, np.array(beta))
    result = variance_function.fit(lambda: iter([(columns, target)]), FUNCTIONS, 3)
    weights = (columns @ result.law) ** -2
    chosen = result.coefficients != 0
    X, w = columns[:, chosen], weights[:, None]
    expected = np.linalg.solve(X.T @ (w * X), X.T @ (weights * target))
    error = np.sqrt(np.diag(np.linalg.inv(X.T @ (w * X)) * 2))
    assert (np.abs(result.coefficients[chosen] - expected) < 0.02 * error).all()
    np.testing.assert_allclose(result.std[chosen], error, rtol=0.1)
    assert result.is_square == (beta[1] != 0)
    if result.is_square:
        a, b, _ = result.root
        np.testing.assert_allclose(result.law, [a * a, 2 * a * b, b * b])
        assert a > 0 and abs(a - 1) < 4 * result.root_std[0]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("distance", "square"), [(3.28, True), (3.31, False)])
def test_a_root_is_taken_where_the_square_is_not_rejected(distance, square, sign):
    """χ²₁ of p = 0.001 is 3.2905²; here along the normal of the squares."""
    a, b = 1.0, 4.0 * sign
    scale = 1e-5
    normal = np.array([b * b, -a * b, a * a])
    beta = np.array([a * a, 2 * a * b, b * b])
    beta = beta + distance * scale * normal / np.linalg.norm(normal)
    found = interpret(beta, scale**2 * np.eye(3), FUNCTIONS)
    assert found.is_square == square
    assert found.statistic == pytest.approx(distance**2, rel=1e-3)
    assert (found.p_value > 1e-3) == square
    plain = interpret(beta, scale**2 * np.eye(3), FUNCTIONS, weighted=False)
    assert not plain.is_square and np.isnan(plain.statistic)
    np.testing.assert_allclose(found.std, scale)
    if not square:
        np.testing.assert_array_equal(found.law, beta)
        return
    slope = np.array([[2 * a, 0], [2 * b, 2 * a], [0, 2 * b]])
    error = np.sqrt(np.diag(np.linalg.inv(slope.T @ slope))) * scale
    np.testing.assert_allclose(found.root_std[:2], error, rtol=1e-3)


def test_the_root_of_one_term_has_half_its_relative_error():
    found = interpret(np.array([0.0, 0.0, 9.0]), np.diag([0, 0, 0.36]), FUNCTIONS)
    np.testing.assert_allclose(found.root, [0.0, 3.0, 0.0])
    np.testing.assert_allclose(found.root_std, [0.0, 0.1, 0.0])
    np.testing.assert_array_equal(found.law, [0, 0, 9.0])
