"""What was learned from snapshots, as figures, tables and scorecards ask for it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from leastaction.core.system import System
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.recovery import MAIN, at_level, shown_mode

# Estimators in the order of every legend: of the paper, then ours.
ESTIMATORS = (
    "published",
    "published_lgp",
    "published_lgp_exact",
    "published_gp_flow",
    "unconstrained",
    "recommended",
)


@dataclass(frozen=True)
class Learned:
    """Model and rollout of one estimator at one level of noise, all replicates."""

    estimator: str
    model: xr.Dataset
    rollout: xr.Dataset

    @property
    def orders(self) -> list[int]:
        """Orders of backward error analysis; none of a flow, which has no energy."""
        return list(map(int, self.rollout["order"].values)) if self.has_energy else []

    @property
    def has_energy(self) -> bool:
        """Whether it has a Lagrangian."""
        return "shadow" in self.model.attrs

    @property
    def main(self) -> int:
        """Order whose momentum starts its motion: the highest of a shadow."""
        shadow = self.model.attrs.get("shadow", False)
        return int(self.rollout["order"].values[-1 if shadow else 0])

    @property
    def first(self) -> xr.Dataset:
        """Rollout of the first replicate."""
        return self.rollout.isel(replicate=0)

    def at_main(self, name: str) -> np.ndarray:
        """Variable of the main order, replicates first."""
        return self.rollout[name].sel(order=self.main).values

    @property
    def failed(self) -> str:
        """Why the long rollout of the first replicate ended early; empty if not."""
        return str(self.first["failure"].sel(order=self.main).values)


def learned_at(
    estimator: str, model: xr.Dataset, rollout: xr.Dataset, level: float | None = None
) -> Learned | None:
    """One estimator at a level of noise, by default its lowest.

    None if it was not done there. The noise is independent where there is a choice.
    """
    if level is None and "noise_level" in rollout.dims:
        level = rollout["noise_level"].values.min()
    chosen = []
    for dataset in (model, rollout):
        if "noise_level" in dataset.dims:
            # Only in another paper has `published` a noise of its own.
            dataset = at_level(dataset, shown_mode(MAIN, dataset), level)
        chosen.append(dataset)
    return None if any(one is None for one in chosen) else Learned(estimator, *chosen)


def learned(panel: Panel) -> dict[str, Learned]:
    """Estimators of an example at their lowest noise, in the order of the legends."""
    others = sorted(panel.rollouts.keys() - set(ESTIMATORS))
    models = {
        name: learned_at(name, panel.model(name), panel.rollout(name))
        for name in (*ESTIMATORS, *others)
        if "misalignment" in panel.rollouts.get(name, ())
    }
    if not models:
        raise ValueError(
            f"example {panel.example!r}: no rollout of a learned Lagrangian; give it "
            "an estimator that learns from snapshots, and validate.shadow"
        )
    return models


def chosen(panel: Panel, estimators: Sequence[str]) -> list[Learned]:
    """Those of the `estimators` that an example has, at least one."""
    models = learned(panel)
    if not models.keys() & set(estimators):
        raise ValueError(
            f"example {panel.example!r} has the estimators {', '.join(models)}, but "
            f"the figure shows {', '.join(estimators)}; add one of these"
        )
    return [models[name] for name in estimators if name in models]


def cyclic_coordinates(system: System) -> list[str]:
    """Coordinates that the true Lagrangian does not depend on."""
    pairs = zip(system.coordinates, system.q, strict=True)
    return [name for name, q in pairs if not system.lagrangian.has(q)]


def errors_at(rollout: xr.Dataset, step: int) -> np.ndarray:
    """Error after so many steps, one per replicate; infinite if a motion failed."""
    return rollout["error"].isel(step=step).fillna(np.inf).values
