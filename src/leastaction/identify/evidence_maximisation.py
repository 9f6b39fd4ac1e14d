"""Weight-space Gaussian process; damping by evidence or by held-out trajectories."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.assemble.shadow_rows import positions_of
from leastaction.contracts import check
from leastaction.identify.constrained_rows import (
    ConstrainedRows,
    constrained,
    damped_coefficients,
)
from leastaction.identify.learned_model import learned_model
from leastaction.identify.one_step_error import one_step_errors
from leastaction.mechanics.learned_lagrangian import basis_of

CONTRACT = "shadow_equations"
HELD_OUT = 5


def held_out_errors(
    equations: xr.Dataset, observations: xr.Dataset, dampings: np.ndarray
) -> np.ndarray:
    """One-step errors (rms) on every fifth trajectory, learned from the others.

    Parameters
    ----------
    dampings
        μ, shape (damping,).
    """
    positions = positions_of(observations)
    held = np.arange(len(positions)) % HELD_OUT == 0
    theta, condition, value = (
        equations[name].values[0] for name in ("theta", "condition", "condition_value")
    )
    rows = theta.reshape(len(positions), -1, theta.shape[1])
    others = rows[~held].reshape(-1, theta.shape[1]), condition, value
    if len(dampings) == 1:
        fits = damped_coefficients(*others, dampings[0])[None]
    else:
        system = constrained(*others)
        fits = np.array([system.coefficients(damping) for damping in dampings])
    step, rule = equations.attrs["time_step"], equations.attrs["rule"]
    errors = one_step_errors(basis_of(equations), fits, positions[held], step, rule)
    return np.sqrt((errors**2).mean(axis=(1, 2)))


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> xr.Dataset:
    """Learn L by Gaussian process regression under exact conditions, for one case.

    The damping is the only thing to choose. Without noise it goes down to what
    round-off allows, with noise it follows the noise, which need not be known.

    Parameters
    ----------
    equations
        Contract ``shadow_equations``.
    settings
        `damping`: ``evidence`` (default), ``held_out`` for the smallest error of one
        step on every fifth trajectory, or a number relative to the largest singular
        value.
    observations
        The case, contract ``motion``.
    library
        Not used.

    Returns
    -------
    xr.Dataset
        Contract ``learned_lagrangian``, with the factor of the posterior covariance.
    """
    check(equations, "shadow_equations")
    system = constrained(
        *(equations[n].values[0] for n in ("theta", "condition", "condition_value"))
    )
    damping = chosen_damping(system, settings["damping"], equations, observations)
    error = held_out_errors(equations, observations, np.array([damping]))[0]
    coefficients = system.coefficients(damping)
    relative = damping / system.singular[0]
    return learned_model(
        equations,
        coefficients,
        {
            "damping": (relative, "1", "damping over the largest singular value"),
            "log_evidence": (system.log_evidence(damping), "1", "log evidence"),
            "row_error": (system.row_error(damping), "mixed", "error of a row"),
            "one_step_error": (error, "mixed", "held-out error of one step, rms"),
        },
        system.factor(damping),
    )


def chosen_damping(
    system: ConstrainedRows,
    how: str | float,
    equations: xr.Dataset,
    observations: xr.Dataset,
) -> float:
    """Damping μ by evidence, by held-out trajectories, or as given.

    Raises
    ------
    ValueError
        If `how` is none of these.
    """
    if how == "evidence":
        return system.most_probable()[0]
    if how == "held_out":
        dampings = system.dampings()
        errors = held_out_errors(equations, observations, dampings)
        return float(dampings[np.argmin(errors)])
    if isinstance(how, str):
        raise ValueError(
            f"damping is {how!r}; expected 'evidence', 'held_out' or a number"
        )
    return float(how) * float(system.singular[0])
