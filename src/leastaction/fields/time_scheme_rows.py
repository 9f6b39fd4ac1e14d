"""Scores of the time scheme that an estimator of fields names."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.fields.time_scheme import DISPERSION, EXACT, LEAPFROG, NEWMARK

# By `simulate.method`.
SCHEME_OF = {"modal": EXACT, "leapfrog": LEAPFROG, "newmark": NEWMARK}


def right_scheme(model: xr.Dataset, config: Mapping) -> np.ndarray:
    """Whether the scheme of the simulation is named, shape (replicate,)."""
    if "scheme" not in model:
        return np.zeros(model.sizes["replicate"], dtype=bool)
    return model["scheme"].values.astype(str) == true_scheme(config)


def dispersion_error(model: xr.Dataset, config: Mapping) -> np.ndarray:
    """|ρ̂ − ρ| of the replicates whose modes show a dispersion."""
    used = model["dispersion_used"].values.astype(bool)
    return np.abs(model["dispersion"].values - DISPERSION[true_scheme(config)])[used]


def true_scheme(config: Mapping) -> str:
    """Name of the scheme that simulates an example.

    Raises
    ------
    ValueError
        If it has none.
    """
    method = config["simulate"]["method"]
    if method not in SCHEME_OF:
        raise ValueError(
            f"simulate.method {method!r} has no scheme; known: {', '.join(SCHEME_OF)}"
        )
    return SCHEME_OF[method]
