"""Compact test functions on a histogram whose cells are corrected for their size.

A weak form needs means E[f(q, q̇)] of smooth functions and no derivative of the density.
The sum Σ P_s f(x_s) over cells differs from the mean by the second moment of a cell,
h²/24 in each direction, which Sheppard's correction takes off the probabilities,

.. math:: P_s \\to P_s - \\tfrac{1}{24} Δ_h P_s,

with Δ_h the five-point difference, conservative at the edges. The test functions are
products of bumps (1 − ξ²)⁴ around equally spaced centres; their support ends where the
histogram ends, so that nothing is cut.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.densities.density_grid import CELLS, coarsened, shares

POWER = 4


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Corrected probabilities of every batch, and bumps with their derivatives.

    Parameters
    ----------
    observations
        Contract ``histogram``.
    settings
        `bins` along each side (None for those of the histogram), `centres` along each
        side, `half_width` of a bump over that of the domain.
    library
        Not used.

    Returns
    -------
    xr.Dataset
        Contract ``density_tests``.
    """
    data = coarsened(observations, settings["bins"])
    out = {
        "probability": (
            ("replicate", "batch", *CELLS),
            sheppard(shares(data)),
            {"units": "1", "long_name": "probability of the cell, corrected"},
        ),
        "duration": data.variables["duration"],
    }
    about = {"units": "1", "long_name": "derivatives of the bump, by order"}
    for name in ("q", "qdot"):
        values = bumps(
            data.variables[f"{name}_bin"].values,
            settings["centres"],
            settings["half_width"],
        )
        out[f"bump_{name}"] = (("order", "bump", f"{name}_bin"), values, about)
    return xr.Dataset(
        out, {name: data.variables[name] for name in ("replicate", *CELLS)}
    )


def sheppard(probability: np.ndarray) -> np.ndarray:
    """Probabilities of cells, shape (..., q_bin, qdot_bin), corrected to O(h⁴)."""
    corrected = probability.copy()
    for axis in (-2, -1):
        cells = corrected.swapaxes(axis, -1)
        flux = np.diff(probability.swapaxes(axis, -1)) / 24
        cells[..., 0] -= flux[..., 0]
        cells[..., 1:-1] -= np.diff(flux)
        cells[..., -1] += flux[..., -1]
    return corrected


def bumps(cells: np.ndarray, centres: int, half_width: float) -> np.ndarray:
    """Bumps (1 − ξ²)⁴ and their first two derivatives.

    Parameters
    ----------
    cells
        Centres of the cells, shape (bin,).
    centres
        Number of bumps, equally spaced.
    half_width
        Of a bump, over that of the domain; their supports fill it exactly.

    Returns
    -------
    ndarray
        Shape (order, bump, bin).
    """
    step = cells[1] - cells[0]
    half = (cells[-1] - cells[0] + step) / 2
    middle = (cells[-1] + cells[0]) / 2
    width = half_width * half
    centre = middle + (half - width) * np.linspace(-1, 1, centres)
    xi = (cells - centre[:, None]) / width
    rest = np.clip(1 - xi**2, 0.0, None)
    m = POWER
    return np.stack(
        [
            rest**m,
            -2 * m * xi * rest ** (m - 1) / width,
            (4 * m * (m - 1) * xi**2 * rest ** (m - 2) - 2 * m * rest ** (m - 1))
            / width**2,
        ]
    )
