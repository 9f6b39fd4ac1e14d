"""Realised covariation of the velocities, free of any model.

The second difference of the velocities removes the smooth part of the acceleration to
O(dt²); what is left is the noise:

.. math::  g g^T ≈ \\frac{1}{2\\,dt} ⟨Δ²\\dot q\\, Δ²\\dot q^T⟩,
           Δ²\\dot q_k = \\dot q_{k+2} − 2 \\dot q_{k+1} + \\dot q_k .

Squared third differences, ⟨(Δ³q̇)²⟩ = 6 g² dt, are regressed one by one on the
candidates of the squared volatility; they hold the smooth part to O(dt³) only, which
matters where g vanishes. If more than the constant is found, that law weights the
moments of the next stage.
"""

import logging
from collections.abc import Mapping
from functools import partial

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core import variance_function
from leastaction.core.compiled import evaluator
from leastaction.core.contracts import time_step
from leastaction.core.euler_lagrange import velocity_names
from leastaction.core.expressions import to_text
from leastaction.core.library import candidates
from leastaction.ensembles.contracts import CONTRACTS

# Radians per sample above which a warning states that differences attenuate motion.
LARGEST_TURN = 0.1
# The law only weights moments: few terms are enough.
MOST_TERMS = 3
# Every third third difference: no two share an increment.
DISJOINT_STRIDE = 3
# Second and third differences see the same noise, if it is noise that they see.
LARGEST_DISAGREEMENT = 0.2
# Standard errors by which the autocovariance of second differences may fall short.
SIGNIFICANT = 5.0

log = logging.getLogger(__name__)


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Realised covariation and mean angular frequency of one replicate.

    `realised_covariation` is g gᵀ, `frequency` the ratio of the spread of q̇ to that of
    q, and `squared_volatility` the coefficients of g² over the candidates that
    ``volatility`` of `library` lists (without it, the noise is additive); where that is
    no constant, `perfect_square` says if g² never gets negative because it is a square.
    """
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    dt = time_step(observations)
    dof = q.shape[-1]
    covariation = np.zeros((dof, dof))
    for path in qdot:
        second = np.diff(path, n=2, axis=0)
        covariation += second.T @ second
    covariation /= 2 * dt * qdot.shape[0] * (qdot.shape[1] - 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        frequency = qdot.std(axis=(0, 1)) / q.std(axis=(0, 1))
    for name, omega in zip(observations["dof"].values, frequency, strict=True):
        if omega * dt > LARGEST_TURN:
            log.warning(
                "%s turns by %.2g rad per sample (more than %g): differences of "
                "velocities attenuate the motion; sample faster",
                name,
                omega * dt,
                LARGEST_TURN,
            )
    names, law, square = _law(q, qdot, dt, np.diag(covariation), observations, library)
    for a, name in enumerate(observations["dof"].values):
        ratio = sensor_noise_ratio(qdot[..., a])
        if ratio > 0:
            log.warning(
                "the velocities of %s contain sensor noise, %.2g of an increment of "
                "the random force, which spoils these estimates; use differentiate "
                "method 'stochastic_subspace' with assemble method 'modal_start' and "
                "identify method 'innovations_likelihood'",
                name,
                ratio,
            )
    return CONTRACTS["realised_variation"].dataset(
        {
            "squared_volatility": law,
            "perfect_square": square.astype("int8"),
            "realised_covariation": covariation,
            "frequency": frequency,
        },
        coords={
            "replicate": observations["replicate"],
            "dof": observations["dof"].values,
            "volatility_term": names,
        },
    )


def _law(q, qdot, dt, mean_square, observations, library):
    """Coefficients of g² of each degree of freedom, and whether it is a square."""
    coordinates = [str(name) for name in observations["dof"].values]
    state = (*coordinates, *velocity_names(coordinates))
    terms = list(candidates(library.get("volatility", []), state))
    one = sp.Integer(1)
    if one not in terms:
        terms.append(one)
    law = np.zeros((len(coordinates), len(terms)))
    law[:, terms.index(one)] = mean_square
    square = np.zeros(len(coordinates), dtype=bool)
    varying = [i for i, term in enumerate(terms) if term.free_symbols]
    names = [to_text(term) for term in terms]
    if not varying:
        return names, law, square
    evaluate = evaluator(terms, coordinates)

    def squares(a, stride, regressors):
        for path, rate in zip(q, qdot, strict=True):
            rows = np.arange(1, len(rate) - 3, stride)
            before, now = ((path[k], rate[k]) for k in (rows - 1, rows))
            v = rate[:, a]
            third = v[rows + 3] - v[rows] - 3 * (v[rows + 2] - v[rows + 1])
            yield regressors(before, now), np.square(third) / (6 * dt)

    def average(before, now):
        return variance_function.step_average(
            evaluate, before, now, variance_function.THIRD_DIFFERENCE
        )

    enough = variance_function.SAMPLES_TO_SEE_A_LAW
    sparse = max(DISJOINT_STRIDE, qdot[..., 0].size // enough)
    for a in range(len(coordinates)):
        gram, count = variance_function.second_moments(
            partial(squares, a, sparse, lambda before, now: evaluate(*now))
        )
        third = gram[terms.index(one), -1] / count
        if not abs(third - mean_square[a]) <= LARGEST_DISAGREEMENT * mean_square[a]:
            continue
        first, _ = variance_function.select(gram, MOST_TERMS, count)
        if not first[varying].any():
            continue
        result = variance_function.fit(
            partial(squares, a, DISJOINT_STRIDE, average), terms, MOST_TERMS
        )
        if result.law[varying].any():
            law[a], square[a] = result.law, result.is_square
    return names, law, square


def sensor_noise_ratio(qdot: np.ndarray) -> float:
    """ξ = s/(σ√dt) if the velocities show white sensor noise, else 0.

    Second differences of a random walk have the autocovariances c₀ = 2σ²dt and
    c₁ = −σ²dt. Sensor noise adds 6s² and −4s², so that c₁ + ½c₀ = −s²; smooth motion
    makes that sum positive. Its standard error is c₀/√(2n) without sensor noise.
    """
    second = np.diff(qdot, n=2, axis=1)
    if second.shape[1] < 2:
        return 0.0
    n = second.size
    c0 = np.einsum("ij,ij->", second, second) / n
    c1 = np.einsum("ij,ij->", second[:, 1:], second[:, :-1]) / (n - len(second))
    square = -(c1 + c0 / 2)
    if not square > SIGNIFICANT * c0 / np.sqrt(2 * n):
        return 0.0
    return float(np.sqrt(square / max((c0 - 6 * square) / 2, np.finfo(float).tiny)))
