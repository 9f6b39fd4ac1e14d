"""Sequential thresholded least squares."""

import numpy as np
import pytest
import xarray as xr
from stages import assemble, differentiate
from support import OSCILLATOR_LIBRARY, observe, oscillator

from leastaction.core.sparse_regression import stlsq
from leastaction_papers.stochastic_lagrangian import ensemble_mean as method


def test_threshold_zero_is_plain_least_squares(rng):
    theta, target = rng.normal(size=(40, 6)), rng.normal(size=40)
    expected = np.linalg.lstsq(theta, target, rcond=None)[0]
    np.testing.assert_allclose(stlsq(theta, target, 0.0), expected)


@pytest.mark.parametrize("seed", range(5))
def test_sparse_truth_is_recovered_exactly_without_noise(seed):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(60, 12))
    truth = np.zeros(12)
    truth[rng.choice(12, 3, replace=False)] = rng.choice([-3.0, 2.0, 5.0], 3)
    found = stlsq(theta, theta @ truth, 0.5)
    np.testing.assert_allclose(found, truth, atol=1e-10)
    assert ((found != 0) == (truth != 0)).all()


def test_what_is_left_is_the_least_squares_fit_of_the_support(rng):
    theta = rng.normal(size=(60, 8))
    target = theta @ np.array([3.0, 0, 0, -2.0, 0, 0, 0, 0]) + rng.normal(size=60) / 5
    found = stlsq(theta, target, 1.0)
    active = found != 0
    assert active.tolist() == [True, False, False, True] + [False] * 4
    expected = np.linalg.lstsq(theta[:, active], target, rcond=None)[0]
    np.testing.assert_allclose(found[active], expected)


def test_terms_that_shrink_later_are_dropped_later(rng):
    """A coefficient above the threshold at first may fall below it in the refit."""
    first = rng.normal(size=200)
    theta = np.column_stack([first, first + 0.05 * rng.normal(size=200)])
    target = theta @ np.array([1.0, 1.0])
    assert (np.abs(stlsq(theta, target, 0.9)) > 0).all()
    found = stlsq(theta, 2 * theta[:, 0] + 0.01 * rng.normal(size=200), 0.9)
    assert (np.abs(found) > 0).tolist() == [True, False]


def test_too_high_a_threshold_leaves_nothing(rng):
    theta = rng.normal(size=(30, 3))
    assert not stlsq(theta, theta @ [1.0, 2.0, 3.0], 10.0).any()


def published(paths, threshold, remove=True):
    derivatives = differentiate(
        paths, {"method": "central_difference"}, OSCILLATOR_LIBRARY
    )
    equations = assemble(
        paths,
        derivatives,
        {"method": "ensemble_mean", "remove_null_candidates": remove},
        OSCILLATOR_LIBRARY,
    )
    return method.identify(equations, {"threshold": threshold, "shared": "mean"})


def test_without_noise_the_law_of_the_oscillator_comes_out():
    found = published(
        observe(oscillator(sigma=0.0), trajectories=1, steps=2000), threshold=5.0
    )
    chosen = {
        t: c for t, c in zip(found.terms, found.coefficients, strict=True) if c != 0
    }
    assert chosen == pytest.approx({"x**2": -12.5, "xdot**2": 0.5}, rel=1e-4)
    assert np.isnan(found.std).all()


def test_the_reference_is_given_and_removed_terms_are_zero(observations):
    found = published(observations, threshold=0.0)
    for coefficient, status in zip(found.coefficients, found.status, strict=True):
        if status == "reference":
            assert coefficient == 0.5
        elif status != "independent":
            assert coefficient == 0.0


def test_each_equation_is_a_regression_of_its_own(rng):
    """A coupling gets the mean of both, the terms of one equation only their own."""
    theta = np.zeros((2, 40, 4))
    theta[0][:, [1, 3]] = rng.normal(size=(40, 2))
    theta[1][:, [2, 3]] = rng.normal(size=(40, 2))
    first, second = np.array([0, -7.0, 0, 3.0]), np.array([0, 0, 5.0, 4.0])
    target = np.stack([theta[0] @ first, theta[1] @ second])
    about = {"units": "1", "long_name": "made up"}
    library = xr.Dataset(
        {
            "theta": (("replicate", "dof", "equation", "term"), theta[None], about),
            "target": (("replicate", "dof", "equation"), target[None], about),
            "used": ("term", [0, 1, 1, 1], about),
            "status": ("term", ["reference"] + 3 * ["independent"], about),
            "equivalent": ("term", 4 * [""], about),
            "given": ("term", [0.5, 0.0, 0.0, 0.0], about),
        },
        coords={"term": list("abcd")},
    )
    found = method.identify(library, {"threshold": 0.1, "shared": "mean"})
    np.testing.assert_allclose(found.by_equation, [0.5 * first, 0.5 * second])
    np.testing.assert_allclose(found.coefficients, [0.5, -3.5, 2.5, 1.75])
    first = method.identify(library, {"threshold": 0.1, "shared": "first"})
    np.testing.assert_allclose(first.coefficients, [0.5, -3.5, 2.5, 1.5])


def test_small_singular_values_count_or_not(rng):
    """Two columns that differ by round-off get huge coefficients, or share one."""
    column = rng.normal(size=50)
    theta = np.stack([column, column * (1 + 1e-15 * rng.normal(size=50))], axis=1)
    shared = stlsq(theta, 2 * column, 0.5)
    np.testing.assert_allclose(shared, [1.0, 1.0], rtol=1e-6)
    assert np.abs(stlsq(theta, 2 * column + 0.1, 0.5, rcond=1e-18)).max() > 1e6
