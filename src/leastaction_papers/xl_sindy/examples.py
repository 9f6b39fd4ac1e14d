"""What an example of motions without a random force must fulfil, before any job."""

from collections.abc import Iterator, Mapping

from leastaction.core.initial_state import input_expressions
from leastaction.core.recipe import raised
from leastaction.core.system import System


def problems(example: Mapping, system) -> Iterator[str]:
    """An input that is no expression, or a random force that is passed over."""
    simulation = example["simulate"]
    if simulation["method"] != "runge_kutta" or not isinstance(system, System):
        return
    drawn = tuple(simulation["initial_state"].get("random", {}))
    yield from raised(
        "simulate", lambda: input_expressions(system, simulation["input"], drawn)
    )
    if system.wiener_processes:
        yield (
            "simulate: method 'runge_kutta' knows no random force, but "
            "system.volatility has one; use 'strong_taylor'"
        )
