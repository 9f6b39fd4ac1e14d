"""What an example without candidates must fulfil, before any job."""

from collections.abc import Iterator, Mapping

from leastaction.core.expressions import parse
from leastaction.core.method import rollout, step
from leastaction.core.recipe import raised

# Contracts of models whose rollouts have a section of their own.
KINDS = ("learned_lagrangian", "learned_flow", "learned_field", "field_law")
# Names that a printed formula may use.
GENERAL = ("v", *(f"L_{i}{j}" for i in range(5) for j in range(5 - i)))


def printed_formulas(example: Mapping) -> dict[tuple[str, str, int], tuple]:
    """(Place in the paper, expression) of ``publish.formulas``, by what it is of."""
    formulas = {}
    for one in example.get("publish", {}).get("formulas", ()):
        formula = parse(one["printed"], GENERAL)
        formulas[one["rule"], one["kind"], one["order"]] = one["item"], formula
    return formulas


def problems(example: Mapping, system) -> Iterator[str]:
    """What is wrong with ``validate.shadow``, or that a recipe needs it."""
    yield from raised("publish.formulas", lambda: printed_formulas(example))
    if shadow := example["validate"].get("shadow"):
        yield from _sizes(shadow, len(example["system"].get("coordinates", ())))
    for name, estimator in example["estimators"].items():
        yield from _unfinished(f"estimators.{name}", estimator, example["validate"])


def _sizes(shadow: Mapping, dof: int) -> Iterator[str]:
    """Points and boxes of ``validate.shadow`` that have the wrong number of entries."""
    sizes = {"box": 2 * dof, "horizon": 2 * dof, "domain": dof, "potential": dof}
    points = [("start", shadow["start"], 2 * dof)]
    points += [
        (f"{name}.{corner}", shadow[name][corner], size)
        for name, size in sizes.items()
        if name in shadow
        for corner in ("low", "high")
    ]
    points += [
        ("potential.saddles", saddle, dof)
        for saddle in shadow.get("potential", {}).get("saddles", ())
    ]
    for name, values, expected in points:
        if len(values) != expected:
            kind = "coordinates" if expected == dof else "coordinates, then velocities"
            yield (
                f"validate.shadow.{name}: expected {expected} numbers ({kind}), got "
                f"{len(values)}"
            )


def _unfinished(where: str, estimator: Mapping, settings: Mapping) -> Iterator[str]:
    """A model without candidates whose rollout is not described."""
    made = step("identify", estimator["identify"]).makes
    if made not in KINDS:
        return
    key, about = rollout(made).section[0], "the start, the steps and a box of states"
    if key == "field":
        about = "the steps and the number"
    if key not in settings:
        yield (
            f"{where}: identify method {estimator['identify']['method']!r} needs "
            f"'validate.{key}': {about} of its rollout"
        )
