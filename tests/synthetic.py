"""A harmonic oscillator and models of it with chosen errors."""

import copy

import numpy as np
import xarray as xr

CONFIG = {
    "title": "Oscillator",
    "system": {
        "coordinates": {"x": {"unit": "m", "label": "X"}},
        "parameters": {
            "m": {"value": 2.0, "unit": "kg"},
            "k": {"value": 18.0, "unit": "N/m"},
            "sigma": {"value": 1.0, "unit": "N s^0.5"},
        },
        "lagrangian": "m*xdot**2/2 - k*x**2/2",
        "volatility": {"x": "sigma"},
    },
    "library": {
        "reference": "xdot**2/2",
        "lagrangian": [{"terms": ["x**2", "xdot**2", "x**4", "x*abs(x)"]}],
        "volatility": [{"terms": ["1", "x", "x**2"]}],
    },
}
TERMS = ["x**2", "xdot**2", "x**4", "x*abs(x)"]
STIFFNESS = -4.5  # of L / m
SIGMA = 0.5  # of the acceleration


def config(**publish) -> dict:
    return copy.deepcopy(CONFIG) | ({"publish": publish} if publish else {})


def model(
    coefficients=None, sigma=None, std=0.01, sigma_std=0.001, constant=True, n=5
) -> xr.Dataset:
    """Perfect unless told otherwise; `coefficients` has shape (replicate, 4)."""
    if coefficients is None:
        coefficients = [[STIFFNESS, 0.5, 0.0, 0.0]] * n
    c = np.array(coefficients, dtype=float)
    n = len(c)
    s = np.full((n, 1), SIGMA) if sigma is None else np.array(sigma).reshape(n, 1)
    selected = [1, 0, 0] if constant else [0, 0, 1]
    of_term, of_dof = ("replicate", "term"), ("replicate", "dof")
    return xr.Dataset(
        {
            "coefficient_estimate": (of_term, c),
            "coefficient_std": (of_term, np.where(c != 0, std, 0.0) + 0 * std),
            "support": (of_term, (c != 0).astype("int8")),
            "volatility_estimate": (of_dof, s),
            "volatility_std": (of_dof, np.full((n, 1), sigma_std)),
            "volatility_support": (
                ("replicate", "dof", "volatility_term"),
                np.array([[selected]] * n, dtype="int8"),
            ),
        },
        coords={
            "replicate": np.arange(n),
            "term": TERMS,
            "dof": ["x"],
            "volatility_term": ["1", "x", "x**2"],
        },
    )


def rollout(error=0.01, n=5) -> xr.Dataset:
    names = ("mean_error_training", "mean_error_prediction", "std_error")
    data = {name: ("replicate", np.full(n, error)) for name in names}
    data["diverged"] = ("replicate", np.zeros(n, dtype=int))
    return xr.Dataset(data, coords={"replicate": np.arange(n)})
