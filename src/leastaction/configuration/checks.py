"""What types cannot check of an example, before any job; all problems are reported.

Each family says what it asks of its examples (``<family>/examples.py``), a recipe
whether its steps fit each other, the data and the library.
"""

from collections.abc import Iterator, Mapping

from leastaction.configuration.schema import ConfigError
from leastaction.core import examples, families
from leastaction.core.examples import raised
from leastaction.core.from_config import is_field, is_port, system_from_config
from leastaction.core.method import step
from leastaction.core.recipe import Recipe
from leastaction.core.time_grid import step_count
from leastaction.report.check import publish_problems


def check_example(example: Mapping, where: str) -> None:
    """Check expressions, units, times, and whether methods fit.

    Raises
    ------
    ConfigError
        Listing all problems.
    """
    problems = list(dict.fromkeys(example_problems(example)))
    if problems:
        raise ConfigError(where, problems)


def example_problems(example: Mapping) -> Iterator[str]:
    """Everything that would stop a job of this example, or mislead its reader."""
    yield from publish_problems(example)
    system, simulation = None, example["simulate"]
    try:
        system = system_from_config(example["system"])
    except (ValueError, KeyError) as error:
        yield f"system: {error}"
    yield from raised("simulate", lambda: _check_kind(example))
    for module in (examples, *families.modules("examples")):
        yield from module.problems(example, system)
    yield from raised(
        "simulate",
        lambda: step_count(simulation["duration"], simulation["time_step"]),
    )
    known = list(example["estimators"])
    wanted = example["validate"].get("estimators", known)
    if wanted and not set(wanted) & set(known):
        yield (
            f"validate.estimators: none of {wanted} is an estimator of this example; "
            f"these are {known}"
        )
    for name, recipe in example["estimators"].items():
        for problem in Recipe(**recipe).problems(example):
            yield f"estimators.{name}: {problem}"


def _check_kind(example: Mapping) -> None:
    """Check that the scheme simulates systems of this kind.

    Raises
    ------
    ValueError
    """
    system, scheme = example["system"], step("simulate", example["simulate"])
    kinds = {"a field": is_field(system), "a port-Hamiltonian system": is_port(system)}
    given = next((kind for kind, is_it in kinds.items() if is_it), "coordinates")
    if scheme.simulates != given:
        raise ValueError(
            f"method {scheme.name()!r} simulates {scheme.simulates}, but 'system' "
            f"describes {given}; change one of them"
        )
