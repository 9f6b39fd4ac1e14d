"""Rows of the scorecard for Lagrangians that were learned from snapshots.

A row is there if the rollout holds what it is about. Our own limits are those of the
recommended estimator; of the others the numbers stand beside.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from leastaction.report import verdict
from leastaction.report.case import ADDED, Case
from leastaction.report.sweep import HONEST_MODE, MAIN
from leastaction.snapshots.shadow_motion_rows import motion_rows
from leastaction.snapshots.shadow_panel import Learned, learned_at
from leastaction.trajectories.noise_rows import case_text


def shadow_rows(case: Case) -> Iterator[dict]:
    """Printed numbers, then ours: identification, motion, potential, uncertainty."""
    yield from printed_rows(case)
    if case.rollout is None:
        return
    name = case.head["estimator"]
    rollout = case.rollout
    levels = np.atleast_1d(rollout["noise_level"].values if _swept(case) else 0.0)
    limits = (case.publish.get("targets") or {}) if name == MAIN else {}
    for level in map(float, levels):
        found = learned_at(name, case.model, rollout, level if _swept(case) else None)
        where = f", {case_text(level, HONEST_MODE)}" if level or len(levels) > 1 else ""
        of_level = _limits(limits, level)
        yield from _identification(case, found, where, of_level)
        yield from _uncertainty(case, found, where, of_level)
        if not level:
            yield from motion_rows(case, found, where, of_level)


def _swept(case: Case) -> bool:
    return "noise_level" in case.rollout.dims


def _limits(targets: Mapping, level: float) -> dict:
    """Our limits at one level of noise; those without a level are for data without."""
    found = {k: v for k, v in targets.items() if k != "by_noise" and not level}
    for entry in targets.get("by_noise") or []:
        if np.isclose(entry["noise_levels"], level, rtol=1e-9, atol=0).any():
            found |= entry
    return found


def printed_rows(case: Case) -> Iterator[dict]:
    """One row per entry of ``publish.rows`` that is about this estimator.

    `ours` names a variable of the rollout, at an `order` of backward error analysis if
    it has several, or a diagnostic of the learned model.

    Raises
    ------
    ValueError
        If there is no such number.
    """
    for entry in case.publish.get("rows") or []:
        ours = entry["ours"]
        if ours.get("estimator") != case.head["estimator"]:
            continue
        values = float(ours.get("factor", 1)) * _ours(case, ours)
        yield case.row(
            entry["item"],
            entry["quantity"],
            entry["unit"],
            verdict.summary_of(values),
            values.size,
            target=entry.get("target"),
            printed=entry["printed"],
            corrected=float(entry.get("corrected", np.nan)),
            note=entry.get("note", ""),
            draws=values,
            errata=entry.get("erratum", ()),
        )


def _ours(case: Case, ours: Mapping) -> np.ndarray:
    """Values of a printed number, all replicates, at the lowest noise."""
    rollout = case.rollout
    found = None if rollout is None else learned_at("", case.model, rollout)
    kind = "rollout" if "rollout" in ours else "model"
    dataset = getattr(found, kind, case.model)
    name = ours.get(kind)
    if name not in dataset:
        raise ValueError(
            f"publish.rows: {case.head['example']} with estimator "
            f"{ours['estimator']!r} has no {name!r} in its {kind}; there are "
            f"{', '.join(map(str, dataset.data_vars))}"
        )
    array = dataset[name]
    if "order" in array.dims:
        array = array.sel(order=ours["order"])
        if ours.get("unscaled"):
            array = array * abs(dataset["scale"].sel(order=ours["order"]))
    return np.ravel(array.values).astype(float)


def _identification(
    case: Case, found: Learned, where: str, limits: Mapping
) -> Iterator[dict]:
    """Misalignment by order; with noise, of the order that counts."""
    known = {
        (entry["ours"].get("rollout"), entry["ours"].get("order"))
        for entry in case.publish.get("rows") or []
        if entry["ours"].get("estimator") == found.estimator
    }
    for order in found.orders:
        if ("misalignment", order) in known or (where and order != found.main):
            continue
        limit = limits.get(f"misalignment_h{order}")
        if order == found.main:
            limit = limits.get("misalignment", limit)
        values = found.rollout["misalignment"].sel(order=order).values
        yield case.row(
            ADDED,
            f"misalignment of H^[[{order}]]{where}",
            "1",
            verdict.summary_of(values),
            values.size,
            target=None if limit is None else {"maximum": limit},
            note="mean sine of the angle between gradients of H^[[k]] and H",
        )


def _uncertainty(
    case: Case, found: Learned, where: str, limits: Mapping
) -> Iterator[dict]:
    """How far H is off where the posterior tells how far it may be."""
    if "hamiltonian_coverage" not in found.rollout:
        return
    error = found.rollout["hamiltonian_error"].values
    values = np.sqrt((error**2).mean(axis=-1))
    yield case.row(
        ADDED,
        f"error of H, rms over the box{where}",
        "J",
        verdict.summary_of(values),
        values.size,
        note="after a monotone map to the true H: more is not known of it",
    )
    values = found.rollout["hamiltonian_coverage"].values
    band = limits.get("coverage")
    yield case.row(
        ADDED,
        f"share of states whose H is within two standard deviations{where}",
        "1",
        (float(values.mean()), *verdict.summary_of(values)[1:]),
        values.size,
        target=band and {"between": band},
        note="mean over replicates; errors of neighbouring states are correlated, so "
        "that it is a bound and no sharp 95 %",
    )
