"""What each file between the stages must hold, checked at the door."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

ENSEMBLE = ("replicate", "trajectory", "time", "dof")
DOFS = ("dof", "dof_other")
INSTRUMENTS = ("instrument", "instrument_other")
FIELD_ENSEMBLE = ("replicate", "trajectory", "time", "node")


@dataclass(frozen=True)
class Contract:
    """What a dataset promises.

    Attributes
    ----------
    made_by
        Stage (and method) whose output it is, named in error messages.
    variables
        Dimensions of each variable, in order.
    finite
        Variables in which a NaN or an infinity is an error.
    may_be_empty
        Variables that may have a dimension without entries.
    """

    made_by: str
    variables: Mapping[str, tuple[str, ...]]
    finite: tuple[str, ...] = ()
    may_be_empty: tuple[str, ...] = ()


CONTRACTS = {
    "observations": Contract(
        "simulate",
        {"q": ENSEMBLE, "qdot": ENSEMBLE},
        finite=("q", "qdot"),
    ),
    "field_observations": Contract(
        "simulate",
        {"u": FIELD_ENSEMBLE, "u_t": FIELD_ENSEMBLE},
        finite=("u", "u_t"),
    ),
    "displacements": Contract(
        "simulate with sensor.channels [q]", {"q": ENSEMBLE}, finite=("q",)
    ),
    "ensemble_derivatives": Contract(
        "differentiate with method central_difference",
        {
            "momentum_rate": ("replicate", "dof", "time", "term"),
            "generalised_force": ("replicate", "dof", "time", "term"),
        },
        finite=("momentum_rate", "generalised_force"),
    ),
    "realised_variation": Contract(
        "differentiate with method realised_variation",
        {
            "realised_covariation": ("replicate", "dof", "dof_other"),
            "frequency": ("replicate", "dof"),
            "squared_volatility": ("replicate", "dof", "volatility_term"),
            "perfect_square": ("replicate", "dof"),
        },
        finite=("realised_covariation", "squared_volatility"),
    ),
    "sensor_noise": Contract(
        "differentiate with method sensor_noise",
        {
            "position_noise": ("replicate", "dof"),
            "velocity_noise": ("replicate", "dof"),
            "noise_ratio": ("replicate", "dof"),
            "realised_covariation": ("replicate", "dof", "dof_other"),
            **dict.fromkeys(("smoothing_scale", "lag"), ("replicate",)),
        },
        finite=("position_noise", "realised_covariation", "lag"),
    ),
    "moving_average_moments": Contract(
        "assemble with method lagged_moments or weak_moments",
        {
            "moment": ("replicate", "scale", "dof", "instrument", "term"),
            "instrument_gram": ("replicate", "scale", "lag", *INSTRUMENTS),
            "increment_gram": (
                "replicate",
                "scale",
                "lag",
                *DOFS,
                "term",
                "term_other",
            ),
            "realised_covariation": ("replicate", "dof", "dof_other"),
            "window": ("replicate", "scale"),
            "samples": ("replicate",),
            "status": ("term",),
        },
        finite=("moment", "instrument_gram", "increment_gram"),
    ),
    "regression": Contract(
        "assemble with method ensemble_mean",
        {
            "theta": ("replicate", "dof", "equation", "term"),
            "target": ("replicate", "dof", "equation"),
            "status": ("term",),
            "given": ("term",),
        },
        finite=("theta", "target"),
    ),
    "moments": Contract(
        "assemble with method martingale_moments",
        {
            "moment": ("replicate", "trajectory", "dof", "instrument", "term"),
            "instrument_gram": ("replicate", "dof", "instrument", "instrument_other"),
            "increment_gram": ("replicate", "dof", "dof_other", "term", "term_other"),
            "weighted_gram": ("replicate", "dof", "dof_other", "term", "term_other"),
            "realised_covariation": ("replicate", "dof", "dof_other"),
            "frequency": ("replicate", "dof"),
            "samples": ("replicate",),
            "status": ("term",),
            "library_given": ("candidate",),
        },
        finite=("moment", "instrument_gram", "increment_gram"),
    ),
    "nodal_derivatives": Contract(
        "differentiate with method nodal_central_difference",
        {
            "acceleration": ("replicate", "time", "node"),
            "mean_slope": ("replicate", "time", "slope"),
            "slope_term": ("slope",),
            "slope_order": ("slope",),
            "slope_point": ("slope",),
        },
        finite=("acceleration", "mean_slope"),
    ),
    "nodal_regression": Contract(
        "assemble with method nodal_ensemble_mean",
        {
            "triangle": ("replicate", "node", "row", "slot"),
            "target": ("replicate", "node", "row"),
            "slot_term": ("node", "slot"),
            "status": ("term",),
        },
        finite=("triangle", "target"),
    ),
    "modal_basis": Contract(
        "differentiate with method modal_projection",
        {
            "phi": ("replicate", "node", "mode"),
            "turn": ("replicate", "mode"),
            "group": ("replicate", "mode"),
        },
        finite=("phi", "turn"),
    ),
    "modal_moments": Contract(
        "assemble with method modal_moments",
        {
            "moment": ("replicate", "group", "instrument", "column"),
            "instrument_gram": ("replicate", "group", "lag", *INSTRUMENTS),
            "increment_gram": ("replicate", "group", "lag", "column", "column_other"),
            "samples": ("replicate", "group"),
            "pairs": ("replicate", "group"),
            "largest_turn": ("replicate", "group"),
            "spatial_order": ("candidate",),
        },
        finite=("moment", "instrument_gram", "increment_gram"),
    ),
    "model": Contract(
        "identify",
        {
            "coefficient_estimate": ("replicate", "term"),
            "coefficient_std": ("replicate", "term"),
            "support": ("replicate", "term"),
            "status": ("term",),
            "dissipation_coefficient_estimate": ("replicate", "dissipation_term"),
            "dissipation_coefficient_std": ("replicate", "dissipation_term"),
            "dissipation_support": ("replicate", "dissipation_term"),
            "volatility_estimate": ("replicate", "dof"),
            "volatility_std": ("replicate", "dof"),
            "volatility_coefficient_estimate": (
                "replicate",
                "dof",
                "volatility_term",
            ),
            "volatility_support": ("replicate", "dof", "volatility_term"),
            "volatility_root_estimate": ("replicate", "dof", "volatility_term"),
            "volatility_root_std": ("replicate", "dof", "volatility_term"),
        },
        may_be_empty=(
            "dissipation_coefficient_estimate",
            "dissipation_coefficient_std",
            "dissipation_support",
        ),
    ),
    "rollout": Contract(
        "validate",
        {
            "mean_true": ("replicate", "time", "state"),
            "std_true": ("replicate", "time", "state"),
            "mean_estimate": ("replicate", "time", "state"),
            "std_estimate": ("replicate", "time", "state"),
            "hamiltonian_true": ("replicate", "time"),
            "hamiltonian_estimate": ("replicate", "time"),
        },
        finite=("mean_true", "std_true", "hamiltonian_true"),
    ),
    "field_rollout": Contract(
        "validate",
        {
            "mean_true": ("replicate", "time", "node"),
            "std_true": ("replicate", "time", "node"),
            "mean_estimate": ("replicate", "time", "node"),
            "std_estimate": ("replicate", "time", "node"),
            "hamiltonian_true": ("replicate", "time"),
            "hamiltonian_estimate": ("replicate", "time"),
        },
        finite=("mean_true", "std_true", "hamiltonian_true"),
    ),
}


class ContractError(ValueError):
    """A dataset that does not hold what its stage promised."""


def problems(dataset: xr.Dataset, name: str) -> list[str]:
    """Everything that is wrong with `dataset` as a ``CONTRACTS[name]``."""
    contract = CONTRACTS[name]
    found = []
    for variable, dims in contract.variables.items():
        if variable not in dataset:
            found.append(f"variable {variable!r} {dims} is missing")
            continue
        array = dataset[variable]
        if array.dims != dims:
            found.append(f"{variable!r} has dimensions {array.dims}, expected {dims}")
        missing = [key for key in ("units", "long_name") if key not in array.attrs]
        if missing:
            found.append(f"{variable!r} lacks the attribute {' and '.join(missing)}")
        if 0 in array.shape:
            if variable in contract.may_be_empty:
                continue
            found.append(f"{variable!r} is empty: {dict(array.sizes)}")
        elif variable in contract.finite and not np.isfinite(array.values).all():
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


def check(dataset: xr.Dataset, name: str, source: str = "dataset") -> xr.Dataset:
    """Return `dataset` if it honours the contract `name`.

    Raises
    ------
    ContractError
        Listing all problems at once.
    """
    kind = dataset.attrs.get("contract", name)
    if kind not in CONTRACTS:
        raise ContractError(
            f"{source} was not made by leastaction (its attribute 'contract' is "
            f"{kind!r}); known are {', '.join(CONTRACTS)}"
        )
    if kind != name:
        raise ContractError(
            f"{source} holds {kind!r} (made by {CONTRACTS[kind].made_by}), but "
            f"{name!r} (made by {CONTRACTS[name].made_by}) is needed here; "
            "choose methods that fit together"
        )
    found = problems(dataset, name)
    if found:
        listing = "\n".join(f"  - {problem}" for problem in found)
        raise ContractError(
            f"{source} is not a valid {name!r} dataset "
            f"(made by {CONTRACTS[name].made_by}):\n{listing}"
        )
    return dataset


def time_step(dataset: xr.Dataset) -> float:
    """Time step, s, of a dataset whose time its contract has found uniform."""
    time = dataset["time"].values
    return float((time[-1] - time[0]) / (time.size - 1))
