"""Sparse regression: best subsets with their BIC, and thresholded least squares.

Every search of terms pays the same :func:`term_price` for one. Subsets of few
candidates are all tried. Where there are too many, the best subset of
size k is sought from the best of size k − 1 with one candidate added, and improved by
replacing one or two candidates at a time until no replacement helps (sequential
replacement: Miller 2002, Subset Selection in Regression, sections 3.4 and 3.5).
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit

# Of one size: up to so many, all are tried; beyond, replacement takes over.
MOST_SUBSETS_TRIED = 30_000
# Solved at once, so that they fit into memory.
SUBSETS_PER_BATCH = 4_000
MOST_REPLACEMENTS = 50
# Price, in terms, of a loss with a negative coefficient: self-excited motion.
PRICE_OF_GAIN = 2.0


@dataclass(frozen=True)
class Path:
    """Best subset of each size 0, 1, 2, ...

    `supports` are its columns, `objectives` its sum of squares, block by block in units
    of the block's own variance, `ties` other subsets of that size whose objective is
    larger by less than `margin`.
    """

    supports: tuple[tuple[int, ...], ...]
    objectives: np.ndarray
    ties: tuple[tuple[tuple[int, ...], ...], ...]


def best_subset(
    a: np.ndarray,
    b: np.ndarray,
    max_terms: int,
    margin: float = 0.0,
    variance: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> Path:
    """For each size k up to `max_terms`, the k columns with the smallest objective.

    For columns a (block, row, term) and b (block, row), whitened, the coefficients of a
    subset s minimise Σ ‖a_s x − b‖² over all blocks; its objective is Σ_blocks ‖a_s x −
    b‖² / variance_block(s, x), a χ². Many subsets of one size are solved by a batched
    QR of [a_s b], columns scaled to unit length.

    Subsets whose objectives differ by less than `margin` are a tie, which the first in
    the order of the columns wins. ``variance(subsets, coefficients)``, both of shape
    (subset, size), returns (subset, block); one if absent.
    """
    terms = a.shape[2]
    max_terms = min(max_terms, terms, a.shape[0] * a.shape[1])
    score = _score(a, b, variance)
    path: list[tuple] = []
    for k in range(max_terms + 1):
        if math.comb(terms, k) <= MOST_SUBSETS_TRIED:
            subsets = np.array(list(itertools.combinations(range(terms), k)), dtype=int)
            subsets = subsets.reshape(math.comb(terms, k), k)
        else:
            subsets = _replacements(score, path[-1][0], terms)
        objective = score(subsets)
        close = np.flatnonzero(objective <= objective.min() + margin)
        best, *others = (tuple(int(i) for i in subsets[j]) for j in close)
        path.append((best, float(objective[close[0]]), tuple(others)))
    supports, objectives, ties = zip(*path, strict=True)
    return Path(supports, np.array(objectives), ties)


def _score(a, b, variance) -> Callable[[np.ndarray], np.ndarray]:
    """Objective of subsets of one size, shape (subset, size), batch by batch."""
    terms = a.shape[2]
    length = np.linalg.norm(a, axis=(0, 1))
    length = np.where(length > 0, length, 1.0)
    blocks = np.linalg.qr(np.concatenate([a / length, b[..., None]], axis=2), mode="r")
    r = np.linalg.qr(blocks.reshape(-1, terms + 1), mode="r")

    def score(subsets: np.ndarray) -> np.ndarray:
        result = []
        subsets = np.asarray(subsets, dtype=int)
        for start in range(0, len(subsets), SUBSETS_PER_BATCH):
            some = subsets[start : start + SUBSETS_PER_BATCH]
            x = _solve(r, some, terms)
            residual = np.einsum("brsk,sk->sbr", blocks[:, :, some], x)
            residual -= blocks[None, :, :, terms]
            squares = np.square(residual).sum(axis=2)
            if variance is not None:
                squares = squares / variance(some, x / length[some])
            result.append(squares.sum(axis=1))
        return np.concatenate(result)

    return score


def _replacements(score, smaller: tuple[int, ...], terms: int) -> np.ndarray:
    """The subset that no replacement improves, and all its neighbours, in order."""

    def near(subset: Sequence[int], reach: int) -> np.ndarray:
        some = min(reach, len(subset))
        return _sorted(neighbours(subset, terms, some, some))

    grown = _sorted(neighbours(smaller, terms, 0, 1))
    best = grown[int(np.argmin(score(grown)))]
    shells = (partial(near, reach=1), partial(near, reach=2))
    best = local_minimum(score, best, shells)
    return np.unique(np.vstack([best, near(best, 1)]), axis=0)


def neighbours(
    subset: Sequence[int], terms: int, fewer: int, more: int
) -> list[list[int]]:
    """Subsets of `terms` columns with so many members `fewer`, and so many `more`.

    Examples
    --------
    >>> neighbours([0, 2], 3, 1, 1)
    [[1, 2], [0, 1]]
    """
    inside = [int(i) for i in subset]
    outside = [i for i in range(terms) if i not in inside]
    return [
        sorted([*(i for i in inside if i not in removed), *added])
        for removed in itertools.combinations(inside, fewer)
        for added in itertools.combinations(outside, more)
    ]


def local_minimum(score, start: Sequence[int], shells: Sequence[Callable]):
    """The subset that no neighbour improves, along the best of the first shell that do.

    ``score(subsets)`` is what is to be small, of each; ``shell(subset)`` are neighbours
    of one, the next shell is evaluated only where none of the first is better.
    """
    best, value = start, score([start])[0]
    for _ in range(MOST_REPLACEMENTS):
        for near in (shell(best) for shell in shells):
            objective = score(near) if len(near) else [np.inf]
            i = int(np.argmin(objective))
            if objective[i] < value:
                best, value = near[i], objective[i]
                break
        else:
            break
    return best


def term_price(samples: float, terms: int) -> float:
    """Rise of χ² = −2 log p that a term has to be worth: log n + 2 log m.

    With n independent `samples` and m candidate `terms`: the extended BIC with γ = 1,
    in the form that is a sum over terms (Chen and Chen, Biometrika 95 (2008) 759).
    """
    return float(np.log(samples) + 2 * np.log(max(terms, 1)))


def deviation_of_absent(gain: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Part √(w (1 − w)) of what an absent term would change that is its deviation.

    A term that gains 2Δℓ, `penalty` being required, belongs to the law with probability
    w = 1/(1 + exp(penalty/2 − Δℓ)): the variance of a mean over both laws (Buckland,
    Burnham and Augustin, Biometrics 53 (1997) 603); w is ½ at most.
    """
    w = np.minimum(expit((gain - penalty) / 2), 0.5)
    return np.sqrt(w * (1 - w))


