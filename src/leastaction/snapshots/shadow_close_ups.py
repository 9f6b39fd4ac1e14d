"""The energy at rest near saddles, where a margin decides whether a channel is open."""

from collections.abc import Mapping

import numpy as np

from leastaction.snapshots.shadow_truth import Truth

POINTS = 41
# Half width of a close-up in units of the channel's half width √|2 margin/curvature|.
WIDTHS = 3.0


def close_ups(
    model, truth: Truth, orders, scales, found: Mapping[str, tuple], settings: Mapping
) -> dict[str, tuple]:
    """H^[k] at rest minus that of the start, on small grids around the saddles.

    A grid is as wide as the widest channel that the margins of the second order, or of
    the truth, open or close. Only positions of two dimensions have a map.

    Parameters
    ----------
    found
        Variables of :func:`leastaction.snapshots.shadow_checks.potential`.
    settings
        The `shadow` section, of which `start` and `potential` are used.
    """
    saddles = np.asarray(settings["potential"]["saddles"], float)
    if not saddles.size or truth.dof != 2:
        return {}
    start = np.array(settings["start"], dtype=float)[None]
    order = min(orders, key=lambda k: abs(k - 2))
    margins = np.append(
        found["saddle_margin"][1][orders.index(order)], found["saddle_margin_true"][1]
    )
    if not np.isfinite(margins).all():
        return {}
    width = WIDTHS * max(
        np.sqrt(2 * np.abs(margins).max() / _curvature(truth, saddle))
        for saddle in saddles
    )
    side = np.linspace(-width, width, POINTS)
    offsets = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    grids = saddles[:, None] + offsets
    rest = np.concatenate([grids, np.zeros_like(grids)], axis=2).reshape(-1, 4)
    shape = (len(saddles), len(offsets))
    values = [
        (model.hamiltonian(rest, k)[0] - model.hamiltonian(start, k)[0]).reshape(shape)
        / scale
        for k, scale in zip(orders, scales, strict=True)
    ]
    true = (truth.energy(rest) - truth.energy(start)).reshape(shape)
    return {
        "near_offset": (
            ("near", "dof"),
            offsets,
            "see coordinate_unit",
            "from a saddle",
        ),
        "near_estimate": (
            ("order", "saddle", "near"),
            values,
            "J",
            "H^[k] at rest near a saddle minus that of the start, scaled",
        ),
        "near_true": (
            ("saddle", "near"),
            true,
            "J",
            "H at rest near a saddle minus that of the start",
        ),
    }


def _curvature(truth: Truth, position: np.ndarray, step: float = 1e-3) -> float:
    """Smallest magnitude of the curvatures of the energy at rest, by differences."""
    n = position.size
    hessian = np.empty((n, n))
    for i in range(n):
        states = np.zeros((2, 2 * n))
        states[:, :n] = position
        states[0, i] += step
        states[1, i] -= step
        up, down = truth.gradient(states)[:n].T
        hessian[i] = (up - down) / (2 * step)
    return float(np.abs(np.linalg.eigvalsh((hessian + hessian.T) / 2)).min())
