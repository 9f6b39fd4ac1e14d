"""Randomly excited motions of a few coordinates, strings and beams (paper 1)."""

from collections.abc import Mapping

# Tables of this paper, by name.
TABLES = {
    "lagrangian": ".tables:lagrangian",
    "equation_of_motion": ".tables:equation_of_motion",
    "hamiltonian": ".tables:hamiltonian",
}


def measures(example: Mapping) -> bool:
    """Whether an example is one of these."""
    method = example.get("simulate", {}).get("method", "strong_taylor")
    if "field" in example["system"]:
        # Spectral snapshots have no random force: they are of shadow integration.
        return method != "spectral"
    known = "coordinates" in example["system"] and "library" in example
    return known and method == "strong_taylor"
