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

from leastaction.fields.contracts import CONTRACTS
from leastaction.fields.domain import Domain
from leastaction.fields.ensemble import one_by_one
from leastaction.fields.evaluate import is_quadratic, linear_force
from leastaction.fields.lagrangian_density import spatial_order
from leastaction.fields.library import FieldLibrary

# A mode may always turn by so many times the floor of the process noise.
FLOORS_OF_PROCESS_NOISE = 5
MOST_TRIPLES_OF_SAMPLES = 20_000

log = logging.getLogger(__name__)


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Eigenvectors of the highest candidate operator, and ω dt of each.

    Only u is used. `group` tells the modes that select the terms, ω dt up to
    `resolved`, and those that tell the time scheme from the coefficients, up to
    `dispersive`; what Numerov's rule leaves, (ω dt)⁴/240, limits it. Neither is taken
    below five times the floor of the process noise.

    Raises
    ------
    ValueError
        If not even one mode is slow enough.
    """
    domain = Domain.from_attributes(observations.attrs)
    terms = FieldLibrary.from_config(library, observations.attrs["field"])
    operator, phi = test_functions(terms, domain)
    turn = turn_per_sample(observations["u"], domain.cell[:, None] * phi)
    floor = FLOORS_OF_PROCESS_NOISE * np.sqrt(2 / observations.sizes["time"])
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
    return CONTRACTS["modal_basis"].dataset(
        {"phi": phi, "turn": turn, "group": group},
        coords={
            "replicate": observations["replicate"],
            "node": domain.x,
            "mode": np.arange(1, phi.shape[1] + 1),
        },
        attrs={"operator": operator},
    )


def test_functions(library: FieldLibrary, domain: Domain) -> tuple[str, np.ndarray]:
    """Eigenvectors of the quadratic candidate with the highest derivative.

    K Φ = M Φ Λ with Φᵀ M Φ = 1 and the lumped mass M = diag(cell). Any function may
    serve as a test function; these turn every mode of a uniform field into one narrow
    band of frequencies, and independent noise at the nodes stays independent.

    Returns
    -------
    term, phi
        The candidate as text, and Φ of shape (node, mode), lowest eigenvalue first.

    Raises
    ------
    ValueError
        If no candidate is a quadratic form in u, u_x or u_xx.
    """
    quadratic = [
        i for i in library.independent if is_quadratic(library.terms[i], library.field)
    ]
    if not quadratic:
        raise ValueError(
            "library: there is no quadratic candidate to take test functions from; "
            f"add {library.field}_x**2 or {library.field}_xx**2. Candidates: "
            f"{', '.join(library.names)}"
        )
    top = max(quadratic, key=lambda i: spatial_order(library.terms[i], library.field))
    root = np.sqrt(domain.cell)
    stiffness = linear_force(library.terms[top], library.field, domain)
    _, vectors = np.linalg.eigh(stiffness / np.outer(root, root))
    return library.names[top], vectors / root[:, None]


def turn_per_sample(u: xr.DataArray, test: np.ndarray) -> np.ndarray:
    """Angle ω dt, rad, by which each mode turns: root of E(Δ²q)² / E(Δq)².

    Parameters
    ----------
    u
        One replicate of the field, shape (replicate=1, trajectory, time, node); evenly
        spaced triples of samples are used.
    test
        M Φ, shape (node, mode).
    """
    step = max(
        1, u.sizes["trajectory"] * (u.sizes["time"] - 2) // MOST_TRIPLES_OF_SAMPLES
    )
    first = second = 0.0
    for path in one_by_one(u):
        start = np.arange(0, len(path) - 2, step)
        before = path[start + 1] - path[start]
        after = path[start + 2] - path[start + 1]
        first = first + np.square(before @ test).sum(axis=0)
        second = second + np.square((after - before) @ test).sum(axis=0)
    return np.sqrt(second / first)
