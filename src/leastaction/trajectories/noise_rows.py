"""Rows of the scorecard for examples with a sweep over sensor noise."""

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from leastaction.report import verdict
from leastaction.report.case import ADDED, COVERAGE, Case
from leastaction.report.recovery import Limit, coverage, largest_noise
from leastaction.report.sweep import MAIN, at_level, shown_mode
from leastaction.trajectories.trust_rows import trust_rows

NOISE_FOUND = ("noise_std", "noise_q", "noise_qdot", "noise_qddot")
ALL = ("q", "qdot", "qddot")
LARGEST = "largest noise with the right structure"


def case_text(level: float, mode: str) -> str:
    """A case in words."""
    return f"sigma = {level:g}, {mode} noise"


def noise_rows(case: Case) -> Iterator[dict]:
    """Rows that no paper prints: limits, counts, errors, coverage, rollouts."""
    if case.recovery is None:
        return
    yield from _limits(case)
    wanted = _wanted(case)
    for (mode, level), limits in wanted.items():
        yield from _at(case, limits, level, mode)
    yield from trust_rows(case)
    if case.rollout is not None:
        yield from _rollouts(case, case.rollout, wanted)


def _wanted(case: Case) -> dict[tuple[str, float], dict]:
    """Our limits by (mode, level); several entries may speak of the same case."""
    found: dict[tuple[str, float], dict] = {}
    for entry in (case.publish.get("targets") or {}).get("by_noise") or []:
        for level in entry["noise_levels"]:
            key = entry.get("noise_mode", "independent"), float(level)
            found.setdefault(key, {}).update(entry)
    return dict(sorted(found.items()))


def limit_of(exact: xr.DataArray, mode: str) -> tuple[Limit, str]:
    """Largest noise of one mode, and what to say about it."""
    limit = largest_noise(exact.sel(noise_mode=mode))
    if np.isnan(limit.level):
        if limit.lowest == 0:
            return limit, "fails even without noise"
        return limit, f"below the lowest level done ({limit.lowest:g})"
    count = exact.sizes["replicate"]
    note = f"every level from {limit.lowest:g} to it has at least half of {count} right"
    return limit, note + ("; the sweep ends there" if limit.at_end else "")


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
            limit, note = limit_of(exact, mode)
            yield case.row(
                ADDED,
                f"{LARGEST}, {mode} noise",
                "SI units",
                (limit.level, np.nan, np.nan),
                exact.sizes["replicate"],
                note=note,
            )


def _at(case: Case, entry: Mapping, level: float, mode: str) -> Iterator[dict]:
    """Rows of one case; the limits are ours, so that only our estimator is judged."""
    found = at_level(case.recovery, mode, level)
    ours = case.head["estimator"] == MAIN
    where = case_text(level, mode)
    if found is None:
        if ours:
            yield _not_done(case, where)
        return
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
    yield case.row(
        ADDED,
        f"largest relative error of a coefficient, {where}",
        "1",
        verdict.summary_of(found["worst_error"].values),
        hit.size,
        target=_median(entry, "worst_error") if ours else None,
        note="all replicates, wrong structures included",
    )
    if not ours:
        return
    yield from _noise_found(case, entry, level, mode)
    yield from _coverage(case, entry, level, mode)


def _not_done(case: Case, where: str) -> dict:
    """A limit at a level that this run did not do must not vanish."""
    return case.row(
        ADDED,
        f"right structure, {where}",
        "1",
        (np.nan, np.nan, np.nan),
        0,
        note="not judged: there is a limit for this level, but the run did not do it",
    )


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
        f"{COVERAGE}all coefficients, {case_text(level, mode)}{_recorded(case)}",
        "1",
        (float(hit.mean()), np.nan, np.nan),
        hit.size,
        corrected=0.95,
        target=band and {"between": band},
        note=f"{int(hit.sum())} of {hit.size}; those of one replicate are correlated",
    )


def _recorded(case: Case) -> str:
    """Recorded channels, unless all are: their intervals are not pooled with others."""
    channels = (case.config["simulate"].get("noise") or {}).get("channels", ALL)
    return "" if len(channels) == len(ALL) else f", recorded {' '.join(channels)}"


# Score of a rollout: what it is, and what to know of it.
SCORES = {
    "trajectory_error_training": (
        "relative error of the path, training window",
        "median over trajectories from starts of the training data",
    ),
    "trajectory_error_prediction": (
        "relative error of the path, prediction window",
        "median over trajectories from starts of the training data; a chaotic motion "
        "leaves every model's path: see acceleration and energy",
    ),
    "acceleration_error": (
        "relative error of the acceleration along the true path",
        "rms over the paths of the training data and their continuation",
    ),
    "energy_drift": (
        "energy along the path of the model, deviation",
        "rms of the true energy over the mean of p qdot / 2",
    ),
}


def _rollouts(case: Case, rollout: xr.Dataset, wanted: Mapping) -> Iterator[dict]:
    """Scores of the rollout, of the noise that stands for the estimator.

    No path is judged, as that of a chaotic motion says little: its acceleration and
    its energy are.
    """
    estimator = case.head["estimator"]
    mode = shown_mode(estimator, rollout)
    for level in map(float, rollout["noise_level"].values):
        found = at_level(rollout, mode, level)
        limits = wanted.get((mode, level), {}) if estimator == MAIN else {}
        for name, (quantity, note) in SCORES.items():
            values = found[name].values
            yield case.row(
                ADDED,
                f"{quantity}, {case_text(level, mode)}",
                "1",
                verdict.summary_of(values),
                values.size,
                target=_median(limits, name),
                note=note,
            )
