"""Multi-indices: which monomials, or partial derivatives, there are up to a degree."""

from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np


@lru_cache(maxsize=64)
def factors(variables: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """Variables of every monomial up to a degree, each as often as its exponent.

    In graded order: by degree, then early variables first.

    >>> factors(2, 2)
    ((), (0,), (1,), (0, 0), (0, 1), (1, 1))
    """
    return tuple(
        chosen
        for total in range(degree + 1)
        for chosen in combinations_with_replacement(range(variables), total)
    )


@lru_cache(maxsize=64)
def multi_indices(
    variables: int, degree: int, lexicographic: bool = False
) -> np.ndarray:
    """Exponents of all monomials up to a degree, shape (monomial, variable).

    In graded order (:func:`factors`), or lexicographic.
    """
    rows = [
        [chosen.count(i) for i in range(variables)]
        for chosen in factors(variables, degree)
    ]
    indices = np.array(sorted(rows) if lexicographic else rows, dtype=np.int64)
    indices = indices.reshape(-1, variables)
    indices.setflags(write=False)
    return indices
