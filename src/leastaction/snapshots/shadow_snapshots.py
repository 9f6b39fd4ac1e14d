"""First snapshots of the long rollout, with velocities: a picture of phase space."""

from collections.abc import Mapping

import numpy as np

from leastaction.snapshots.shadow_truth import Truth

# States of the truth between two snapshots, for a line.
BETWEEN = 20


def snapshots(model, start: np.ndarray, settings: Mapping) -> dict[str, tuple]:
    """States of the model at the first snapshots.

    Velocities are those that have the model's momenta (Ober-Blöbaum and Offen, section
    2.3) by the Lagrangian L^[k] of the main order k.

    Parameters
    ----------
    model
        A model of :mod:`leastaction.snapshots.shadow_model`.
    start
        State (q, q̇), shape (2 dof,).
    settings
        The `shadow` section, of which `snapshots` and `steps` are used.
    """
    count = _count(settings)
    run = model.run(start, count - 1, model.main)
    return {
        "state_snapshot": (
            ("snapshot", "state"),
            model.states(run, np.arange(count), model.main),
            "see coordinate_unit",
            "first states (q, qdot) of the model, from the start of the long rollout",
        )
    }


def true_snapshots(
    truth: Truth, start: np.ndarray, settings: Mapping
) -> dict[str, tuple]:
    """The same of the truth, a fine path for a line, and the energy of the start.

    Returns dimensions, values, unit and meaning by name.
    """
    count = _count(settings)
    fine = truth.path(start, count - 1, BETWEEN)
    return {
        "state_snapshot_true": (
            ("snapshot", "state"),
            fine[::BETWEEN],
            "see coordinate_unit",
            "first states (q, qdot) of the truth",
        ),
        "state_line_true": (
            ("line", "state"),
            fine,
            "see coordinate_unit",
            "states of the truth between its first snapshots",
        ),
        "hamiltonian_start_true": (
            (),
            truth.energy(fine[:1])[0],
            "J",
            "H of the start of the long rollout",
        ),
    }


def _count(settings: Mapping) -> int:
    return min(settings["snapshots"], settings["steps"] + 1)
