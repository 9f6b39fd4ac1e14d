"""Scorecard of identified port-Hamiltonian models.

Efforts have errors by the size of their training set; J, R, B and H that were unknown
have rows by level of noise.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from leastaction.ports.contracts import TWICE, expected_gain
from leastaction_papers.scorecard import verdict
from leastaction_papers.scorecard.case import (
    ADDED,
    Case,
    Key,
    Printed,
    Row,
    Score,
    count,
    own_rows,
    printed_rows,
    rows_of,
)
from leastaction_papers.scorecard.recovery import BASELINE, MAIN

# Keys of `at` that are numbers; all others are names.
BY_NUMBER = ("step", "step_coupled")
# Estimator without structure, beside which ours stands.
BLIND = "blind"
# By limit, the assumption whose gauge dimension it is about, and that in words.
GAUGES = {
    "gauge_without_outputs": ("unknown", "J, R, B and H unknown, without outputs"),
    "gauge_with_outputs": (
        "unknown, outputs",
        "J, R, B and H unknown, with outputs",
    ),
    "gauge_of_known_structure": ("J known, outputs", "J known, with outputs"),
}


def rows(case: Case) -> Iterator[dict]:
    """Printed numbers of this estimator, then our own limits.

    Raises
    ------
    ValueError
        If a row names what the rollout does not have.
    """
    if case.rollout is None:
        return
    if "matrix_error" in case.rollout:
        yield from _rows_of_structure(case)
        return
    printed = [e for e in own_rows(case) if "estimator" in e["ours"]]
    if case.estimator == MAIN:
        printed += _errors_of_the_paper(case)
    yield from printed_rows(case, printed, PRINTED)
    if not case.publishes:
        yield from _errors(case, case.rollout)
    for entry in case.targets.get("efforts") or []:
        if entry["estimator"] == case.estimator:
            values = selected(case.rollout, entry["rollout"], entry.get("at") or {})
            about = {"target": entry.get("target"), "note": entry.get("note", "")}
            yield _row(case, entry["quantity"], entry["unit"], values, **about)


def _row(case: Case, quantity: str, unit: str, values: np.ndarray, **about) -> dict:
    summary = verdict.summary_of(values)
    return case.row(ADDED, quantity, unit, summary, values.size, **about)


def _errors(case: Case, rollout: xr.Dataset) -> Iterator[dict]:
    """Errors of the largest training set, of an example that publishes nothing."""
    sizes, errors = curves(rollout, "transformed_rmse")
    size = f"{int(sizes[-1])} samples"
    for k, row in enumerate(rollout["row"].values):
        yield _row(case, f"error of (J - R) z, {row}, {size}", "SI", errors[:, -1, k])
    over = f"over {float(rollout['duration'].max()):g} s, unseen input, {size}"
    for scenario in rollout["scenario"].values:
        for state in rollout["state"].values:
            error = rollout["forward_error"].sel(scenario=scenario, state=state).values
            yield _row(case, f"error of {state} {over}, {scenario}", "SI", error)


def _errors_of_the_paper(case: Case) -> Iterator[Mapping]:
    """Printed errors of the paper's recipe, as limits on those of our own."""
    for entry in case.panel.printed:
        if entry["ours"].get("estimator") == BASELINE:
            row = {k: entry[k] for k in ("item", "quantity", "unit", "printed", "ours")}
            yield row | {"target": {"maximum": entry["printed"]}}


def selected(rollout: xr.Dataset, name: str, at: Mapping) -> np.ndarray:
    """One number per replicate: the largest over what `at` leaves open."""
    if name not in rollout:
        raise ValueError(
            f"publish: the rollout has no {name!r}; there are "
            f"{', '.join(map(str, rollout.data_vars))}"
        )
    array = rollout[name]
    for key, value in at.items():
        dim = "fit" if key == "size" else key
        if dim not in array.dims:
            raise ValueError(f"publish: {name!r} has no {key}; it has {array.dims}")
        array = array.isel({dim: _place(rollout, key, value)})
    return array.values.reshape(array.sizes["replicate"], -1).max(axis=1).astype(float)


def _place(rollout: xr.Dataset, key: str, value) -> int:
    if key == "size":
        values = rollout["training_size"].values
        matches = (values == value) & (rollout["pool"].values == "all")
    else:
        values = rollout[key].values
        matches = np.isclose(values, value) if key in BY_NUMBER else values == value
    if not matches.any():
        raise ValueError(f"publish: no {key} {value!r}; there are {list(values)}")
    return int(np.flatnonzero(matches)[0])


