"""Rollout of a field that was learned from snapshots, compared with the truth.

Motions start from states that training has not seen, drawn as those of the data. A
discrete Lagrangian density starts from two exact snapshots, a differential equation
from an exact snapshot and its exact velocity.
"""

from collections.abc import Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.contracts import contracts
from leastaction.core.expressions import symbol
from leastaction.core.families import implementation
from leastaction.core.method import step
from leastaction_papers.rollout import Rollout, compares
from leastaction_papers.shadow_integration.contracts import CONTRACTS

# Values of u at which V' is compared.
VALUES = 41


@compares
def validate(run: Rollout) -> xr.Dataset:
    """Roll out one replicate, every case of its sweep over noise.

    An unstable model is not rolled out; its errors are NaN. Raises a ValueError if the
    `settings` have no section `field`.
    """
    settings = run.section("field", "the steps and the number of motions")
    key = run.example, run.seed, run.replicate
    truth = Truth(run.system, run.simulation, settings, key)
    return run.over_cases(truth.compared)


class Truth:
    """Unseen motions of the field behind the data, and what is compared with them."""

    def __init__(self, system, simulation: Mapping, settings: Mapping, key: tuple):
        example, seed, replicate = key
        self.steps, dt = settings["steps"], float(simulation["time_step"])
        unseen = {
            **simulation,
            "trajectories": settings["motions"],
            "duration": self.steps * dt,
            "noise": {"channels": ["q", "qdot"], "levels": [0.0]},
        }
        motions = step("simulate", unseen)(
            system,
            example=f"{example} unseen",
            seed=seed,
            replicate=replicate,
            units={system.field: "see coordinate_unit"},
        )
        self.u = motions["q"].values[0]
        self.velocity = motions["qdot"].values[0, :, 0]
        self.time_step, self.field = dt, system.field
        self._law = system.evaluated(system.acceleration)
        self.values = np.linspace(settings["low"], settings["high"], VALUES)

    def _jet(self) -> list[sp.Symbol]:
        """Symbols of u and of its derivatives by x."""
        marks = ["", "_x", "_xx", "_xxx", "_xxxx"]
        return [symbol(self.field + mark) for mark in marks]

    def slope(self) -> np.ndarray:
        """V' over the mass density, at `values`."""
        u, *others = self._jet()
        law = sp.lambdify(u, -self._law.subs(dict.fromkeys(others, 0)), "numpy")
        return np.broadcast_to(law(self.values), self.values.shape)

    def squared_speed(self) -> float:
        """∂u_tt/∂u_xx of the field at rest, that of long waves."""
        _, _, curvature, *_ = jet = self._jet()
        return float(sp.diff(self._law, curvature).subs(dict.fromkeys(jet, 0)))

    def compared(self, dataset: xr.Dataset) -> xr.Dataset:
        """Everything about one model, contract ``shadow_field_rollout``."""
        kind = contracts()[dataset.attrs["contract"]].model
        model = implementation(kind)(dataset)
        if model.stable:
            path = model.rollout(self.u[:, 0], self.u[:, 1], self.steps, self.velocity)
        else:
            path = np.full_like(self.u, np.nan)
            path[:, :2] = self.u[:, :2]
        error = np.sqrt(((path - self.u) ** 2).mean(axis=(0, 2)) / (self.u**2).mean())
        about = {"units": "see field", "long_name": "value of u"}
        return CONTRACTS["shadow_field_rollout"].dataset(
            {
                "error": error,
                "speed_squared": model.speed_squared(),
                "stable": float(model.stable),
                "failed": float((~np.isfinite(path).all(axis=(1, 2))).sum()),
                "slope_estimate": model.slope(self.values),
                "slope_true": self.slope(),
                "speed_squared_true": self.squared_speed(),
            },
            coords={
                "replicate": dataset["replicate"].values,
                "value": ("value", self.values, about),
            },
            attrs={"time_step": self.time_step},
        )
