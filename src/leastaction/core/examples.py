"""What an example of coordinates must fulfil, whatever its family, before any job.

A family brings a file of the same name with what it asks of its own examples:
``problems(example, system)``, sentences that say what is given, what is expected and
what to do. `system` is None where the section `system` describes none.
"""

from collections.abc import Callable, Iterator, Mapping

from leastaction.core.from_config import declared_units
from leastaction.core.initial_state import initial_expressions
from leastaction.core.library import candidates
from leastaction.core.method import step
from leastaction.core.system import System
from leastaction.core.units import check_dimensions


def raised(where: str, check: Callable) -> Iterator[str]:
    """Sentence of the error that a check raises; none if it passes."""
    try:
        check()
    except (ValueError, KeyError) as error:
        yield f"{where}: {error}"


def problems(example: Mapping, system) -> Iterator[str]:
    """Units, initial states and candidates of a system of coordinates."""
    scheme = step("simulate", example["simulate"])
    draws = (scheme.initial_state.random or {}).values()
    if any(draw.halton for draw in draws) and not scheme.fills_boxes:
        yield (
            "simulate: initial_state.random: 'halton' is for method 'runge_kutta', not "
            f"for {scheme.name()!r}, whose starts are random; use 'uniform'"
        )
    if not isinstance(system, System):
        return
    units, start = declared_units(example["system"]), example["simulate"]
    yield from raised("system", lambda: check_dimensions(system, units))
    yield from raised(
        "simulate", lambda: initial_expressions(start["initial_state"], system)
    )
    if "library" in example:
        yield from raised("library", lambda: _check_library(example, system))


def _check_library(example: Mapping, system: System) -> None:
    system.library(example["library"]).check_references()
    names = [s.name for s in system.state]
    candidates(example["library"].get("volatility", []), names)
