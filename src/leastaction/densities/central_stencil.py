"""The density from a histogram, and central differences that act on it.

Yoshida and Yamanaka (2020), eqs. (17) and (18): p = count / (N h²), and

.. math::

    ∂_i F ≈ \\frac{F[s + e_i] - F[s - e_i]}{2 h_i},

zero in the outer layer. A second derivative is the difference of the difference, which
spans four cells.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.densities.density_grid import CELLS, coarsened, shares, spacing


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Density of every batch, and the matrices of its differences.

    Parameters
    ----------
    observations
        Contract ``histogram``.
    settings
        `bins` along each side; None for those of the histogram.
    library
        Not used.

    Returns
    -------
    xr.Dataset
        Contract ``density_stencil``. `difference_q` has shape (q_bin, q_bin_other):
        its product with a field gives the difference along q.
    """
    data = coarsened(observations, settings["bins"])
    h = spacing(data)
    out = {
        "density": (
            ("replicate", "batch", *CELLS),
            shares(data) / (h[0] * h[1]),
            {"units": "1/(q qdot)", "long_name": "probability density"},
        )
    }
    about = {"units": "1/q", "long_name": "central difference"}
    for name, step in zip(("q", "qdot"), h, strict=True):
        matrix = central_difference(data.sizes[f"{name}_bin"], step)
        out[f"difference_{name}"] = (
            (f"{name}_bin", f"{name}_bin_other"),
            matrix,
            about,
        )
    return xr.Dataset(
        out, {name: data.variables[name] for name in ("replicate", *CELLS)}
    )


def central_difference(cells: int, step: float) -> np.ndarray:
    """Matrix of central differences, zero in the first and the last row (eq. 17)."""
    matrix = (np.eye(cells, k=1) - np.eye(cells, k=-1)) / (2 * step)
    matrix[[0, -1]] = 0.0
    return matrix
