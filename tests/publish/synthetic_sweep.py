"""Models of a sweep over noise with chosen errors and wrong terms."""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from leastaction.identify.estimate import LagrangianEstimate, no_volatility
from leastaction.identify.model import model_dataset
from leastaction.noise_sweep import gathered
from leastaction.publish.scorecard.truth import truth_of

PENDULUM = {
    "title": "Pendulum",
    "section": "III",
    "system": {
        "coordinates": {"th": {"unit": "rad", "label": r"\theta"}},
        "parameters": {
            "l": {"value": 1.0, "unit": "m"},
            "g": {"value": 9.81, "unit": "m/s^2"},
            "m": {"value": 1.0, "unit": "kg"},
        },
        "lagrangian": "m*l**2*thdot**2/2 + m*g*l*cos(th)",
    },
    "simulate": {
        "method": "runge_kutta",
        "time_step": 0.01,
        "duration": 5.0,
        "trajectories": 100,
        "replicates": 4,
        "input": {},
        "noise": {"channels": ["q", "qdot", "qddot"]},
    },
    "library": {
        "reference": "thdot**2/2",
        "lagrangian": [
            {
                "polynomial": {
                    "of": ["thdot", "sin(th)", "cos(th)"],
                    "degree": 2,
                    "lowest": 1,
                }
            },
        ],
    },
}
LEVELS = (0.0, 1e-3, 1e-1)
MODES = ("independent", "shared")


def swept(
    config: Mapping,
    error: Callable[[float], float] = lambda level: 1e-2 * level,
    wrong: Callable[[float], float] = lambda level: 0.0,
    levels=LEVELS,
    modes=MODES,
    n: int = 4,
    with_std: bool = True,
    scale: float = 1.0,
    seed: int = 0,
) -> xr.Dataset:
    """Models with the true terms and a relative scatter of `error(level)`.

    A share `wrong(level)` of the replicates (the first ones) has one extra term.
    """
    truth = truth_of(config)
    rng = np.random.default_rng(seed)
    each = []
    for r in range(n):
        results = {}
        for mode in modes:
            for level in levels:
                extra = (r + 0.5) / n < wrong(level)
                results[mode, level] = _one(
                    config, truth, error(level), extra, with_std, scale, rng, r
                )
        each.append(gathered(results))
    whole = xr.concat(
        each,
        "replicate",
        data_vars="minimal",
        coords="minimal",
        join="exact",
        compat="override",
    )
    return whole.assign_attrs(contract="model")


def _one(config, truth, error, extra, with_std, scale, rng, replicate) -> xr.Dataset:
    library = truth.library
    given = library.given != 0
    noise = error * rng.standard_normal(len(given)) * ~given
    c = truth.coefficients * (1 + noise)
    if extra:
        free = [i for i in library.columns if truth.coefficients[i] == 0]
        c[free[replicate % len(free)]] = 0.2
    damping = truth.dissipation * (
        1 + error * rng.standard_normal(truth.dissipation.size)
    )
    known = 1.0 if with_std else np.nan
    std = np.where(c != 0, error * np.abs(c) * ~given, 0.0) * known
    estimate = LagrangianEstimate(
        terms=library.names,
        coefficients=scale * c,
        std=scale * std,
        status=library.status,
        equivalent=list(library.freedom.equivalent),
        dissipation_terms=library.dissipation_names,
        dissipation_coefficients=scale * damping,
        dissipation_std=scale * error * np.abs(damping) * known,
        dissipation_status=list(library.dissipation_freedom.status),
        dissipation_equivalent=list(library.dissipation_freedom.equivalent),
        diagnostics={"noise_std": (1.0, "1", "noise of the sensors")},
    )
    observed = xr.Dataset(
        coords={"replicate": [replicate], "dof": list(library.coordinates)}
    )
    return model_dataset(observed, estimate, no_volatility(len(library.coordinates)))
