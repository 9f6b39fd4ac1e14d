"""Scorecard of identified port-Hamiltonian models."""

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from leastaction.ports.structure_rows import BY_NOISE, GAUGES, structure_rows
from leastaction.report import verdict
from leastaction.report.case import ADDED, Case, Key, Printed, own_rows, printed_rows
from leastaction.report.recovery import BASELINE, MAIN

# Keys of `at` that are numbers; all others are names.
BY_NUMBER = ("step", "step_coupled")


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
        yield from structure_rows(case)
        return
    printed = [e for e in own_rows(case) if "estimator" in e["ours"]]
    yield from printed_rows(case, printed, PRINTED)
    if case.estimator == MAIN:
        yield from printed_rows(case, _errors_of_the_paper(case), PRINTED)
    if not case.publishes:
        yield from _errors(case, case.rollout)
    for entry in case.targets.get("efforts") or []:
        if entry["estimator"] != case.estimator:
            continue
        values = selected(case.rollout, entry["rollout"], entry.get("at") or {})
        yield case.row(
            ADDED,
            entry["quantity"],
            entry["unit"],
            verdict.summary_of(values),
            values.size,
            target=entry.get("target"),
            note=entry.get("note", ""),
        )


def _errors(case: Case, rollout: xr.Dataset) -> Iterator[dict]:
    """Errors of the largest training set, of an example that publishes nothing."""
    sizes, errors = curves(rollout, "transformed_rmse")
    given = f"{int(sizes[-1])} samples"
    for k, row in enumerate(rollout["row"].values):
        quantity = f"error of (J - R) z, {row}, {given}"
        found = errors[:, -1, k]
        yield case.row(ADDED, quantity, "SI", verdict.summary_of(found), found.size)
    duration = float(rollout["time_forward"].values[-1])
    for scenario in rollout["scenario"].values:
        for state in rollout["state"].values:
            quantity = f"error of {state} over {duration:g} s, unseen input, {given}"
            quantity += f", {scenario}"
            kept = rollout["forward_error"].sel(scenario=scenario, state=state)
            found = verdict.summary_of(kept.values)
            yield case.row(ADDED, quantity, "SI", found, kept.size)


def _errors_of_the_paper(case: Case) -> Iterator[Mapping]:
    """Printed errors of the paper's recipe, as limits on those of our own."""
    for entry in case.panel.printed:
        if entry["ours"].get("estimator") == BASELINE:
            kept = {
                k: entry[k] for k in ("item", "quantity", "unit", "printed", "ours")
            }
            yield kept | {"target": {"maximum": entry["printed"]}}


def selected(rollout: xr.Dataset, name: str, at: Mapping) -> np.ndarray:
    """One number per replicate: the largest over what `at` leaves open."""
    if name not in rollout:
        raise ValueError(
            f"publish: the rollout has no {name!r}; there are "
            f"{', '.join(map(str, rollout.data_vars))}"
        )
    array = rollout[name]
    for key, wanted in at.items():
        dim = "fit" if key == "size" else key
        if dim not in array.dims:
            raise ValueError(f"publish: {name!r} has no {key}; it has {array.dims}")
        array = array.isel({dim: _place(rollout, key, wanted)})
    return array.values.reshape(array.sizes["replicate"], -1).max(axis=1).astype(float)


def curves(rollout: xr.Dataset, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Sizes, and a score by (replicate, size, component), of sets from all times."""
    fits = np.flatnonzero(rollout["pool"].values == "all")
    return rollout["training_size"].values[fits], rollout[name].values[:, fits]


def _place(rollout: xr.Dataset, key: str, wanted) -> int:
    if key == "size":
        there = rollout["training_size"].values
        found = (there == wanted) & (rollout["pool"].values == "all")
    else:
        there = rollout[key].values
        found = np.isclose(there, wanted) if key in BY_NUMBER else there == wanted
    if not found.any():
        raise ValueError(f"publish: no {key} {wanted!r}; there are {list(there)}")
    return int(np.flatnonzero(found)[0])


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
    for name, assumption in GAUGES.items()
)
LIMITS_BY_NOISE = BY_NOISE
