"""Gram matrices of the Euler–Lagrange columns of all candidates."""

import logging
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.library import Library
from leastaction.trajectories.library_equations import (
    LibraryEquations,
    gram_matrices,
    library_equations,
)
from leastaction.trajectories.motion import kept, states

CONTRACT = "gram"
LEAST_CLEAR = 0.1
LEAST_ARGUMENT = 0.05

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
    Rayleigh function (:class:`leastaction.trajectories.library_equations`).

    Parameters
    ----------
    observations
        One case, contract ``motion``. Its `input` Q is on the right-hand side.
    derivatives
        Contract ``rates``.
    settings
        `samples`: how many evenly spaced samples are passed on, or ``"all"``.
    library
        The `library` section of the example.

    Returns
    -------
    xr.Dataset
        Contract ``gram``. What `derivatives` holds is passed on, so that a method can
        return to all samples (:func:`leastaction.trajectories.motion.states`).
    """
    check(observations, "motion")
    check(derivatives, "rates")
    terms = Library.from_config(library, [str(n) for n in observations["dof"].values])
    compiled = library_equations(terms)
    motion = dict(
        zip(("q", "qdot", "qddot"), states(observations, derivatives), strict=True)
    )
    if "input" in observations:
        motion["input"] = kept(observations, derivatives, "input")
    clear = clear_of_switches(compiled, motion["q"], motion["qdot"], derivatives)
    if clear.all():
        flat = {n: v.reshape(-1, v.shape[-1]) for n, v in motion.items()}
    else:
        flat = {n: v[clear] for n, v in motion.items()}
    count = len(flat["q"])
    freedom = terms.joint_freedom
    independent = gram_matrices(
        compiled,
        flat["q"],
        flat["qdot"],
        flat["qddot"],
        flat.get("input"),
        freedom.independent,
    )
    weights = freedom.combinations
    gram, inertia_gram = (weights.T @ part @ weights for part in independent[:2])
    moment = independent[2] @ weights
    chosen = evenly(count, settings["samples"])
    force = flat.get("input", np.zeros(1))
    square, each = ("replicate", "column", "column_other"), ("replicate", "dof")
    sampled = ("replicate", "sample", "dof")
    data = {
        "gram": _entry(square, gram / count, "A^T A / N"),
        "inertia_gram": _entry(
            square, inertia_gram / count, "the same of the part with accelerations"
        ),
        "input_moment": _entry(square[:2], moment / count, "A^T Q / N"),
        "input_square": _entry(
            square[:1], (force**2).sum() / len(force), "mean square of the input"
        ),
        "acceleration_scale": _entry(
            each, flat["qddot"].std(0), "standard deviation of qddot"
        ),
        "samples": (
            "replicate",
            [count],
            {"units": "1", "long_name": "samples in the sums"},
        ),
    }
    for name, values in flat.items():
        data[f"{name}_sample"] = _entry(
            sampled, values[chosen], f"{name}, some samples"
        )
    return derivatives.assign(data | freedom_entries(terms)).assign_coords(
        candidate_names(terms)
    )


def freedom_entries(terms: Library) -> dict:
    """What algebra says about the candidates, as variables of a dataset."""
    data = {}
    for name, freedom, status in (
        ("", terms.freedom, terms.status),
        ("dissipation_", terms.dissipation_freedom, terms.dissipation_freedom.status),
    ):
        for key, values, meaning in (
            ("status", status, "what algebra says about the term"),
            ("equivalent", freedom.equivalent, "equivalent of a removed candidate"),
        ):
            data[f"{name}{key}"] = (
                f"{name}term",
                np.array(values, dtype=object),
                {"units": "1", "long_name": meaning},
            )
    return data


def candidate_names(terms: Library) -> dict:
    """Coordinates of a dataset that name the candidates."""
    columns = [*terms.names, *(f"D: {name}" for name in terms.dissipation_names)]
    return {
        "column": columns,
        "column_other": columns,
        "term": terms.names,
        "dissipation_term": np.array(terms.dissipation_names, dtype=object),
    }


def clear_of_switches(
    equations: LibraryEquations,
    q: np.ndarray,
    qdot: np.ndarray,
    derivatives: xr.Dataset,
) -> np.ndarray:
    """Whether a sample is away from the jumps of a force, such as Coulomb friction.

    No smooth function follows a jump of q̈. Samples closer to the change of sign of an
    argument of ``abs`` than three resolved lengths of the spline are left out, and
    those where it is so small that friction may hold the body.

    Parameters
    ----------
    equations
        Compiled columns.
    q, qdot
        Shape (trajectory, time, dof).
    derivatives
        Contract ``rates``; only what a spline has smoothed needs this.

    Returns
    -------
    Shape (trajectory, time). All samples, if less than a tenth would be left.
    """
    clear = np.ones(q.shape[:2], dtype=bool)
    if equations.switches is None or "resolution" not in derivatives:
        return clear
    dof = q.shape[-1]
    values = equations.switches(q.reshape(-1, dof), qdot.reshape(-1, dof))
    small = np.abs(values) < LEAST_ARGUMENT * np.sqrt((values**2).mean(0))
    clear &= ~small.any(axis=1).reshape(clear.shape)
    positive = (values > 0).reshape(*clear.shape, -1)
    changes = (positive[:, 1:] != positive[:, :-1]).any(axis=2)
    lengths = derivatives["resolution"].values[0].max(axis=1)
    widths = np.ceil(4 + 3 * lengths).astype(int)
    for trajectory, width in enumerate(widths):
        for at in np.flatnonzero(changes[trajectory]):
            clear[trajectory, max(0, at + 1 - width) : at + 1 + width] = False
    if clear.mean() < LEAST_CLEAR:
        log.warning(
            "gram: %.0f %% of the samples are next to a jump of a force; all are kept, "
            "and coefficients of abs(...) will be biased",
            100 * (1 - clear.mean()),
        )
        return np.ones_like(clear)
    return clear


def evenly(count: int, wanted: int | str) -> np.ndarray:
    """Positions of `wanted` evenly spaced samples out of `count`, or of ``"all"``."""
    if wanted == "all" or wanted >= count:
        return np.arange(count)
    return np.linspace(0, count - 1, wanted).round().astype(int)


def _entry(dims, values, meaning: str):
    return (dims, np.asarray(values)[None], {"units": "mixed", "long_name": meaning})
