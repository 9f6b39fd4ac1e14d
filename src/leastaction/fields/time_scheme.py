"""Which time scheme made the samples of a field."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

EXACT, LEAPFROG, UNKNOWN = "exact", "leapfrog", "unknown"
NEWMARK = "Newmark average acceleration"
# Time scheme by `simulate.method`.
SCHEME_OF = {
    "modal": EXACT,
    "leapfrog": LEAPFROG,
    "newmark": NEWMARK,
    "newmark_hermite": NEWMARK,
}
# Dispersion ρ: samples obey Δ²q/dt² = F + (1/12 + ρ) δ²F.
DISPERSION = {EXACT: 0.0, LEAPFROG: -1 / 12, NEWMARK: 1 / 6}
# γ₁/γ₀ of overlapping second differences of white forcing.
AUTOCORRELATION = {EXACT: 0.25, LEAPFROG: 0.0, NEWMARK: 0.5}
# Largest deviation from a scheme; that of ρ grows with its standard error.
LARGEST_DEVIATION = {"dispersion": 0.02, "autocorrelation": 0.05}
STANDARD_ERRORS_OF_DISPERSION = 4.0


def scheme_name(dispersion: tuple[float, float] | None, autocorrelation: float) -> str:
    """Name of the scheme; ``unknown`` if none comes close.

    By ρ and its standard error, or where these are unknown (None) by γ₁/γ₀.
    """
    if dispersion is not None:
        value, error = dispersion
        table, tolerance = DISPERSION, LARGEST_DEVIATION["dispersion"]
        tolerance += STANDARD_ERRORS_OF_DISPERSION * error
    else:
        value, table = autocorrelation, AUTOCORRELATION
        tolerance = LARGEST_DEVIATION["autocorrelation"]
    nearest = min(table, key=lambda name: abs(table[name] - value))
    return nearest if abs(table[nearest] - value) <= tolerance else UNKNOWN


def true_scheme(config: Mapping) -> str:
    """Name of the time scheme that simulates an example; ValueError if it has none."""
    method = config["simulate"]["method"]
    if method not in SCHEME_OF:
        raise ValueError(
            f"simulate.method {method!r} has no scheme; known: {', '.join(SCHEME_OF)}"
        )
    return SCHEME_OF[method]


def right_scheme(model: xr.Dataset, config: Mapping) -> np.ndarray:
    """Whether the scheme of the simulation is named, shape (replicate,)."""
    if "scheme" not in model:
        return np.zeros(model.sizes["replicate"], dtype=bool)
    return model["scheme"].values.astype(str) == true_scheme(config)
