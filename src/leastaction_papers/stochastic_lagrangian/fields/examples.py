"""What an example of a field must fulfil, before any job."""

from collections.abc import Iterator, Mapping

import numpy as np

from leastaction.core.families import declared_units
from leastaction.core.method import step
from leastaction.core.recipe import raised
from leastaction.core.units import check_dimensions
from leastaction.fields import schemes, spectral
from leastaction.fields.ensemble import field_initial_states
from leastaction.fields.field_system import FieldSystem
from leastaction.fields.library import density_candidates
from leastaction_papers.stochastic_lagrangian.fields import hermite


def problems(example: Mapping, system) -> Iterator[str]:
    """Units, initial states, the step of the scheme, and candidates of a field."""
    if not isinstance(system, FieldSystem):
        return
    units = declared_units(example["system"])
    yield from raised("system", lambda: check_dimensions(system, units))
    scheme = step("simulate", example["simulate"])
    if scheme.simulates == "a field":
        yield from raised("simulate", lambda: _check_start(scheme, system))
    if "library" in example:
        yield from raised("library", lambda: _check_library(example, system))


def _check_start(scheme, system: FieldSystem) -> None:
    start = scheme.plain()["initial_state"]
    first = field_initial_states(start, system)(np.random.default_rng(0))
    if scheme.name() == "spectral":
        spectral.check(system)
    else:
        if scheme.name() == "newmark_hermite":
            hermite.elements(system)
        schemes.check(scheme.name(), system, first[None], scheme.time_step)


def _check_library(example: Mapping, system: FieldSystem) -> None:
    library = system.library(example["library"])
    _ = library.status
    density_candidates(example["library"]["volatility"], system.field)
    _ = library.independent, library.at_points
