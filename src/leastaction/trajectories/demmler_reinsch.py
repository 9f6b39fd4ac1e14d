"""Demmler–Reinsch basis of a smoothing spline through several derivatives."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.linalg
from scipy.interpolate import BSpline
from scipy.sparse import csr_array

DEGREE = 5
PENALISED_DERIVATIVE = 4


@dataclass(frozen=True)
class DemmlerReinsch:
    """Basis in which the normal matrix is the identity and the penalty diagonal.

    Attributes
    ----------
    weights
        Relative weight of each channel.
    bases
        Values of the B-splines in each channel, matrices of shape (time, basis).
    penalty
        Eigenvalues μ of the penalty, shape (basis,).
    vectors
        Spline coefficients of the basis, shape (basis, basis).
    inverse
        Its inverse.
    share
        Part of each channel in the normal matrix, shape (channel, basis); sums to one.
    """

    weights: tuple[float, ...]
    bases: tuple[csr_array, ...]
    penalty: np.ndarray
    vectors: np.ndarray
    inverse: np.ndarray
    share: np.ndarray


def knots(samples: int, spacing: int) -> np.ndarray:
    """Clamped knots, one every `spacing` samples; time in samples."""
    inner = np.linspace(0.0, samples - 1, max(2, round((samples - 1) / spacing) + 1))
    return np.concatenate([[inner[0]] * DEGREE, inner, [inner[-1]] * DEGREE])


def design(
    knots: np.ndarray, times: np.ndarray, derivatives: Sequence[int]
) -> list[np.ndarray]:
    """Derivatives of the B-splines at `times`, each of shape (time, basis)."""
    spline = BSpline(knots, np.eye(len(knots) - DEGREE - 1), DEGREE)
    return [spline(times, nu=order) for order in derivatives]


# A basis of some megabytes serves every replicate of a sweep with its dozens of ratios.
@lru_cache(maxsize=64)
def demmler_reinsch(
    samples: int,
    time_step: float,
    spacing: int,
    derivatives: tuple[int, ...],
    steps: tuple[int, ...],
) -> DemmlerReinsch:
    """Diagonalise normal matrix and roughness of a series (Demmler and Reinsch 1975).

    Parameters
    ----------
    samples, time_step
        Length of the series, and s between its samples.
    spacing
        Samples per knot.
    derivatives
        Order of the derivative that each channel shows.
    steps
        Half powers of two: the noise of channel i is 2^(steps_i / 2) times that of the
        first, in SI units. Rounded ratios let series share one decomposition.
    """
    bases, dense, rough = _rows(samples, time_step, spacing, derivatives)
    weights = 2.0 ** -np.array(steps, dtype=float)
    # From rows, not from normal matrices: their condition number is the square.
    stacked = np.concatenate(
        [w**0.5 * basis for w, basis in zip(weights, dense, strict=True)]
    )
    root = np.linalg.qr(stacked, mode="r")
    white = scipy.linalg.solve_triangular(root, rough.T, trans=1)
    square = np.linalg.qr(white.T, mode="r")
    turned, singular, _ = np.linalg.svd(square.T)
    penalty, turned = singular[::-1] ** 2, turned[:, ::-1]
    penalty[:PENALISED_DERIVATIVE] = 0.0
    vectors = scipy.linalg.solve_triangular(root, turned)
    share = np.array(
        [w * ((b @ vectors) ** 2).sum(0) for w, b in zip(weights, bases, strict=True)]
    )
    return DemmlerReinsch(
        tuple(weights), bases, penalty, vectors, turned.T @ root, share
    )


@lru_cache(maxsize=16)
def _rows(samples, time_step, spacing, derivatives):
    """B-splines in each channel, sparse and dense, and rows of the roughness."""
    at = knots(samples, spacing)
    times = np.arange(samples, dtype=float)
    dense = [
        basis / time_step**order
        for order, basis in zip(
            derivatives, design(at, times, derivatives), strict=True
        )
    ]
    # The squared derivative is a polynomial of degree 2 between knots.
    inner = np.unique(at)
    middle, half = (inner[1:] + inner[:-1]) / 2, np.diff(inner) / 2
    nodes = np.concatenate([middle - half / 3**0.5, middle + half / 3**0.5])
    (rough,) = design(at, nodes, [PENALISED_DERIVATIVE])
    rough *= np.sqrt(np.concatenate([half, half]))[:, None]
    return tuple(csr_array(basis) for basis in dense), dense, rough
