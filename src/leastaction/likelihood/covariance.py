"""Deviations of coefficients after selection, rows of a matrix D: covariance DᵀD.

Where innovations are white, the information G gives them, D = G^(-1/2). Where they are
not, the process noise is a working covariance, and the scores g_b of stretches of the
recording tell what it is worth (sandwich; Huber 1967, Liang and Zeger 1986). Where
innovations are correlated beyond a stretch, sums over so many neighbours stand for
single ones (moving blocks; Künsch, Ann. Stat. 17 (1989) 1217):

.. math::  D_b = \\sqrt{B/(B-1)} \\, G^{-1} g_b .
"""

from dataclasses import dataclass

import numpy as np

from leastaction.core.sparse_regression import deviation_of_absent
from leastaction.ensembles.innovation_tests import ljung_box
from leastaction.likelihood.augmented_kalman_filter import Innovations
from leastaction.likelihood.term_selection import Quadratic, Solution

# Lags of Ljung and Box's test, and p-value below which innovations are not white: their
# mean statistic of a lag is then above three, of white ones it is 1 ± .32.
LAGS, LEAST_WHITENESS = 20, 1e-5


def whiteness(innovations: Innovations) -> float:
    """P-value of Ljung and Box's test of whiteness; of all sensors by Bonferroni."""
    series = list(innovations.standardised())
    values = [ljung_box([z[:, None]], LAGS, least=1.0) for z in series]
    return min(1.0, len(series) * min(values))


@dataclass(frozen=True)
class Spread:
    """Deviations of the active coefficients, and how many stretches they rest on."""

    deviations: np.ndarray  # (deviation, active)
    stretches: int  # 0 of those of the information
    whiteness: float  # p-value


def spread(innovations: Innovations) -> Spread:
    """Deviations by information or sandwich, whichever the innovations ask for."""
    G = innovations.information
    size = np.sqrt(np.maximum(np.diag(G), 1e-300))
    values, vectors = np.linalg.eigh(G / np.outer(size, size))
    values = np.maximum(values, 1e-14)
    root = (vectors / np.sqrt(values)).T / size
    white = whiteness(innovations)
    if white > LEAST_WHITENESS:
        return Spread(root, 0, white)
    rows, count = of_stretches(innovations, -innovations.moment[:, 0, 1:])
    return Spread(rows @ (root.T @ root), count, white)


def of_stretches(innovations: Innovations, scores: np.ndarray) -> tuple:
    """Rows S, SᵀS the covariance of the sum of `scores` of stretches, and their count.

    Neighbours that innovations are correlated over are one stretch.
    """
    scores = scores - scores.mean(axis=0)
    length = innovations.count / len(scores)
    joined = min(1 + int(innovations.correlation_length / length), len(scores) // 4)
    sums = np.apply_along_axis(np.convolve, 0, scores, np.ones(joined))
    count = len(scores) // joined
    return np.sqrt(count / (count - 1) / joined) * sums, count


def nearest_absent(quadratic: Quadratic, law: Solution) -> np.ndarray:
    """Deviation of all coefficients for the absent term that most probably belongs.

    Terms that the extended BIC accepts are corrections, which are listed.
    """
    gain, price = quadratic.gains(law), quadratic.penalty * quadratic.candidates.price
    part = np.where((gain > 0) & (gain < price), deviation_of_absent(gain, price), 0.0)
    k = int(np.argmax(part))
    if not part[k] > 0:
        return np.zeros_like(law.x)
    more = quadratic.solve({*law.support, k})
    change = np.where(np.isin(np.arange(len(law.x)), law.support), more.x - law.x, 0.0)
    return part[k] * change