def _sorted(subsets: list[list[int]]) -> np.ndarray:
    return np.sort(np.array(subsets, dtype=int), axis=1)


def _solve(r: np.ndarray, subsets: np.ndarray, terms: int) -> np.ndarray:
    """Least-squares coefficients of every subset, shape (subset, size)."""
    k = subsets.shape[1]
    if k == 0:
        return np.zeros((len(subsets), 0))
    columns = np.hstack([subsets, np.full((len(subsets), 1), terms)])
    triangle = np.linalg.qr(np.moveaxis(r[:, columns], 1, 0), mode="r")
    square, right = triangle[:, :k, :k], triangle[:, :k, k]
    diagonal = np.abs(np.einsum("sii->si", square))
    collinear = diagonal.min(axis=1) <= np.finfo(float).eps * diagonal.max(axis=1)
    square[collinear] = np.eye(k)
    right[collinear] = 0.0
    return np.linalg.solve(square, right[..., None])[..., 0]


def extended_penalty(sizes: np.ndarray, terms: int, samples: float) -> np.ndarray:
    """Penalty k ln n + 2 ln C(m, k) of the extended BIC (Chen and Chen 2008, γ = 1)."""
    combinations = np.array([math.log(math.comb(terms, int(k))) for k in sizes])
    return sizes * math.log(samples) + 2 * combinations


MOST_ITERATIONS = 20


def stlsq(
    theta: np.ndarray,
    target: np.ndarray,
    threshold: float,
    rcond: float | None = None,
) -> np.ndarray:
    """Sequentially thresholded least squares: coefficients below `threshold` are zero.

    `theta` is (equation, term), `target` (equation,); `rcond` that of NumPy's `lstsq`.
    Source: Brunton, Proctor, Kutz, Discovering governing equations from data by sparse
    identification of nonlinear dynamical systems (2016).

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> stlsq(x, 2 * x[:, 0] + 0.01 * x[:, 1], 0.1).round(2)
    array([2., 0., 0.])
    """
    active = np.ones(theta.shape[1], dtype=bool)
    coefficients = np.zeros(theta.shape[1])
    for _ in range(MOST_ITERATIONS):
        coefficients[:] = 0.0
        coefficients[active] = np.linalg.lstsq(theta[:, active], target, rcond=rcond)[0]
        large = np.abs(coefficients) >= threshold
        if (large == active).all() or not large.any():
            coefficients[~large] = 0.0
            break
        active = large
    return coefficients
