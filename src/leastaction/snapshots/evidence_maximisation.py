"""Weight-space Gaussian process; damping by evidence or by held-out trajectories."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.snapshots.bases import basis_of
from leastaction.snapshots.constrained_rows import (
    compressed,
    constrained,
    damped_coefficients,
)
from leastaction.snapshots.contracts import lagrangian_dataset
from leastaction.snapshots.discrete_lagrangian import one_step_errors, positions_of

# One of so many trajectories is held out.
TRAJECTORIES_PER_HELD_OUT = 5


class HeldOut:
    """Every fifth trajectory apart from the others; `system` has the rows of all."""

    def __init__(self, equations: xr.Dataset, observations: xr.Dataset):
        positions = positions_of(observations)
        held = np.arange(len(positions)) % TRAJECTORIES_PER_HELD_OUT == 0
        theta, *self._conditions = (
            equations[name].values[0]
            for name in ("theta", "condition", "condition_value")
        )
        rows = theta.reshape(len(positions), -1, theta.shape[1])
        self._others = compressed(rows[~held].reshape(-1, theta.shape[1]))
        whole = np.concatenate([self._others, *rows[held]])
        self.system = constrained(whole, *self._conditions, len(theta))
        self._equations, self._held = equations, positions[held]

    def errors(self, dampings: np.ndarray) -> np.ndarray:
        """One-step errors (rms), learned from the others, shape (damping,)."""
        others = self._others, *self._conditions
        if len(dampings) == 1:
            fits = damped_coefficients(*others, dampings[0])[None]
        else:
            system = constrained(*others)
            fits = np.array([system.coefficients(damping) for damping in dampings])
        about, basis = self._equations.attrs, basis_of(self._equations)
        step, rule = about["time_step"], about["rule"]
        errors = one_step_errors(basis, fits, self._held, step, rule)
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

    Settings: `damping`, ``evidence`` (default), ``held_out`` for the smallest error of
    one step on every fifth trajectory, or a number relative to the largest singular
    value.

    Raises
    ------
    ValueError
        If `damping` is none of these.
    """
    check(equations, "shadow_equations")
    held_out = HeldOut(equations, observations)
    system = held_out.system
    damping = _chosen_damping(held_out, settings["damping"])
    diagnostics = {
        "damping": damping / system.singular[0],
        "log_evidence": system.log_evidence(damping),
        "row_error": system.row_error(damping),
        "one_step_error": held_out.errors(np.array([damping]))[0],
    }
    coefficients, factor = system.coefficients(damping), system.factor(damping)
    return lagrangian_dataset(equations, coefficients, diagnostics, factor)


def _chosen_damping(held_out: HeldOut, how: str | float) -> float:
    """Damping μ by evidence, by held-out trajectories, or as given."""
    system = held_out.system
    if how == "evidence":
        return system.most_probable()[0]
    if how == "held_out":
        dampings = system.dampings()
        return float(dampings[np.argmin(held_out.errors(dampings))])
    if isinstance(how, str):
        raise ValueError(
            f"damping is {how!r}; expected 'evidence', 'held_out' or a number"
        )
    return float(how) * float(system.singular[0])
