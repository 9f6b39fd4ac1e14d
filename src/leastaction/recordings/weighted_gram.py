"""Gram matrices of recordings, in which every trajectory has the same weight.

A large swing has accelerations many times those of a small one, and would dominate.
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.library import Library
from leastaction.recordings.contracts import training
from leastaction.recordings.input_dynamics import first_values
from leastaction.recordings.inputs import changed, inputs_of, unknowns_of
from leastaction.recordings.refusals import reject
from leastaction.trajectories.gram import evenly, gram_dataset
from leastaction.trajectories.library_equations import (
    LibraryEquations,
    gram_matrices,
    library_equations,
)

# Added to the variance of a trajectory, over the largest: at rest it would count most.
WEIGHT_FLOOR = 0.01
MEANINGS = {
    "gram": "weighted mean of A^T A",
    "inertia_gram": "the same of parts with accelerations",
    "input_moment": "weighted mean of A^T Q",
    "input_square": "weighted mean square of Q",
}


def assemble(
    observations: xr.Dataset, derivatives: xr.Dataset, settings: Mapping, library
) -> xr.Dataset:
    """Gram matrices G and K of the Euler–Lagrange columns of all candidates.

    .. math::

        G = \\sum_s \\frac{1}{v_s N_s} A_s^T A_s, \\qquad
        v_s = \\mathrm{var}\\,\\ddot q_s + 0.01 \\max_s \\mathrm{var}\\,\\ddot q_s
    """
    check(observations, "measurements")
    check(derivatives, "smoothed_motion")
    terms = Library.from_config(library, [str(n) for n in observations["dof"].values])
    compiled = library_equations(terms)
    inner = derivatives["inner"].values.astype(bool)
    motion = {
        name: derivatives[name].values[0][inner] for name in ("q", "qdot", "qddot")
    }
    number = derivatives["trajectory_number"].values[inner]
    scale = motion["qddot"].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    groups = [np.flatnonzero(number == n) for n in np.unique(number)]
    loud = np.array([((motion["qddot"][g] / scale) ** 2).mean() for g in groups])
    weights = 1 / (loud + WEIGHT_FLOOR * loud.max())
    force, start = np.zeros_like(motion["q"]), np.zeros(0)
    if "input" in observations:
        force, start = _forces(training(observations), derivatives, compiled)
    sums: list = [0.0, 0.0, 0.0, 0.0]
    for group, weight in zip(groups, weights, strict=True):
        with np.errstate(all="ignore"):
            gram = gram_matrices(
                compiled, *(motion[n][group] for n in motion), force[group]
            )
        square = (force[group] ** 2).sum()
        for i, part in enumerate((*gram, square)):
            sums[i] = sums[i] + weight / len(group) * part
    _refuse_unbounded(sums[0], [*terms.names, *terms.dissipation_names])
    chosen = evenly(len(number), settings["samples"])
    values = {
        "gram": sums[0],
        "inertia_gram": sums[1],
        "input_moment": sums[2],
        "input_square": sums[3],
        "acceleration_scale": scale,
        "samples": len(number),
    }
    for name, each in (*motion.items(), ("input", force)):
        values[f"{name}_sample"] = each[chosen]
    gram = gram_dataset(derivatives, values, terms)
    for name, meaning in MEANINGS.items():
        gram[name].attrs["long_name"] = meaning
    return gram.assign_attrs(input_start=json.dumps(list(start)))


def _forces(
    observations: xr.Dataset, derivatives: xr.Dataset, compiled: LibraryEquations
) -> tuple[np.ndarray, np.ndarray]:
    """Forces of the inputs at all inner rows, and what is unknown of them at first."""
    inputs = inputs_of(observations)
    unknowns = unknowns_of(observations, inputs)
    rows = derivatives["row"].values[derivatives["inner"].values.astype(bool)]
    period = 1 / float(derivatives["frequency"].max())
    q = observations["q"].values[0]
    start = first_values(
        unknowns, inputs, q, lambda *motion: compiled.columns(*motion)[0], period
    )
    return changed(inputs, unknowns, start).at(rows), start


def _refuse_unbounded(gram: np.ndarray, names: Sequence[str]) -> None:
    """Refuse candidates whose forces are not finite where the motion goes."""
    bad = [names[k] for k in np.flatnonzero(~np.isfinite(np.diag(gram)))]
    if bad:
        reject("unbounded", "library", names=", ".join(bad))
