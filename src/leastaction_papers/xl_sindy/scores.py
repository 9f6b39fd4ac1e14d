"""Scorecard of noisy motions: laws that were found in a sweep over sensor noise."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parse
from leastaction.core.library import Library, canonical
from leastaction.core.settings import CHANNELS
from leastaction_papers.scorecard import law_rows, verdict
from leastaction_papers.scorecard.case import (
    ADDED,
    COVERAGE,
    NONE,
    Case,
    Key,
    Row,
    Score,
    count,
    own_rows,
    rows_of,
    share,
)
from leastaction_papers.scorecard.recovery import (
    BASELINE,
    HONEST_MODE,
    MAIN,
    NoiseLimit,
    at_level,
    case_text,
    coverage,
    in_reference_scale,
    is_driven,
    largest_noise,
    law_of,
    shown_case,
    shown_mode,
    true_law,
)
from leastaction_papers.scorecard.scores import Truth
from leastaction_papers.scorecard.verdict import binomial_band, half_digit

# A printed ratio is worth as many digits as the numbers that it is made of.
DIGITS_OF_PRINTED_RATIO = 4
# A sum of printed numbers without the round-off of the sum.
DECIMALS = 9


def rows(case: Case) -> Iterator[dict]:
    """Printed numbers and Lagrangians; limits, counts, errors, coverage, rollouts."""
    entries = own_rows(case)
    counted = [e for e in entries if "largest_noise" not in e["ours"]]
    yield from law_rows.printed_law_rows(case, counted, PRINTED)
    for entry in entries:
        if entry["ours"].get("largest_noise") == case.estimator:
            yield from _printed_limit(case, entry)
    if case.recovery is None:
        return
    if case.estimator in (MAIN, BASELINE):
        for one in printed_lagrangians(case.config, case.truth):
            yield from _printed_coefficients(case, one)
    if case.estimator == MAIN:
        for entry in case.panel.printed_limits(BASELINE):
            yield _beside_printed(case, entry, HONEST_MODE, replica=False)
    case_limits = _limits_by_case(case)
    for (mode, level), limits in case_limits.items():
        yield from _at(case, limits, level, mode)
    if case.rollout is not None:
        yield from _rollouts(case, case.rollout, case_limits)


# Largest noise


def limit_of(exact: xr.DataArray, mode: str) -> tuple[NoiseLimit, str]:
    """Largest noise of one mode, and what to say about it."""
    limit = largest_noise(exact.sel(noise_mode=mode))
    if np.isnan(limit.level):
        below = f"below the lowest level done ({limit.lowest:g})"
        return limit, below if limit.lowest else "fails even without noise"
    count, end = exact.sizes["replicate"], "; the sweep ends there"
    text = f"every level from {limit.lowest:g} to it has at least half of {count} right"
    return limit, text + (end if limit.at_end else "")


def _printed_limit(case: Case, entry: Mapping) -> Iterator[dict]:
    """Largest noise of an estimator, or over that of another one on the same data."""
    if case.recovery is None:
        raise ValueError(
            f"largest_noise: of estimator {case.estimator!r} there is no sweep over "
            "noise that could be compared with the truth"
        )
    ours = entry["ours"]
    mode = ours.get("noise_mode") or shown_mode(case.estimator, case.recovery)
    if "over" in ours:
        yield from equal_data_rows(case, entry, mode)
    else:
        yield _beside_printed(case, entry, mode, replica=True)


def _beside_printed(case: Case, entry: Mapping, mode: str, replica: bool) -> dict:
    """A printed limit beside that of the same estimator, or of our own."""
    exact, target = case.recovery["exact"], entry.get("target")
    limit, note = limit_of(exact, mode)
    of_estimator = "" if replica else f"ours is that of {case.estimator}"
    if target and "factor" in target:
        target = {"between": verdict.factor_band(target, entry["printed"])}
    return case.printed(
        entry,
        (limit.level, *NONE),
        exact.sizes["replicate"],
        quantity=f"{entry['quantity']}, {mode} noise",
        target=target,
        note="; ".join(filter(None, (entry.get("note"), of_estimator, note))),
        replica=replica,
    )


def equal_data_rows(case: Case, entry: Mapping, mode: str) -> Iterator[dict]:
    """The printed ratio of two limits beside that of both methods on equal data.

    Limits lie between levels, so that their ratio lies between two bounds, which are
    infinite or zero where a sweep ends before a method fails. The printed ratio has the
    band ``target.factor``: ``meets`` if both bounds lie in it, else ``not-reproduced``;
    `reason` says what the paper itself does not keep equal. There is no `corrected`:
    our ratio is a measurement, and no truth.
    """
    ours = entry["ours"]
    other = case.panel.recoveries.get(ours["over"])
    if other is None:
        return
    mine, my_note = limit_of(case.recovery["exact"], mode)
    theirs, their_note = limit_of(other["exact"], mode)
    value, (low, high) = ratio(mine, theirs)
    in_band = keeps_band(entry["target"], entry["printed"], low, high)
    notes = (
        entry.get("note"),
        f"on equal data between {low:.2g} and {high:.2g}",
        f"{case.estimator}: {my_note}",
        f"{ours['over']}: {their_note}",
        "the levels are too coarse to tell" if in_band is None else "",
    )
    row = case.printed(
        entry,
        (value, *NONE),
        case.recovery.sizes["replicate"],
        quantity=f"{entry['quantity']}, {mode} noise",
        corrected=np.nan,
        judged=False,
        note="; ".join(filter(None, notes)),
    )
    if in_band:
        yield row | {"verdict": verdict.MEETS}
    else:
        cause = entry.get("reason", verdict.UNKNOWN)
        yield row | {"verdict": verdict.NOT_REPRODUCED, "cause": cause}


def ratio(mine: NoiseLimit, theirs: NoiseLimit) -> tuple[float, tuple[float, float]]:
    """Ratio of two limits, and its bounds; NaN if 0/0 or without a limit."""
    ours, others = (mine.level, *mine.between), (theirs.level, *theirs.between[::-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        value, *bounds = map(float, np.divide(ours, others))
    return value, tuple(bounds)


def keeps_band(target: Mapping, printed: float, low: float, high: float) -> bool | None:
    """Whether a ratio between two bounds keeps to the printed one; None if unknown."""
    least, most = verdict.factor_band(target, printed)
    if low > most or high < least:
        return False
    return True if least <= low and high <= most else None


# Printed Lagrangians


class PrintedLagrangian(NamedTuple):
    """One Lagrangian as printed; its entry stands under ``publish.lagrangians``."""

    entry: Mapping
    level: float  # of the noise
    terms: list[tuple[float, sp.Expr]]  # (coefficient, function) as in the paper
    extra: list[bool]  # not one of the truth, or for the second time
    missing: list[sp.Expr]  # true functions that are not printed


def printed_lagrangians(config: Mapping, truth: Truth) -> list[PrintedLagrangian]:
    """Read ``publish.lagrangians`` of an example."""
    library, lagrangians = truth.library, []
    true = [library.terms[i] for i in np.flatnonzero(truth.coefficients)]
    for entry in (config.get("publish") or {}).get("lagrangians") or []:
        terms = [
            (float(c), parse(text, library.variables)) for c, text in entry["terms"]
        ]
        functions = [function for _, function in terms]
        extra = [f not in true or f in functions[:i] for i, f in enumerate(functions)]
        missing = [function for function in true if function not in functions]
        level = float(entry["noise_level"])
        lagrangians.append(PrintedLagrangian(entry, level, terms, extra, missing))
    return lagrangians


def _printed_coefficients(case: Case, one: PrintedLagrangian) -> Iterator[dict]:
    """Coefficients beside those printed, in the scale of the reference or the input."""
    model = shown_case(case.estimator, case.model, one.level)
    driven, library = is_driven(case.config), case.truth.library
    law, rounding = _printed_law(case, one)
    if model is None or (not driven and not law[library.reference]):
        return
    where = case_text(one.level, shown_mode(case.estimator, case.model))
    estimate = canonical(law_of(model, case.truth), library)
    if not driven:
        law, rounding = _scaled(law, rounding, library)
        estimate = in_reference_scale(estimate, library)
    true = canonical(true_law(case.truth, driven), library)
    released = _released_law(case, one, driven)
    limit, known = one.entry.get("error"), one.entry.get("errata") or {}
    same = ((estimate != 0) == (law != 0)).all(axis=1)
    for i in map(int, np.flatnonzero(law)):
        if i == library.reference and not driven:
            continue
        yield case.row(
            one.entry["item"],
            f"coefficient of {library.names[i]}, {where}",
            "SI units",
            verdict.summary_of(estimate[:, i]),
            len(estimate),
            target={"relative_error": limit} if limit else None,
            printed=law[i],
            rounding=rounding[i],
            corrected=true[i],
            authors=released[i],
            note="" if true[i] else "not in the true Lagrangian",
            draws=estimate[same, i],
            which="printed",
            errata=known.get(library.names[i], ()),
            reason=one.entry.get("reason") or "",
        )


def _printed_law(case: Case, one: PrintedLagrangian) -> tuple[np.ndarray, np.ndarray]:
    """A printed Lagrangian in independent candidates, as ours are, and its rounding.

    A function that stands there twice counts once; what is no candidate is left out.
    All coefficients of a Lagrangian are printed with the same digits.
    """
    library, half = case.truth.library, min(half_digit(value) for value, _ in one.terms)
    law = _law_of_terms(case, one, [value for value, _ in one.terms])
    rounding = np.abs(library.joint_freedom.reduction) @ (half * (law != 0))
    return np.round(canonical(law, library), DECIMALS), rounding


def _law_of_terms(case: Case, one: PrintedLagrangian, values: Sequence) -> np.ndarray:
    library, law = case.truth.library, np.zeros_like(true_law(case.truth))
    for value, (_, function) in reversed([*zip(values, one.terms, strict=True)]):
        if function in library.terms:
            law[library.terms.index(function)] = value
    return law


def _released_law(case: Case, one: PrintedLagrangian, driven: bool) -> np.ndarray:
    """The Lagrangian of the authors' files, as the printed one; NaN where unknown."""
    library, values = case.truth.library, one.entry.get("authors")
    if not values:
        return np.full(true_law(case.truth).shape, np.nan)
    known = [value is not None for value in values]
    law = _law_of_terms(case, one, [value or 0.0 for value in values])
    law = np.round(canonical(law, library), DECIMALS)
    if not driven and law[library.reference]:
        law, _ = _scaled(law, np.zeros_like(law), library)
    return np.where(_law_of_terms(case, one, known) != 0, law, np.nan)


