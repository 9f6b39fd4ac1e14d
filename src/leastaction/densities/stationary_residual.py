"""Residual of the stationary Fokker–Planck equation by finite differences.

Yoshida and Yamanaka (2020), eqs. (17)–(21). With p = count / (N h²) and the central
differences

.. math::

    D_i F = \\frac{F[s + e_i] - F[s - e_i]}{2 h_i},

zero in the outer layer, every term of the equation has a column,

.. math::

    r = \\sum_i θ_i r_i, \\qquad
    r_i = -D_{\\dot q}(a_i p) + \\tfrac12 D_{\\dot q} D_{\\dot q}(B_i p),

with −D_q(q̇ p) in the reference, and the sum of squares over the cells is the
quadratic form θᵀ G θ. Paper: eq. (7) integrates over the domain, but the numbers
printed are those of a sum without the area of a cell.

Products of *different* batches are kept apart, too: their counts are independent, so
their mean has no noise in it (:mod:`leastaction.densities.residual_least_squares`).
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.densities.contracts import CONTRACTS
from leastaction.densities.fokker_planck import (
    equation_dataset,
    equation_of,
    terms_on_cells,
)
from leastaction.densities.gill_histogram import CELLS, coarsened, shares, spacing


def central_stencil(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Density of every batch, and the matrices of its differences.

    The product of `difference_q`, shape (q_bin, q_bin_other), with a field gives the
    difference along q.
    """
    data = coarsened(observations, settings["bins"])
    h = spacing(data)
    values = {"density": shares(data) / (h[0] * h[1])}
    for name, step in zip(("q", "qdot"), h, strict=True):
        cells = data.sizes[f"{name}_bin"]
        values[f"difference_{name}"] = central_difference(cells, step)
    return CONTRACTS["density_stencil"].dataset(
        values, {name: data.variables[name] for name in ("replicate", *CELLS)}
    )


def central_difference(cells: int, step: float) -> np.ndarray:
    """Matrix of central differences, zero in the first and the last row (eq. 17)."""
    matrix = (np.eye(cells, k=1) - np.eye(cells, k=-1)) / (2 * step)
    matrix[[0, -1]] = 0.0
    return matrix


def stationary_residual(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Inner products of the columns of all terms, of each two batches."""
    equation = equation_of(library, observations)
    on_cells = terms_on_cells(
        library,
        observations,
        derivatives.variables["q_bin"].values,
        derivatives.variables["qdot_bin"].values,
    )
    density = derivatives.variables["density"].values[0]
    columns = residual_columns(
        density,
        derivatives.variables["difference_q"].values,
        derivatives.variables["difference_qdot"].values,
        *on_cells,
    )
    batches, terms = columns.shape[:2]
    rows = columns.reshape(batches * terms, -1)
    gram = (rows @ rows.T).reshape(batches, terms, batches, terms).swapaxes(1, 2)
    diffusion = on_cells[2][[t.kind == "volatility" for t in equation.terms]]
    total = density.mean(axis=0)
    mean_square = np.einsum("tij,ij->t", diffusion, total) / total.sum()
    return equation_dataset(
        "stationary_residual",
        equation,
        observations["replicate"],
        mean_square,
        {"gram": gram},
    )


def residual_columns(
    density: np.ndarray,
    difference_q: np.ndarray,
    difference_qdot: np.ndarray,
    velocity: np.ndarray,
    acceleration: np.ndarray,
    diffusion: np.ndarray,
) -> np.ndarray:
    """Column of every term, shape (batch, term, q_bin, qdot_bin).

    Parameters
    ----------
    density
        Shape (batch, q_bin, qdot_bin).
    difference_q, difference_qdot
        Matrices of the differences along q and along q̇.
    velocity, acceleration, diffusion
        See :func:`terms_on_cells`.
    """
    along_qdot = np.ascontiguousarray(difference_qdot.T)
    columns = np.zeros((len(density), *acceleration.shape))
    weighted, slope = np.empty_like(density), np.empty_like(density)
    for i, (force, noise) in enumerate(zip(acceleration, diffusion, strict=True)):
        if noise.any():
            # Paper: the diffusive current is differenced like any other, so the second
            # derivative is a difference of a difference.
            np.multiply(0.5 * noise, density, out=weighted)
            np.matmul(weighted, along_qdot, out=slope)
            np.matmul(slope, along_qdot, out=columns[:, i])
        if force.any():
            np.multiply(force, density, out=weighted)
            columns[:, i] -= np.matmul(weighted, along_qdot, out=slope)
    np.multiply(velocity, density, out=weighted)
    columns[:, 0] -= np.matmul(difference_q, weighted, out=slope)
    return columns
