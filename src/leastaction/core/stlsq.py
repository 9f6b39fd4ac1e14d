"""Sequential thresholded least squares (Tripura et al., Algorithm 3)."""

import numpy as np

MOST_ITERATIONS = 20


def stlsq(theta: np.ndarray, target: np.ndarray, threshold: float) -> np.ndarray:
    """Least squares, repeated on the coefficients that are not below `threshold`.

    Parameters
    ----------
    theta
        Library, shape (equation, term).
    target
        Shape (equation,).
    threshold
        λ: smaller coefficients are set to zero.

    Returns
    -------
    coefficients of shape (term,).
    """
    active = np.ones(theta.shape[1], dtype=bool)
    coefficients = np.zeros(theta.shape[1])
    for _ in range(MOST_ITERATIONS):
        coefficients[:] = 0.0
        coefficients[active] = np.linalg.lstsq(theta[:, active], target, rcond=None)[0]
        large = np.abs(coefficients) >= threshold
        if (large == active).all() or not large.any():
            coefficients[~large] = 0.0
            break
        active = large
    return coefficients
