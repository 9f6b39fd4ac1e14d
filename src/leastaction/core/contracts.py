"""Contracts: what each dataset between the stages holds, said once.

A contract lists the variables of a dataset with dimensions, unit and meaning. From that
list it builds the dataset (:meth:`Contract.dataset`) and checks it at the door of the
next stage (:func:`check`). Each family lists its contracts in its `contracts.py`.
"""

from collections.abc import Mapping
from functools import cache

import numpy as np
import xarray as xr

from leastaction.core import estimate, families
from leastaction.core.contract import SWEEP, Contract


@cache
def contracts() -> Mapping[str, Contract]:
    """Every contract by its name."""
    found = dict(estimate.CONTRACTS)
    for module in families.modules("contracts"):
        found |= module.CONTRACTS
    return found


class ContractError(ValueError):
    """A dataset that does not hold what its stage promised."""


def problems(dataset: xr.Dataset, name: str, most_bytes: float = np.inf) -> list[str]:
    """Everything that is wrong with `dataset` by the contract `name`.

    Variables of more than `most_bytes` are not looked through for values that are not
    finite.
    """
    contract = contracts()[name]
    found = []
    for variable, expected in contract.variables.items():
        dims = expected.dims
        if variable not in dataset and expected.optional:
            continue
        if variable not in dataset:
            found.append(f"variable {variable!r} {dims} is missing")
            continue
        array = dataset[variable]
        given = array.dims
        if contract.swept:
            given = tuple(d for d in given if d not in SWEEP)
        if given != dims:
            found.append(f"{variable!r} has dimensions {array.dims}, expected {dims}")
        missing = [key for key in ("units", "long_name") if key not in array.attrs]
        if missing:
            found.append(f"{variable!r} lacks the attribute {' and '.join(missing)}")
        if 0 in array.shape:
            if expected.may_be_empty:
                continue
            found.append(f"{variable!r} is empty: {dict(array.sizes)}")
        elif array.nbytes > most_bytes or not expected.finite:
            continue
        elif not np.isfinite(array.values).all():
            bad = np.argwhere(~np.isfinite(array.values))
            where = dict(zip(array.dims, map(int, bad[0]), strict=True))
            found.append(
                f"{variable!r} has {len(bad)} values that are not finite, "
                f"the first at {where}"
            )
    if "time" in dataset.coords:
        found += _time_problems(dataset["time"])
    return found


def _time_problems(time: xr.DataArray) -> list[str]:
    if time.size < 3:
        return [f"'time' has {time.size} samples; at least 3 are needed"]
    steps = np.diff(time.values)
    if not (steps > 0).all():
        return [f"'time' does not increase at sample {int(np.argmin(steps)) + 1}"]
    if np.ptp(steps) > 1e-6 * steps.mean():
        return [f"'time' is not uniform: steps {steps.min():g} ... {steps.max():g} s"]
    return []


def check(
    dataset: xr.Dataset,
    name: str,
    source: str = "dataset",
    most_bytes: float = np.inf,
) -> xr.Dataset:
    """Return `dataset` if it honours the contract `name`; see :func:`problems`.

    Raises
    ------
    ContractError
        Listing all problems at once.
    """
    kind = dataset.attrs.get("contract", name)
    if kind not in contracts():
        raise ContractError(
            f"{source} was not made by leastaction (its attribute 'contract' is "
            f"{kind!r}); known are {', '.join(contracts())}"
        )
    if kind != name:
        raise ContractError(
            f"{source} holds {kind!r} (made by {contracts()[kind].made_by}), but "
            f"{name!r} (made by {contracts()[name].made_by}) is needed here; "
            "choose methods that fit together"
        )
    found = problems(dataset, name, most_bytes)
    if found:
        listing = "\n".join(f"  - {problem}" for problem in found)
        raise ContractError(
            f"{source} is not a valid {name!r} dataset "
            f"(made by {contracts()[name].made_by}):\n{listing}"
        )
    return dataset


def time_step(dataset: xr.Dataset) -> float:
    """Time step, s, of a dataset whose time its contract has found uniform."""
    time = dataset["time"].values
    return float((time[-1] - time[0]) / (time.size - 1))
