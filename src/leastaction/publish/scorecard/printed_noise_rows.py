"""Rows for the numbers that a paper prints about noise: Lagrangians, and limits."""

from collections.abc import Iterator, Mapping

import numpy as np

from leastaction.mechanics.equivalence import canonical
from leastaction.publish.printed import PrintedLagrangian, printed_lagrangians
from leastaction.publish.scorecard import verdict
from leastaction.publish.scorecard.case import Case
from leastaction.publish.scorecard.noise_rows import case_text, limit_summary
from leastaction.publish.scorecard.recovery import is_driven, law_of
from leastaction.publish.sweep import BASELINE, MAIN, shown_case, shown_mode

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
    """Largest noise of an estimator, or over that of another one on the same data.

    Of such a ratio there is no truth but what equal data give: that is `corrected`.
    """
    ours = entry["ours"]
    if case.recovery is None:
        raise ValueError(
            f"largest_noise: estimator {case.head['estimator']!r} has no sweep over "
            "noise; give simulate.noise.levels"
        )
    mode = ours.get("noise_mode") or shown_mode(case.head["estimator"], case.recovery)
    value, note = limit_summary(case.recovery["exact"], mode)
    corrected, target = float(entry.get("corrected", np.nan)), entry.get("target")
    if "over" in ours:
        other = case.recoveries.get(ours["over"])
        if other is None:
            return
        below, _ = limit_summary(other["exact"], mode)
        value = value / below if below else np.inf
        corrected, target = value, {"relative_error": 0.0}
        if not np.isfinite(value):
            corrected, target = np.nan, None
        note = f"{mode} noise"
    written = entry.get("note", "")
    yield case.row(
        entry["item"],
        f"{entry['quantity']}, {mode} noise",
        entry["unit"],
        (value, np.nan, np.nan),
        case.recovery.sizes["replicate"],
        target=target,
        printed=entry["printed"],
        corrected=corrected,
        note=f"{written}; {note}" if written else note,
    )


def _coefficients(case: Case, one: PrintedLagrangian) -> Iterator[dict]:
    """Coefficients beside those printed, all in the scale of the reference term."""
    estimator = case.head["estimator"]
    model = shown_case(estimator, case.model, one.level)
    printed = _in_scale(case, one)
    if model is None or printed is None:
        return
    where = case_text(one.level, shown_mode(estimator, case.model))
    library = case.truth.library
    found = canonical(law_of(model, case.truth), library)
    if not is_driven(case.config):
        given = found[:, [library.reference]]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = found * np.where(
                given != 0, library.reference_coefficient / given, np.nan
            )
    true = canonical(
        np.append(case.truth.coefficients, case.truth.dissipation), library
    )
    limit = one.entry.get("error")
    target = {"relative_error": limit} if limit and estimator == MAIN else None
    for i, value in printed.items():
        if i == library.reference:
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
        order = list(printed)
        with np.errstate(invalid="ignore"):
            ratio = found[:, order] / np.array([printed[i] for i in order])
        yield case.row(
            one.entry["item"],
            f"largest relative deviation from the printed coefficients, {where}",
            "1",
            verdict.summary_of(np.abs(ratio - 1).max(axis=1)),
            len(found),
            target={"median": one.entry["replica"]},
            note="whether the replica of the published method does as the paper says, "
            "right or wrong",
        )


def _in_scale(case: Case, one: PrintedLagrangian) -> dict[int, float] | None:
    """Printed coefficients by independent candidate, in the scale of the reference.

    None if the reference is not printed. A function that stands twice counts once.
    """
    library = case.truth.library
    by_term: dict[int, float] = {}
    for value, function in one.terms:
        if function in library.terms:
            by_term.setdefault(library.terms.index(function), value)
    if library.reference not in by_term:
        return None
    scale = library.reference_coefficient / by_term[library.reference]
    return {
        i: value if scale == 1 else float(f"{scale * value:.{DIGITS}g}")
        for i, value in by_term.items()
        if library.status[i] in ("reference", "independent")
    }
