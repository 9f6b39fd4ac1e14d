"""Generalised method of moments: whitening, the search, its end; all in closed form."""

import itertools
from math import comb

import numpy as np
import pytest
import xarray as xr
from scipy.stats import chi2

from leastaction.core.gmm import (
    MOST_ITERATIONS,
    Converged,
    Fit,
    Selection,
    best_by_criterion,
    iterate,
    lagrangian_estimate,
    root_inverse,
    select,
)


@pytest.mark.parametrize("scaled", [False, True])
def test_whitened_moments_have_unit_covariance_whatever_their_units(rng, scaled):
    x = rng.standard_normal((50, 4)) * [1e-6, 1.0, 1e3, 1.0]
    gram = x.T @ x
    size = np.sqrt(np.diag(gram)) * [1, 2, 1, 3] if scaled else None
    W = root_inverse(gram, size)
    np.testing.assert_allclose(W @ gram @ W.T, np.eye(4), atol=1e-9)
    x[:, 3] = x[:, 1] + 1e-3 * x[:, 2]  # depends on the others
    W = root_inverse(x.T @ x)
    assert W.shape == (3, 4)
    np.testing.assert_allclose(W @ (x.T @ x) @ W.T, np.eye(3), atol=1e-6)


@pytest.mark.parametrize(
    ("supports", "rounding", "passes", "converged"),
    [
        ([(0,), (0,)], None, 2, True),
        ([(0,), (1,), (1,)], None, 3, True),
        ([(k,) for k in range(9)], None, MOST_ITERATIONS, False),
        ([(0,), (1,)], 2, 2, False),
        ([(0,)], 1, 1, False),
    ],
)
def test_a_search_ends_where_it_repeats_itself(supports, rounding, passes, converged):
    result = iter(supports)
    noises = []

    def fit(noise):
        noises.append(noise)
        return Selection(next(result), np.zeros(1), ())

    end = iterate(0, fit, lambda one, noise: noise + 1, lambda n: n == rounding)
    assert noises == list(range(passes)) and end.noise == passes
    assert end.converged == converged
    assert end.deterministic == (rounding is not None)
    assert end.fit.support == supports[passes - 1]


@pytest.mark.parametrize("samples", [10.0, 1e6])
def test_orthonormal_columns_enter_by_what_they_explain(rng, samples):
    a = np.linalg.qr(rng.standard_normal((30, 5)))[0]
    x = np.array([1.0, 9.0, -2.0, 5.0, 0.0])
    result = best_by_criterion(a[None], (a @ x)[None], 4, samples)
    largest = np.sort(x**2)[::-1]
    expected = [
        largest[k:].sum() + k * np.log(samples) + 2 * np.log(comb(5, k))
        for k in range(5)
    ]
    np.testing.assert_allclose(result.criterion, expected, atol=1e-9)
    size = int(np.argmin(expected))
    assert result.support == tuple(sorted((1, 3, 2, 0)[:size]))


def test_coefficients_are_those_of_least_squares_with_the_reference_in_its_place(rng):
    columns = rng.standard_normal((1, 60, 4)) * [1.0, 1e3, 1.0, 1e-3]
    truth = np.array([0.0, 2e-3, 0.5, -3e3])
    noise = 0.01 * rng.standard_normal(60)
    columns[0, :, 2] = (noise - columns[0] @ (truth * [1, 1, 0, 1])) / truth[2]
    increments = 1e9 * np.ones((1, 1, 1, 1)) * np.diag([1.0, 1e6, 1.0, 1e-6])
    fit = select(columns, 60, np.eye(1), np.ones(1), increments, 2, 0.5, 3, 60)
    assert fit.support == (1, 3) and fit.rank == 60
    A, b = columns[0][:, [1, 3]], -0.5 * columns[0, :, 2]
    c = np.linalg.lstsq(A / [1e3, 1e-3], b, rcond=None)[0] / [1e3, 1e-3]
    np.testing.assert_allclose(fit.coefficients, [0, c[0], 0.5, c[1]])
    np.testing.assert_allclose(
        fit.covariance[np.ix_((1, 3), (1, 3))], np.linalg.inv(A.T @ A)
    )
    assert not fit.covariance[[0, 2]].any() and not fit.covariance[:, [0, 2]].any()
    assert fit.j == pytest.approx(((b - A @ c) ** 2).sum())


