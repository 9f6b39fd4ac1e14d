"""Euler–Lagrange expression integrated over one time step."""

import numpy as np


def step_increments(
    momentum: np.ndarray, force: np.ndarray, rate: np.ndarray, time_step: float
) -> np.ndarray:
    """Δ(∂D/∂q̇) − ∫∂D/∂q dt of each step, by the trapezoid with its end correction.

    ∫F dt ≈ dt/2 (F₀ + F₁) + dt²/12 (F₀' − F₁'), exact to O(dt⁵) if F' is known.

    Parameters
    ----------
    momentum, force, rate
        ∂D/∂q̇, F = ∂D/∂q and F' = ∂F/∂q q̇ at the samples, shape (samples, column).
    time_step
        dt, s.

    Returns
    -------
    np.ndarray
        Shape (samples − 1, column).
    """
    increments = np.diff(momentum, axis=0)
    increments -= (time_step / 2) * (force[1:] + force[:-1])
    increments += (time_step**2 / 12) * np.diff(rate, axis=0)
    return increments
