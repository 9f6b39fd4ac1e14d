"""Rows of the scorecard for examples with a sweep over sensor noise."""

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from leastaction.publish.scorecard import verdict
from leastaction.publish.scorecard.case import ADDED, COVERAGE, Case
from leastaction.publish.scorecard.recovery import coverage, largest_noise
from leastaction.publish.sweep import MAIN, at_level, shown_mode

NOISE_FOUND = ("noise_std", "noise_q", "noise_qdot", "noise_qddot")
LARGEST = "largest noise with the right structure"
FAILS = "fails even without noise"


def case_text(level: float, mode: str) -> str:
    """A case in words."""
    return f"sigma = {level:g}, {mode} noise"


def noise_rows(case: Case) -> Iterator[dict]:
    """Rows that no paper prints: limits, counts, errors, coverage, rollouts."""
    if case.recovery is None:
        return
    yield from _limits(case)
    for (mode, level), limits in _wanted(case).items():
        yield from _at(case, limits, level, mode)
    if case.rollout is not None:
        yield from _rollouts(case, case.rollout)


def _wanted(case: Case) -> dict[tuple[str, float], dict]:
    """Our limits by (mode, level); several entries may speak of the same case."""
    found: dict[tuple[str, float], dict] = {}
    for entry in (case.publish.get("targets") or {}).get("by_noise") or []:
        for level in entry["noise_levels"]:
            key = entry.get("noise_mode", "independent"), float(level)
            found.setdefault(key, {}).update(entry)
    return dict(sorted(found.items()))


def limit_summary(exact: xr.DataArray, mode: str) -> tuple[float, str]:
    """Largest noise of one mode, zero if there is none, and what to say about it."""
    limit, at_end = largest_noise(exact.sel(noise_mode=mode))
    count = exact.sizes["replicate"]
    note = f"every level up to it has at least half of {count} replicates right"
    if np.isnan(limit):
        return 0.0, FAILS
    return limit, note + ("; the sweep ends there" if at_end else "")


def _limits(case: Case) -> Iterator[dict]:
    """Limit in every mode that the paper prints no number for."""
    estimator = case.head["estimator"]
    printed = {
        row["ours"].get("noise_mode")
        for row in case.publish.get("rows") or []
        if row["ours"].get("largest_noise") == estimator and "over" not in row["ours"]
    }
    exact = case.recovery["exact"]
    for mode in map(str, exact["noise_mode"].values):
        if mode not in printed:
            limit, note = limit_summary(exact, mode)
            yield case.row(
                ADDED,
                f"{LARGEST}, {mode} noise",
                "SI units",
                (limit, np.nan, np.nan),
                exact.sizes["replicate"],
                note=note,
            )


def _at(case: Case, entry: Mapping, level: float, mode: str) -> Iterator[dict]:
    """Rows of one case; the limits are ours, so that only our estimator is judged."""
    found = at_level(case.recovery, mode, level)
    if found is None:
        return
    ours = case.head["estimator"] == MAIN
    where = case_text(level, mode)
    hit = found["exact"].values
    share = entry.get("exact_structure") if ours else None
    yield case.row(
        ADDED,
        f"right structure, {where}",
        f"of {hit.size}",
        (float(hit.sum()), np.nan, np.nan),
        hit.size,
        target=share and {"minimum": share * hit.size},
    )
    if not ours:
        return
    yield case.row(
        ADDED,
        f"largest relative error of a coefficient, {where}",
        "1",
        verdict.summary_of(found["worst_error"].values),
        hit.size,
        target=_median(entry, "worst_error"),
        note="all replicates, wrong structures included",
    )
    yield from _noise_found(case, entry, level, mode)
    yield from _coverage(case, entry, level, mode)


def _median(entry: Mapping, name: str) -> dict | None:
    return {"median": entry[name]} if name in entry else None


def _noise_found(case: Case, entry: Mapping, level: float, mode: str) -> Iterator[dict]:
    """Noise level that a method finds as a by-product, worst of all channels."""
    model = at_level(case.model, mode, level)
    names = [name for name in NOISE_FOUND if name in model]
    if not names or level == 0:
        return
    error = [
        np.abs(model[name].values.reshape(model.sizes["replicate"], -1) / level - 1)
        for name in names
    ]
    worst = np.hstack(error).max(axis=1)
    yield case.row(
        ADDED,
        f"relative error of the noise that is found, {case_text(level, mode)}",
        "1",
        verdict.summary_of(worst),
        worst.size,
        target=_median(entry, "noise_std"),
        note="worst of all channels",
    )


def _coverage(case: Case, entry: Mapping, level: float, mode: str) -> Iterator[dict]:
    """Share of the 95 % intervals that cover; none without noise or standard errors."""
    covered = coverage(case.model, case.config, case.truth)
    if covered is None or level == 0:
        return
    hit = at_level(covered, mode, level).values
    band = entry.get("coverage")
    yield case.row(
        ADDED,
        f"{COVERAGE}all coefficients, {case_text(level, mode)}",
        "1",
        (float(hit.mean()), np.nan, np.nan),
        hit.size,
        corrected=0.95,
        target=band and {"between": band},
        note=f"{int(hit.sum())} of {hit.size}; those of one replicate are correlated",
    )


def _rollouts(case: Case, rollout: xr.Dataset) -> Iterator[dict]:
    """Errors of the path, of the noise that stands for the estimator."""
    mode = shown_mode(case.head["estimator"], rollout)
    for level in map(float, rollout["noise_level"].values):
        found = at_level(rollout, mode, level)
        for window in ("training", "prediction"):
            values = found[f"trajectory_error_{window}"].values
            yield case.row(
                ADDED,
                f"relative error of the path, {window} window, "
                f"{case_text(level, mode)}",
                "1",
                verdict.summary_of(values),
                values.size,
                note="median over trajectories from starts of the training data",
            )
