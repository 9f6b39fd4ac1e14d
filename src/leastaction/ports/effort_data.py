"""Data of the effort function: E ẋ, inputs x and targets y = E ẋ − B u = (J − R) z(x).

Zaspel and Günther (2024), sections 3.3, 4.2 and 4.5. E ẋ is exact ("if needed, the
derivative data can be obtained" from the right-hand side at the recorded states), or
recorded with the noise of a sensor, or it is a finite difference of the recorded
states; the third way is that of the paper.

Paper: does not say which differences. Central ones of second order give its errors; a
forward difference of an explicit Euler path *is* the right-hand side (docs/errata.md).
"""

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import Contract, time_step
from leastaction.ports.contracts import CONTRACTS, MATRICES, TRAINING

# Weights by shift, times the step.
STENCILS = {
    "forward": {0: -1.0, 1: 1.0},
    "central_2": {-1: -1 / 2, 1: 1 / 2},
    "central_4": {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12},
}


def exact_flow(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """E ẋ as recorded, at the training and test samples."""
    flow = observations["flow"].sel(scheme=settings["scheme"]).values[0]
    return flow_data(observations, settings["scheme"], flow)


def at_samples(observations: xr.Dataset, values: np.ndarray) -> np.ndarray:
    """Rows of `values` (time, column) at the training samples, NaN beyond a set."""
    index = observations["training_index"].values[0]
    return np.where(index[..., None] < 0, np.nan, values[index])


def flow_data(
    observations: xr.Dataset,
    scheme: str,
    flow: np.ndarray,
    training: np.ndarray | None = None,
) -> xr.Dataset:
    """Dataset of `flow` (time, row), with the scheme whose path it belongs to.

    `training` (fit, order, row) stands for it at the training samples.
    """
    test = observations["test_index"].values[0]
    values = {
        "flow": at_samples(observations, flow) if training is None else training,
        "flow_test": flow[test],
        "scheme": scheme,
    }
    coords = {name: observations[name].values for name in ("replicate", "row")}
    return CONTRACTS["flow_data"].dataset(values, coords)


def finite_difference(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """E ẋ by differences of the recorded states, at training and test samples."""
    x = observations["x"].sel(scheme=settings["scheme"]).values[0]
    rates = difference(x, time_step(observations), settings["stencil"])
    flow = rates @ observations["flow_matrix"].values.T
    return flow_data(observations, settings["scheme"], flow)


def difference(values: np.ndarray, step: float, stencil: str) -> np.ndarray:
    """Time derivative of `values` (time, ...); NaN where the stencil has no samples."""
    weights = STENCILS[stencil]
    first, last = max(0, -min(weights)), values.shape[0] - max(weights)
    rates = np.full(values.shape, np.nan)
    rates[first:last] = sum(
        weight * values[first + shift : last + shift]
        for shift, weight in weights.items()
    )
    return rates / step


def effort_targets(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Training and test sets, with what is known of the system: E, J, R, B and g."""
    scheme = str(derivatives["scheme"].values)
    x = observations["x"].sel(scheme=scheme).values[0]
    of_inputs = observations["u"].values[0] @ observations["port_matrix"].values.T
    test = observations["test_index"].values[0]
    known = observations[[*MATRICES, "training_index"]]
    known = known.drop_vars(["time", "scheme"], errors="ignore")
    values = {
        "x": at_samples(observations, x),
        "y": derivatives["flow"].values[0] - at_samples(observations, of_inputs),
        "y_test": derivatives["flow_test"].values[0] - of_inputs[test],
        "scheme": scheme,
    }
    return known.assign(CONTRACTS["effort_data"].dataset(values)).assign_coords(
        state_unit=observations["state_unit"]
    )


def transform_of(equations: xr.Dataset) -> np.ndarray:
    """A = J − R, shape (row, effort)."""
    return equations["structure_matrix"].values - equations["dissipation_matrix"].values


def training_data(equations: xr.Dataset) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Inputs (sample, state) and targets (sample, row) of every fit."""
    return (training_set(equations, fit) for fit in range(equations.sizes["fit"]))


def training_set(equations: xr.Dataset, fit: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (sample, state) and targets (sample, row) of one fit."""
    inside = equations["training_index"].values[0, fit] >= 0
    return tuple(equations[name].values[0, fit, inside] for name in ("x", "y"))


def with_training_data(
    contract: Contract, equations: xr.Dataset, values: Mapping
) -> xr.Dataset:
    """Dataset of a fit: the training data of `equations`, and its results."""
    return equations[list(TRAINING)].assign(contract.dataset(values))
