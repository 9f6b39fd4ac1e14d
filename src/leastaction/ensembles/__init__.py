"""Randomly excited motions of a few coordinates (paper 1)."""

from collections.abc import Mapping

# Tables of this family, by name.
TABLES = {
    "lagrangian": "ensembles.tables:lagrangian",
    "equation_of_motion": "ensembles.tables:equation_of_motion",
    "hamiltonian": "ensembles.tables:hamiltonian",
}


def measures(example: Mapping) -> bool:
    """Whether an example is one of this family."""
    return (
        "coordinates" in example["system"]
        and "library" in example
        and example.get("simulate", {}).get("method", "strong_taylor")
        == "strong_taylor"
    )
