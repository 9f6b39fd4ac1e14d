"""What all identified effort functions share: datasets of their fits, and back."""

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

PASSED_ON = (
    "flow_matrix",
    "structure_matrix",
    "dissipation_matrix",
    "port_matrix",
    "constraint",
    "training_index",
    "x",
    "y",
    "scheme",
)


def transform_of(equations: xr.Dataset) -> np.ndarray:
    """A = J − R, shape (row, effort)."""
    return equations["structure_matrix"].values - equations["dissipation_matrix"].values


def training_data(equations: xr.Dataset) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Inputs (sample, state) and targets (sample, row) of every fit."""
    for fit in range(equations.sizes["fit"]):
        yield training_set(equations, fit)


def training_set(equations: xr.Dataset, fit: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (sample, state) and targets (sample, row) of one fit."""
    there = equations["training_index"].values[0, fit] >= 0
    return (
        equations["x"].values[0, fit, there],
        equations["y"].values[0, fit, there],
    )


def fitted_dataset(
    equations: xr.Dataset,
    fits: list[Mapping[str, np.ndarray]],
    dims: Mapping[str, tuple[tuple[str, ...], str]],
) -> xr.Dataset:
    """Training data and hyperparameters of every fit.

    Parameters
    ----------
    equations
        Contract ``effort_data``.
    fits
        By name, the hyperparameters of each fit.
    dims
        By name, their dimensions beside (replicate, fit), and their meaning.
    """
    found = {
        name: (
            ("replicate", "fit", *names),
            np.array([np.asarray(fit[name], dtype=float) for fit in fits])[None],
            {"units": "SI units of each entry", "long_name": meaning},
        )
        for name, (names, meaning) in dims.items()
    }
    return equations[list(PASSED_ON)].assign(found)
