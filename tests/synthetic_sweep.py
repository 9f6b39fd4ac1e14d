"""Models of a sweep over noise with chosen errors and wrong terms."""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from leastaction.core.estimate import LagrangianEstimate, model_dataset, no_volatility
from leastaction_papers.scorecard.scores import truth_of

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
    laws = np.array(
        [
            [
                [
                    _law(truth, error(level), (r + 0.5) / n < wrong(level), rng, r)
                    for level in levels
                ]
                for _ in modes
            ]
            for r in range(n)
        ]
    )
    count = len(truth.coefficients)
    size = np.array([error(level) for level in levels])[:, None]
    fixed = np.append(truth.library.fixed != 0, np.zeros(truth.dissipation.size, bool))
    std = scale * size * np.abs(laws) * ~fixed * (1.0 if with_std else np.nan)
    laws = scale * laws
    coords = {"replicate": range(n), "noise_mode": list(modes)}
    coords["noise_level"] = list(levels)
    sizes = {name: len(values) for name, values in coords.items()}
    one = _one(truth, laws[0, 0, 0], count).isel(replicate=0, drop=True)
    constant = ("status", "equivalent", "dissipation_status", "dissipation_equivalent")
    whole = xr.Dataset(
        {
            name: v if name in constant else v.expand_dims(sizes).copy()
            for name, v in one.data_vars.items()
        },
        coords | dict(one.coords),
    )
    for prefix, part in (("", slice(count)), ("dissipation_", slice(count, None))):
        whole[f"{prefix}coefficient_estimate"][:] = laws[..., part]
        whole[f"{prefix}coefficient_std"][:] = std[..., part]
        whole[f"{prefix}support"][:] = laws[..., part] != 0
    return whole.assign_attrs(contract="model")


def _law(truth, error, extra, rng, replicate) -> np.ndarray:
    """Coefficients of L, then of D, with an extra term if that is asked for."""
    library = truth.library
    noise = error * rng.standard_normal(len(library.terms)) * (library.fixed == 0)
    c = truth.coefficients * (1 + noise)
    if extra:
        free = [i for i in library.columns if truth.coefficients[i] == 0]
        c[free[replicate % len(free)]] = 0.2
    noise = error * rng.standard_normal(truth.dissipation.size)
    return np.append(c, truth.dissipation * (1 + noise))


def _one(truth, law, count) -> xr.Dataset:
    """One case of one replicate, as the identify stage writes it."""
    library = truth.library
    none = np.full(law.size, np.nan)
    estimate = LagrangianEstimate(
        terms=library.names,
        coefficients=law[:count],
        std=none[:count],
        status=library.status,
        equivalent=list(library.freedom.equivalent),
        dissipation_terms=library.dissipation_names,
        dissipation_coefficients=law[count:],
        dissipation_std=none[count:],
        dissipation_status=list(library.dissipation_freedom.status),
        dissipation_equivalent=list(library.dissipation_freedom.equivalent),
    )
    dof = list(library.coordinates)
    observed = xr.Dataset(coords={"replicate": [0], "dof": dof})
    return model_dataset(observed, estimate, no_volatility(len(dof)))
