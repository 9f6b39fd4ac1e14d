"""What acts on a measured density: central differences, and test functions.

As published: p = count / (N h²) and the central differences of Yoshida and Yamanaka
(2020), eq. (17),

.. math::

    D_i F = \\frac{F[s + e_i] - F[s - e_i]}{2 h_i},

zero in the outer layer.

In the weak form means E[f(q, q̇)] of smooth functions come from a histogram. The sum
Σ P_s f(x_s) over cells differs from the mean by the second moment of a cell, h²/24 in
each direction, which Sheppard's correction takes off the probabilities,

.. math:: P_s \\to P_s - \\tfrac{1}{24} Δ_h P_s,

with Δ_h the five-point difference, conservative at the edges. The test functions are
products of bumps (1 − ξ²)⁴ around equally spaced centres; their support ends where the
histogram ends, so that nothing is cut. Of means of monomials, the test functions are
monomials.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.multi_index import multi_indices
from leastaction.densities.contracts import CONTRACTS

CELLS = ("q_bin", "qdot_bin")
# Of 1 − ξ²: the second derivative of a bump has a continuous slope.
BUMP_EXPONENT = 4


def coarsened(observations: xr.Dataset, bins: int | None) -> xr.Dataset:
    """Histogram with `bins` cells along each side, each a square of the given ones.

    None leaves the cells as they are; ValueError if `bins` does not divide them.
    """
    given = observations.sizes["q_bin"]
    if bins is None or bins == given:
        return observations
    if given % bins:
        raise ValueError(
            f"bins: {given} cells along each side cannot be put together to {bins}; "
            "choose a divisor, or simulate another histogram"
        )
    return observations.coarsen(dict.fromkeys(CELLS, given // bins)).sum()


def _shares(observations: xr.Dataset) -> np.ndarray:
    """Share of all samples in every cell, shape (replicate, batch, q_bin, qdot_bin)."""
    counts = observations.variables["count"].transpose("replicate", "batch", *CELLS)
    return counts.values / observations.variables["samples"].values[..., None, None]


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
            "density": _shares(data) / (h[0] * h[1]),
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


def bump_functions(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Corrected probabilities of every batch, and bumps with their derivatives."""
    data = coarsened(observations, settings["bins"])
    q, qdot = (
        bumps(data.variables[n].values, settings["centres"], settings["half_width"])
        for n in CELLS
    )
    return CONTRACTS["density_tests"].dataset(
        {
            "probability": sheppard(_shares(data)),
            "duration": data.variables["duration"],
            "bump_q": q,
            "bump_qdot": qdot,
        },
        {name: data.variables[name] for name in ("replicate", *CELLS)},
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
    """Bumps (1 − ξ²)⁴ and two derivatives at the cells, shape (order, bump, bin).

    Equally spaced, of a `half_width` over that of the domain, which they fill exactly.
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


def monomial_functions(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Exponents of the test functions, and the scale of each coordinate of the state.

    The scale is the root mean square. Monomials without a velocity are left out: they
    hold no coefficient.
    """
    powers = observations["exponent"].values
    state = powers.shape[1]
    mean = observations["moment"].mean("batch").values[0]
    second = [np.flatnonzero((powers == 2 * e).all(1))[0] for e in np.eye(state)]
    tests = multi_indices(state, settings["degree"])
    return CONTRACTS["monomial_tests"].dataset(
        {
            "test_exponent": tests[tests[:, state // 2 :].any(axis=1)],
            "scale": np.sqrt(mean[second]),
        },
        {name: observations[name] for name in ("replicate", "state")},
    )
