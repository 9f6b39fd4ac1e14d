"""Whether implicit equations of motion are the true ones."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.implicit_library import ImplicitLibrary, true_relation
from leastaction.core.system import System


def implicit_recovery(model: xr.Dataset, config: Mapping) -> tuple[np.ndarray, ...]:
    """Compare every case of a sweep with the true relations between the candidates.

    Parameters
    ----------
    model
        Contract ``implicit_model``, with a sweep over noise.
    config
        The example, with ``library.implicit``.

    Returns
    -------
    exact, worst_error : ndarray of shape (replicate, mode, level)
        Whether the equation of every coordinate has the terms of a true relation, and
        only one holds between them; and the largest relative error of its coefficients,
        after their common factor is fitted; infinite where the terms are wrong.
    """
    system = System.from_config(config["system"])
    library = ImplicitLibrary.from_config(config["library"], system.coordinates)
    found = (
        model["coefficient_estimate"]
        .sel(implicit_term=library.names)
        .transpose("replicate", "noise_mode", "noise_level", "dof", "implicit_term")
        .values
    )
    shape = found.shape[:3]
    worst = np.zeros(shape)
    for a, members in enumerate(library.members):
        basis = library.truth(system, a)
        members = list(members)
        left = [members.index(k) for k in library.left_hand_sides(a)]
        relations: dict[tuple[int, ...], np.ndarray | None] = {}
        for case in np.ndindex(shape):
            c = found[case][a, members]
            support = tuple(int(k) for k in np.flatnonzero(c))
            if support not in relations:
                relations[support] = true_relation(support, basis, left)
            error = _worst(c, relations[support])
            worst[case] = max(worst[case], error)
    return np.isfinite(worst), worst


def _worst(found: np.ndarray, true: np.ndarray | None) -> float:
    """Largest relative error after the factor is fitted; infinite without a truth."""
    if true is None:
        return np.inf
    ratio = found[true != 0] / true[true != 0]
    return float(np.abs(ratio * ratio.sum() / (ratio**2).sum() - 1).max())
