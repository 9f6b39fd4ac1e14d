"""Volatility from the mean square residual (Tripura et al., eqs. 20–22).

Paper: with the central difference that the paper prescribes, dt E[R²] tends to ½ σ²,
not to σ², because one residual averages two independent increments. The published
volatility is therefore low by √½. The library of eq. (22) has no constant, although the
squared volatility of an additive noise *is* a constant; thresholded least squares on it
then returns combinations of terms that imitate one.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.candidates import candidates
from leastaction.core.contracts import time_step
from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.euler_lagrange import velocity_names
from leastaction.core.evaluator import evaluator
from leastaction.core.expressions import to_text
from leastaction.core.stlsq import stlsq
from leastaction.ensembles.residual import Residual

# Samples at a time, so that what is made of them fits the cache.
BLOCK = 1000


def identify(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> VolatilityEstimate:
    """Volatility as the paper writes it, and as its printed numbers were made.

    Parameters
    ----------
    observations
        One replicate, contract ``observations``.
    estimate
        The identified Lagrangian.
    settings
        `threshold`: λ of the thresholded least squares on σ².
    library
        The `library` section of the example; the constant is left out.

    Returns
    -------
    VolatilityEstimate
        `volatility` is the root of the time average of dt E[R²]. The diagnostic
        ``volatility_of_lagrangian`` regresses dt E[L²], the square of the *value* of
        the Lagrangian, on q² and takes half the root of the coefficient. That
        reproduces the printed 1.03 and 0.11 if the support is right (for Duffing it
        gives 1.14), and hardly depends on σ.
    """
    coordinates = [str(name) for name in observations["dof"].values]
    names = (*coordinates, *velocity_names(coordinates))
    terms = candidates(library["volatility"], names)
    without_damping = {k: v for k, v in library.items() if k != "dissipation"}
    residual = Residual(without_damping, coordinates)
    regressors = evaluator(list(terms), coordinates)
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    count, samples, dof = q.shape
    dt = time_step(observations)
    square = np.zeros((samples - 2, dof))
    of_lagrangian = np.zeros(samples - 2)
    position_square = np.zeros((samples - 2, dof))
    mean = np.zeros((samples - 2, len(terms)))
    for path, rate in zip(q, qdot, strict=True):
        for start in range(0, samples - 2, BLOCK):
            at = slice(start, start + BLOCK)
            x, v = path[start : start + BLOCK + 2], rate[start : start + BLOCK + 2]
            r, lagrangian = residual.central(x, v, dt, estimate.coefficients)
            square[at] += np.square(r)
            of_lagrangian[at] += np.square(lagrangian)
            position_square[at] += np.square(x[1:-1])
            mean[at] += regressors(x[1:-1], v[1:-1])
    square *= dt / count
    of_lagrangian *= dt / count
    position_square /= count
    mean /= count
    varying = [i for i, term in enumerate(terms) if term.free_symbols]
    coefficients = np.zeros((dof, len(terms)))
    for a in range(dof):
        coefficients[a, varying] = stlsq(
            mean[:, varying], square[:, a], settings["threshold"]
        )
    slope = (of_lagrangian @ position_square) / np.square(position_square).sum(axis=0)
    return VolatilityEstimate(
        volatility=np.sqrt(square.mean(axis=0)),
        std=np.full(dof, np.nan),
        terms=[to_text(term) for term in terms],
        coefficients=coefficients,
        coefficient_std=np.full_like(coefficients, np.nan),
        constant=np.ones(dof, dtype=bool),
        diagnostics={
            "volatility_of_lagrangian": (
                0.5 * np.sqrt(slope),
                "as volatility",
                "half the root of the regression of dt E[L^2] on q^2",
            )
        },
    )
