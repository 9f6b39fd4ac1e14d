"""Test functions in space, and how fast the field moves along each of them.

The estimators of fields use displacements alone. How far a mode turns per sample is
measured, not assumed:

.. math::  (ω\\,dt)^2 ≈ E(Δ^2 q)^2 / E(Δq)^2 .

Process noise raises it to about √(2 dt/T), T the duration, where the motion is slower
than that. Where ω dt is not small, what the samples say depends on the scheme that made
them, so only well-resolved modes are kept.
"""

import logging
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.fields.domain import Domain
from leastaction.fields.library import FieldLibrary
from leastaction.fields.modal_basis import test_functions, turn_per_sample

FLOORS = 5

log = logging.getLogger(__name__)


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Eigenvectors of the highest candidate operator, and ω dt of each.

    Parameters
    ----------
    observations
        One replicate, contract ``field_observations``; only u is used.
    settings
        `resolved`: largest ω dt, rad, of the modes that select the terms;
        `dispersive`: of the modes that tell the time scheme from the coefficients;
        what Numerov's rule leaves, (ω dt)⁴/240, limits it. Neither is taken below five
        times the floor of the process noise.
    library
        The `library` section of the example.

    Returns
    -------
    xr.Dataset
        `phi` (replicate, node, mode) with Φᵀ diag(cell) Φ = 1, m^-½; `turn`
        (replicate, mode), rad per sample; `group` (replicate, mode): 0 resolved,
        1 dispersive, 2 not used.

    Raises
    ------
    ValueError
        If not even one mode is slow enough.
    """
    domain = Domain.from_attributes(observations.attrs)
    terms = FieldLibrary.from_config(library, observations.attrs["field"])
    operator, phi = test_functions(terms, domain)
    turn = turn_per_sample(observations["u"], domain.cell[:, None] * phi)
    floor = FLOORS * np.sqrt(2 / observations.sizes["time"])
    cuts = [max(settings[name], floor) for name in ("resolved", "dispersive")]
    group = np.searchsorted(cuts, turn).astype("int8")
    if not (group == 0).any():
        raise ValueError(
            f"the slowest mode turns by {turn.min():.2g} rad per sample, more than "
            f"{cuts[0]:.2g}: no mode is resolved; sample faster or raise "
            "differentiate.resolved"
        )
    if turn.max() > cuts[0]:
        log.warning(
            "%d of %d modes turn by more than %.2g rad per sample (the fastest by "
            "%.2g): they do not select terms",
            (group > 0).sum(),
            turn.size,
            cuts[0],
            turn.max(),
        )
    return xr.Dataset(
        {
            "phi": (
                ("replicate", "node", "mode"),
                phi[None],
                {"units": "m^-0.5", "long_name": "test functions"},
            ),
            "turn": (
                ("replicate", "mode"),
                turn[None],
                {"units": "rad", "long_name": "angle per sample"},
            ),
            "group": (
                ("replicate", "mode"),
                group[None],
                {"units": "1", "long_name": "0 resolved, 1 dispersive, 2 not used"},
            ),
        },
        coords={
            "replicate": observations["replicate"],
            "node": domain.x,
            "mode": np.arange(1, phi.shape[1] + 1),
        },
        attrs={"operator": operator},
    )
