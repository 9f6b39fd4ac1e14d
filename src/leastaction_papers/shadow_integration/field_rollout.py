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
from leastaction.core.noise_sweep import over_models
from leastaction_papers.shadow_integration.contracts import CONTRACTS

# Values of u at which V' is compared.
VALUES = 41
# Stored steps, the last of a motion.
STORED = 100


def validate(
    system,
    model: xr.Dataset,
    simulation: Mapping,
    settings: Mapping,
    library: Mapping,
    *,
    example: str,
    seed: int,
) -> xr.Dataset:
    """Roll out one replicate, every case of its sweep over noise.

    A model that says that it is not stable is not rolled out; its errors are NaN. A
    ValueError tells that `settings` have no section `field`.
    """
    if "field" not in settings:
        raise ValueError(
            "validate.field is missing: a field that was learned from snapshots needs "
            "the steps and the number of its rollouts"
        )
    replicate = int(model["replicate"].values[0])
    truth = Truth(system, simulation, settings["field"], (example, seed, replicate))
    return over_models(truth.compared, model, settings.get("cases"), same=("u_true",))


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
        found = step("simulate", unseen)(
            system,
            example=f"{example} unseen",
            seed=seed,
            replicate=replicate,
            units={system.field: "see coordinate_unit"},
        )
        self.u = found["q"].values[0]
        self.velocity = found["qdot"].values[0, :, 0]
        self.time_step, self.domain, self.field = dt, system.domain, system.field
        self._law = system.evaluated(system.acceleration)
        self.values = np.linspace(settings["low"], settings["high"], VALUES)
        self.waves = np.arange(self.domain.nodes // 2 + 1)

    def _jet(self) -> list[sp.Symbol]:
        """Symbols of u and of its derivatives by x."""
        marks = ["", "_x", "_xx", "_xxx", "_xxxx"]
        return [symbol(self.field + mark) for mark in marks]

    def slope(self) -> np.ndarray:
        """V' over the mass density, at `values`."""
        u, *others = self._jet()
        law = sp.lambdify(u, -self._law.subs(dict.fromkeys(others, 0)), "numpy")
        return np.broadcast_to(law(self.values), self.values.shape)

    def stiffness(self) -> list[float]:
        """−∂u_tt/∂(∂^m u/∂x^m) of the field at rest, m = 0, 1, ..."""
        still = dict.fromkeys(self._jet(), 0)
        return [-float(sp.diff(self._law, s).subs(still)) for s in self._jet()]

    def frequency(self) -> np.ndarray:
        """Angular frequencies of waves about u = 0, rad/s; NaN where a wave grows."""
        numbers = 2 * np.pi / self.domain.length * self.waves
        terms = enumerate(self.stiffness())
        square = np.asarray(sum((c * (1j * numbers) ** m).real for m, c in terms))
        with np.errstate(invalid="ignore"):
            return np.sqrt(square)

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
        theta = 2 * np.pi / self.domain.nodes * self.waves
        stored = np.arange(max(0, self.steps - STORED), self.steps + 1)
        with np.errstate(invalid="ignore"):
            frequency = np.sqrt(model.squared_frequency(theta))
        return CONTRACTS["shadow_field_rollout"].dataset(
            {
                "u_true": self.u[0, stored],
                "u_estimate": path[0, stored],
                "error": error,
                "speed_squared": model.speed_squared(),
                "stable": float(model.stable),
                "failed": float((~np.isfinite(path).all(axis=(1, 2))).sum()),
                "slope_estimate": model.slope(self.values),
                "slope_true": self.slope(),
                "frequency": frequency,
                "frequency_true": self.frequency(),
                "speed_squared_true": self.stiffness()[2] * -1.0,
            },
            coords={
                "replicate": dataset["replicate"].values,
                "time": ("time", stored * self.time_step, _about("s", "time")),
                "node": ("node", self.domain.x, _about("m", "position of the node")),
                "value": ("value", self.values, _about("see field", "value of u")),
                "wave": ("wave", self.waves, _about("1", "waves along the line")),
            },
            attrs={"time_step": self.time_step},
        )


def _about(units: str, meaning: str) -> dict:
    return {"units": units, "long_name": meaning}
