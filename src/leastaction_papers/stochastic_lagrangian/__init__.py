"""Randomly excited motions of a few coordinates (paper 1)."""

from collections.abc import Mapping

# Tables of this paper, by name.
TABLES = {
    "lagrangian": ".tables:lagrangian",
    "equation_of_motion": ".tables:equation_of_motion",
    "hamiltonian": ".tables:hamiltonian",
}


def measures(example: Mapping) -> bool:
    """Whether an example is one of these."""
    return (
        "coordinates" in example["system"]
        and "library" in example
        and example.get("simulate", {}).get("method", "strong_taylor")
        == "strong_taylor"
    )
