"""Rows for the numbers that a paper prints about noise: Lagrangians, and limits."""

from collections.abc import Iterator, Mapping

import numpy as np

from leastaction.core.equivalence import canonical
from leastaction.report import verdict
from leastaction.report.case import Case
from leastaction.report.recovery import is_driven, law_of, true_law
from leastaction.report.sweep import BASELINE, MAIN, shown_case, shown_mode
from leastaction.trajectories.equal_data import equal_data_rows
from leastaction.trajectories.noise_rows import case_text, limit_of
from leastaction.trajectories.printed import (
    PrintedLagrangian,
    printed_lagrangians,
)

# A printed ratio is worth as many digits as the numbers that it is made of.
DIGITS = 4


def printed_noise_rows(case: Case) -> Iterator[dict]:
    """One row per coefficient of the printed Lagrangians, and per printed limit.

    Raises
    ------
    ValueError
        If a printed limit names an estimator without a sweep over noise.
    """
    for entry in case.publish.get("rows") or []:
        ours = entry["ours"]
        if ours.get("largest_noise") == case.head["estimator"]:
            yield from _limit(case, entry)
    if case.head["estimator"] not in (MAIN, BASELINE) or case.recovery is None:
        return
    for one in printed_lagrangians(case.config, case.truth):
        yield from _coefficients(case, one)


def _limit(case: Case, entry: Mapping) -> Iterator[dict]:
    """Largest noise of an estimator, or over that of another one on the same data."""
    ours = entry["ours"]
    if case.recovery is None:
        raise ValueError(
            f"largest_noise: estimator {case.head['estimator']!r} has no sweep over "
            "noise; give simulate.noise.levels"
        )
    if "over" in ours:
        yield from equal_data_rows(case, entry)
        return
    mode = ours.get("noise_mode") or shown_mode(case.head["estimator"], case.recovery)
    limit, note = limit_of(case.recovery["exact"], mode)
    yield case.row(
        entry["item"],
        f"{entry['quantity']}, {mode} noise",
        entry["unit"],
        (limit.level, np.nan, np.nan),
        case.recovery.sizes["replicate"],
        target=entry.get("target"),
        printed=entry["printed"],
        corrected=float(entry.get("corrected", np.nan)),
        note="; ".join(filter(None, (entry.get("note"), note))),
    )


def _coefficients(case: Case, one: PrintedLagrangian) -> Iterator[dict]:
    """Coefficients beside those printed, all in the scale of the reference term.

    Where external forces were measured the scale is known: that of the system.
    """
    estimator = case.head["estimator"]
    model = shown_case(estimator, case.model, one.level)
    driven = is_driven(case.config)
    printed = _in_scale(case, one, driven)
    if model is None or printed is None:
        return
    where = case_text(one.level, shown_mode(estimator, case.model))
    library = case.truth.library
    found = canonical(law_of(model, case.truth), library)
    if not driven:
        given = found[:, [library.reference]]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = found * np.where(
                given != 0, library.reference_coefficient / given, np.nan
            )
    true = canonical(true_law(case.truth, driven), library)
    limit = one.entry.get("error")
    target = {"relative_error": limit} if limit and estimator == MAIN else None
    for i, value in printed.items():
        if i == library.reference and not driven:
            continue
        yield case.row(
            one.entry["item"],
            f"coefficient of {library.names[i]}, {where}",
            "SI units",
            verdict.summary_of(found[:, i]),
            len(found),
            target=target,
            printed=value,
            corrected=true[i],
            note="" if true[i] else "not in the true Lagrangian",
        )
    if estimator == BASELINE and "replica" in one.entry:
        yield _replica(case, one, found, printed, where)


def _replica(case: Case, one: PrintedLagrangian, found, printed, where: str) -> dict:
    """Whether the published estimator does as the paper says, right or wrong.

    A replicate with other terms than those printed deviates infinitely.
    """
    order = list(printed)
    deviation = found[:, order] / np.array([printed[i] for i in order]) - 1
    others = np.delete(found, order, axis=1)
    same = (found[:, order] != 0).all(axis=1) & (others == 0).all(axis=1)
    return case.row(
        one.entry["item"],
        f"largest relative deviation from the printed coefficients, {where}",
        "1",
        verdict.summary_of(np.where(same, np.abs(deviation).max(axis=1), np.inf)),
        len(found),
        target={"median": one.entry["replica"]},
        note="whether the replica of the published method does as the paper says, "
        f"right or wrong; {int(same.sum())} of {same.size} replicates have the printed "
        "terms and no others, the rest deviate infinitely",
    )


def _in_scale(
    case: Case, one: PrintedLagrangian, driven: bool
) -> dict[int, float] | None:
    """Printed coefficients by independent candidate, in the scale of the reference.

    As printed if `driven`; else None if the reference is not printed. A function that
    stands twice counts once.
    """
    library = case.truth.library
    by_term: dict[int, float] = {}
    for value, function in one.terms:
        if function in library.terms:
            by_term.setdefault(library.terms.index(function), value)
    scale = 1.0
    if not driven:
        if library.reference not in by_term:
            return None
        scale = library.reference_coefficient / by_term[library.reference]
    return {
        i: value if scale == 1 else float(f"{scale * value:.{DIGITS}g}")
        for i, value in by_term.items()
        if library.status[i] in ("reference", "independent")
    }
