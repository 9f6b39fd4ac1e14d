"""Fokker–Planck residual with independent histograms as instruments of each other.

The columns of the residual carry counting noise, which the normal equations of least
squares square: their mean is Gᵢⱼ + noise, and the estimates are drawn towards zero.
The product of columns of two *independent* batches has the mean Gᵢⱼ alone. The mean
over all pairs of different batches,

.. math::

    \\bar G = \\frac{1}{B(B-1)} \\sum_{b \\ne b'} r_i^{(b)}\\cdot r_j^{(b')},

is the smallest change that makes the residual consistent in the amount of data; its
error of O(h²) stays. Standard errors come from a jackknife over batches.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.densities.residual_least_squares import form_arrays, minimum
from leastaction.densities.stationary_estimate import stationary_estimate
from leastaction.densities.stationary_solution import Solution, nonnegative


def identify(
    equations: xr.Dataset, settings: Mapping
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """Solve the normal equations of pairs of different batches.

    Parameters
    ----------
    equations
        Contract ``stationary_residual``, at least three batches.
    settings
        `level_set`.

    Raises
    ------
    ValueError
        If there are fewer than three batches.
    """
    gram = equations.variables["gram"].values[0]
    batches = len(gram)
    if batches < 3:
        raise ValueError(
            f"{batches} batches cannot be split and told apart; set simulate.batches "
            "to 3 or more"
        )
    total = cross_product(gram)
    forms = np.stack([total, *without_each_batch(gram)])

    def solve(known: np.ndarray) -> Solution:
        values = minimum(forms, known[..., None, :])
        others = values[..., 1:, :]
        centred = others - others.mean(axis=-2, keepdims=True)
        covariance = (batches - 1) / batches * centred.swapaxes(-1, -2) @ centred
        return Solution(values[..., 0, :], covariance, {})

    def products(values: np.ndarray) -> np.ndarray:
        return np.einsum("bcij,i,j->bc", gram, values, values)

    solver = nonnegative(solve, equations.variables["kind"].values)
    return stationary_estimate(
        equations, settings, solver, form_arrays(total), products
    )


def cross_product(gram: np.ndarray) -> np.ndarray:
    """Mean over pairs of different batches, symmetric; shape (term, term)."""
    batches = len(gram)
    own = np.einsum("bbij->ij", gram)
    mean = (gram.sum(axis=(0, 1)) - own) / (batches * (batches - 1))
    return (mean + mean.T) / 2


def without_each_batch(gram: np.ndarray) -> np.ndarray:
    """:func:`cross_product` of the other batches, one by one left out.

    Shape (batch, term, term).
    """
    batches, terms = len(gram), gram.shape[-1]
    kept = 1.0 - np.eye(batches)
    pairs = kept[:, :, None] * kept[:, None, :] * kept
    mean = pairs.reshape(batches, -1) @ gram.reshape(-1, terms * terms)
    mean = mean.reshape(batches, terms, terms) / ((batches - 1) * (batches - 2))
    return (mean + mean.swapaxes(-1, -2)) / 2
