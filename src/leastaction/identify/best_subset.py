"""Best subset selection by exhaustive search, with the extended BIC."""

import itertools
import math
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
        Its residual sum of squares.
    ties
        Other subsets of the same size whose residual is larger by less than `margin`.
    """

    supports: tuple[tuple[int, ...], ...]
    objectives: np.ndarray
    ties: tuple[tuple[tuple[int, ...], ...], ...]


def best_subset(
    a: np.ndarray, b: np.ndarray, max_terms: int, margin: float = 0.0
) -> Path:
    """For each size k, the k columns of `a` that minimise ‖a_s x − b‖².

    All subsets are solved by batched QR of [a_s b]; the squared last entry of R is the
    residual. Columns are scaled to unit length first, which changes no residual.

    Parameters
    ----------
    a
        Shape (row, term); rows whitened, so that the residual is a χ².
    b
        Shape (row,).
    max_terms
        Largest size.
    margin
        Subsets whose residuals differ by less are a tie; the first in the order of the
        columns (the simplest, in a library that starts with simple terms) wins.

    Raises
    ------
    ValueError
        If there are more than `MOST_SUBSETS` subsets to try.
    """
    rows, terms = a.shape
    max_terms = min(max_terms, terms, rows)
    count = sum(math.comb(terms, k) for k in range(max_terms + 1))
    if count > MOST_SUBSETS:
        raise ValueError(
            f"{count} subsets of up to {max_terms} of {terms} candidates are too many "
            f"to try (limit {MOST_SUBSETS}); lower identify.max_terms"
        )
    length = np.linalg.norm(a, axis=0)
    scaled = np.column_stack([a / np.where(length > 0, length, 1.0), b])
    r = np.linalg.qr(scaled, mode="r")
    supports: list[tuple[int, ...]] = [()]
    objectives = [float(b @ b)]
    ties: list[tuple[tuple[int, ...], ...]] = [()]
    for k in range(1, max_terms + 1):
        subsets = np.array(list(itertools.combinations(range(terms), k)))
        columns = np.hstack([subsets, np.full((len(subsets), 1), terms)])
        blocks = np.moveaxis(r[:, columns], 1, 0)
        last = np.linalg.qr(blocks, mode="r")[:, k, k] if r.shape[0] > k else 0.0
        residual = np.square(last) * np.ones(len(subsets))
        close = np.flatnonzero(residual <= residual.min() + margin)
        best, *others = (tuple(int(i) for i in subsets[j]) for j in close)
        supports.append(best)
        objectives.append(float(residual[close[0]]))
        ties.append(tuple(others))
    return Path(tuple(supports), np.array(objectives), tuple(ties))


def extended_penalty(sizes: np.ndarray, terms: int, samples: float) -> np.ndarray:
    """Penalty k ln n + 2 ln C(m, k) of the extended BIC (Chen and Chen 2008, γ = 1).

    The second part accounts for the number of subsets of size k among m candidates,
    so that a larger library does not by itself admit more terms.
    """
    combinations = np.array([math.log(math.comb(terms, int(k))) for k in sizes])
    return sizes * math.log(samples) + 2 * combinations
