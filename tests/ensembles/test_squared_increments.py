"""Volatility from squared increments: a constant if it is one, its law if it is not."""

import numpy as np
import pytest
from support import OSCILLATOR_LIBRARY, observe, oscillator, recommended


def chosen(volatility):
    return {
        term: c
        for term, c in zip(volatility.terms, volatility.coefficients[0], strict=True)
        if c != 0
    }


def test_additive_noise_is_a_constant(replicated):
    """Twelve candidates, many of which imitate a constant on one energy shell."""
    first = replicated[:12]
    constant = [bool(one.volatility.constant[0]) for one in first]
    assert sum(constant) >= 11
    for one in first:
        if one.volatility.constant[0]:
            assert chosen(one.volatility) == pytest.approx({"1": 1.0}, abs=0.04)


def test_multiplicative_noise_gives_its_law():
    """S = 1 + 4x, S² = 1 + 8x + 16x²; here without sin x, which is too like x."""
    start = {"x": 0.5}
    truth = oscillator(volatility="1 + 4*x")
    cubic = [{"polynomial": {"of": ["x", "xdot"], "degree": 3}}]
    found = recommended(
        observe(truth, trajectories=40, steps=1000, start=start),
        {**OSCILLATOR_LIBRARY, "volatility": cubic},
    ).volatility
    assert not found.constant[0]
    assert chosen(found) == pytest.approx({"1": 1.0, "x": 8.0, "x**2": 16.0}, rel=0.12)


def test_volatility_of_the_velocity_gives_its_law():
    truth = oscillator(volatility="sqrt(1 + 0.25*xdot**2)")
    found = recommended(
        observe(truth, trajectories=40, steps=2000), OSCILLATOR_LIBRARY
    ).volatility
    assert chosen(found) == pytest.approx({"1": 1.0, "xdot**2": 0.25}, rel=0.15)


def test_the_standard_error_is_that_of_a_variance(replicated):
    """σ̂ scatters by σ/√2N over replicates."""
    sigma = np.array([one.volatility.volatility[0] for one in replicated])
    error = np.array([one.volatility.std[0] for one in replicated])
    assert error == pytest.approx(1 / np.sqrt(2 * 40_000), rel=0.05)
    assert 0.65 < (sigma - 1.0).std() / error.mean() < 1.4
    assert abs(sigma.mean() - 1.0) < 4 * error.mean() / np.sqrt(sigma.size)
