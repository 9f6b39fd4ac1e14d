"""Least squares of minimum norm, with the normalisation among the rows (published)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.snapshots.contracts import lagrangian_dataset


def minimum_norm(
    rows: np.ndarray, target: np.ndarray, cut: float | None = None
) -> tuple[np.ndarray, int]:
    """Solution of least squares with the smallest norm, and the numerical rank.

    Parameters
    ----------
    rows, target
        Shapes (row, function) and (row,).
    cut
        Singular values below this part of the largest count as zero; by default machine
        epsilon times the larger dimension, as in NumPy.
    """
    solution, _, rank, _ = np.linalg.lstsq(rows, target, rcond=cut)
    return solution, int(rank)


def identify(equations: xr.Dataset, settings: Mapping) -> xr.Dataset:
    """Lagrangian of minimum norm for one case.

    Settings: `cut`, see :func:`minimum_norm`; absent or null for the default of NumPy.
    """
    check(equations, "shadow_equations")
    theta, condition, value = (
        equations[name].values[0] for name in ("theta", "condition", "condition_value")
    )
    rows = np.vstack([theta, condition])
    target = np.concatenate([np.zeros(len(theta)), value])
    coefficients, rank = minimum_norm(rows, target, settings.get("cut"))
    square = float(((rows @ coefficients - target) ** 2).sum())
    return lagrangian_dataset(
        equations, coefficients, {"rank": rank, "residual_square": square}
    )
