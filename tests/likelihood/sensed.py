"""A model of a string between fixed ends, as `field_likelihood` writes it."""

import numpy as np

from leastaction.likelihood.contracts import CONTRACTS

LENGTH = 2.0
WORDS = {
    "domain_length": LENGTH,
    "domain_ends": "fixed",
    "time_step": 0.05,
    "units": ["mm", "mm"],
    "sensors": ["u(0.3)", "u(0.9)"],
    "field": "u",
    "best_absent": "L: x*u",
    "alternatives": "",
    "absent": ["L: -u**2/2"],
    "lagrangian": ["u_t**2/2", "-u_x**2/2", "-u**2/2"],
    "dissipation": ["u_t**2/2", "u_xt**2/2"],
    "reference": "u_t**2/2",
    "own": 3,
}


def sensed_field(columns=(1, 3), c=(4.0, 0.4), std=(0.2, 0.1), **words):
    """Its dataset; columns among those of L, then of D."""
    covariance = np.diag(np.array([*std, 0.3, 0.05, 0.05]) ** 2)
    covariance[0, 1] = covariance[1, 0] = 0.3 * std[0] * std[1]
    numbers = {
        "theta": np.array([*c, -0.5, np.log(0.2), np.log(0.3)]),
        "covariance": covariance,
        "column": np.array(columns),
        "kept": 5,
        "truncation": 0.02,
        "whiteness": 0.5,
        "predicted_share": 0.0,
        "converged": 1.0,
        "penalty": 12.0,
        "best_score": 3.0,
        "memory_score": 0.1,
        "open_error": 0.1,
        "absent_estimate": np.array([2.0]),
        "absent_std": np.array([0.5]),
        "impulse_score": 0.0,
        "impulse_rate": 0.0,
        "impulse_part": 0.0,
    }
    return CONTRACTS["sensed_field"].dataset(
        {k: np.asarray(v)[None] for k, v in numbers.items()},
        {"replicate": [0]},
        WORDS | words,
    )


MODEL = sensed_field()