def curves(rollout: xr.Dataset, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Sizes, and a score by (replicate, size, component), of sets from all times."""
    fits = np.flatnonzero(rollout["pool"].values == "all")
    return rollout["training_size"].values[fits], rollout[name].values[:, fits]


class AtLevel(NamedTuple):
    """Rollout of an estimator at a level of noise, and of that without structure."""

    rollout: xr.Dataset
    blind: xr.Dataset | None
    model: xr.Dataset


def _rows_of_structure(case: Case) -> Iterator[dict]:
    """Rows of one estimator: those of each level of noise, then those of all levels.

    One without structure identifies neither J, R and H nor the open directions.
    """
    main = case.estimator == MAIN
    targets = case.targets if main else {}
    rollout = case.rollout.isel(noise_mode=0)
    blind = case.panel.rollouts.get(BLIND) if main else None
    table = OF_MOTION if case.estimator == BLIND else BY_NOISE
    for level in rollout["noise_level"].values.tolist():
        limits: dict = {}
        for entry in targets.get("by_noise") or []:
            if np.isclose(entry["noise_levels"], level, rtol=1e-9, atol=0).any():
                limits |= entry
        beside = None if blind is None else blind.isel(noise_mode=0)
        beside = None if beside is None else beside.sel(noise_level=level)
        model = case.model.isel(noise_mode=0).sel(noise_level=level)
        at = AtLevel(rollout.sel(noise_level=level), beside, model)
        yield from rows_of(case, table, at, limits, f", noise {level:g} of the rms")
    yield from rows_of(case, OF_ALL, limits=targets)


def _entries(at: AtLevel) -> Iterator[Score]:
    """Errors of the replicates that are not refused."""
    values = at.rollout["matrix_error"].sel(matrix=["J", "R", "H"]).values.max(axis=1)
    finite = values[np.isfinite(values)]
    note = f"{values.size - finite.size} refused" if finite.size < values.size else ""
    if finite.size:
        yield Score(finite, note=note)


def _coverage(at: AtLevel) -> Iterator[Score]:
    covered, intervals = (at.rollout[name].values for name in ("covered", "intervals"))
    known = np.isfinite(covered) & (intervals > 0)
    if known.any():
        hits, all_of_them = int(covered[known].sum()), int(intervals[known].sum())
        yield Score(
            covered[known] / intervals[known],
            note=f"{hits} of {all_of_them} intervals",
            summary=lambda _: (hits / all_of_them, np.nan, np.nan),
        )


def gains(ours: xr.Dataset, blind: xr.Dataset) -> Mapping[str, np.ndarray]:
    """Errors of the blind estimator over ours, by scenario and of the energy."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = blind["run_error"].values / ours["run_error"].values
        energy = blind["energy_error"].values / ours["energy_error"].values
    names = (f"free runs, {name} inputs" for name in ours["scenario"].values)
    ratios = dict(zip(names, ratio.T, strict=True))
    return ratios | {"balance of the true energy": energy}


def _gains(at: AtLevel) -> Iterator[Score]:
    estimated = at.rollout["refused"].values == 0
    if at.blind is None or not estimated.any():
        return
    expected_gains = expected_gain(at.model)[estimated]
    for name, values in gains(at.rollout, at.blind).items():
        median, expected = np.median(values[estimated]), np.median(expected_gains)
        note = f"error without over error with it {median:.3g}; law.md: {expected:.2g}"
        hits = (values[estimated] >= TWICE) | (expected_gains < TWICE)
        yield Score(hits, name, note=note)


def _created(at: AtLevel) -> np.ndarray | None:
    shares = at.rollout["own_energy_created"].values
    estimated = at.rollout["refused"].values == 0
    return shares[estimated] if estimated.any() and np.isfinite(shares).any() else None


def _gauge(case: Case) -> Iterator[Score]:
    right = case.rollout.isel(noise_mode=0)["right"].values.astype(bool)
    if not right.any():
        return
    targets = case.targets if case.estimator == MAIN else {}
    gauge = case.model.isel(noise_mode=0)["gauge_dimension"]
    for limit, (assumption, about) in GAUGES.items():
        dimension = targets.get(limit)
        target = None if dimension is None else {"between": [dimension, dimension]}
        yield Score(
            gauge.sel(assumption=assumption).values[right], about, target=target
        )


OF_MOTION = (
    Row(
        "twice as accurate with structure, or law.md says that it is not: {}",
        _gains,
        limit="structure_gain",
        summary=count,
    ),
    Row(
        "share of states, also outside the data, at which it creates energy",
        _created,
        limit="energy_created",
        note="energy of the identified model, without input",
    ),
)
BY_NOISE = (
    Row(
        "replicates with exactly the true entries of J, R, B and H",
        lambda at: at.rollout["right"].values,
        limit="structure_right",
        summary=count,
    ),
    Row(
        "replicates that are right or refused",
        lambda at: np.maximum(at.rollout["right"], at.rollout["refused"]).values,
        limit="right_or_refused",
        summary=count,
    ),
    Row(
        "replicates that are refused",
        lambda at: at.rollout["refused"].values,
        limit="structure_refused",
        summary=count,
    ),
    Row(
        "largest relative error of J, R and H",
        _entries,
        limit="structure_error",
        kind="median",
    ),
    Row(
        "coverage of the 95 % intervals of the entries",
        _coverage,
        limit="structure_coverage",
        kind="between",
    ),
    *OF_MOTION,
)
OF_ALL = (
    Row(
        "dimension of the gauge: {}",
        _gauge,
        note="at the identified models that are right",
    ),
)
PRINTED = (
    Printed(
        "rollout",
        "Variable of its rollout.",
        str,
        values=lambda case, ours: selected(case.rollout, ours["rollout"], ours["at"]),
    ),
    Key("estimator", "Whose number it is, of estimators without candidates.", str),
    Key(
        "at",
        "Where in a variable of the rollout: a training size, a component by its name, "
        "a scenario, a time step.",
        "place",
    ),
)
LIMITS = tuple(
    Key(name, f"Dimension of the gauge, assumption {assumption!r}.")
    for name, (assumption, _) in GAUGES.items()
)
LIMITS_BY_NOISE = BY_NOISE
