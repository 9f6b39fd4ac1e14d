"""Laws of the derivative of a Gaussian process."""

import numpy as np
import pytest
from scipy.linalg import toeplitz

from leastaction_papers.port_hamiltonian.gaussian_process import (
    derivative_on_grid,
    derivative_on_subset,
    levinson,
)


def test_levinson_is_dense_algebra(rng):
    column = np.exp(-0.5 * (np.arange(60) / 3.0) ** 2)
    column[0] += 1e-3
    matrix, right = toeplitz(column), rng.standard_normal(60)
    solution, square, log_determinant = levinson(column, right)
    np.testing.assert_allclose(matrix @ solution, right, atol=1e-10)
    assert square == pytest.approx(right @ solution)
    assert log_determinant == pytest.approx(np.linalg.slogdet(matrix)[1])


def test_levinson_reports_that_a_matrix_is_not_definite():
    assert np.isnan(levinson(np.array([1.0, 2.0, 0.0]), np.ones(3))[1])


def test_a_smooth_motion_is_differentiated(rng):
    time = np.linspace(0, 20, 801)
    found = derivative_on_grid(np.sin(time) + 3.0, time[1])
    error = found - np.cos(time)
    assert np.sqrt((error**2).mean()) < 1e-4
    picked = rng.permutation(801)[:80]
    few = derivative_on_subset(time[picked], np.sin(time[picked]))
    assert np.sqrt(((few - np.cos(time[picked])) ** 2).mean()) < 1e-3


def test_derivative_is_centred():
    """Reversed time reverses the sign: no side is preferred."""
    time = np.linspace(0, 12, 301)
    values = np.sin(time) + 0.3 * np.cos(2.2 * time)
    forward = derivative_on_grid(values, time[1])
    backward = derivative_on_grid(values[::-1], time[1])
    np.testing.assert_allclose(forward, -backward[::-1], atol=1e-4)


def test_grid_and_subset_are_the_same_process(rng):
    """All times of a grid, in any order, give the derivative on the grid."""
    time = np.linspace(0, 10, 101)
    values = np.sin(time) + 0.02 * rng.standard_normal(101)
    order = rng.permutation(101)
    subset = derivative_on_subset(time[order], values[order])
    on_grid = derivative_on_grid(values, time[1])
    np.testing.assert_allclose(subset, on_grid[order], atol=5e-3)


def test_noise_is_smoothed(rng):
    """Differences of white noise have an error of σ/(√2 Δt); the process has less."""
    time = np.linspace(0, 20, 1001)
    noise = 0.01 * rng.standard_normal(1001)
    error = derivative_on_grid(np.sin(time) + noise, time[1]) - np.cos(time)
    assert np.sqrt((error**2).mean()) < 0.05 * 0.01 / (np.sqrt(2) * time[1])


def test_scale_of_values_and_time(rng):
    time = np.linspace(0, 10, 201)
    values = np.sin(time) + 0.01 * rng.standard_normal(201)
    once = derivative_on_grid(values, time[1])
    scaled = derivative_on_grid(1e4 * values + 7.0, 1e-3 * time[1])
    np.testing.assert_allclose(scaled, 1e7 * once, rtol=1e-5, atol=1e3)


def test_least_noise_smooths_more_and_goes_with_the_square_of_the_values():
    time = np.linspace(0, 10, 201)
    values = np.sin(time)
    errors = [
        derivative_on_grid(values, time[1], least) - np.cos(time)
        for least in (0.0, 1e-6, 1e-4, 1e-2)
    ]
    assert (np.diff([np.abs(e).max() for e in errors]) > 0).all()
    scaled = derivative_on_grid(10 * values, time[1], 1e-2)
    np.testing.assert_allclose(
        scaled, 10 * (errors[2] + np.cos(time)), rtol=0, atol=1e-3
    )
    few = derivative_on_subset(time[::5], values[::5], 1e-2) - np.cos(time[::5])
    without = derivative_on_subset(time[::5], values[::5]) - np.cos(time[::5])
    assert np.abs(few).max() > 10 * np.abs(without).max()


@pytest.mark.parametrize("size", [2, 3, 5])
def test_few_samples_give_finite_values(rng, size):
    time = rng.uniform(0, 30, size)
    assert np.isfinite(derivative_on_subset(time, np.sin(time))).all()
    np.testing.assert_array_equal(derivative_on_subset(time, np.full(size, 2.0)), 0.0)


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="three samples"):
        derivative_on_grid(np.ones(2), 0.1)
    with pytest.raises(ValueError, match="must be positive"):
        derivative_on_grid(np.ones(5), 0.0)
    with pytest.raises(ValueError, match="finite"):
        derivative_on_grid(np.array([0.0, np.nan, 1.0]), 0.1)
    with pytest.raises(ValueError, match="different times"):
        derivative_on_subset(np.ones(3), np.arange(3.0))
