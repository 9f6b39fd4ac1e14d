"""Parameters of a stationary density: truth, estimates and errors, one by one."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.families import system_from_config
from leastaction.core.system import System
from leastaction.densities import EVERY_PART
from leastaction.densities.fokker_planck import StationaryEquation

# States at which the truth is expressed by the terms, and what of it is round-off.
STATES_OF_TRUTH = 60
RELATIVE_ROUNDOFF_OF_TRUTH = 1e-8


@dataclass(frozen=True)
class Parameter:
    """One estimated parameter.

    Attributes
    ----------
    label
        Kind and candidate.
    truth
        In the scale of the reference term; NaN if the terms cannot express the system.
    values, std
        Estimates and standard errors, shape (replicate,). Of a squared volatility, the
        root is given: a noise strength.
    """

    label: str
    truth: float
    values: np.ndarray
    std: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Relative errors, shape (replicate,)."""
        return self.values / self.truth - 1

    @property
    def covered(self) -> np.ndarray:
        """Whether the 95 % interval covers the truth, shape (replicate,)."""
        return np.abs(self.values - self.truth) <= 1.96 * self.std


def equation_of(config: Mapping) -> StationaryEquation:
    """The stationary equation of an example."""
    return StationaryEquation.from_config(
        stationary_library(config), tuple(config["system"]["coordinates"])
    )


def stationary_library(config: Mapping) -> dict:
    """The candidates that a stationary equation is made of."""
    return {k: v for k, v in config["library"].items() if k in EVERY_PART}


def true_coefficients(equation: StationaryEquation, system: System) -> np.ndarray:
    """Coefficients of all terms that give drift and diffusion of `system`.

    Returns
    -------
    ndarray
        Shape (term,); NaN if the terms cannot express the system.
    """
    dof = equation.dof
    rng = np.random.default_rng(0)
    q, qdot = rng.uniform(-1.5, 1.5, (2, STATES_OF_TRUTH, dof))
    expressions = [e for t in equation.terms for e in (*t.acceleration, *t.diffusion)]
    columns = evaluator(expressions, equation.library.coordinates)(q, qdot)
    columns = columns.reshape(STATES_OF_TRUTH, len(equation.terms), -1)
    noise = system.diffusion * system.diffusion.T
    right = evaluator(
        [*system.acceleration, *noise], system.coordinates, list(system.parameters)
    )(q, qdot, system.parameter_values)
    target = (right - columns[:, 0]).ravel()
    free = np.swapaxes(columns[:, 1:], 1, 2).reshape(len(target), -1)
    found, *_ = np.linalg.lstsq(free, target, rcond=None)
    roundoff = RELATIVE_ROUNDOFF_OF_TRUTH * np.abs(target).max()
    if np.abs(free @ found - target).max() > roundoff:
        return np.full(len(equation.terms), np.nan)
    return np.concatenate([[1.0], found])


def parameters(config: Mapping, model: xr.Dataset) -> list[Parameter]:
    """Every coefficient that was to be estimated, in the order of the terms.

    Parameters
    ----------
    config
        Sections `system` and `library` of the example.
    model
        Contract ``model``, all replicates.
    """
    equation = equation_of(config)
    truth = true_coefficients(equation, system_from_config(config["system"]))
    found = []
    for term, exact in zip(equation.terms, truth, strict=True):
        if not np.isnan(term.known):
            continue
        kind = {
            "lagrangian": "coefficient",
            "dissipation": "dissipation_coefficient",
            "volatility": "volatility_coefficient",
        }[term.kind]
        place = (slice(None), *term.position)
        values = model[f"{kind}_estimate"].values[place]
        std = model[f"{kind}_std"].values[place]
        label = term.label
        if term.kind == "volatility":
            label = label.replace("squared volatility", "noise strength")
            exact, values, std = _strength(exact, values, std)
        found.append(Parameter(label, float(exact), values, std))
    return found


def _strength(square, values, std):
    """Square roots of squared volatilities, with their standard errors."""
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(values)
        return np.sqrt(max(square, 0.0)), root, std / (2 * root)
