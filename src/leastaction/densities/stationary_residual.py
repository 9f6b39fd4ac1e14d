"""Residual of the stationary Fokker–Planck equation by finite differences.

Yoshida and Yamanaka (2020), eqs. (19)–(21). With the differences D of the stage before,
every term of the equation has a column,

.. math::

    r = \\sum_i θ_i r_i, \\qquad
    r_i = -D_{\\dot q}(a_i p) + \\tfrac12 D_{\\dot q} D_{\\dot q}(B_i p),

with −D_q(q̇ p) in the reference, and the sum of squares over the cells is the
quadratic form θᵀ G θ. Paper: eq. (7) integrates over the domain, but the numbers
printed are those of a sum without the area of a cell.

Products of *different* batches are kept apart, too: their counts are independent, so
their mean has no noise in it (:mod:`leastaction.densities.split_sample_residual`).
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.densities.density_terms import (
    equation_dataset,
    equation_of,
    terms_on_cells,
)


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Inner products of the columns of all terms, batch by batch.

    Parameters
    ----------
    observations
        Contract ``histogram``; its `dof` names the coordinate.
    derivatives
        Contract ``density_stencil``.
    settings
        Nothing.
    library
        Structure of the model; see :class:`StationaryEquation`.

    Returns
    -------
    xr.Dataset
        Contract ``stationary_residual``: `gram` of shape (replicate, batch,
        batch_other, equation_term, equation_term_other).
    """
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
    data = {
        "gram": (
            (
                "replicate",
                "batch",
                "batch_other",
                "equation_term",
                "equation_term_other",
            ),
            gram[None],
            {"units": "mixed", "long_name": "inner product of columns of the residual"},
        ),
    }
    return equation_dataset(equation, observations["replicate"], mean_square, data)


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
