"""Volatility from squared increments, sample by sample.

With the identified drift removed, r_k = ∫ S dW over one step, so that
E[r_k² | state] = S²(q_k, q̇_k) dt. The regression of r_k²/dt on functions of the state
at the left end of the step therefore gives S², here with the constant among the
candidates and every sample kept: on the ensemble mean of one energy shell a constant
and ω² x² + v² could not be told apart.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.contracts import time_step
from leastaction.identify.best_subset import best_subset, extended_penalty
from leastaction.identify.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.identify.residual import Residual
from leastaction.mechanics.candidates import candidates
from leastaction.mechanics.euler_lagrange import velocity_names
from leastaction.mechanics.evaluator import evaluator
from leastaction.mechanics.expressions import to_text

BLOCK = 2000


def identify(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> VolatilityEstimate:
    """Quadratic variation with drift removed, and best-subset regression of S².

    Parameters
    ----------
    observations
        One replicate, contract ``observations``.
    estimate
        The identified Lagrangian; its `noise_covariance` is the quadratic variation.
    settings
        `max_terms`: largest number of terms of S².
    library
        The `library` section of the example; ``volatility`` lists the candidates.

    Returns
    -------
    VolatilityEstimate
        `volatility` is the square root of the quadratic variation; its standard error
        is σ / √(2 N) for N increments.
    """
    coordinates = [str(name) for name in observations["dof"].values]
    names = (*coordinates, *velocity_names(coordinates))
    terms = candidates(library["volatility"], names)
    residual = Residual(library, coordinates)
    regressors = evaluator(list(terms), coordinates)
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    dof, m = len(coordinates), len(terms)
    gram = np.zeros((dof, m + 1, m + 1))
    steps = q.shape[1] - 1
    dt = time_step(observations)
    for trajectory in range(q.shape[0]):
        for start in range(0, steps, BLOCK):
            window = slice(start, min(start + BLOCK, steps) + 1)
            x, v = q[trajectory, window], qdot[trajectory, window]
            r = residual.increments(x, v, dt, estimate.coefficients)
            both = np.empty((r.shape[0], m + 1))
            both[:, :m] = regressors(x[:-1], v[:-1])
            for a in range(dof):
                both[:, m] = np.square(r[:, a]) / dt
                gram[a] += both.T @ both
    count = q.shape[0] * steps
    fits = [_select(gram[a], settings["max_terms"], count) for a in range(dof)]
    varying = [i for i, term in enumerate(terms) if term.free_symbols]
    variance = np.diag(estimate.noise_covariance)
    return VolatilityEstimate(
        volatility=np.sqrt(variance),
        std=np.sqrt(variance / (2 * count)),
        terms=[to_text(term) for term in terms],
        coefficients=np.array([fit[0] for fit in fits]),
        coefficient_std=np.array([fit[1] for fit in fits]),
        constant=np.array([not fit[0][varying].any() for fit in fits]),
    )


def _select(gram: np.ndarray, max_terms: int, count: int):
    """Best subset from the second moments of (regressors, target)."""
    m = len(gram) - 1
    scale = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    root = np.sqrt(np.clip(values, 0.0, None))[:, None] * vectors.T * scale
    path = best_subset(root[None, :, :m], root[None, :, m], max_terms)
    sizes = np.arange(len(path.supports))
    criterion = count * np.log(path.objectives / count) + extended_penalty(
        sizes, m, count
    )
    chosen = list(path.supports[int(np.argmin(criterion))])
    coefficients, std = np.zeros(m), np.zeros(m)
    if chosen:
        active = root[:, chosen]
        solution, *_ = np.linalg.lstsq(active, root[:, m], rcond=None)
        error = root[:, m] - active @ solution
        covariance = np.linalg.inv(active.T @ active) * (error @ error) / count
        coefficients[chosen] = solution
        std[chosen] = np.sqrt(np.diag(covariance))
    return coefficients, std
