"""What an example of a stationary density must fulfil, before any job."""

from collections.abc import Iterator, Mapping

from leastaction.core.method import step
from leastaction.core.recipe import raised
from leastaction.core.system import System
from leastaction.densities import stationary_samples
from leastaction.densities.fokker_planck import StationaryEquation
from leastaction.densities.recipes import StationaryPath


def problems(example: Mapping, system) -> Iterator[str]:
    """A path that cannot be counted, or terms of no stationary equation."""
    path = step("simulate", example["simulate"])
    if not isinstance(path, StationaryPath) or not isinstance(system, System):
        return
    yield from raised(
        "simulate", lambda: stationary_samples.check(system, path.plain())
    )
    yield from raised(
        "library",
        lambda: StationaryEquation.from_config(example["library"], system.coordinates),
    )
