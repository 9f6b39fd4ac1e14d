"""Positions only, no candidates (paper 3)."""

from collections.abc import Mapping

# Tables of this paper, by name.
TABLES = {"modified_lagrangians": ".tables:modified_lagrangians"}
TABLES_OF_ROLLOUTS = {"identification": ".tables:identification"}


def measures(example: Mapping) -> bool:
    """Whether an example is one of these."""
    if "field" in example["system"]:
        return example["simulate"]["method"] == "spectral"
    return "coordinates" in example["system"] and "library" not in example
