"""Gram matrices of the Euler–Lagrange columns of all candidates."""

import logging
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.library import Library
from leastaction.core.settings import CHANNELS
from leastaction.trajectories.contracts import CONTRACTS
from leastaction.trajectories.joint_spline import channel, states
from leastaction.trajectories.library_equations import (
    LibraryEquations,
    gram_matrices,
    library_equations,
)

# All samples are kept if fewer than this share are away from jumps of a force.
LEAST_CLEAR_SHARE = 0.1
# |v| over its rms below which friction may hold the body.
SLIDING_SHARE = 0.05

log = logging.getLogger(__name__)


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Sums over samples of products of the columns; they hold all a linear fit needs.

    .. math::

        G = AᵀA / N, \\quad K = (m q̈)ᵀ(m q̈) / N, \\quad b = AᵀQ / N, \\qquad
        A_k = m_k q̈ + f_k

    over the N samples and all degrees of freedom, for candidates of L and then of the
    Rayleigh function (:class:`leastaction.trajectories.library_equations`). The
    recorded input Q is on the right-hand side.
    """
    check(observations, "motion")
    check(derivatives, "rates")
    terms = Library.from_config(library, [str(n) for n in observations["dof"].values])
    compiled, freedom = library_equations(terms), terms.joint_freedom
    motion = dict(zip(CHANNELS, states(observations, derivatives), strict=True))
    if "input" in observations:
        motion["input"] = channel(observations, derivatives, "input")
    clear = clear_of_switches(compiled, motion["q"], motion["qdot"], derivatives)
    flat = {name: series[clear] for name, series in motion.items()}
    q, qdot, qddot, *driven = flat.values()
    force = driven[0] if driven else None
    gram, inertia, moment = gram_matrices(
        compiled, q, qdot, qddot, force, freedom.independent
    )
    weights, count = freedom.reduction[freedom.independent], len(q)
    values = {
        "gram": weights.T @ gram @ weights / count,
        "inertia_gram": weights.T @ inertia @ weights / count,
        "input_moment": moment @ weights / count,
        "input_square": (force**2).sum() / count if driven else 0.0,
        "acceleration_scale": qddot.std(0),
        "samples": count,
    }
    chosen = evenly(count, settings["samples"])
    samples = {f"{name}_sample": each[chosen] for name, each in flat.items()}
    return gram_dataset(derivatives, values | samples, terms)


def gram_dataset(
    derivatives: xr.Dataset, values: Mapping[str, np.ndarray], terms: Library
) -> xr.Dataset:
    """Dataset ``gram``: `derivatives`, `values`, and what algebra says of candidates.

    With the derivatives a method can return to all samples
    (:func:`leastaction.trajectories.joint_spline.states`).
    """
    damping = terms.dissipation_freedom
    words = {
        "status": terms.status,
        "equivalent": terms.freedom.equivalent,
        "dissipation_status": damping.status,
        "dissipation_equivalent": damping.equivalent,
    }
    words = {name: np.array(texts, dtype=object) for name, texts in words.items()}
    columns = [*terms.names, *(f"D: {name}" for name in terms.dissipation_names)]
    result = CONTRACTS["gram"].dataset({**values, **words})
    return derivatives.assign(result).assign_coords(
        column=columns,
        column_other=columns,
        term=terms.names,
        dissipation_term=np.array(terms.dissipation_names, dtype=object),
    )


def clear_of_switches(
    equations: LibraryEquations,
    q: np.ndarray,
    qdot: np.ndarray,
    derivatives: xr.Dataset,
) -> np.ndarray:
    """Whether a sample is away from the jumps of a force; shape (trajectory, time).

    No smooth function follows a jump of q̈. Samples closer to the change of sign of an
    argument of ``abs`` than three resolved lengths of the spline are left out, and
    those where it is so small that friction may hold the body; none, if it would be
    most.
    """
    clear = np.ones(q.shape[:2], dtype=bool)
    if equations.switches is None or "resolution" not in derivatives:
        return clear
    dof = q.shape[-1]
    values = equations.switches(q.reshape(-1, dof), qdot.reshape(-1, dof))
    small = np.abs(values) < SLIDING_SHARE * np.sqrt((values**2).mean(0))
    clear &= ~small.any(axis=1).reshape(clear.shape)
    positive = (values > 0).reshape(*clear.shape, -1)
    changes = (positive[:, 1:] != positive[:, :-1]).any(axis=2)
    lengths = derivatives["resolution"].values[0].max(axis=1)
    widths = np.ceil(4 + 3 * lengths).astype(int)
    for trajectory, width in enumerate(widths):
        for at in np.flatnonzero(changes[trajectory]):
            clear[trajectory, max(0, at + 1 - width) : at + 1 + width] = False
    if clear.mean() < LEAST_CLEAR_SHARE:
        log.warning(
            "gram: %.0f %% of the samples are next to a jump of a force; all are kept, "
            "and coefficients of abs(...) will be biased",
            100 * (1 - clear.mean()),
        )
        return np.ones_like(clear)
    return clear


def evenly(count: int, number: int | str) -> np.ndarray:
    """Positions of `number` evenly spaced samples out of `count`, or of ``"all"``."""
    if number == "all" or number >= count:
        return np.arange(count)
    return np.linspace(0, count - 1, number).round().astype(int)
