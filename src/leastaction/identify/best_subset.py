"""Best subset selection by exhaustive search, with the extended BIC."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MOST_SUBSETS = 300_000


@dataclass(frozen=True)
class Path:
    """Best subset of each size 0, 1, 2, ...

    Attributes
    ----------
    supports
        Columns of the best subset of each size.
    objectives
        Its sum of squares, block by block in units of the block's own variance.
    ties
        Other subsets of the same size whose objective is larger by less than `margin`.
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
    """For each size k, the k columns of `a` with the smallest objective.

    The coefficients of a subset s minimise Σ ‖a_s x − b‖² over all blocks; its
    objective is Σ_blocks ‖a_s x − b‖² / variance_block(s, x). All subsets of one size
    are solved by a batched QR of [a_s b]. Columns are scaled to unit length first,
    which changes no residual.

    Parameters
    ----------
    a
        Shape (block, row, term); whitened, so that the objective is a χ².
    b
        Shape (block, row).
    max_terms
        Largest size.
    margin
        Subsets whose objectives differ by less are a tie; the first in the order of the
        columns (the simplest, in a library that starts with simple terms) wins.
    variance
        Called with subsets of shape (subset, size) and their coefficients of the same
        shape; returns the variance of each block, shape (subset, block). One if absent.

    Raises
    ------
    ValueError
        If there are more than `MOST_SUBSETS` subsets to try.
    """
    terms = a.shape[2]
    max_terms = min(max_terms, terms, a.shape[0] * a.shape[1])
    count = sum(math.comb(terms, k) for k in range(max_terms + 1))
    if count > MOST_SUBSETS:
        raise ValueError(
            f"{count} subsets of up to {max_terms} of {terms} candidates are too many "
            f"to try (limit {MOST_SUBSETS}); lower identify.max_terms"
        )
    length = np.linalg.norm(a, axis=(0, 1))
    length = np.where(length > 0, length, 1.0)
    blocks = np.linalg.qr(np.concatenate([a / length, b[..., None]], axis=2), mode="r")
    r = np.linalg.qr(blocks.reshape(-1, terms + 1), mode="r")
    path: list[tuple] = []
    for k in range(max_terms + 1):
        subsets = np.array(list(itertools.combinations(range(terms), k)), dtype=int)
        subsets = subsets.reshape(math.comb(terms, k), k)
        x = _solve(r, subsets, terms)
        residual = np.einsum("brsk,sk->sbr", blocks[:, :, subsets], x)
        residual -= blocks[None, :, :, terms]
        squares = np.square(residual).sum(axis=2)
        if variance is not None:
            squares = squares / variance(subsets, x / length[subsets])
        objective = squares.sum(axis=1)
        close = np.flatnonzero(objective <= objective.min() + margin)
        best, *others = (tuple(int(i) for i in subsets[j]) for j in close)
        path.append((best, float(objective[close[0]]), tuple(others)))
    supports, objectives, ties = zip(*path, strict=True)
    return Path(supports, np.array(objectives), ties)


def _solve(r: np.ndarray, subsets: np.ndarray, terms: int) -> np.ndarray:
    """Least-squares coefficients of every subset, shape (subset, size)."""
    k = subsets.shape[1]
    if k == 0:
        return np.zeros((1, 0))
    columns = np.hstack([subsets, np.full((len(subsets), 1), terms)])
    triangle = np.linalg.qr(np.moveaxis(r[:, columns], 1, 0), mode="r")
    square, right = triangle[:, :k, :k], triangle[:, :k, k]
    diagonal = np.abs(np.einsum("sii->si", square))
    collinear = diagonal.min(axis=1) <= np.finfo(float).eps * diagonal.max(axis=1)
    square[collinear] = np.eye(k)
    right[collinear] = 0.0
    return np.linalg.solve(square, right[..., None])[..., 0]


def extended_penalty(sizes: np.ndarray, terms: int, samples: float) -> np.ndarray:
    """Penalty k ln n + 2 ln C(m, k) of the extended BIC (Chen and Chen 2008, γ = 1).

    The second part accounts for the number of subsets of size k among m candidates,
    so that a larger library does not by itself admit more terms.
    """
    combinations = np.array([math.log(math.comb(terms, int(k))) for k in sizes])
    return sizes * math.log(samples) + 2 * combinations
