"""Test functions in space: eigenvectors of a candidate's stiffness."""

import numpy as np
import xarray as xr

from leastaction.core.unequal_trajectories import one_by_one
from leastaction.fields.domain import Domain
from leastaction.fields.evaluate import is_quadratic, linear_force
from leastaction.fields.lagrangian_density import spatial_order
from leastaction.fields.library import FieldLibrary

TRIPLES = 20_000


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
    step = max(1, u.sizes["trajectory"] * (u.sizes["time"] - 2) // TRIPLES)
    first = second = 0.0
    for path in one_by_one(u):
        start = np.arange(0, len(path) - 2, step)
        before = path[start + 1] - path[start]
        after = path[start + 2] - path[start + 1]
        first = first + np.square(before @ test).sum(axis=0)
        second = second + np.square((after - before) @ test).sum(axis=0)
    return np.sqrt(second / first)
