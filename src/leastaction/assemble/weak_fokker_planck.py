"""Weak form of the stationary Fokker–Planck equation with compact test functions.

In a stationary state E[𝓛 φ] = 0 for the generator

.. math::

    𝓛 φ = \\dot q\\,∂_q φ + a\\,∂_{\\dot q} φ + \\tfrac12 B\\,∂^2_{\\dot q} φ,
    \\qquad a = \\sum_i θ_i a_i, \\quad B = \\sum_i θ_i B_i .

The density is not differentiated, and no estimate divides noise by a small h. Along a
path of length T, Itô's formula leaves the mean of 𝓛 φ as a stochastic integral, up to
1/T, so that its covariance is known (Itô isometry):

.. math::

    \\operatorname{Cov} = \\frac1T \\sum_i θ_i
        E[B_i\\,∂_{\\dot q} φ_m\\,∂_{\\dot q} φ_n] .
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.assemble.density_terms import (
    equation_dataset,
    equation_of,
    terms_on_cells,
)
from leastaction.mechanics.fokker_planck import StationaryEquation

CONTRACT = "generator_moments"


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Means of the generator's terms on every test function, and their noise.

    Parameters
    ----------
    observations
        Contract ``histogram``; its `dof` names the coordinate.
    derivatives
        Contract ``density_tests``.
    settings
        Nothing.
    library
        Structure of the model; see :class:`StationaryEquation`.

    Returns
    -------
    xr.Dataset
        Contract ``generator_moments``.
    """
    equation = equation_of(library, observations)
    velocity, acceleration, diffusion = terms_on_cells(
        library,
        observations,
        derivatives.variables["q_bin"].values,
        derivatives.variables["qdot_bin"].values,
    )
    probability = derivatives.variables["probability"].values[0]
    position, rate = (
        derivatives.variables["bump_q"].values,
        derivatives.variables["bump_qdot"].values,
    )

    def mean(weight, order_q, order_qdot):
        """E[weight ∂_q^m ∂_q̇^n φ] of products of bumps, shape (..., bump, bump)."""
        return (
            position[order_q] @ (weight * probability_of(weight)) @ rate[order_qdot].T
        )

    def probability_of(weight):
        return probability[:, None] if weight.ndim == 3 else probability

    moments = mean(acceleration, 0, 1) + 0.5 * mean(diffusion, 0, 2)
    moments[:, 0] += mean(velocity, 1, 0)
    batches, terms = moments.shape[:2]
    moments = moments.reshape(batches, terms, -1).swapaxes(1, 2)
    slopes = position[0][:, None, :, None] * rate[1][None, :, None, :]
    slopes = slopes.reshape(moments.shape[1], -1)
    total = probability.mean(axis=0).ravel()
    noise = np.zeros((terms, len(slopes), len(slopes)))
    noisy = [i for i, t in enumerate(equation.terms) if t.kind == "volatility"]
    for i in noisy:
        noise[i] = (slopes * (diffusion[i].ravel() * total)) @ slopes.T
    mean_square = np.array([diffusion[i].ravel() @ total for i in noisy]) / total.sum()
    duration = derivatives.variables["duration"].values[0].sum()
    return moments_dataset(
        equation, observations, moments, noise, mean_square[None], duration
    )


def moments_dataset(
    equation: StationaryEquation,
    observations: xr.Dataset,
    moments: np.ndarray,
    noise: np.ndarray,
    mean_square: np.ndarray,
    duration: float,
) -> xr.Dataset:
    """One replicate of the contract ``generator_moments``.

    Parameters
    ----------
    equation
        The terms.
    observations
        Its `replicate`.
    moments
        Shape (batch, test_function, term).
    noise
        E[B ∂φ ∂φ] of every term, shape (term, test_function, test_function).
    mean_square
        Mean of every candidate of the squared volatility, shape (1 or dof, candidate).
    duration
        Total time, s.
    """
    data = {
        "moment": (
            ("replicate", "batch", "test_function", "equation_term"),
            moments[None],
            {"units": "mixed", "long_name": "mean of the generator of the term"},
        ),
        "noise_gram": (
            ("replicate", "equation_term", "test_function", "test_function_other"),
            noise[None],
            {"units": "mixed", "long_name": "covariance of the moments, times T"},
        ),
        "duration": (
            ("replicate",),
            [duration],
            {"units": "s", "long_name": "total time T"},
        ),
    }
    return equation_dataset(equation, observations["replicate"], mean_square, data)
