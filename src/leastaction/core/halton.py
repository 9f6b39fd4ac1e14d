"""Halton sequence: points that fill a box evenly (Halton 1960)."""

import numpy as np


def halton(index: int, dimensions: int, points: int = 1) -> np.ndarray:
    """Consecutive points of the Halton sequence in the first prime bases.

    Parameters
    ----------
    index
        Index of the first point, from 0, whose point is the origin.
    dimensions
        Number of bases: 2, 3, 5, ...
    points
        How many.

    Returns
    -------
    np.ndarray
        Shape (point, dimension), in [0, 1).
    """
    from scipy.stats import qmc  # a second to import, and few need it

    engine = qmc.Halton(dimensions, scramble=False)
    if index:
        engine.fast_forward(index)
    return engine.random(points)


def first_index(dimensions: int) -> int:
    """Index that Ober-Blöbaum and Offen begin with: the largest base plus one.

    3 in one dimension, 4 in two, 8 in four: the points before it lie on lines.
    """
    from sympy import prime

    return int(prime(dimensions)) + 1


def halton_starts(
    index: int, low: np.ndarray, high: np.ndarray, points: int = 1
) -> np.ndarray:
    """Points of the Halton sequence in a box, shape (point, dimension).

    Parameters
    ----------
    index
        Index of the first point; see :func:`first_index`.
    low, high
        Corners of the box, shape (dimension,).
    """
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return low + (high - low) * halton(index, low.size, points)
