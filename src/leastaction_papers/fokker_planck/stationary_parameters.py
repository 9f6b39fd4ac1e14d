"""Parameters of a stationary density: truth, estimates and errors, one by one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.families import system_from_config
from leastaction.densities import EVERY_PART
from leastaction.densities.fokker_planck import StationaryEquation, equation_of
from leastaction_papers.scorecard.scores import expansion, truth_of

# Variables of a model, by the kind of a term.
ESTIMATE_OF = {
    "lagrangian": "coefficient",
    "dissipation": "dissipation_coefficient",
    "volatility": "volatility_coefficient",
}


@dataclass(frozen=True)
class Parameter:
    """One estimated parameter; of a squared volatility its root, a noise strength."""

    # Kind and candidate.
    label: str
    # In the scale of the reference; NaN if the terms cannot express the system.
    truth: float
    # Estimates and standard errors, shape (replicate,).
    values: np.ndarray
    std: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Relative errors, shape (replicate,)."""
        return self.values / self.truth - 1

    @property
    def covered(self) -> np.ndarray:
        """Whether the 95 % interval covers the truth, shape (replicate,)."""
        return np.abs(self.values - self.truth) <= NORMAL_QUANTILE * self.std


def true_coefficients(config: Mapping) -> tuple[StationaryEquation, np.ndarray]:
    """The equation of an example, and the coefficients that give its true system.

    Shape (term,); NaN if the terms cannot express drift and diffusion.
    """
    return _true_coefficients(json.dumps([config["library"], config["system"]]))


@lru_cache(maxsize=16)
def _true_coefficients(written: str) -> tuple[StationaryEquation, np.ndarray]:
    """Of a library and a system: every estimator, row and figure needs it again."""
    settings, config = json.loads(written)
    library = {k: v for k, v in settings.items() if k in EVERY_PART}
    equation = equation_of(library, config["coordinates"])
    truth = np.full(len(equation.terms), np.nan)
    of_motion = {k: v for k, v in library.items() if k not in ("volatility", "known")}
    law = truth_of({"system": config, "library": of_motion})
    system = system_from_config(config)
    noise = system.evaluated(system.diffusion * system.diffusion.T)
    squares = [expansion(entry, equation.volatility) for entry in noise.diagonal()]
    if law is None or not noise.is_diagonal() or any(one is None for one in squares):
        return equation, truth
    coefficients = {
        "lagrangian": law.coefficients,
        "dissipation": law.dissipation,
        "volatility": np.array(squares),
    }
    for i, term in enumerate(equation.terms):
        known = coefficients.get(term.kind)
        truth[i] = 1.0 if known is None else known[term.position]
    return equation, truth


def true_level(config: Mapping) -> float:
    """Coefficient of the damping over the squared volatility, c / a², of the truth."""
    equation, truth = true_coefficients(config)
    kinds = [term.kind for term in equation.terms]
    return truth[kinds.index("dissipation")] / truth[kinds.index("volatility")]


def level_set_error(config: Mapping, model: xr.Dataset) -> np.ndarray:
    """Relative error of the damping along the level set, shape (replicate, level)."""
    exact = true_level(config) * model["level_volatility"].values ** 2
    return model["level_dissipation_estimate"].values / exact - 1


def parameters(config: Mapping, model: xr.Dataset) -> list[Parameter]:
    """Every coefficient that was to be estimated, in the order of the terms.

    Of all replicates of a `model` of the example.
    """
    equation, truth = true_coefficients(config)
    estimates = []
    for term, exact in zip(equation.terms, truth, strict=True):
        if not np.isnan(term.known):
            continue
        place, name = (slice(None), *term.position), ESTIMATE_OF[term.kind]
        values = model[f"{name}_estimate"].values[place]
        std, label = model[f"{name}_std"].values[place], term.label
        if term.kind == "volatility":
            label = label.replace("squared volatility", "noise strength")
            exact = np.sqrt(max(exact, 0.0))
            with np.errstate(invalid="ignore", divide="ignore"):
                values = np.sqrt(values)
                std = std / (2 * values)
        estimates.append(Parameter(label, float(exact), values, std))
    return estimates


def samples(config: Mapping) -> float:
    """Number of samples of one replicate of an example."""
    simulation = config["simulate"]
    return simulation["duration"] / simulation["time_step"] * simulation["trajectories"]
