"""Least squares of the Fokker–Planck residual of a measured density.

Yoshida and Yamanaka (2020), eqs. (9) and (17)–(22). Of the density p = count / (N h²)
every term of the equation has a column of central differences
D_i F = (F[s + e_i] − F[s − e_i]) / (2 h_i), zero in the outer layer,

.. math::

    r = \\sum_i θ_i r_i, \\qquad
    r_i = -D_{\\dot q}(a_i p) + \\tfrac12 D_{\\dot q} D_{\\dot q}(B_i p),

with −D_q(q̇ p) in the reference, and the parameters minimise the sum of squares over the
cells, E(θ) = θᵀ G θ: a linear system, with squared volatilities that are not negative.
Paper: eq. (7) integrates over the domain, but the numbers printed are those of a sum
without the area of a cell.

The columns carry counting noise, which the normal equations square: the estimates are
drawn towards zero, without a standard error.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.densities.contracts import CELLS, coarsened, shares
from leastaction.densities.stationary_estimate import (
    Solution,
    stationary_estimate,
    unknown,
)
from leastaction_papers.fokker_planck.contracts import CONTRACTS


def central_stencil(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Density of every batch, and the matrices of its differences.

    The product of `difference_q`, shape (q_bin, q_bin_other), with a field gives the
    difference along q.
    """
    data = coarsened(observations, settings["bins"])
    cells = [data.variables[name].values for name in CELLS]
    h = [x[1] - x[0] for x in cells]
    return CONTRACTS["density_stencil"].dataset(
        {
            "density": shares(data) / (h[0] * h[1]),
            "difference_q": central_difference(cells[0].size, h[0]),
            "difference_qdot": central_difference(cells[1].size, h[1]),
        },
        {name: data.variables[name] for name in ("replicate", *CELLS)},
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
    from leastaction.densities.fokker_planck import terms_on_cells  # imports SymPy

    equation, terms_there = terms_on_cells(observations, derivatives, library)
    velocity, acceleration, diffusion = terms_there
    variables = derivatives.variables
    density = variables["density"].values[0]
    along_qdot = np.ascontiguousarray(variables["difference_qdot"].values.T)
    each = density[:, None]
    # Paper: the diffusive current is differenced like any other, so the second
    # derivative is a difference of a difference.
    columns = (0.5 * diffusion * each) @ along_qdot @ along_qdot
    columns -= (acceleration * each) @ along_qdot
    columns[:, 0] -= variables["difference_q"].values @ (velocity * density)
    batches, terms = columns.shape[:2]
    rows = columns.reshape(batches * terms, -1)
    gram = (rows @ rows.T).reshape(batches, terms, batches, terms).swapaxes(1, 2)
    noise = diffusion[[t.kind == "volatility" for t in equation.terms]]
    total = density.mean(axis=0)
    mean_square = np.einsum("tij,ij->t", noise, total) / total.sum()
    values = {"gram": gram}
    return equation.dataset("stationary_residual", observations, mean_square, values)


def residual_least_squares(
    equations: xr.Dataset, settings: Mapping
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Minimise the residual, a quadratic form, as published.

    Of the first `batches` of the record: the same with fewer samples.
    """
    gram = equations.variables["gram"].values[0]
    first = settings["batches"] or len(gram)
    if first > len(gram):
        raise ValueError(
            f"identify.batches is {first}, but the record has {len(gram)}; write "
            "fewer, or raise simulate.batches"
        )
    gram = gram[:first, :first].mean(axis=(0, 1))

    def solve(known: np.ndarray) -> Solution:
        values = _minimum(gram, known)
        least = (values @ gram * values).sum(axis=-1)
        meaning = "sum of squared residuals at the minimum"
        about = {"objective": (least, "mixed", meaning)}
        return Solution(values, _no_errors(known), about)

    return stationary_estimate(equations, settings, solve, _form(gram))


def _no_errors(known: np.ndarray) -> np.ndarray:
    """Covariance of a method that gives none."""
    nothing = np.where(unknown(known), np.nan, 0.0)
    return np.broadcast_to(np.diag(nothing), (*known.shape, nothing.size))


def _form(gram: np.ndarray) -> dict[str, tuple]:
    """The quadratic form E(θ) for the model, from which its surfaces are drawn."""
    dims = ("equation_term", "equation_term_other")
    return {"objective_form": (dims, gram, "mixed", "E = theta^T G theta")}


def _minimum(gram: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Minimum of θᵀ G θ over the unknown coefficients, NaN in `known` (..., term)."""
    free = unknown(known)
    values = np.where(free, 0.0, known)
    right = -(gram @ values[..., None])[..., free, 0]
    size = np.sqrt(np.abs(np.diagonal(gram)))[free]
    scaled = gram[np.ix_(free, free)] / np.outer(size, size)
    inverse = np.linalg.pinv(scaled, rcond=free.sum() * np.finfo(float).eps)
    values[..., free] = (inverse @ (right / size)[..., None])[..., 0] / size
    return values
