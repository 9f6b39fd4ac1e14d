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

from leastaction.densities.density_terms import (
    equation_dataset,
    equation_of,
    terms_on_cells,
)
from leastaction.densities.fokker_planck import StationaryEquation


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

    moments = generator_means(
        probability, position, rate, velocity, acceleration, diffusion
    )
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


def generator_means(
    probability: np.ndarray,
    position: np.ndarray,
    rate: np.ndarray,
    velocity: np.ndarray,
    acceleration: np.ndarray,
    diffusion: np.ndarray,
) -> np.ndarray:
    """Mean of every term of the generator on products of bumps.

    Parameters
    ----------
    probability
        Of the cells, shape (batch, q_bin, qdot_bin).
    position, rate
        Bumps of q and of q̇ with their derivatives, shape (order, bump, bin).
    velocity, acceleration, diffusion
        See :func:`terms_on_cells`.

    Returns
    -------
    ndarray
        Shape (batch, term, bump_q, bump_qdot).
    """

    def along_qdot(weight, order):
        weighted = weight * probability
        means = weighted.reshape(-1, weighted.shape[-1]) @ rate[order].T
        return means.reshape(*weighted.shape[:-1], -1)

    batches, bins = probability.shape[:2]
    means = np.zeros((batches, len(acceleration), bins, rate.shape[1]))
    for i, (force, noise) in enumerate(zip(acceleration, diffusion, strict=True)):
        if force.any():
            means[:, i] += along_qdot(force, 1)
        if noise.any():
            means[:, i] += 0.5 * along_qdot(noise, 2)
    moments = position[0] @ means
    moments[:, 0] += position[1] @ along_qdot(velocity, 0)
    return moments


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
