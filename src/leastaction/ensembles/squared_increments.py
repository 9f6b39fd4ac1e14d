"""Volatility from squared increments, sample by sample.

With the identified drift removed, r_k = ∫ S dW over one step, so that
E[r_k² | state] = S²(q_k, q̇_k) dt. The regression of r_k²/dt on functions of the state
at the left end of the step therefore gives S², here with the constant among the
candidates and every sample kept: on the ensemble mean of one energy shell a constant
and ω² x² + v² could not be told apart.

If S² is more than a constant, the regression is repeated with averages over the step as
regressors and weights 1/S⁴ (:mod:`~leastaction.core.variance_function`), and S is
reported too if S² is the square of a + b f. The Itô drift of Stratonovich noise is left
in r_k: it changes r_k² by (∂S/∂q̇)² dt/4 of it.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

from leastaction.core import variance_function
from leastaction.core.compiled import evaluator
from leastaction.core.contracts import time_step
from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.euler_lagrange import velocity_names
from leastaction.core.expressions import to_text
from leastaction.core.library import candidates
from leastaction.ensembles.residual import Residual

# So that what is made of them fits the processor's cache.
INCREMENTS_PER_BATCH = 2000
# Change of S over one step by the drift, rms, over the constant part of S: at 0.035,
# the estimate of that part was off by 0.05 %.
LARGEST_CHANGE_PER_STEP = 0.03

log = logging.getLogger(__name__)


def identify(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> VolatilityEstimate:
    """Quadratic variation with drift removed, and best-subset regression of S².

    `volatility` is the square root of the quadratic variation over every sample; its
    standard error is σ / √(2 N) for N increments. Whether S² is more than a constant is
    decided on enough samples, evenly spaced; if it is, all count. `settings` hold
    `max_terms`, the largest number of terms of S²; ``volatility`` of `library` lists
    the candidates.
    """
    coordinates = [str(name) for name in observations["dof"].values]
    names = (*coordinates, *velocity_names(coordinates))
    terms = candidates(library["volatility"], names)
    chosen = np.flatnonzero(estimate.joint_coefficients)
    residual = Residual(library, coordinates, chosen)
    regressors = evaluator(list(terms), coordinates)
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    dof, m = len(coordinates), len(terms)
    steps = q.shape[1] - 1
    dt = time_step(observations)

    def windows(first):
        for path, rate in zip(q, qdot, strict=True):
            for start in range(first, steps, INCREMENTS_PER_BATCH):
                window = slice(
                    start - first, min(start + INCREMENTS_PER_BATCH, steps) + 1
                )
                x, v = path[window], rate[window]
                r = residual.increments(x, v, dt, estimate.joint_coefficients)
                yield x, v, r[first:]

    count = q.shape[0] * steps
    sparse = max(1, count // variance_function.SAMPLES_TO_SEE_A_LAW)
    gram = np.zeros((dof, m + 1, m + 1))
    covariance, seen = np.zeros((dof, dof)), 0
    for x, v, r in windows(0):
        covariance += r.T @ r
        some = r[::sparse]
        both = np.empty((len(some), m + 1))
        both[:, :m] = regressors(x[:-1:sparse], v[:-1:sparse])
        seen += len(some)
        for a in range(dof):
            both[:, m] = np.square(some[:, a]) / dt
            gram[a] += both.T @ both
    covariance /= count * dt
    variance = np.diag(covariance)
    varying = [i for i, term in enumerate(terms) if term.free_symbols]

    def averaged(a):
        for x, v, r in windows(1):
            average = variance_function.step_average(
                regressors, (x[:-2], v[:-2]), (x[1:-1], v[1:-1])
            )
            yield average, np.square(r[:, a]) / dt

    fits = []
    for a in range(dof):
        first = variance_function.select(gram[a], settings["max_terms"], seen)
        found = variance_function.interpret(*first, terms)
        if found.coefficients[varying].any():
            found = variance_function.fit(
                lambda a=a: averaged(a), terms, settings["max_terms"]
            )
            _warn_if_coarse(found, terms, regressors, q, qdot, coordinates[a])
        elif found.coefficients.any():
            found = _constant(found, variance[a], count)
        fits.append(found)
    return VolatilityEstimate(
        volatility=np.sqrt(variance),
        std=np.sqrt(variance / (2 * count)),
        terms=[to_text(term) for term in terms],
        coefficients=np.array([one.coefficients for one in fits]),
        coefficient_std=np.array([one.std for one in fits]),
        covariance=covariance,
        constant=np.array([not one.coefficients[varying].any() for one in fits]),
        root=np.array([one.root for one in fits]),
        root_std=np.array([one.root_std for one in fits]),
        diagnostics={
            "perfect_square_statistic": (
                np.array([one.statistic for one in fits]),
                "1",
                "chi-square(1) of S^2 = (a + b f)^2",
            ),
            "perfect_square_p_value": (
                np.array([one.p_value for one in fits]),
                "1",
                "p-value of S^2 = (a + b f)^2",
            ),
        },
    )


def _constant(found, variance: float, count: int):
    """The law of a constant: the quadratic variation over every sample."""
    one = found.coefficients != 0
    return replace(
        found,
        coefficients=np.where(one, variance, 0.0),
        std=np.where(one, variance * np.sqrt(2 / count), 0.0),
        root=np.where(one, np.sqrt(variance), 0.0),
        root_std=np.where(one, np.sqrt(variance / (2 * count)), 0.0),
        law=np.where(one, variance, 0.0),
    )


def _warn_if_coarse(found, terms, regressors, q, qdot, name: str) -> None:
    """Tell if S changes much within a step: averages over the step then fall short."""
    one = [i for i, term in enumerate(terms) if not term.free_symbols]
    if not found.is_square or not found.root[one].any():
        return
    change = np.diff(regressors(q[0], qdot[0]) @ found.root)
    # Noise in successive changes is uncorrelated; what the drift does repeats itself.
    drift = np.sqrt(max(np.mean(change[1:] * change[:-1]), 0.0))
    ratio = drift / abs(found.root[one].sum())
    if ratio > LARGEST_CHANGE_PER_STEP:
        log.warning(
            "the volatility of %s changes by %.2g of its constant part per sample "
            "(more than %g): that part has a bias of the order of 0.1 %%; sample "
            "faster",
            name,
            ratio,
            LARGEST_CHANGE_PER_STEP,
        )
