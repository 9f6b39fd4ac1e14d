"""Rows of the scorecard of models that were identified from a stationary density."""

from collections.abc import Iterator

import numpy as np

from leastaction.core.from_config import system_from_config
from leastaction.densities.stationary_parameters import (
    Parameter,
    equation_of,
    parameters,
    true_coefficients,
)
from leastaction.report import scores, verdict
from leastaction.report.case import ADDED, COVERAGE, Case

MAIN = "recommended"


def stationary_rows(case: Case) -> Iterator[dict]:
    """Printed numbers, then the errors and the coverage of every parameter.

    Limits are those of the recommended estimator. What the density does not determine
    has no error; one row counts the replicates that say so. An exact density has no
    rows: without noise there is nothing to judge.
    """
    if case.config["simulate"].get("exact"):
        return
    found = parameters(case.config, case.model)
    yield from _printed(case, found)
    refused = np.array([bool(str(s)) for s in case.model["identifiability"].values])
    if refused.any():
        yield case.row(
            ADDED,
            "replicates that refuse damping and noise together",
            f"of {len(refused)}",
            (float(refused.sum()), np.nan, np.nan),
            len(refused),
            target={"minimum": len(refused)},
            note="a stationary density in detailed balance knows their ratio alone",
        )
    targets = (case.publish.get("targets") or {}).get("parameter_rms") or {}
    judged = case.head["estimator"] == MAIN
    for parameter in found:
        if np.isnan(parameter.truth) or np.isnan(parameter.values).all():
            continue
        yield _rms(case, parameter, targets.get(parameter.label) if judged else None)
        if np.isfinite(parameter.std).all():
            yield _coverage(case, parameter)
    if case.rollout is not None:
        yield from _distance(case)


def _rms(case: Case, parameter: Parameter, limit: float | None) -> dict:
    error = parameter.error
    _, low, high = verdict.summary_of(error)
    bias, spread = 100 * error.mean(), 100 * error.std()
    return case.row(
        ADDED,
        f"relative error of the {parameter.label}, rms",
        "1",
        (scores.root_mean_square(error), low, high),
        len(error),
        target=None if limit is None else {"rms": limit},
        note=f"mean {bias:+.3g} %, standard deviation {spread:.3g} %",
    )


def _coverage(case: Case, parameter: Parameter) -> dict:
    hit = parameter.covered
    return case.row(
        ADDED,
        f"{COVERAGE}{parameter.label}",
        "1",
        (float(hit.mean()), np.nan, np.nan),
        len(hit),
    )


def _distance(case: Case) -> Iterator[dict]:
    rollout = case.rollout
    for a, name in enumerate(rollout["dof"].values):
        values = rollout["total_variation"].values[:, a]
        if np.isnan(values).all():
            continue
        yield case.row(
            ADDED,
            f"total variation distance of the densities of {name}",
            "1",
            verdict.summary_of(values),
            len(values),
            note="both densities from fresh samples, so that it is never zero",
        )


def _printed(case: Case, found: list[Parameter]) -> Iterator[dict]:
    """One row per entry of ``publish.rows``, of the published estimator alone."""
    if case.head["estimator"] != "published":
        return
    by_label = {parameter.label: parameter for parameter in found}
    for entry in case.publish.get("rows") or []:
        values = _ours(case, entry["ours"], by_label)
        yield case.row(
            entry["item"],
            entry["quantity"],
            entry["unit"],
            verdict.summary_of(values),
            len(values),
            target=entry.get("target"),
            printed=entry["printed"],
            corrected=float(entry.get("corrected", np.nan)),
            note=entry.get("note", ""),
            draws=values,
            errata=entry.get("erratum", ()),
        )


def _ours(case: Case, ours, by_label) -> np.ndarray:
    """Values of one quantity over the replicates; errors in per cent."""
    if "objective" in ours:
        return case.model["objective"].values
    if "level_set" in ours:
        a = case.model["level_volatility"].values
        exact = _level(case) * a**2
        error = case.model["level_dissipation_estimate"].values / exact - 1
        return 100 * np.abs(error).max(axis=1)
    label = ours.get("parameter") or ours.get("parameter_percent")
    if label not in by_label:
        raise ValueError(
            f"publish.rows: parameter {label!r} is not estimated here; these are "
            f"{', '.join(by_label) or 'none'}"
        )
    parameter = by_label[label]
    return 100 * parameter.error if "parameter_percent" in ours else parameter.values


def _level(case: Case) -> float:
    """True ratio c / a² of damping and squared volatility."""
    equation = equation_of(case.config)
    truth = true_coefficients(equation, system_from_config(case.config["system"]))
    kinds = [term.kind for term in equation.terms]
    return truth[kinds.index("dissipation")] / truth[kinds.index("volatility")]
