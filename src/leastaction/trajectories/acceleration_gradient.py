"""Case II: gradient descent on the accelerations (Purnomo, Hayashibe, eqs. 10, 11)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.gram_estimate import lagrangian_estimate, positions, usable
from leastaction.core.library import Library
from leastaction.trajectories.acceleration_descent import descend
from leastaction.trajectories.library_equations import library_equations

CONTRACT = "gram"


def staged_descent(
    mass: np.ndarray,
    force: np.ndarray,
    qddot: np.ndarray,
    start: np.ndarray,
    stages: Sequence[Mapping],
    epochs: int,
    batch: int,
) -> tuple[np.ndarray, float]:
    """Stages of descent from one start, each followed by a hard threshold.

    Parameters
    ----------
    mass, force, qddot, start, epochs, batch
        As for :func:`descend`.
    stages
        ``{rate, penalty, threshold}``, see :func:`descend`. With `scaled` every entry
        of m_k and f_k is divided by its range over the samples unless it is constant.

    Returns
    -------
    coefficients of shape (term,), and the loss of the last stage; infinite if nothing
    is left or a stage diverged.
    """
    coefficients = np.array(start, dtype=float)
    active = np.arange(coefficients.size)
    loss = np.inf
    for stage in stages:
        m, f = mass[:, :, active], force[:, active]
        if stage.get("scaled", False):
            m, f = m / _range(m), f / _range(f)
        penalty = np.full(active.size, float(stage["penalty"]))
        found, loss = descend(
            m, f, qddot, coefficients[active], stage, penalty, epochs, batch
        )
        coefficients[:] = 0.0
        kept = np.isfinite(found) & (np.abs(found) >= stage["threshold"])
        active = active[kept]
        coefficients[active] = found[kept]
        if not np.isfinite(loss) or not active.size:
            return coefficients, np.inf
    return coefficients, loss


def _range(table: np.ndarray) -> np.ndarray:
    extent = np.ptp(table, axis=-1, keepdims=True)
    largest = np.abs(table).max(axis=-1, keepdims=True)
    return np.where(extent > 1e-9 * largest, extent, 1.0)


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> LagrangianEstimate:
    """Identify L of one case from accelerations alone, from several random starts.

    The problem is not convex: the end depends on the start. The result is the end with
    the smallest loss; all ends are reported, so that the share of starts that succeed
    can be told.

    Paper: one start. The published code divides the tables ∂²φ/∂q̇∂q̇, ∂²φ/∂q∂q̇ and
    ∂φ/∂q by their ranges in the first stage; here m_k and f_k.

    Parameters
    ----------
    equations
        One case, contract ``gram``, with all samples (``samples: all``).
    settings
        `stages`, `epochs`, `batch`: see :func:`staged_descent`. `starts`: their number.
        `start`: c⁰ is uniform in ± this. `exclude`, `candidates`: as for
        ``proximal_gradient``. `seed`: an exception to the seed of the run; the starts
        are part of the recipe, and depend on this and the replicate alone.
    observations
        Not used.
    library
        The `library` section of the example.

    Returns
    -------
    LagrangianEstimate
        Without standard errors. `start_coefficient` (start, term) and `start_loss`
        (start) tell the end of every start.
    """
    check(equations, "gram")
    coordinates = [str(name) for name in equations["dof"].values]
    terms = [str(term) for term in equations["term"].values]
    excluded = positions(settings["exclude"], terms, coordinates)
    used = usable(equations, settings["candidates"], excluded)
    compiled = library_equations(Library.from_config(library, coordinates))
    mass, force = compiled.mass_and_force(
        equations["q_sample"].values[0], equations["qdot_sample"].values[0], used
    )
    mass, force = (np.ascontiguousarray(np.moveaxis(x, 0, -1)) for x in (mass, force))
    qddot = equations["qddot_sample"].values[0].T
    replicate = int(equations["replicate"].values[0])
    key = np.random.SeedSequence(settings["seed"], spawn_key=(replicate,))
    starts = np.random.default_rng(key).uniform(
        -settings["start"], settings["start"], (settings["starts"], len(used))
    )
    ends = np.zeros((settings["starts"], equations.sizes["column"]))
    losses = np.full(settings["starts"], np.inf)
    for i, start in enumerate(starts):
        ends[i, used], losses[i] = staged_descent(
            mass,
            force,
            qddot,
            start,
            settings["stages"],
            settings["epochs"],
            settings["batch"],
        )
    best = int(np.argmin(losses))
    meaning = "mean square error of the accelerations"
    return lagrangian_estimate(
        equations,
        ends[best],
        {"loss": (losses[best], "mixed", meaning)},
        {
            "start_coefficient": (
                ("start", "column"),
                ends,
                "mixed",
                "coefficients at the end of every start",
            ),
            "start_loss": (("start",), losses, "mixed", meaning),
        },
    )
