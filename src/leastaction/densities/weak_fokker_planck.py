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

Means E[f(q, q̇)] of smooth functions come from a histogram. The sum Σ P_s f(x_s) over
cells differs from the mean by the second moment of a cell, h²/24 in each direction,
which Sheppard's correction takes off the probabilities,

.. math:: P_s \\to P_s - \\tfrac{1}{24} Δ_h P_s,

with Δ_h the five-point difference, conservative at the edges. The test functions are
products of bumps (1 − ξ²)⁴ around equally spaced centres; their support ends where the
histogram ends, so that nothing is cut.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.densities.contracts import CONTRACTS
from leastaction.densities.fokker_planck import (
    StationaryEquation,
    equation_dataset,
    equation_of,
    terms_on_cells,
)
from leastaction.densities.gill_histogram import CELLS, coarsened, shares

# Of 1 − ξ²: the second derivative of a bump has a continuous slope.
BUMP_EXPONENT = 4


def bump_functions(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Corrected probabilities of every batch, and bumps with their derivatives."""
    data = coarsened(observations, settings["bins"])
    values = {
        "probability": sheppard(shares(data)),
        "duration": data.variables["duration"],
    }
    for name in ("q", "qdot"):
        values[f"bump_{name}"] = bumps(
            data.variables[f"{name}_bin"].values,
            settings["centres"],
            settings["half_width"],
        )
    return CONTRACTS["density_tests"].dataset(
        values, {name: data.variables[name] for name in ("replicate", *CELLS)}
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
    m = BUMP_EXPONENT
    return np.stack(
        [
            rest**m,
            -2 * m * xi * rest ** (m - 1) / width,
            (4 * m * (m - 1) * xi**2 * rest ** (m - 2) - 2 * m * rest ** (m - 1))
            / width**2,
        ]
    )


def weak_fokker_planck(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Means of the generator's terms on every test function, and their noise."""
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
    moments
        Shape (batch, test_function, term).
    noise
        E[B ∂φ ∂φ] of every term, shape (term, test_function, test_function).
    mean_square
        Mean of every candidate of the squared volatility, shape (1 or dof, candidate).
    duration
        Total time, s.
    """
    return equation_dataset(
        "generator_moments",
        equation,
        observations["replicate"],
        mean_square,
        {"moment": moments, "noise_gram": noise, "duration": [duration]},
    )