def _scaled(law, rounding, library: Library) -> tuple[np.ndarray, np.ndarray]:
    """Printed coefficients in the scale of the reference, with the digits they have."""
    scale, exact = law[library.reference], library.reference_coefficient
    if scale == exact:
        return law, rounding
    scaled = law * exact / scale
    digits = f".{DIGITS_OF_PRINTED_RATIO}g"
    spread = rounding * abs(exact / scale)
    spread += np.abs(scaled) * rounding[library.reference] / abs(scale)
    return np.array([float(format(value, digits)) for value in scaled]), spread


# Rows at a level of noise


def _limits_by_case(case: Case) -> dict[tuple[str, float], dict]:
    """Our limits by (mode, level); several entries may speak of the same case.

    Of an example that publishes nothing every level has a row, without a limit.
    """
    if not case.publishes:
        levels = map(float, case.recovery["noise_level"].values)
        return {(HONEST_MODE, level): {} for level in levels}
    limits: dict[tuple[str, float], dict] = {}
    for entry in case.targets.get("by_noise") or []:
        for level in entry["noise_levels"]:
            key = entry.get("noise_mode", HONEST_MODE), float(level)
            limits.setdefault(key, {}).update(entry)
    return dict(sorted(limits.items()))


def _at(case: Case, limits: Mapping, level: float, mode: str) -> Iterator[dict]:
    """Rows of one case; the limits are ours, so that only our estimator is judged."""
    where, ours = f", {case_text(level, mode)}", case.estimator == MAIN
    recovery = at_level(case.recovery, mode, level)
    if recovery is None:
        # A limit at a level that this run did not do must not vanish.
        note = "not judged: there is a limit for this level, but the run did not do it"
        if ours:
            none = np.nan, *NONE
            yield case.row(ADDED, f"right structure{where}", "1", none, 0, note=note)
        return
    yield from rows_of(case, STRUCTURE, recovery, limits if ours else {}, where)
    if ours and level:
        covered = coverage(case.model, case.config, case.truth)
        # Intervals of other recorded channels are not pooled with those of all.
        channels = case.panel.channels
        if len(channels) < len(CHANNELS):
            where += f", recorded {' '.join(channels)}"
        if covered is not None:
            one = at_level(covered, mode, level)
            yield from rows_of(case, [COVERED], one, limits, where)