def test_a_subset_with_less_noise_is_judged_by_its_residual(rng):
    """What it misses counts in units of its variance, where this is below one."""
    columns = rng.standard_normal((2, 40, 3))
    increments = np.zeros((2, 2, 3, 3))
    for d, size in enumerate((1e-2, 1e2)):
        increments[d, d] = size * np.eye(3)
    share = np.array([1.0, 0.5])
    fit = select(columns, 80, np.eye(2), share, increments, 0, 2.0, 2, 40)
    best = []
    for k in range(3):
        values = []
        for subset in itertools.combinations((1, 2), k):
            A = columns[:, :, subset].reshape(80, k)
            b = -2.0 * columns[:, :, 0]
            c = np.linalg.lstsq(A, b.ravel(), rcond=None)[0]
            rest = (b.ravel() - A @ c).reshape(2, 40)
            variance = (4 + c @ c) * np.array([1e-2, 1e2]) / share
            values.append(((rest**2).sum(axis=1) / np.minimum(variance, 1.0)).sum())
        best.append(min(values) + k * np.log(40) + 2 * np.log(comb(2, k)))
    np.testing.assert_allclose(fit.criterion, best)


NAMES = ["x**2", "xdot**2", "x**4", "D: xdot**2"]
MOMENTS = xr.Dataset(
    {
        "library_given": ("candidate", [0.0, 0.5, 0.0, 0.0]),
        "library_status": ("candidate", ["independent", "reference", *["x"] * 2]),
        "library_equivalent": ("candidate", ["", "", "y", ""]),
    },
    {"candidate": NAMES, "term": ["D: xdot**2", "x**2", "xdot**2"]},
    {"lagrangian_candidates": 3},
)
FIT = Fit(
    (0, 1),
    np.array([9.0, 5.0, 1.0]),
    ((1, 2), (0,)),
    np.array([0.1, -2.0, 0.0]),
    np.diag([0.04, 0.09, 0.0]),
    6.5,
    7,
)


def test_an_estimate_has_the_coefficients_at_the_places_of_their_candidates(caplog):
    end = Converged(FIT, None, True, False)
    noise = np.array([[2.0]]), np.array([[0.3]])
    about = {"more": (1.0, "1", "a number")}
    made = lagrangian_estimate(MOMENTS, end, noise=noise, diagnostics=about)
    assert made.terms == NAMES[:3] and made.dissipation_terms == ["xdot**2"]
    np.testing.assert_allclose(made.coefficients, [-2.0, 0.5, 0.0])
    np.testing.assert_allclose(made.std, [0.3, 0.0, 0.0])
    np.testing.assert_allclose(made.dissipation_coefficients, [0.1])
    np.testing.assert_allclose(made.dissipation_std, [0.2])
    assert made.status == ["independent", "reference", "x"]
    assert made.equivalent == ["", "", "y"] and made.noise_covariance is noise[0]
    assert made.noise_std is noise[1] and made.criterion is FIT.criterion
    assert made.alternatives == "x**2 + xdot**2; D: xdot**2"
    tests = {name: value for name, (value, *_) in made.diagnostics.items()}
    assert tests == {
        "j_statistic": 6.5,
        "converged": 1,
        "j_degrees": 5,
        "j_p_value": pytest.approx(chi2.sf(6.5, 5)),
        "more": 1.0,
    }
    assert not caplog.records
    moved = lagrangian_estimate(MOMENTS, end, np.zeros(4), [3, 2, 0])
    np.testing.assert_allclose(moved.coefficients, [0.0, 0.0, -2.0])
    assert moved.noise_covariance.shape == (0, 0)


@pytest.mark.parametrize(
    ("converged", "deterministic", "words"),
    [
        (False, False, "changed in each of 6 passes"),
        (False, True, "the data look deterministic"),
    ],
)
def test_an_end_that_is_none_is_warned_of(caplog, converged, deterministic, words):
    made = lagrangian_estimate(MOMENTS, Converged(FIT, 0, converged, deterministic))
    (record,) = caplog.records
    assert words in record.getMessage()
    assert made.diagnostics["converged"][0] == 0
    assert np.isnan(made.diagnostics["j_statistic"][0]) == deterministic
    assert np.isnan(made.diagnostics["j_p_value"][0]) == deterministic
    expected = [np.nan if deterministic else 0.3, 0.0, 0.0]
    np.testing.assert_allclose(made.std, expected)
