"""Recipe of a vibrating line that a random force shakes, seen by a few sensors."""

from pydantic import Field

from leastaction.core.method import Identify
from leastaction.core.settings import Flag
from leastaction.snapshots.recipes import NoDerivatives, NoEquations


class FieldLikelihood(Identify):
    """Maximum likelihood of a line at a few sensors, terms by score and Wald tests."""

    run = ".field_sensors:identify"
    reads = ("nothing",)
    makes = "sensed_field"
    returns_to_samples = True
    uses = ("reference", "lagrangian", "dissipation")

    search: Flag = Field(
        True,
        description="Whether terms are searched for; if not, all candidates are in the "
        "law.",
    )


class NoDerivativesOfReadings(NoDerivatives, method="no_derivatives_of_readings"):
    """No derivatives: the filter integrates the motion between samples."""

    run = "leastaction.snapshots.contracts:nothing"
    reads = ("field_readings",)


RECOMMENDED = {
    "sensed_field": (NoDerivativesOfReadings, NoEquations, FieldLikelihood),
}
