"""Rows of the scorecard of identified port-Hamiltonian models."""

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from leastaction.report import verdict
from leastaction.report.case import ADDED, Case

# Dimension of the rollout that a key of `at` selects.
BY_NAME = ("row", "effort", "state", "state_coupled", "scenario")
BY_NUMBER = ("step", "step_coupled")


def port_rows(case: Case) -> Iterator[dict]:
    """Printed numbers of this estimator, then our own limits.

    Raises
    ------
    ValueError
        If a row names what the rollout does not have.
    """
    if case.rollout is None:
        return
    name = case.head["estimator"]
    for entry in case.publish.get("rows") or []:
        if entry["ours"].get("estimator") != name:
            continue
        values = selected(case.rollout, entry["ours"]["rollout"], entry["ours"]["at"])
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
    for entry in (case.publish.get("targets") or {}).get("efforts") or []:
        if entry["estimator"] != name:
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


def selected(rollout: xr.Dataset, name: str, at: Mapping) -> np.ndarray:
    """One number per replicate: the largest over what `at` leaves open.

    Parameters
    ----------
    rollout
        Contract ``port_rollout``.
    name
        Variable.
    at
        `size` of the training set (of all times), `row`, `effort`, `state`, `scenario`,
        `step`; `state_coupled` and `step_coupled` of the coupled motion.

    Raises
    ------
    ValueError
        If there is no such variable or place.
    """
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
