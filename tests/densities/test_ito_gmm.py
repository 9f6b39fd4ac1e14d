"""Moments of a known covariance: weights, instruments, fixed point, J and errors."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from leastaction.densities import ito_gmm
from leastaction.densities.ito_gmm import Isometry, _inverse, _weighted, identify

RNG = np.random.default_rng(11)


def gram(size: int, rank: int | None = None) -> np.ndarray:
    root = RNG.normal(size=(size, rank or size))
    return root @ root.T


# Two terms without noise, then two with.
NOISE = np.array([np.zeros((5, 5)), np.zeros((5, 5)), gram(5), gram(5)])
MOMENTS = RNG.normal(size=(5, 4))


def test_covariances_add_up_and_negative_noises_count_as_nearly_none():
    isometry = Isometry(NOISE, 0.1)
    values = np.array([[3.0, -2.0, 0.5, 2.0], [0.0, 0.0, 1.0, -4.0]])
    made = isometry.covariance(values)
    np.testing.assert_allclose(made[0], 0.5 * NOISE[2] + 2 * NOISE[3], rtol=1e-13)
    one, two = np.trace(NOISE[2]), np.trace(NOISE[3])
    floor = 1e-3 * (one + 4 * two) / 2 / two  # of the mean over both
    np.testing.assert_allclose(made[1], NOISE[2] + floor * NOISE[3], rtol=1e-13)
    small = np.array([0.0, 0.0, 1.0, 1e-9])
    floor = 1e-3 * (one + 1e-9 * two) / 2 / two
    expected = NOISE[2] + floor * NOISE[3]
    np.testing.assert_allclose(isometry.covariance(small), expected, rtol=1e-12)


def test_weights_are_the_inverse_with_a_ridge():
    values = np.array([3.0, -2.0, 0.5, 2.0])
    covariance = 0.5 * NOISE[2] + 2 * NOISE[3]
    largest = np.linalg.eigvalsh(covariance)[-1]
    expected = np.linalg.inv(covariance + 0.1 * largest * np.eye(5))
    np.testing.assert_allclose(_inverse(covariance, 0.1), expected, rtol=1e-9)
    np.testing.assert_allclose(
        Isometry(NOISE, 0.1).weights(values), expected, rtol=1e-9
    )
    still = Isometry(NOISE, 0.1).weights(np.zeros(4))  # as of equal noises
    np.testing.assert_allclose(still, _inverse(NOISE[2] + NOISE[3], 0.1), rtol=1e-9)


def test_a_single_noise_has_one_inverse_for_all_strengths():
    isometry = Isometry(NOISE[:3], 0.2)
    values = np.array([[1.0, 1.0, 4.0], [1.0, 1.0, 0.5], [1.0, 1.0, 0.0]])
    alone = _inverse(NOISE[2], 0.2)
    for made, strength in zip(isometry.weights(values), (4, 0.5, 1.0), strict=True):
        np.testing.assert_allclose(made, alone / strength, rtol=1e-12)


def test_instruments_are_columns_less_what_they_share_with_the_residual():
    isometry, values = Isometry(NOISE, 0.1), np.array([0.3, -2.0, 0.5, 2.0])
    weights = isometry.weights(values)
    made = isometry.instruments(MOMENTS, weights, values)
    pulled = weights @ MOMENTS @ values
    for i in range(4):
        expected = MOMENTS[:, i] - NOISE[i] @ pulled / 2
        np.testing.assert_allclose(made[:, i], expected, rtol=1e-11, atol=1e-12)


def test_coefficients_solve_the_equations_of_the_instruments():
    known = np.array([np.nan, 2.0, np.nan, -1.0])
    free, instruments, weights = [0, 2], RNG.normal(size=(5, 4)), gram(5)
    values, sensitivity = _weighted(MOMENTS, instruments, weights, known)
    z = instruments[:, free].T @ weights
    target = -MOMENTS[:, [1, 3]] @ [2.0, -1.0]
    expected = np.linalg.solve(z @ MOMENTS[:, free], z @ target)
    np.testing.assert_allclose(values[free], expected, rtol=1e-9)
    assert values[[1, 3]].tolist() == [2.0, -1.0]
    inverse = np.linalg.solve(z @ MOMENTS[:, free], z)
    np.testing.assert_allclose(sensitivity, inverse, rtol=1e-9)


def test_stacked_cases_are_solved_one_by_one():
    known = np.array([[np.nan, 2.0, np.nan, -1.0], [np.nan, 0.5, np.nan, 3.0]])
    weights = np.array([gram(5), gram(5)])
    values, _ = _weighted(MOMENTS, np.array([MOMENTS] * 2), weights, known)
    for k in range(2):
        one, _ = _weighted(MOMENTS, MOMENTS, weights[k], known[k])
        np.testing.assert_allclose(values[k], one, rtol=1e-10)


def equations(batches=6) -> xr.Dataset:
    """Moments whose sum with the coefficients (1, 2, 1, 1/2) is nearly zero."""
    moments = RNG.normal(size=(5, 4)) + 0.05 * RNG.normal(size=(batches, 5, 4))
    moments[..., 0] = 0.05 * moments[..., 0] - moments[..., 1:] @ [2, 1, 0.5]
    return xr.Dataset(
        {
            "moment": (("replicate", "batch", "test", "term"), moments[None]),
            "noise_gram": (("replicate", "term", "a", "b"), NOISE[None]),
            "duration": ("replicate", [50.0]),
            "test_name": ("test", [f"test {k}" for k in range(5)]),
        }
    )


@pytest.fixture
def solver(monkeypatch):
    """What `identify` hands to the estimate, and the moments of the data."""
    data = equations()
    monkeypatch.setattr(
        ito_gmm,
        "stationary_estimate",
        lambda equations, settings, solve, products: (solve, products),
    )
    return data, *identify(data, {"ridge": 0.05})


KNOWN = np.array([np.nan, np.nan, 1.0, np.nan])


def test_the_estimate_is_the_fixed_point_of_its_equations(solver):
    data, solve, _ = solver
    solution = solve(KNOWN)
    moments = data["moment"].values[0].mean(axis=0)
    isometry = Isometry(NOISE / 50.0, 0.05)
    values = solution.values
    weights = isometry.weights(values)
    instruments = isometry.instruments(moments, weights, values)
    free = [0, 1, 3]
    miss = instruments[:, free].T @ weights @ (moments @ values)
    scale = np.abs(instruments[:, free].T) @ np.abs(weights) @ np.abs(moments @ values)
    assert (np.abs(miss) < 1e-6 * scale).all() and solution.settled
    assert values[2] == 1.0
    residual = moments @ values
    j = residual @ weights @ residual
    assert solution.diagnostics["j_statistic"][0] == pytest.approx(j, rel=1e-6)
    assert solution.diagnostics["j_degrees"][0] == 5 - 3
    p = stats.chi2.sf(j, 2)
    assert solution.diagnostics["j_p_value"][0] == pytest.approx(
        p, rel=1e-6, abs=1e-300
    )
    inverse = np.linalg.pinv(instruments[:, free].T @ weights @ moments[:, free])
    sensitivity = inverse @ instruments[:, free].T @ weights
    covariance = sensitivity @ isometry.covariance(values) @ sensitivity.T
    made = solution.covariance[np.ix_(free, free)]
    np.testing.assert_allclose(made, covariance, rtol=1e-4, atol=1e-12)
    assert not solution.covariance[2].any() and not solution.covariance[:, 2].any()
    dims, scores, *_ = solution.arrays["moment_score"]
    deviation = np.sqrt(np.diag(isometry.covariance(values)))
    np.testing.assert_allclose(scores, residual / deviation, rtol=1e-9)
    assert dims == ("test_function",)
    assert solution.arrays["moment_name"][1].tolist() == [f"test {k}" for k in range(5)]


def test_it_is_the_minimum_of_continuous_updating(solver):
    """J(θ) = ḡᵀ Ω(θ)⁻¹ ḡ, without the ridge."""
    data, _, _ = solver
    moments = data["moment"].values[0].mean(axis=0)

    def j(values):
        covariance = np.tensordot(values[2:], NOISE[2:], 1) / 50
        residual = moments @ values
        return residual @ np.linalg.solve(covariance, residual)

    solve, _ = identify(data, {"ridge": 0.0})
    values = solve(np.array([np.nan, 0.4, 1.0, np.nan])).values
    least = j(values)
    if values[3] > 0:
        for i in (0, 3):
            for step in (-1e-3, 1e-3):
                moved = values.copy()
                moved[i] += step
                assert j(moved) > least


def test_a_solution_that_does_not_settle_says_so(solver, monkeypatch):
    _, solve, _ = solver
    for most, settled in ((100, True), (3, False)):
        monkeypatch.setattr(ito_gmm, "MOST_ROUNDS", most)
        assert solve(KNOWN).settled == settled


def test_moments_without_noise_have_no_score(solver, monkeypatch):
    data, *_ = solver
    silent = NOISE.copy()
    silent[:, 0] = silent[:, :, 0] = 0.0
    data["noise_gram"] = data["noise_gram"].dims, silent[None]
    solve, _ = identify(data, {"ridge": 0.05})
    scores = solve(KNOWN).arrays["moment_score"][1]
    assert scores[0] == 0 and np.isfinite(scores).all() and (scores[1:] != 0).all()


def test_products_of_batches_are_weighed_by_all_noises_alike(solver):
    data, _, products = solver
    values = np.array([0.5, -1.0, 2.0, 0.3])
    by_batch = data["moment"].values[0] @ values
    weights = _inverse((NOISE[2] + NOISE[3]) / 50, 0.05)
    expected = by_batch @ weights @ by_batch.T
    np.testing.assert_allclose(products(values), expected, rtol=1e-10)
