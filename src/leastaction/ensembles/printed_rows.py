"""Rows of the scorecard for the numbers that a paper prints."""

import logging
from collections.abc import Iterator, Mapping

import numpy as np

from leastaction.fields.density_library import DensityLibrary
from leastaction.fields.library_size import functions_over_nodes
from leastaction.report import scores, verdict
from leastaction.report.case import Case

TYPED = 1e-6

log = logging.getLogger(__name__)


def printed_rows(case: Case) -> Iterator[dict]:
    """One row per entry of ``publish.rows``, except for those about noise.

    Raises
    ------
    ValueError
        If an entry asks for something that the example does not have, or its
        `corrected` disagrees with the truth derived from the system.
    """
    for entry in case.publish.get("rows") or []:
        if "largest_noise" in entry["ours"] or not _has(case, entry["ours"]):
            continue
        values, truth = _ours(case, entry["ours"])
        corrected = float(entry.get("corrected", np.nan))
        if truth is not None and abs(truth - corrected) > TYPED * abs(truth):
            log.warning(
                "%s: the paper's number %r is left out, because this system has %g and "
                "not %g; was a parameter overridden?",
                case.head["example"],
                entry["quantity"],
                truth,
                corrected,
            )
            continue
        yield case.row(
            entry["item"],
            entry["quantity"],
            entry["unit"],
            verdict.summary_of(values),
            len(values),
            target=entry.get("target"),
            printed=entry["printed"],
            corrected=corrected,
            note=entry.get("note", ""),
            draws=values[_right_terms(case)],
            errata=entry.get("erratum", ()),
        )


def _right_terms(case: Case) -> np.ndarray:
    """Replicates with the right terms, shape (replicate,); all if none can tell."""
    if case.truth is None or case.has_sweep:
        return np.ones(case.model.sizes["replicate"], dtype=bool)
    return scores.exact_support(case.model, case.truth)


def _has(case: Case, ours: Mapping) -> bool:
    """Whether a model can have such a number: implicit equations have no candidates."""
    return "library_size" not in ours or "term" in case.model.dims


def _ours(case: Case, ours: Mapping) -> tuple[np.ndarray, float | None]:
    """Values of one quantity over the replicates, and its truth if it has one."""
    model, truth = case.model, case.truth
    if "coefficient" in ours:
        i = scores.term_position(ours["coefficient"], case.library)
        factor = float(ours.get("factor", 1))
        values = model["coefficient_estimate"].transpose("replicate", "term").values
        exact = None if truth is None else factor * float(truth.coefficients[i])
        return factor * values[:, i], exact
    if "volatility" in ours:
        a = _dof(case, ours["volatility"])
        exact = np.nan if truth is None else float(truth.volatility[a])
        factor = float(ours.get("factor", 1))
        values = model["volatility_estimate"].transpose("replicate", "dof").values
        return factor * values[:, a], None if np.isnan(exact) else factor * exact
    if ours.get("parameter_error"):
        if truth is None:
            raise ValueError(
                "parameter_error: the library cannot express the system, so that its "
                "parameters have no counterpart"
            )
        if ours["parameter_error"] is True:
            return scores.parameter_error(model, truth), None
        a = _dof(case, ours["parameter_error"])
        factor = float(ours.get("factor", 1))
        return scores.equation_parameter_error(model, truth, a, factor), None
    if "relative_error" in ours:
        if truth is None:
            raise ValueError(
                "relative_error: the library cannot express the system, so that its "
                "estimates have no error"
            )
        error = {
            "coefficient": lambda: scores.coefficient_error(model, truth),
            "volatility": lambda: scores.volatility_error(model, truth).max(axis=1),
        }[ours["relative_error"]]
        return 100 * error(), None
    if "library_size" in ours:
        size = _library_size(case, ours["library_size"])
        return np.full(model.sizes["replicate"], float(size)), None
    raise ValueError(
        f"ours {dict(ours)} must be one of coefficient, volatility, parameter_error, "
        "relative_error, library_size"
    )


def _library_size(case: Case, of: str) -> int:
    """Number of candidates; those of a field are counted over all nodes."""
    if not isinstance(case.library, DensityLibrary):
        dim = {"lagrangian": "term", "volatility": "volatility_term"}
        return case.model.sizes[dim[of]]
    return functions_over_nodes(case.config, of)


def _dof(case: Case, coordinate: str) -> int:
    names = case.library.coordinates
    if coordinate not in names:
        raise ValueError(
            f"volatility {coordinate!r} is not a coordinate; these are {list(names)}"
        )
    return names.index(coordinate)
