"""Gram matrices of the Euler–Lagrange columns of all candidates."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.contracts import check
from leastaction.differentiate.motion import kept, states
from leastaction.mechanics.library import Library
from leastaction.mechanics.library_equations import gram_matrices, library_equations

CONTRACT = "gram"


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
    Rayleigh function (:class:`leastaction.mechanics.library_equations`).

    Parameters
    ----------
    observations
        One case, contract ``motion``. Its `input` Q is on the right-hand side.
    derivatives
        Contract ``rates``.
    settings
        `samples`: how many evenly spaced samples are passed on; all if None.
    library
        The `library` section of the example.

    Returns
    -------
    xr.Dataset
        Contract ``gram``. What `derivatives` holds is passed on, so that a method can
        return to all samples (:func:`leastaction.differentiate.motion.states`).
    """
    check(observations, "motion")
    check(derivatives, "rates")
    terms = Library.from_config(library, [str(n) for n in observations["dof"].values])
    motion = dict(
        zip(("q", "qdot", "qddot"), states(observations, derivatives), strict=True)
    )
    if "input" in observations:
        motion["input"] = kept(observations, derivatives, "input")
    dof = observations.sizes["dof"]
    flat = {name: values.reshape(-1, dof) for name, values in motion.items()}
    count = len(flat["q"])
    gram, inertia_gram, moment = gram_matrices(
        library_equations(terms),
        flat["q"],
        flat["qdot"],
        flat["qddot"],
        flat.get("input"),
    )
    chosen = _evenly(count, settings["samples"])
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
    columns = [*terms.names, *(f"D: {name}" for name in terms.dissipation_names)]
    return derivatives.assign(data).assign_coords(
        column=columns,
        column_other=columns,
        term=terms.names,
        dissipation_term=np.array(terms.dissipation_names, dtype=object),
    )


def _evenly(count: int, wanted: int | None) -> np.ndarray:
    if wanted is None or wanted >= count:
        return np.arange(count)
    return np.linspace(0, count - 1, wanted).round().astype(int)


def _entry(dims, values, meaning: str):
    return (dims, np.asarray(values)[None], {"units": "mixed", "long_name": meaning})
