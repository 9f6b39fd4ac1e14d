"""Rows of the scorecard of J, R, B and H that were unknown, by level of noise."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from leastaction.report.case import Case, Found, Row, count, rows_of
from leastaction.report.recovery import MAIN

# Estimator without structure, beside which ours stands.
BLIND = "blind"
# By limit, the assumption whose gauge dimension it is about.
GAUGES = {
    "gauge_without_outputs": "unknown",
    "gauge_with_outputs": "unknown, outputs",
    "gauge_of_known_structure": "J known, outputs",
}


@dataclass(frozen=True)
class AtLevel:
    """Model and rollout of one estimator at a level of noise; all levels if None."""

    case: Case
    level: float | None

    def of(self, estimator: str | None = None) -> xr.Dataset:
        """Rollout."""
        return self._at(self.case.panel.rollouts[estimator or self.case.estimator])

    @property
    def model(self) -> xr.Dataset:
        """Model."""
        return self._at(self.case.model)

    def _at(self, found: xr.Dataset) -> xr.Dataset:
        found = found.isel(noise_mode=0) if "noise_mode" in found.dims else found
        if self.level is None or "noise_level" not in found.dims:
            return found
        return found.sel(noise_level=self.level)


def structure_rows(case: Case) -> Iterator[dict]:
    """Rows of one estimator: those of each level of noise, then those of all levels."""
    targets = case.targets if case.estimator == MAIN else {}
    for level in np.atleast_1d(case.rollout["noise_level"].values).tolist():
        limits: dict = {}
        for entry in targets.get("by_noise") or []:
            if np.isclose(entry["noise_levels"], level, rtol=1e-9, atol=0).any():
                limits |= entry
        where = f", noise {level:g} of the rms"
        yield from rows_of(case, BY_NOISE, AtLevel(case, level), limits, where)
    yield from rows_of(case, OF_ALL, AtLevel(case, None), targets)


def _structured(of: Callable) -> Callable:
    """Values of estimators that tell J, R and H, or refuse to."""

    def values(at: AtLevel):
        return None if at.case.estimator == BLIND else of(at)

    return values


def _judged(values: np.ndarray, unit: str = "1") -> Iterator[Found]:
    """Those of replicates that are not refused."""
    kept = values[np.isfinite(values)]
    note = f"{values.size - kept.size} refused" if kept.size < values.size else ""
    if kept.size:
        yield Found(kept, note=note, unit=unit)


def _entries(at: AtLevel) -> Iterator[Found]:
    errors = at.of()["matrix_error"].sel(matrix=["J", "R", "H"]).values
    return _judged(errors.max(axis=1))


def _coverage(at: AtLevel) -> Iterator[Found]:
    covered, whole = (at.of()[name].values for name in ("covered", "intervals"))
    kept = np.isfinite(covered) & (whole > 0)
    if kept.any():
        pooled = covered[kept].sum() / whole[kept].sum()
        note = f"{int(covered[kept].sum())} of {int(whole[kept].sum())} intervals"
        yield Found(
            covered[kept] / whole[kept],
            note=note,
            summary=lambda _: (float(pooled), np.nan, np.nan),
        )


def _runs(at: AtLevel) -> Iterator[Found]:
    for scenario in at.of()["scenario"].values:
        errors = at.of()["run_error"].sel(scenario=scenario).values
        yield Found(errors, str(scenario))


def gains(ours: xr.Dataset, blind: xr.Dataset) -> Mapping[str, np.ndarray]:
    """Errors of the blind estimator over ours, by scenario and of the energy."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = blind["run_error"].values / ours["run_error"].values
        energy = blind["energy_error"].values / ours["energy_error"].values
    found = {
        f"free runs, {name} inputs": ratio[:, k]
        for k, name in enumerate(ours["scenario"].values)
    }
    return found | {"balance of the true energy": energy}


def _gains(at: AtLevel) -> Iterator[Found]:
    if at.case.estimator != MAIN or BLIND not in at.case.panel.rollouts:
        return
    told = at.of()["refused"].values == 0
    if not told.any():
        return
    for name, values in gains(at.of(), at.of(BLIND)).items():
        middle = np.nanmedian(values[told])
        note = "" if middle >= 2 else "not twice as accurate as without structure"
        yield Found(values[told], name, note=note)


def _created(name: str) -> Callable:
    def values(at: AtLevel) -> Iterator[Found]:
        told = at.of()["refused"].values == 0
        if told.any() and np.isfinite(at.of()[name]).any():
            yield Found(at.of()[name].values[told])

    return values


def _gauge(at: AtLevel) -> Iterator[Found]:
    targets = at.case.targets if at.case.estimator == MAIN else {}
    right = at.of()["right"].values.astype(bool)
    if not right.any():
        return
    for limit, assumption in GAUGES.items():
        found = at.model["gauge_dimension"].sel(assumption=assumption).values[right]
        wanted = targets.get(limit)
        target = None if wanted is None else {"between": [wanted, wanted]}
        about = {
            "unknown": "J, R, B and H unknown, without outputs",
            "unknown, outputs": "J, R, B and H unknown, with outputs",
            "J known, outputs": "J known, with outputs",
        }[assumption]
        yield Found(found, about, target=target)


BY_NOISE = (
    Row(
        "replicates with exactly the true entries of J, R, B and H",
        _structured(lambda at: at.of()["right"].values),
        limit="structure_right",
        summary=count,
    ),
    Row(
        "replicates that are right or refused",
        _structured(lambda at: np.maximum(at.of()["right"], at.of()["refused"]).values),
        limit="right_or_refused",
        summary=count,
    ),
    Row(
        "replicates that are refused",
        _structured(lambda at: at.of()["refused"].values),
        limit="structure_refused",
        summary=count,
    ),
    Row(
        "largest relative error of J, R and H",
        _structured(_entries),
        limit="structure_error",
        kind="median",
    ),
    Row(
        "coverage of the 95 % intervals of the entries",
        _structured(_coverage),
        limit="structure_coverage",
        kind="between",
    ),
    Row(
        "error of free runs, {} inputs",
        _runs,
        note="over the standard deviation of each state",
    ),
    Row(
        "error without over error with structure: {}",
        _gains,
        limit="structure_gain",
        kind="minimum",
    ),
    Row(
        "share of states, also outside the data, at which it creates energy",
        _created("own_energy_created"),
        limit="energy_created",
        note="energy of the identified model, without input",
    ),
    Row(
        "share of states, also outside the data, at which it creates true energy",
        _created("energy_created"),
        note="energy of the true system along the identified drift, without input",
    ),
)
OF_ALL = (
    Row(
        "dimension of the gauge: {}",
        _gauge,
        note="at the identified models that are right",
    ),
)
