"""Quadratics of χ², smoothing and predictions against linear systems."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from leastaction.ports.coefficient_fit import (
    PredictionErrors,
    Quadratic,
    Records,
    noise_std,
    smoothed,
    split,
    weak_regression,
)
from leastaction.ports.port_structure import Candidates

STEP, TIMES = 0.02, 101
W = np.array([[0.0, 1.0], [-2.0, -0.3]])
B = np.array([[0.0], [0.5]])
Y = np.array([[0.0, 1.5]])
SMALL = np.array([1e-4, 2e-4]), np.array([3e-4])


def candidates() -> Candidates:
    """∇H of a²/2 and b²/2: the states themselves."""
    return Candidates.of(["a", "b"], ["a**2/2", "b**2/2"])


def records(motions=3) -> Records:
    """ẋ = W x + B u of a constant input, exact; y = Y x."""
    rng = np.random.default_rng(2)
    x = np.empty((motions, TIMES, 2))
    x[:, 0] = rng.normal(size=(motions, 2))
    u = np.broadcast_to(rng.normal(size=(motions, 1, 1)), (motions, TIMES, 1))
    block = expm(STEP * np.block([[W, B], [np.zeros((1, 3))]]))
    for k in range(TIMES - 1):
        x[:, k + 1] = x[:, k] @ block[:2, :2].T + u[:, k] @ block[:2, 2:].T
    return Records(STEP, x, u, x @ Y.T, x.copy(), *SMALL)


def flat(*parts):
    return np.concatenate([part.ravel() for part in parts])


def test_q_is_split_into_its_matrices():
    w, b, y = split(np.arange(14), 2, 1, 3)
    assert w.tolist() == [[0, 1, 2], [3, 4, 5]] and b.tolist() == [[6], [7]]
    assert y.tolist() == [[8, 9, 10], [11, 12, 13]]


def test_a_quadratic_is_that_of_least_squares():
    """χ² = |X q − m|², formed at any q, in all units."""
    rng = np.random.default_rng(0)
    X, m = rng.normal(size=(20, 3)) * [1.0, 1e3, 1e-4], rng.normal(size=20)
    best = np.linalg.lstsq(X, m)[0]
    for q in (np.zeros(3), best + [0.3, 1e-3, 1e3]):
        rest = m - X @ q
        made = Quadratic.of(X.T @ X, X.T @ rest, q, rest @ rest, 20, 4)
        assert made.best == pytest.approx(best)
        assert made.chi_square == pytest.approx(((m - X @ best) ** 2).sum())
        assert made.matrix.T @ made.matrix == pytest.approx(X.T @ X)
        assert (made.dof, made.count) == (20 - 4 - 3, 20)
        other = best + [1.0, 1e-3, 1e4]
        rise = ((made.matrix @ other - made.target) ** 2).sum()
        total = ((X @ other - m) ** 2).sum()
        assert rise + made.chi_square == pytest.approx(total)


@pytest.mark.parametrize("chi_square, inflation", [(26.0, 2.0), (5.0, 1.0)])
def test_errors_are_inflated_but_never_deflated(chi_square, inflation):
    one = Quadratic(np.eye(2), np.ones(2), chi_square, 13, 15)
    assert one.inflation == inflation


def test_directions_that_data_do_not_see_are_left_out():
    X, m = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 0.0]]), np.ones(3)
    seen = Quadratic.of(X.T @ X, X.T @ m, np.zeros(3), 3.0, 3, 0)
    assert seen.matrix.shape == (2, 3) and seen.dof == 1
    assert seen.best == pytest.approx(np.linalg.lstsq(X, m)[0], abs=1e-12)
    twice = X[:, [0, 0]] * [1.0, 100.0]
    both = Quadratic.of(twice.T @ twice, twice.T @ m, np.zeros(2), 3.0, 3, 0)
    assert both.matrix.shape == (1, 2)
    # In units of their sizes both are alike.
    assert both.best[0] == pytest.approx(100 * both.best[1])


def test_an_even_quadratic_has_the_same_best_coefficients():
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(4, 4)) * [1.0, 50.0, 1e-3, 1.0]
    one = Quadratic(matrix, rng.normal(size=4), 3.0, 10, 14)
    even = one.evened()
    assert even.best == pytest.approx(one.best)
    scaled = even.matrix / np.linalg.norm(matrix, axis=0)
    assert np.linalg.svd(scaled, compute_uv=False) == pytest.approx(1.0)
    assert (even.chi_square, even.dof, even.count) == (3.0, 10, 14)


def test_noise_is_seen_beside_a_smooth_motion():
    t = np.linspace(0, 20, 4001)[None, :, None]
    noise = np.random.default_rng(3).normal(size=(2, 4001, 2)) * [0.02, 0.5]
    assert noise_std(np.sin(t) + noise) == pytest.approx([0.02, 0.5], rel=0.05)
    assert noise_std(t**5 / 1e5) == pytest.approx([0.0], abs=1e-9)


def test_the_longest_window_that_fits_the_noise_smooths():
    """A fast motion is left to a shorter window, noise alone to the longest."""
    rng = np.random.default_rng(4)
    t = np.arange(400.0)
    x = np.stack([0 * t, np.sin(0.2 * t), np.sin(1.9 * t)], axis=1)[None]
    noisy = x + 1e-3 * rng.normal(size=x.shape)
    result = smoothed(noisy, np.full(3, 1e-3))
    inner = slice(20, -20)
    error = np.sqrt(((result - x)[0, inner] ** 2).mean(axis=0)) / 1e-3
    # Middle weights of degree four: 33 samples leave σ² times .115.
    assert error[0] == pytest.approx(np.sqrt(0.107), abs=0.06)
    assert error[0] < error[1] < 1
    assert (result[..., 2] == noisy[..., 2]).all()
    short = noisy[:, :9]
    assert (smoothed(short, np.full(3, 1e-3)) == short).all()


def test_the_weak_form_of_exact_motions_has_their_coefficients():
    made = weak_regression(records(), candidates(), 60)
    assert split(made.best, 2, 1, 2)[0] == pytest.approx(W, abs=1e-5)
    assert made.best == pytest.approx(flat(W, B, Y), abs=1e-5)
    # Of 7 windows of 3 motions and 2 states, and of 303 outputs.
    assert made.count == 3 * 7 * 2 + 3 * TIMES
    assert made.dof == made.count - 8
    blind = replace(records(), y=records().y[..., :0], y_std=np.zeros(0))
    assert weak_regression(blind, candidates(), 60).best.size == 6


def test_weak_errors_are_those_of_white_noise():
    """χ² over its degrees of freedom is one; so are deviations of coefficients."""
    rng, exact = np.random.default_rng(5), records(12)
    x = exact.x + 1e-4 * rng.normal(size=exact.x.shape)
    y = exact.y + 3e-4 * rng.normal(size=exact.y.shape)
    std = np.full(2, 1e-4)
    made = weak_regression(replace(exact, x=x, y=y, x_std=std), candidates(), 60)
    assert made.chi_square / made.dof == pytest.approx(1, abs=0.15)
    z2 = ((made.matrix @ (made.best - flat(W, B, Y))) ** 2).sum()
    assert z2 < 25  # of 8 degrees of freedom


@pytest.mark.parametrize("samples", [20, 100])
def test_predictions_end_in_the_coefficients_and_leave_nothing(samples):
    exact = records()
    problem = PredictionErrors(exact, candidates(), samples)
    windows = 3 * len(range(0, TIMES - samples, samples + 1))
    assert problem.x.shape == (windows, samples + 1, 2)
    q = flat(W, B, Y) + 0.01
    for _ in range(4):
        made = problem.quadratic(q)
        q = made.best
    assert q == pytest.approx(flat(W, B, Y), abs=1e-6)
    assert made.chi_square < 1e-2 and made.inflation == 1.0
    assert made.count == windows * (samples + 1) * 3
    assert made.dof == made.count - 2 * windows - 8
    assert problem.start == pytest.approx(problem.x[:, 0], abs=1e-6)
    with np.errstate(all="ignore"):
        assert problem.quadratic(np.full(8, 1e90)) is None


def test_sensitivities_that_overflow_have_no_quadratic_though_the_motion_rests():
    exact = records()
    still = {name: 0 * getattr(exact, name) for name in ("x", "u", "y", "smooth")}
    problem = PredictionErrors(replace(exact, **still), candidates(), 20)
    assert problem.quadratic(np.full(8, 1e90)) is None
    assert problem.quadratic(flat(W, B, Y)).chi_square == 0.0


def test_half_steps_are_on_a_spline_of_degree_five():
    time = np.arange(12.0)
    one = replace(records(1), u=(time**5)[None, :, None])
    half = np.arange(23) / 2
    assert one.half_steps[0, :, 0] == pytest.approx(half**5, abs=1e-6)
    assert one.points.shape == (TIMES, 2)