def _values(name: str) -> Callable:
    return lambda dataset: dataset[name].values


def _covered(intervals: xr.DataArray) -> Iterator[Score]:
    """Whether each of the 95 % intervals covers, of the laws that state some.

    Those of one replicate are correlated, so that the band is that of as many intervals
    as there are replicates.
    """
    covered = intervals.transpose("replicate", "candidate").values
    stated = covered[np.isfinite(covered).all(axis=1)]
    if len(stated):
        note = (
            f"{int(stated.sum())} of {stated.size}, of {len(stated)} of {len(covered)} "
            "replicates whose terms the data identify; those of one replicate are "
            "correlated"
        )
        yield Score(stated, note=note, target=binomial_band(len(stated)))


STRUCTURE = (
    Row(
        "right structure",
        _values("exact"),
        limit="exact_structure",
        summary=count,
    ),
    Row(
        "largest relative error of a coefficient",
        _values("worst_error"),
        limit="worst_error",
        kind="median",
        note="all replicates, wrong structures included",
    ),
)
COVERED = Row(
    f"{COVERAGE}all coefficients",
    _covered,
    summary=share,
    about={"corrected": 0.95},
)


# No path is judged, as that of a chaotic motion says little: its acceleration and its
# energy are.
ROLLOUT = (
    Row(
        "relative error of the acceleration along the true path",
        _values("acceleration_error"),
        limit="acceleration_error",
        kind="median",
        note="rms over the paths of the training data and their continuation",
    ),
    Row(
        "energy along the path of the model, deviation",
        _values("energy_drift"),
        limit="energy_drift",
        kind="median",
        note="rms of the true energy over the mean of p qdot / 2",
    ),
)


def _rollouts(case: Case, rollout: xr.Dataset, case_limits: Mapping) -> Iterator[dict]:
    """Scores of the rollout, of the noise that stands for the estimator."""
    mode = shown_mode(case.estimator, rollout)
    for level in map(float, rollout["noise_level"].values):
        at_noise = at_level(rollout, mode, level)
        limits = case_limits.get((mode, level), {}) if case.estimator == MAIN else {}
        where = f", {case_text(level, mode)}"
        yield from rows_of(case, ROLLOUT, at_noise, limits, where)


PRINTED = (
    *law_rows.PRINTED,
    law_rows.library_size(law_rows.candidates),
    Key(
        "largest_noise",
        "Largest noise with the right structure, of the estimator with this name.",
        str,
    ),
    Key("over", "Estimator that it is divided by.", str),
    Key("noise_mode", "Kind of noise.", Literal["independent", "shared"]),
)
LIMITS_BY_NOISE = (*STRUCTURE, COVERED, *ROLLOUT)
