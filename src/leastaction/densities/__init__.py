"""A stationary probability density (paper 4)."""

from collections.abc import Mapping

# All parts of the library: the structure is known, and every coefficient estimated.
EVERY_PART = (
    "reference",
    "inertia",
    "lagrangian",
    "dissipation",
    "volatility",
    "calculus",
    "known",
)
# Tables of this family, by name.
TABLES = {"stationary_errors": "densities.scores:stationary_errors"}
# Kind of data by `simulate.method`.
KIND_OF_DATA = {"gill_histogram": "density", "gill_moments": "density moments"}


def measures(example: Mapping) -> bool:
    """Whether an example is one of this family."""
    return example.get("simulate", {}).get("method") in KIND_OF_DATA
