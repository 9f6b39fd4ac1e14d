"""Candidates by name, and the estimate of a method that reads a ``gram`` dataset."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.unknown import unknown


def positions(
    texts: Sequence[str], terms: Sequence[str], coordinates: Sequence[str]
) -> list[int]:
    """Positions of candidates of L, however their text is written.

    Raises
    ------
    ValueError
        If a text is no candidate.
    """
    found = []
    for text in texts:
        term = text if text in terms else _as_written(text, tuple(coordinates))
        if term not in terms:
            raise ValueError(unknown("candidate", text, terms))
        found.append(terms.index(term))
    return found


@lru_cache(maxsize=256)
def _as_written(text: str, coordinates: tuple[str, ...]) -> str:
    """The text that candidates have, by algebra: its import takes most of the time."""
    from leastaction.core.euler_lagrange import velocity_names
    from leastaction.core.expressions import parse, to_text

    return to_text(parse(text, (*coordinates, *velocity_names(coordinates))))


def random_starts(equations: xr.Dataset, settings: Mapping, shape) -> np.ndarray:
    """Coefficients between ± `start`, by `seed` and the replicate: part of a recipe."""
    replicate = int(equations["replicate"].values[0])
    key = np.random.SeedSequence(settings["seed"], spawn_key=(replicate,))
    largest = settings["start"]
    return np.random.default_rng(key).uniform(-largest, largest, shape)


def usable(equations: xr.Dataset, kind: str, excluded: Sequence[int]) -> list[int]:
    """Columns that a method may use, candidates of L and then of D.

    Parameters
    ----------
    equations
        Contract ``gram``.
    kind
        ``all``, or ``independent``: without those that algebra calls redundant.
    excluded
        Positions left out in any case.
    """
    status = [*equations["status"].values, *equations["dissipation_status"].values]
    redundant = {"null", "duplicate", "dependent"} if kind == "independent" else set()
    return [
        i
        for i, known in enumerate(status)
        if i not in excluded and known not in redundant
    ]


def lagrangian_estimate(
    equations: xr.Dataset,
    coefficients: np.ndarray,
    diagnostics: Mapping[str, tuple],
    arrays: Mapping[str, tuple],
    std: np.ndarray | None = None,
    criterion: np.ndarray | None = None,
) -> LagrangianEstimate:
    """Coefficients of all columns of a ``gram`` dataset as an estimate.

    Parameters
    ----------
    equations
        Contract ``gram``, or any dataset with its terms and their status.
    coefficients
        Of L and then of D, shape (column,).
    diagnostics, arrays
        See :class:`LagrangianEstimate` (`arrays` is its `by_node`).
    std
        Standard errors, shape (column,); NaN if the method has none.
    criterion
        See :class:`LagrangianEstimate`; empty if the method has none.
    """
    given = equations.variables
    count = given["term"].size
    std = np.full(len(coefficients), np.nan) if std is None else std
    return LagrangianEstimate(
        terms=[str(term) for term in given["term"].values],
        coefficients=coefficients[:count],
        std=std[:count],
        status=list(given["status"].values),
        equivalent=list(given["equivalent"].values),
        diagnostics=diagnostics,
        criterion=np.zeros(0) if criterion is None else criterion,
        by_node=arrays,
        dissipation_terms=[str(term) for term in given["dissipation_term"].values],
        dissipation_coefficients=coefficients[count:],
        dissipation_std=std[count:],
        dissipation_status=list(given["dissipation_status"].values),
        dissipation_equivalent=list(given["dissipation_equivalent"].values),
    )
