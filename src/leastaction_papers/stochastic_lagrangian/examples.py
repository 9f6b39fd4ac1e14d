"""What an example of a randomly excited system must fulfil, before any job."""

from collections.abc import Iterator, Mapping

import numpy as np

from leastaction.core.families import declared_units
from leastaction.core.method import step
from leastaction.core.recipe import raised
from leastaction.core.system import System
from leastaction.core.units import check_dimensions


def problems(example: Mapping, system) -> Iterator[str]:
    """Noise that the strong Taylor scheme cannot integrate; errors of a field."""
    if system is not None and "field" in example["system"]:
        yield from _of_field(example, system)
    elif isinstance(system, System) and system.wiener_processes > 1:
        from leastaction.ensembles.strong_taylor import check_noise

        yield from raised("system", lambda: check_noise(system))


def _of_field(example: Mapping, system) -> Iterator[str]:
    """Units, initial states, the step of the scheme, and candidates of a field."""
    units = declared_units(example["system"])
    yield from raised("system", lambda: check_dimensions(system, units))
    scheme = step("simulate", example["simulate"])
    if scheme.simulates == "a field":
        yield from raised("simulate", lambda: _check_start(scheme, system))
    if "library" in example:
        yield from raised("library", lambda: _check_library(example, system))


def _check_start(scheme, system) -> None:
    from leastaction.fields import schemes, spectral
    from leastaction.fields.ensemble import field_initial_states
    from leastaction_papers.stochastic_lagrangian import hermite

    start = scheme.plain()["initial_state"]
    first = field_initial_states(start, system)(np.random.default_rng(0))
    if scheme.name() == "spectral":
        spectral.check(system)
    else:
        if scheme.name() == "newmark_hermite":
            hermite.elements(system)
        schemes.check(scheme.name(), system, first[None], scheme.time_step)


def _check_library(example: Mapping, system) -> None:
    from leastaction.fields.library import density_candidates

    library = system.library(example["library"])
    _ = library.status
    density_candidates(example["library"]["volatility"], system.field)
    _ = library.independent, library.at_points
