"""Panel: one law in a figure, with what it predicts."""

from collections.abc import Mapping
from dataclasses import dataclass

import xarray as xr

# Estimator of a law of one's own, and the best one of an example.
MAIN = "recommended"


@dataclass(frozen=True)
class Panel:
    """One example as the figures see it.

    `example` is its name, `config` the whole of it; `models` and `rollouts` are
    datasets of each estimator, all replicates.
    """

    example: str
    config: Mapping
    models: Mapping[str, xr.Dataset]
    rollouts: Mapping[str, xr.Dataset]

    @property
    def title(self) -> str:
        """Title of the example."""
        return str(self.config.get("title", self.example))

    def model(self, estimator: str) -> xr.Dataset:
        """Return the identified models of one estimator; ValueError if it has none."""
        return self._of("model", self.models, estimator)

    def rollout(self, estimator: str) -> xr.Dataset:
        """Return the rollouts of one estimator; ValueError if it has none."""
        return self._of("rollout", self.rollouts, estimator)

    def _of(self, kind: str, datasets: Mapping, estimator: str) -> xr.Dataset:
        if estimator not in datasets:
            has = ", ".join(datasets) or "none"
            raise ValueError(
                f"example {self.example!r}: no {kind} of estimator {estimator!r}; "
                f"there are: {has}"
            )
        return datasets[estimator]
