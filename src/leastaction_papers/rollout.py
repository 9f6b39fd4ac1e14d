"""Truth and model beside each other: what every rollout begins with.

A paper gives the problem and the measure: a function of a :class:`Rollout`, which
:func:`compares` makes the function of its stage validate.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import xarray as xr

from leastaction.core.model import IdentifiedModel
from leastaction.core.noise_sweep import over_models


@dataclass(frozen=True)
class Rollout:
    """One replicate of a model, the `system` behind the data, and how to compare them.

    `simulation`, `settings` and `library` are the sections `simulate`, `validate` and
    `library` of the example, of the last one what fixes the scale of L.
    """

    system: Any
    model: xr.Dataset
    simulation: Mapping
    settings: Mapping
    library: Mapping
    example: str
    seed: int

    @property
    def replicate(self) -> int:
        """Its number."""
        return int(self.model["replicate"].values[0])

    @property
    def key(self) -> tuple:
        """Of its random numbers, which are not those of the data."""
        return self.seed, self.example, "validate", self.replicate

    @property
    def estimate(self):
        """System of a model of written terms."""
        return IdentifiedModel(self.model.isel(replicate=0)).system

    def section(self, name: str, content: str) -> Mapping:
        """Section of the settings; a ValueError says that it should have `content`."""
        if name not in self.settings:
            raise ValueError(f"validate.{name} is missing: a rollout needs {content}")
        return self.settings[name]

    def over_cases(
        self,
        compare: Callable[[xr.Dataset], xr.Dataset],
        cases: Mapping | None = None,
        same: Collection[str] = (),
    ) -> xr.Dataset:
        """Compare the model of every case of a sweep over noise, by itself those asked.

        Variables in `same` are the same in every case.
        """
        cases = self.settings.get("cases") if cases is None else cases
        return over_models(compare, self.model, cases, same)


def compares(compare: Callable[[Rollout], xr.Dataset]) -> Callable[..., xr.Dataset]:
    """Make a comparison the function of a stage validate."""

    @wraps(compare)
    def validate(system, model, simulation, settings, library, *, example, seed):
        sections = simulation, settings, library
        return compare(Rollout(system, model, *sections, example, seed))

    return validate
