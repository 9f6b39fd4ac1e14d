"""A stationary probability density (paper 4)."""

from collections.abc import Mapping

from leastaction.densities import KIND_OF_DATA

# Tables of this paper, by name.
TABLES = {"stationary_errors": ".scores:stationary_errors"}


def measures(example: Mapping) -> bool:
    """Whether an example is one of these."""
    return example.get("simulate", {}).get("method") in KIND_OF_DATA
