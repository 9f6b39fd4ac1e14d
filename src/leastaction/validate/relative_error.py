"""Relative error of a path or a map."""

import numpy as np


def relative_error(estimate: np.ndarray, truth: np.ndarray) -> float:
    """‖estimate − truth‖ / ‖truth‖; not finite if the estimate is not."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return float(np.linalg.norm(estimate - truth) / np.linalg.norm(truth))
