"""Positions only, no candidates (paper 3)."""

from collections.abc import Mapping

# Tables of this family, by name.
TABLES = {
    "identification": "snapshots.tables:identification",
    "modified_lagrangians": "snapshots.tables:modified_lagrangians",
}


def measures(example: Mapping) -> bool:
    """Whether an example is one of this family."""
    return "coordinates" in example["system"] and "library" not in example
