"""From recorded motions to equations in coefficients: the seams of three methods."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

from leastaction.core import library
from leastaction.core.contracts import time_step
from leastaction.core.expressions import to_text
from leastaction.ports.coefficient_fit import (
    Quadratic,
    Records,
    noise_std,
    smoothed,
    weak_regression,
)
from leastaction.ports.contracts import CONTRACTS
from leastaction.ports.port_structure import Candidates

# Below this share of the rms errors of the integration exceed the noise.
NOISE_FLOOR = 1e-5


def smooth(observations: xr.Dataset, settings: Mapping, library: Mapping) -> xr.Dataset:
    """Savitzky–Golay states, and the noise of states and outputs."""
    x, y = (observations[name].values[0] for name in ("x", "y"))
    stds = [
        np.maximum(noise_std(a), NOISE_FLOOR * np.sqrt((a**2).mean(axis=(0, 1))))
        for a in (x, y)
    ]
    return CONTRACTS["smoothed_states"].dataset(
        {"x_smooth": smoothed(x, stds[0]), "x_std": stds[0], "y_std": stds[1]},
        {"replicate": observations["replicate"].values},
    )


def weak_form(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    parts: Mapping,
) -> xr.Dataset:
    """Equations of ẋ = W g + B u and y = Y g, see :mod:`~.coefficient_fit`."""
    states = [str(name) for name in observations["state"].values]
    terms = library.candidates(settings["hamiltonian"], states)
    candidates = Candidates(tuple(states), terms)
    records = records_of(observations, derivatives, settings["outputs"])
    found = weak_regression(records, candidates, settings["window"])
    values = {
        "information": found.matrix.T @ found.matrix,
        "score": found.matrix.T @ found.target,
        "chi_square": found.chi_square + found.target @ found.target,
        "count": found.count,
        "outputs": int(settings["outputs"]),
    }
    values |= {name: derivatives[name] for name in ("x_smooth", "x_std", "y_std")}
    names = [to_text(term) for term in terms]
    about = {"term": names, "function": candidates.functions}
    return CONTRACTS["port_equations"].dataset(
        values, {"replicate": observations["replicate"].values, **about}
    )


def records_of(observations: xr.Dataset, smooth: xr.Dataset, outputs: bool) -> Records:
    """Records of one replicate and case, with or without their outputs."""
    found = Records(
        time_step(observations),
        *(observations[name].values[0] for name in ("x", "u", "y")),
        *(smooth[name].values[0] for name in ("x_smooth", "x_std", "y_std")),
    )
    if outputs:
        return found
    return replace(found, y=found.y[..., :0], y_std=found.y_std[:0])


def quadratic_of(equations: xr.Dataset) -> Quadratic:
    """χ² of the weak form."""
    information = equations["information"].values[0]
    return Quadratic.of(
        information,
        equations["score"].values[0],
        np.zeros(len(information)),
        float(equations["chi_square"].values[0]),
        int(equations["count"].values[0]),
        0,
    )
